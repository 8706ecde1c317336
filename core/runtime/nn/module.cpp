#include "runtime/nn/module.h"

#include <cxxabi.h>

#include "runtime/modes.h"

namespace wisp::api::nn {

Module::~Module() = default;

// --- registering

void Module::check_name(const std::string& name) const {
  WISP_CHECK(!name.empty(), "Submodule, parameter and buffer names must not be empty");
  WISP_CHECK(name.find('.') == std::string::npos, "Names must not contain a dot (got '", name,
             "')");
  const bool taken =
      parameters_.contains(name) || buffers_.contains(name) || children_.contains(name);
  WISP_CHECK(!taken, "'", name, "' already defined");
}

Tensor Module::register_parameter(std::string name, Tensor tensor, bool requires_grad) {
  check_name(name);
  if (tensor.defined()) tensor.requires_grad_(requires_grad);
  parameters_.insert(std::move(name), tensor);
  return tensor;
}

Tensor Module::register_buffer(std::string name, Tensor tensor) {
  check_name(name);
  buffers_.insert(std::move(name), tensor);
  return tensor;
}

void Module::add_child(std::string name, std::shared_ptr<Module> child) {
  check_name(name);
  WISP_CHECK(child, "Cannot register an empty module as '", name, "'");
  children_.insert(std::move(name), std::move(child));
}

// --- looking

OrderedDict<Tensor> Module::collected(Own own, bool recurse) const {
  OrderedDict<Tensor> found;
  auto add = [&](const std::string& prefix, const OrderedDict<Tensor>& tensors) {
    for (const auto& item : tensors) {
      bool known = !item.value().defined();
      for (const auto& other : found) known |= other.value().is_same(item.value());
      if (!known) found.insert(prefix + item.key(), item.value());
    }
  };
  add("", this->*own);
  if (!recurse) return found;
  for (const auto& child : children_) {
    add(child.key() + ".", child.value()->collected(own, true));
  }
  return found;
}
OrderedDict<Tensor> Module::named_parameters(bool recurse) const {
  return collected(&Module::parameters_, recurse);
}
OrderedDict<Tensor> Module::named_buffers(bool recurse) const {
  return collected(&Module::buffers_, recurse);
}

OrderedDict<std::shared_ptr<Module>> Module::named_modules(const std::string& prefix) const {
  OrderedDict<std::shared_ptr<Module>> found;
  for (const auto& child : children_) {
    const std::string name = prefix.empty() ? child.key() : prefix + "." + child.key();
    found.insert(name, child.value());
    for (const auto& below : child.value()->named_modules(name)) {
      found.insert(below.key(), below.value());
    }
  }
  return found;
}

OrderedDict<Tensor> Module::state_dict() const {
  OrderedDict<Tensor> state;
  for (const auto* own : {&parameters_, &buffers_}) {
    for (const auto& item : *own) {
      if (item.value().defined()) state.insert(item.key(), item.value().detach());
    }
  }
  for (const auto& child : children_) {
    for (const auto& item : child.value()->state_dict()) {
      state.insert(child.key() + "." + item.key(), item.value());
    }
  }
  return state;
}

// --- changing

void Module::load_state_dict(const OrderedDict<Tensor>& state) {
  std::string wrong;
  const OrderedDict<Tensor> own = state_dict();
  for (const auto& item : own) {
    const Tensor* given = state.find(item.key());
    if (!given) {
      wrong += "\n\tMissing key in state_dict: \"" + item.key() + "\".";
    } else if (given->sizes() != item.value().sizes()) {
      wrong +=
          str("\n\tsize mismatch for ", item.key(), ": copying a param with shape ", given->sizes(),
              " from checkpoint, the shape in current model is ", item.value().sizes(), ".");
    }
  }
  for (const auto& item : state) {
    if (!own.contains(item.key())) {
      wrong += "\n\tUnexpected key in state_dict: \"" + item.key() + "\".";
    }
  }
  WISP_CHECK(wrong.empty(), "Error(s) in loading state_dict for ", name(), ":", wrong);
  const NoGradGuard unrecorded;
  for (const auto& item : own) item.value().copy_(state[item.key()]);
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& child : children_) child.value()->train(on);
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      parameter.set_grad({});
    } else {
      const Tensor kept = grad.detach();
      kept.zero_();
      parameter.set_grad(kept);
    }
  }
}

void Module::apply(const std::function<void(Module&)>& f) {
  for (const auto& child : children_) child.value()->apply(f);
  f(*this);
}

void Module::convert(const std::function<Tensor(const Tensor&)>& f) {
  const NoGradGuard unrecorded;
  for (const auto& item : named_parameters()) {
    const Tensor grad = item.value().grad();
    item.value().set_grad({});
    item.value().set_data(f(item.value().detach()));
    if (grad.defined()) item.value().set_grad(f(grad));
  }
  for (const auto& item : named_buffers()) item.value().set_data(f(item.value()));
}
void Module::to(DType dtype) {
  WISP_CHECK_TYPE(
      is_differentiable(dtype),
      "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=",
      wisp::name(dtype));
  convert([&](const Tensor& t) { return is_differentiable(t.dtype()) ? t.to(dtype) : t; });
}
void Module::to(Device device) {
  convert([&](const Tensor& t) { return t.to(device); });
}

// --- printing

std::string Module::name() const {
  if (!name_.empty()) return name_;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status), &std::free);
  std::string text = status == 0 ? plain.get() : typeid(*this).name();
  text = text.substr(0, text.find('<'));
  text = text.substr(text.rfind(':') + 1);
  const bool is_impl = text.size() > 4 && text.compare(text.size() - 4, 4, "Impl") == 0;
  return is_impl ? text.substr(0, text.size() - 4) : text;
}

std::string Module::repr() const {
  std::string text = name() + "(" + extra_repr();
  if (children_.is_empty()) return text + ")";
  for (const auto& child : children_) {
    std::string below = child.value()->repr();
    for (size_t at = 0; (at = below.find('\n', at)) != std::string::npos; at += 3) {
      below.insert(at + 1, "  ");
    }
    text += "\n  (" + child.key() + "): " + below;
  }
  return text + "\n)";
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.repr(); }

}  // namespace wisp::api::nn
