// no_grad, enable_grad, set_grad_enabled, inference_mode: context managers and decorators in C,
// because training loops enter and leave them all the time.
#include "bindings/module.h"
#include "bindings/tracing.h"
#include "dispatch/mode.h"

namespace wisp::python {

constinit WISP_THREAD_LOCAL unsigned mode_switches = 0;

namespace {

struct GuardObject {
  PyObject_HEAD;
  bool grad, inference;  // what it sets
  bool previous_grad, previous_inference;
  bool changes_inference;
};

GuardObject* guard_of(PyObject* self) { return reinterpret_cast<GuardObject*>(self); }

void set(GuardObject* guard) {
  ++mode_switches;
  guard->previous_grad = mode.grad;
  guard->previous_inference = mode.inference;
  mode.grad = guard->grad;
  if (guard->changes_inference) mode.inference = guard->inference;
}

PyObject* enter(PyObject* self, PyObject*) {
  set(guard_of(self));
  Py_RETURN_NONE;
}

PyObject* leave(PyObject* self, PyObject*) {
  mode.grad = guard_of(self)->previous_grad;
  mode.inference = guard_of(self)->previous_inference;
  Py_RETURN_NONE;
}

// As a decorator: the function runs inside a fresh guard of the same kind.
PyObject* decorate(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* function;
  static const char* names[] = {"func", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &function))
    return nullptr;
  return guarded([&] {
    static PyObject* wrap_function = import_attribute("wisp.autograd.grad_mode", "_decorate");
    return must(PyObject_CallFunctionObjArgs(wrap_function, self, function, nullptr));
  });
}

PyObject* clone_guard(PyObject* self, PyObject*) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject* copy = type->tp_alloc(type, 0);
  if (!copy) return nullptr;
  guard_of(copy)->grad = guard_of(self)->grad;
  guard_of(copy)->inference = guard_of(self)->inference;
  guard_of(copy)->changes_inference = guard_of(self)->changes_inference;
  return copy;
}

PyObject* make(PyTypeObject* type, bool grad, bool changes_inference, bool inference) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  GuardObject* guard = guard_of(self);
  guard->grad = grad;
  guard->inference = inference;
  guard->changes_inference = changes_inference;
  guard->previous_grad = mode.grad;
  guard->previous_inference = mode.inference;
  return self;
}

// no_grad() and enable_grad(); no_grad(f) decorates f at once.
PyObject* make_plain(PyTypeObject* type, PyObject* args, PyObject* kwargs, bool grad) {
  const Py_ssize_t given = PyTuple_GET_SIZE(args) + (kwargs ? PyDict_GET_SIZE(kwargs) : 0);
  PyObject* self = make(type, grad, false, false);
  if (!self || given == 0) return self;
  const Ref guard(self);
  return decorate(self, args, kwargs);
}
PyObject* no_grad_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return make_plain(type, args, kwargs, false);
}
PyObject* enable_grad_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return make_plain(type, args, kwargs, true);
}

// Takes effect at once, and is undone when used as a context manager.
PyObject* set_grad_enabled_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"mode", nullptr};
  int enabled;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "p", const_cast<char**>(names), &enabled))
    return nullptr;
  PyObject* self = make(type, enabled, false, false);
  if (!self) return nullptr;
  ++mode_switches;
  mode.grad = enabled;
  return self;
}
PyObject* set_grad_enabled_enter(PyObject* self, PyObject*) {
  mode.grad = guard_of(self)->grad;
  Py_RETURN_NONE;
}
PyObject* set_grad_enabled_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  mode.grad = guard_of(self)->previous_grad;  // decorating must not change the mode
  return decorate(self, args, kwargs);
}

PyObject* inference_mode_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"mode", nullptr};
  PyObject* value = Py_True;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &value))
    return nullptr;
  if (PyCallable_Check(value) && !PyBool_Check(value)) {
    const Ref guard(make(type, false, true, true));
    const Ref arguments(PyTuple_Pack(1, value));
    return guard && arguments ? decorate(guard.get(), arguments.get(), nullptr) : nullptr;
  }
  const int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  return make(type, on ? false : mode.grad, true, on);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, nullptr},
                         {"__exit__", leave, METH_VARARGS, nullptr},
                         {"clone", clone_guard, METH_NOARGS, nullptr},
                         {}};
PyMethodDef set_methods[] = {{"__enter__", set_grad_enabled_enter, METH_NOARGS, nullptr},
                             {"__exit__", leave, METH_VARARGS, nullptr},
                             {"clone", clone_guard, METH_NOARGS, nullptr},
                             {}};

void add_guard(PyObject* module, const char* name, newfunc make_new, ternaryfunc call,
               PyMethodDef* table, const char* doc) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_new)},
                         {Py_tp_call, reinterpret_cast<void*>(call)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_methods, table},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(GuardObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  make_type(module, spec);
}

PyObject* is_grad_enabled(PyObject*, PyObject*) { return boolean(mode.grad); }
// Transforms, autocast, traces and lazy evaluation belong to the thread that began them.
PyObject* is_watched(PyObject*, PyObject*) {
  return PyBool_FromLong(mode.interceptor || mode.deferrer || mode.transforms > 0);
}

PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return boolean(mode.inference); }
PyObject* set_grad_mode(PyObject*, PyObject* value) {
  return guarded([&] {
    ++mode_switches;
    mode.grad = truth_of(value);
    return none();
  });
}

PyMethodDef functions[] = {
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "Whether operations are recorded for backward() now."},
    {"_is_watched", is_watched, METH_NOARGS,
     "Whether anything but autograd takes part in the calls of this thread."},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
     "Whether inference_mode() is on."},
    {"_set_grad_enabled", set_grad_mode, METH_O, nullptr},
    {}};

}  // namespace

void add_grad_modes(PyObject* module) {
  add_guard(module, "wisp.no_grad", no_grad_new, decorate, methods,
            "no_grad(): nothing is recorded for backward(), as context manager or decorator.");
  add_guard(module, "wisp.enable_grad", enable_grad_new, decorate, methods,
            "enable_grad(): records for backward() again inside no_grad().");
  add_guard(module, "wisp.set_grad_enabled", set_grad_enabled_new, set_grad_enabled_call,
            set_methods,
            "set_grad_enabled(mode): turns recording on or off, at once or for a with block.");
  add_guard(
      module, "wisp.inference_mode", inference_mode_new, decorate, methods,
      "inference_mode(mode=True): like no_grad(), and tensors made inside can never take part in autograd.");
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
