// The Python objects of programs as structs, for the files that define their types.
#pragma once

#include "bindings/graph_objects.h"
#include "graph/graph.h"

namespace wisp::python {

struct ProgramObject {
  PyObject_HEAD;
  wisp::Ref<graph::Program> program;
};

struct FunctionObject {
  PyObject_HEAD;
  vectorcallfunc vectorcall;
  wisp::Ref<graph::Program> program;
  graph::Function* function;
  wisp::Ref<graph::ObjectData> self;  // of a method
};

struct ObjectObject {
  PyObject_HEAD;
  wisp::Ref<graph::ObjectData> object;
};

extern PyTypeObject *program_type, *function_type, *object_type;

template <class T>
T& as(PyObject* self) {
  return *reinterpret_cast<T*>(self);
}

// A new Python object of a struct whose own members are constructed by `init`.
template <class T, class F>
PyObject* make(PyTypeObject* type, F init) {
  PyObject* self = must(type->tp_alloc(type, 0));
  init(as<T>(self));
  return self;
}

template <class T, auto destroy>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  destroy(as<T>(self));
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

extern PyType_Spec program_spec;

}  // namespace wisp::python
