// save() and load(): files that C++ and Python (wisp.save, wisp.load) share. Loading runs no code,
// and a damaged file is an Error.
#pragma once

#include "runtime/nn/module.h"
#include "runtime/optim/optimizer.h"
#include "runtime/serialization/value.h"

#pragma GCC visibility push(default)
namespace wisp::api {

// A tensor, or any structure of tensors, numbers, texts, lists and dicts.
void save(const Value& value, const std::string& path);
Value load(const std::string& path);

void save(const Tensors& tensors, const std::string& path);
// The state: parameters and buffers by name, as Python's state_dict() has them.
void save(const nn::Module& module, const std::string& path);
void save(const optim::Optimizer& optimizer, const std::string& path);
template <class M>
void save(const std::shared_ptr<M>& module, const std::string& path) {
  save(static_cast<const nn::Module&>(*module), path);
}
template <class C>
void save(const nn::ModuleHolder<C>& holder, const std::string& path) {
  save(static_cast<const nn::Module&>(*holder), path);
}

void load(Tensor& tensor, const std::string& path);
void load(Tensors& tensors, const std::string& path);
void load(nn::Module& module, const std::string& path);
void load(optim::Optimizer& optimizer, const std::string& path);
template <class M>
void load(const std::shared_ptr<M>& module, const std::string& path) {
  load(static_cast<nn::Module&>(*module), path);
}
template <class C>
void load(const nn::ModuleHolder<C>& holder, const std::string& path) {
  load(static_cast<nn::Module&>(*holder), path);
}

// A loaded dict of tensors as Module::load_state_dict() takes it.
OrderedDict<Tensor> to_state_dict(const Value& value);

}  // namespace wisp::api
#pragma GCC visibility pop
