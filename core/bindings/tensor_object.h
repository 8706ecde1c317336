// The Python object of a tensor. It is thin: a pointer to the TensorImpl, which points back, so
// that a tensor has one Python object at a time and keeps its identity while anyone looks.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

struct TensorObject {
  PyObject_HEAD;
  TensorImpl* impl;  // owned, unless the impl owns this object (keeps_wrapper)
  PyObject* dict;    // attributes set by the user; null until then
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_type;

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
inline bool is_tensor(PyObject* object) {
  return is_exact_tensor(object) || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
inline TensorImpl* impl_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->impl;
}
inline const Tensor& tensor_of(PyObject* object) {
  return *reinterpret_cast<const Tensor*>(&reinterpret_cast<TensorObject*>(object)->impl);
}
// tensor_of with a type check; fails naming the function.
const Tensor& expect_tensor(PyObject* object, const char* function);

// The Python object of a tensor (a new reference); undefined gives None.
PyObject* wrap(Tensor tensor);
// Has the garbage collector look at the object of a tensor: something may refer back to it.
inline void track(PyObject* tensor) {
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
}
// A new object of the given type for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);
PyObject* wrap_tuple(std::span<Tensor> tensors);

void add_tensor_type(PyObject* module);

// Method tables contributed by the other files of this room.
extern PyMethodDef tensor_methods[];
extern PyMethodDef tensor_conversion_methods[];
extern PyMethodDef tensor_autograd_methods[];
extern PyMethodDef tensor_storage_methods[];
extern PyGetSetDef tensor_getset[];

// x.__dict__: asking for it may be the start of putting something there, so the garbage collector
// is told.
PyObject* tensor_dict(PyObject* self, void*);

// Slots.
PyNumberMethods* number_slots();
PyObject* tensor_compare(PyObject* a, PyObject* b, int op);
PyObject* tensor_subscript(PyObject* self, PyObject* index);
int tensor_assign_subscript(PyObject* self, PyObject* index, PyObject* value);
Py_ssize_t tensor_length(PyObject* self);
int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags);
void tensor_release_buffer(PyObject* self, Py_buffer* view);

}  // namespace wisp::python
