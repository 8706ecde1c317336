// nn::Module: the base of models. Its parameters, buffers and children are those registered by
// name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators.h"
#include "runtime/option.h"

#pragma GCC visibility push(default)
namespace wisp::api {

// Values by name, in the order in which they were added.
template <class T>
class OrderedDict {
 public:
  class Item {
   public:
    Item(std::string key, T value) : pair_(std::move(key), std::move(value)) {}
    const std::string& key() const { return pair_.first; }
    T& value() { return pair_.second; }
    const T& value() const { return pair_.second; }
    operator const std::pair<std::string, T>&() const { return pair_; }

   private:
    std::pair<std::string, T> pair_;
  };
  void insert(std::string key, T value) { items_.emplace_back(std::move(key), std::move(value)); }
  const T* find(const std::string& key) const {
    for (const Item& item : items_) {
      if (item.key() == key) return &item.value();
    }
    return nullptr;
  }
  T* find(const std::string& key) {
    return const_cast<T*>(static_cast<const OrderedDict*>(this)->find(key));
  }
  bool contains(const std::string& key) const { return find(key) != nullptr; }
  const T& operator[](const std::string& key) const {
    const T* found = find(key);
    WISP_CHECK_INDEX(found, "no such key: ", key);
    return *found;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const Item& item : items_) keys.push_back(item.key());
    return keys;
  }
  std::vector<T> values() const {
    std::vector<T> values;
    for (const Item& item : items_) values.push_back(item.value());
    return values;
  }
  size_t size() const { return items_.size(); }
  bool is_empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Item> items_;
};

namespace nn {

template <class Contained>
class ModuleHolder;

class Module {
 public:
  Module() = default;
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  virtual ~Module();

  // A tensor that is trained; an undefined one stands for a parameter that this module lacks.
  Tensor register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  // A tensor that is saved but not trained.
  Tensor register_buffer(std::string name, Tensor tensor);
  template <class M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module) {
    add_child(std::move(name), module);
    return module;
  }
  template <class M>
  M register_module(std::string name, M holder,
                    std::enable_if_t<std::is_base_of_v<Module, typename M::Contained>, int> = 0) {
    add_child(std::move(name), holder.ptr());
    return holder;
  }
  // Puts another child where there was one.
  template <class M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module) {
    std::shared_ptr<Module>* found = children_.find(name);
    WISP_CHECK(found, "Submodule '", name, "' is not registered");
    *found = module;
    return module;
  }

  Tensors parameters(bool recurse = true) const { return named_parameters(recurse).values(); }
  OrderedDict<Tensor> named_parameters(bool recurse = true) const;
  Tensors buffers(bool recurse = true) const { return named_buffers(recurse).values(); }
  OrderedDict<Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> children() const { return children_.values(); }
  const OrderedDict<std::shared_ptr<Module>>& named_children() const { return children_; }
  // All modules below this one, with the names that lead to them.
  OrderedDict<std::shared_ptr<Module>> named_modules(const std::string& prefix = "") const;
  // Parameters and buffers under the names that Python gives them; they share memory.
  OrderedDict<Tensor> state_dict() const;
  // Takes values over by name; fails if some are missing, left over or of another shape.
  void load_state_dict(const OrderedDict<Tensor>& state);

  // The state as a file, see serialization/files.h.
  void save(const std::string& path) const;
  void load(const std::string& path);

  virtual void train(bool on = true);
  void eval() { train(false); }
  bool is_training() const { return training_; }
  virtual void zero_grad(bool set_to_none = true);
  // Calls f with this module and all below it.
  void apply(const std::function<void(Module&)>& f);
  // Converts parameters and buffers; a dtype concerns those of floating point.
  virtual void to(DType dtype);
  virtual void to(Device device);
  void to(DeviceType device) { to(Device{device, -1}); }

  // The name of its class, unless another was given.
  std::string name() const;
  // As Python prints it.
  virtual std::string extra_repr() const { return ""; }
  std::string repr() const;

  template <class M>
  M* as() {
    return dynamic_cast<M*>(this);
  }

 protected:
  bool training_ = true;

 private:
  void add_child(std::string name, std::shared_ptr<Module> child);
  void check_name(const std::string& name) const;
  using Own = OrderedDict<Tensor> Module::*;
  OrderedDict<Tensor> collected(Own own, bool recurse) const;
  void convert(const std::function<Tensor(const Tensor&)>& f);

  std::string name_;
  OrderedDict<Tensor> parameters_, buffers_;
  OrderedDict<std::shared_ptr<Module>> children_;
};

std::ostream& operator<<(std::ostream& out, const Module& module);

// Holds a module as Python's variables do: copies share it. nn::Linear holds a LinearImpl.
template <class C>
class ModuleHolder {
 public:
  using Contained = C;
  using ContainedType = C;
  ModuleHolder() : impl_(default_one()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<C> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail,
            std::enable_if_t<std::is_constructible_v<C, Head, Tail...> &&
                                 !std::is_base_of_v<ModuleHolder, std::decay_t<Head>>,
                             int> = 0>
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<C>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  bool is_empty() const { return !impl_; }
  explicit operator bool() const { return !is_empty(); }
  C* operator->() const { return get(); }
  C& operator*() const { return *get(); }
  C* get() const {
    WISP_CHECK(impl_, "Accessing empty ModuleHolder");
    return impl_.get();
  }
  const std::shared_ptr<C>& ptr() const { return impl_; }
  operator std::shared_ptr<Module>() const { return impl_; }
  template <class... Args>
  auto operator()(Args&&... args) const {
    return get()->forward(std::forward<Args>(args)...);
  }

 private:
  static std::shared_ptr<C> default_one() {
    if constexpr (std::is_default_constructible_v<C>) {
      return std::make_shared<C>();
    } else {
      return nullptr;
    }
  }
  std::shared_ptr<C> impl_;
};

template <class C>
std::ostream& operator<<(std::ostream& out, const ModuleHolder<C>& holder) {
  return out << *holder;
}

// Declares the holder of a class that ends in Impl.
#define WISP_MODULE(Name)                                          \
  class Name : public ::wisp::api::nn::ModuleHolder<Name##Impl> {  \
   public:                                                         \
    using ::wisp::api::nn::ModuleHolder<Name##Impl>::ModuleHolder; \
    using Impl = Name##Impl;                                       \
  }

// N numbers, of which one may stand for all.
template <int N>
class Sizes {
 public:
  template <class T, IfInteger<T> = 0>
  Sizes(T all) : items_(N, static_cast<int64_t>(all)) {}
  Sizes(std::initializer_list<int64_t> items) : items_(items) { check(); }
  Sizes(std::vector<int64_t> items) : items_(std::move(items)) { check(); }
  operator IntList() const { return items_; }
  const std::vector<int64_t>& items() const { return items_; }
  int64_t operator[](size_t i) const { return items_[i]; }
  bool operator==(const Sizes& other) const { return items_ == other.items_; }

 private:
  void check() const {
    WISP_CHECK_VALUE(items_.size() == N, "Expected ", N, " values, but instead got ",
                     items_.size());
  }
  std::vector<int64_t> items_;
};

}  // namespace nn
}  // namespace wisp::api
#pragma GCC visibility pop
