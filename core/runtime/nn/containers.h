// Modules in a row, and lists of modules.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

// A function as a module: Functional(wisp::relu) needs a lambda where names are overloaded.
class FunctionalImpl : public Module {
 public:
  explicit FunctionalImpl(std::function<Tensor(Tensor)> function)
      : function_(std::move(function)) {}
  Tensor forward(const Tensor& input) { return function_(input); }

 private:
  std::function<Tensor(Tensor)> function_;
};
WISP_MODULE(Functional);

// Modules of which each gets what the one before gives: tensors.
class SequentialImpl : public Module {
 public:
  SequentialImpl() = default;
  template <class... Modules>
  explicit SequentialImpl(const Modules&... modules) {
    (push_back(modules), ...);
  }
  // A holder (nn::Linear), a shared_ptr to a module, or a function of a tensor.
  template <class M>
  void push_back(const M& module) {
    push_back(std::to_string(size()), module);
  }
  template <class M>
  void push_back(std::string name, const M& module) {
    if constexpr (std::is_invocable_r_v<Tensor, M, Tensor> && !is_holder<M>(0)) {
      add(std::move(name), std::make_shared<FunctionalImpl>(module));
    } else if constexpr (is_holder<M>(0)) {
      add(std::move(name), module.ptr());
    } else {
      add(std::move(name), module);
    }
  }
  Tensor forward(Tensor input) {
    for (const auto& step : steps_) input = step(input);
    return input;
  }
  size_t size() const { return steps_.size(); }
  bool is_empty() const { return steps_.empty(); }
  std::shared_ptr<Module> operator[](size_t i) const { return children().at(i); }
  std::shared_ptr<Module> ptr(size_t i) const { return children().at(i); }

 private:
  template <class M>
  static constexpr auto is_holder(int) -> decltype(std::declval<M>().ptr(), true) {
    return true;
  }
  template <class M>
  static constexpr bool is_holder(long) {
    return false;
  }
  template <class M>
  void add(std::string name, const std::shared_ptr<M>& module) {
    register_module(std::move(name), module);
    M* borrowed = module.get();  // the child of that name keeps it
    steps_.push_back([borrowed](const Tensor& x) { return borrowed->forward(x); });
  }
  std::vector<std::function<Tensor(const Tensor&)>> steps_;
};
WISP_MODULE(Sequential);

// Modules by number; what is done with them is up to the module that has them.
class ModuleListImpl : public Module {
 public:
  ModuleListImpl() = default;
  template <class... Modules>
  explicit ModuleListImpl(const Modules&... modules) {
    (push_back(modules), ...);
  }
  void push_back(std::shared_ptr<Module> module) {
    register_module(std::to_string(size()), std::move(module));
  }
  size_t size() const { return named_children().size(); }
  std::shared_ptr<Module> operator[](size_t i) const { return children().at(i); }
  template <class M>
  M& at(size_t i) const {
    M* found = children().at(i)->template as<M>();
    WISP_CHECK_TYPE(found, "the module at ", i, " is of another class");
    return *found;
  }
  auto begin() const { return named_children().begin(); }
  auto end() const { return named_children().end(); }
};
WISP_MODULE(ModuleList);

}  // namespace wisp::api::nn
#pragma GCC visibility pop
