#include "bindings/overrides.h"

#include <algorithm>
#include <string>

#include "base/compiler.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"

namespace wisp::python {

bool overrides_exist = false;

namespace {

enum Hidden : int { nothing, classes, everything };

// Of this thread.
constinit WISP_THREAD_LOCAL int hidden = nothing;
constinit WISP_THREAD_LOCAL int mode_count = 0;

PyObject* disabled_function = nullptr;  // stands for "not to be asked"

// Of the arguments that most calls have, classes need not be looked through.
bool is_plain(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == tensor_type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyBool_Type || type == &PyUnicode_Type || object == Py_None;
}

bool class_takes_over(PyTypeObject* type) {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  const Ref found(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!found) PyErr_Clear();
  return found && found.get() != disabled_function;
}

bool any_takes_over(PyObject* argument) {
  if (is_plain(argument)) return false;
  if (!PyList_CheckExact(argument) && !PyTuple_CheckExact(argument)) return takes_over(argument);
  PyObject** items = PySequence_Fast_ITEMS(argument);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(argument); ++i) {
    if (takes_over(items[i])) return true;
  }
  return false;
}

bool is_overridden(PyObject* const* args, Py_ssize_t count) {
  if (hidden == everything) return false;
  if (mode_count > 0) return true;
  for (Py_ssize_t i = 0; hidden == nothing && i < count; ++i) {
    if (any_takes_over(args[i])) return true;
  }
  return false;
}

PyObject* dispatch(PyObject* function, PyObject* args, PyObject* kwargs) {
  static PyObject* python = import_attribute("wisp.overrides", "_dispatch");
  return must(PyObject_CallFunctionObjArgs(python, function, args, kwargs, nullptr));
}

Ref pack(PyObject* const* args, Py_ssize_t count) {
  Ref tuple = owned(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(tuple.get(), i, args[i]);
  }
  return tuple;
}

// --- Attributes of subclasses: those of Tensor written in C are calls too.

PyObject* subclass_getattr(PyObject* self, PyObject* name) {
  PyObject* own = PyDict_GetItemWithError(tensor_type->tp_dict, name);
  if (!own || !is_overridden(&self, 1)) return PyObject_GenericGetAttr(self, name);
  const bool property = Py_IS_TYPE(own, &PyGetSetDescr_Type);
  if (!property && !Py_IS_TYPE(own, &PyMethodDescr_Type))
    return PyObject_GenericGetAttr(self, name);
  return guarded([&]() -> PyObject* {
    const Ref found = owned(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(self)), name));
    const bool own_class = PyUnicode_CompareWithASCIIString(name, "as_subclass") == 0;
    if (found.get() != own || own_class || PyUnicode_READ_CHAR(name, 0) == '_')
      return PyObject_GenericGetAttr(self, name);  // redefined, about the class itself, or Python's
    if (!property) {
      static PyObject* bind = import_attribute("wisp.overrides", "_bind");
      return must(PyObject_CallFunctionObjArgs(bind, own, self, nullptr));
    }
    const Ref getter = owned(PyObject_GetAttrString(own, "__get__"));
    const Ref args = pack(&self, 1), kwargs = owned(PyDict_New());
    return dispatch(getter.get(), args.get(), kwargs.get());
  });
}

// --- Context managers that hide classes, or modes too.

struct GuardObject {
  PyObject_HEAD;
  int previous;
};

template <int Level>
PyObject* enter(PyObject* self, PyObject*) {
  reinterpret_cast<GuardObject*>(self)->previous = hidden;
  if (hidden < Level) hidden = Level;
  Py_RETURN_NONE;
}
PyObject* leave(PyObject* self, PyObject*) {
  hidden = reinterpret_cast<GuardObject*>(self)->previous;
  Py_RETURN_NONE;
}

template <int Level>
void add_guard(PyObject* module, const char* name) {
  static PyMethodDef methods[] = {{"__enter__", enter<Level>, METH_NOARGS, nullptr},
                                  {"__exit__", leave, METH_VARARGS, nullptr},
                                  {}};
  PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(GuardObject), 0, Py_TPFLAGS_DEFAULT, slots};
  make_type(module, spec);
}

PyObject* set_mode_count(PyObject*, PyObject* count) {
  return guarded([&] {
    mode_count = static_cast<int>(PyLong_AsLong(count));
    overrides_exist |= mode_count > 0;
    return none();
  });
}

PyObject* has_override(PyObject*, PyObject* args) {
  return guarded(
      [&] { return boolean(is_overridden(PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args))); });
}

PyObject* is_enabled(PyObject*, PyObject*) { return boolean(hidden == nothing); }

// The __torch_function__ of classes that do not want to be asked.
PyObject* run_hidden(PyObject*, PyObject* args) {
  PyObject *function, *types, *positional = nullptr, *keywords = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO", &function, &types, &positional, &keywords)) return nullptr;
  return guarded([&] {
    const WithoutOverrides running;
    const Ref empty = owned(PyTuple_New(0));
    return must(PyObject_Call(function, positional ? positional : empty.get(),
                              keywords == Py_None ? nullptr : keywords));
  });
}

PyMethodDef functions[] = {{"_set_function_modes", set_mode_count, METH_O, nullptr},
                           {"_has_torch_function", has_override, METH_VARARGS, nullptr},
                           {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
                           {"_disabled_torch_function_impl", run_hidden, METH_VARARGS, nullptr},
                           {}};

}  // namespace

bool has_function_modes() { return mode_count > 0; }

bool takes_over(PyObject* object) { return !is_plain(object) && class_takes_over(Py_TYPE(object)); }

PyObject* call_override(PyObject* function, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (!is_overridden(args, nargs + named)) return nullptr;
  const Ref positional = pack(args, nargs), keywords = owned(PyDict_New());
  for (Py_ssize_t i = 0; i < named; ++i) {
    must_succeed(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, i), args[nargs + i]));
  }
  return dispatch(function, positional.get(), keywords.get());
}

PyObject* call_method_override(const char* name, PyObject* const* args, Py_ssize_t count) {
  if (!is_overridden(args, count)) return nullptr;
  const Ref function =
      owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
  const Ref positional = pack(args, count), keywords = owned(PyDict_New());
  return dispatch(function.get(), positional.get(), keywords.get());
}

PyObject* call_operator_override(const char* method, const char* reflected, PyObject* a,
                                 PyObject* b) {
  const bool left = is_tensor(a);
  PyObject* const args[] = {left ? a : b, left ? b : a};
  return call_method_override(left ? method : reflected, args, 2);
}

WithoutOverrides::WithoutOverrides()
    : before_(std::exchange(hidden, std::max<int>(hidden, classes))) {}
WithoutOverrides::~WithoutOverrides() { hidden = before_; }

void note_subclass(PyTypeObject* type) {
  if (type->tp_getattro == subclass_getattr || !class_takes_over(type)) return;
  overrides_exist = true;
  if (type->tp_getattro != PyObject_GenericGetAttr) return;  // the class has a __getattr__
  type->tp_getattro = subclass_getattr;
  PyType_Modified(type);
}

void add_overrides(PyObject* module) {
  add_guard<classes>(module, "wisp._C.DisableTorchFunctionSubclass");
  add_guard<everything>(module, "wisp._C.DisableTorchFunction");
  must_succeed(PyModule_AddFunctions(module, functions));
  disabled_function = must(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace wisp::python
