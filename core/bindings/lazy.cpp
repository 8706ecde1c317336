// Lazy evaluation: switching it on for a thread, and how it went.
#define PY_SSIZE_T_CLEAN
#include "lazy/lazy.h"

#include <Python.h>
#include <structmember.h>

#include "bindings/arguments.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"

namespace wisp::python {

namespace {

// What is collected is one number in Python: least * 4 + extent (0 nothing, 1 until the end of a
// function, 2 until it is needed).
constexpr int64_t extents = 4;

// collect(what) -> what it was.
PyObject* collect(PyObject*, PyObject* value) {
  return guarded([&] {
    int64_t what;
    WISP_CHECK_TYPE(to_int(value, what) && what >= 0 && what % extents <= 2,
                    "_lazy_collect expects what it returned");
    const lazy::Collecting before =
        lazy::collect({static_cast<lazy::Extent>(what % extents), what / extents});
    return must(PyLong_FromLongLong(before.least * extents + static_cast<int64_t>(before.extent)));
  });
}

PyObject* run(PyObject*, PyObject*) {
  return guarded([&] {
    lazy::run();
    return none();
  });
}

// For how many kernels it was ever worth it to be put off.
PyObject* gains(PyObject*, PyObject*) {
  return guarded([&] {
    const lazy::Counts now = lazy::counts();
    return must(PyLong_FromLongLong(now.fused + now.dropped));
  });
}

PyObject* counts(PyObject*, PyObject*) {
  return guarded([&] {
    const lazy::Counts now = lazy::counts();
    return must(Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L}", "kernels", (long long)now.kernels,
                              "fused", (long long)now.fused, "groups", (long long)now.groups,
                              "dropped", (long long)now.dropped, "runs", (long long)now.runs,
                              "plans", (long long)now.plans));
  });
}

// report(on) -> the lines since it was switched on, which are then forgotten.
PyObject* report(PyObject*, PyObject* on) {
  return guarded([&] {
    lazy::report(truth_of(on));
    Ref lines = owned(PyList_New(0));
    for (const std::string& line : lazy::take_report()) {
      const Ref text = string(line);
      must_succeed(PyList_Append(lines.get(), text.get()));
    }
    return lines.release();
  });
}

// For tests: whether a tensor is still to be computed.
PyObject* is_pending(PyObject*, PyObject* tensor) {
  return guarded(
      [&] { return boolean(expect_tensor(tensor, "_is_pending")->storage().is_pending()); });
}

// --- compile(): a function that is mostly called as it is

// The next `plain` calls are those of the function; others are made by the method `_collect` of a
// class that derives from this one.
struct CompiledObject {
  PyObject_HEAD PyObject* function;
  int plain;
};
CompiledObject* compiled_of(PyObject* self) { return reinterpret_cast<CompiledObject*>(self); }

PyObject* compiled_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    CompiledObject& made = *compiled_of(self);
    if (made.plain > 0 && made.function) {
      --made.plain;
      const Ref function = Ref::borrow(made.function);
      return must(PyObject_Call(function.get(), args, kwargs));
    }
    const Ref method = owned(PyObject_GetAttrString(self, "_collect"));
    return must(PyObject_Call(method.get(), args, kwargs));
  });
}

int compiled_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(self)));
  Py_VISIT(compiled_of(self)->function);
  return 0;
}

int compiled_clear(PyObject* self) {
  Py_CLEAR(compiled_of(self)->function);
  return 0;
}

void compiled_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  compiled_clear(self);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMemberDef compiled_members[] = {
    {"_function", T_OBJECT_EX, offsetof(CompiledObject, function), 0, nullptr},
    {"_plain", T_INT, offsetof(CompiledObject, plain), 0, nullptr},
    {}};
PyType_Slot compiled_slots[] = {{Py_tp_call, reinterpret_cast<void*>(compiled_call)},
                                {Py_tp_traverse, reinterpret_cast<void*>(compiled_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(compiled_clear)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(compiled_dealloc)},
                                {Py_tp_members, compiled_members},
                                {0, nullptr}};
PyType_Spec compiled_spec = {"wisp._C._Compiled", sizeof(CompiledObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                             compiled_slots};

PyMethodDef functions[] = {{"_lazy_collect", collect, METH_O, nullptr},
                           {"_lazy_run", run, METH_NOARGS, nullptr},
                           {"_lazy_gains", gains, METH_NOARGS, nullptr},
                           {"_lazy_counts", counts, METH_NOARGS, nullptr},
                           {"_lazy_report", report, METH_O, nullptr},
                           {"_is_pending", is_pending, METH_O, nullptr},
                           {}};

}  // namespace

void add_lazy_functions(PyObject* module) {
  lazy::install();
  must_succeed(PyModule_AddFunctions(module, functions));
  const Ref compiled = owned(PyType_FromSpec(&compiled_spec));
  must_succeed(PyModule_AddObjectRef(module, "_Compiled", compiled.get()));
}

}  // namespace wisp::python
