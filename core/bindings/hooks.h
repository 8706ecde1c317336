// Python callables as hooks of the C++ graph.
#pragma once

#include <memory>

#include "autograd/node.h"
#include "bindings/python.h"

namespace wisp::python {

void add_hook_type(PyObject* module);

// What a hook in the graph and the handle that removes it share. `callable` is owned by the graph's
// side or by the handle, whichever `owns` says.
struct HookState {
  PyObject* callable = nullptr;
  bool owns = false;
  ~HookState();
};

// Hooks of the graph as types with names, so that visit_hooks() can tell Python's from others.
struct TensorHookCall {
  std::shared_ptr<HookState> state;
  Tensor operator()(const Tensor& grad) const;
};
struct PreHookCall {
  std::shared_ptr<HookState> state;
  void operator()(std::vector<Tensor>& grads) const;
};
struct PostHookCall {
  std::shared_ptr<HookState> state;
  void operator()(std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const;
};

// A hook may refer to the tensor or node that it is a hook of. For the garbage collector to see
// such a cycle, the Python object that is the only owner of a node visits and clears its hooks.
int visit_hooks(autograd::Node& node, visitproc visit, void* arg);
void clear_hooks(autograd::Node& node);

// An object with remove(), also a context manager. With `keeps`, the handle owns the callable: it
// is to be stored where the garbage collector sees it.
PyObject* make_handle(std::shared_ptr<HookState> state, uint64_t id, PyObject* keeps = nullptr);
// Whether the hook behind a handle was removed.
bool is_removed(PyObject* handle);

}  // namespace wisp::python
