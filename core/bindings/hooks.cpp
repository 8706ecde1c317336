#include "bindings/hooks.h"

namespace wisp::python {

HookState::~HookState() {
  if (!owns || !callable) return;
  const FreeingLock lock;
  if (lock) Py_DECREF(callable);
}

namespace {

std::vector<HookState*> owned_hooks(autograd::Node& node) {
  std::vector<HookState*> found;
  autograd::NodeExtras* extras = node.extras_if_any();
  if (!extras) return found;
  auto add = [&](const auto* call) {
    if (call && call->state->owns) found.push_back(call->state.get());
  };
  for (const auto& on : extras->tensor_hooks) add(on.hook.target<TensorHookCall>());
  for (const auto& pre : extras->pre_hooks) add(pre.second.target<PreHookCall>());
  for (const auto& post : extras->post_hooks) add(post.second.target<PostHookCall>());
  return found;
}

}  // namespace

int visit_hooks(autograd::Node& node, visitproc visit, void* arg) {
  for (const HookState* state : owned_hooks(node)) Py_VISIT(state->callable);
  return 0;
}

void clear_hooks(autograd::Node& node) {
  std::vector<Ref> dropped;  // only at the end: what they free may free the node
  for (HookState* state : owned_hooks(node)) {
    state->owns = false;
    dropped.emplace_back(std::exchange(state->callable, nullptr));
  }
}

namespace {

struct HandleObject {
  PyObject_HEAD;
  std::shared_ptr<HookState>* state;
  PyObject* keeps;
  uint64_t id;
};

PyTypeObject* handle_type = nullptr;

HandleObject* handle_of(PyObject* self) { return reinterpret_cast<HandleObject*>(self); }

void forget(HandleObject* handle) {
  if (!handle->state) return;
  HookState& state = **handle->state;
  PyObject* callable = std::exchange(state.callable, nullptr);
  if (state.owns) {
    state.owns = false;
    Py_XDECREF(callable);
  }
  Py_CLEAR(handle->keeps);
}

PyObject* remove(PyObject* self, PyObject*) {
  forget(handle_of(self));
  Py_RETURN_NONE;
}
PyObject* enter(PyObject* self, PyObject*) {
  Py_INCREF(self);
  return self;
}
PyObject* leave(PyObject* self, PyObject*) { return remove(self, nullptr); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(handle_of(self)->keeps);
  Py_VISIT(Py_TYPE(self));
  return 0;
}
int clear(PyObject* self) {
  if (handle_of(self)->keeps) forget(handle_of(self));
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (handle_of(self)->keeps)
    forget(handle_of(self));  // the hook dies with the handle that kept it
  delete handle_of(self)->state;
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMethodDef methods[] = {{"remove", remove, METH_NOARGS, "Removes the hook; once is enough."},
                         {"__enter__", enter, METH_NOARGS, nullptr},
                         {"__exit__", leave, METH_VARARGS, nullptr},
                         {}};
PyGetSetDef getset[] = {
    {"id", [](PyObject* s, void*) { return PyLong_FromUnsignedLongLong(handle_of(s)->id); },
     nullptr, nullptr, nullptr},
    {"hook",
     [](PyObject* s, void*) {
       PyObject* callable = (*handle_of(s)->state)->callable;
       return callable ? Ref::borrow(callable).release() : none();
     },
     nullptr, "The hook, or None once it is removed.", nullptr},
    {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {0, nullptr}};
PyType_Spec spec = {"wisp._C.HookHandle", sizeof(HandleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

PyObject* make_handle(std::shared_ptr<HookState> state, uint64_t id, PyObject* keeps) {
  PyObject* self = must(handle_type->tp_alloc(handle_type, 0));
  handle_of(self)->state = new std::shared_ptr<HookState>(std::move(state));
  Py_XINCREF(keeps);
  handle_of(self)->keeps = keeps;
  handle_of(self)->id = id;
  return self;
}

bool is_removed(PyObject* handle) { return !(*handle_of(handle)->state)->callable; }

void add_hook_type(PyObject* module) { handle_type = make_type(module, spec); }

}  // namespace wisp::python
