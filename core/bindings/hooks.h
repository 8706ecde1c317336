// Python callables as hooks of the C++ graph.
#pragma once

#include <memory>

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

// An object with remove(), also a context manager. With `keeps`, the handle owns the callable: it
// is to be stored where the garbage collector sees it.
PyObject* make_handle(std::shared_ptr<HookState> state, uint64_t id, PyObject* keeps = nullptr);
// Whether the hook behind a handle was removed.
bool is_removed(PyObject* handle);

}  // namespace wisp::python
