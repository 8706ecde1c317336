// Sharing memory with NumPy, the buffer protocol and DLPack.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

PyObject* python_number(Scalar value);

PyObject* tensor_numpy(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_array(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);
PyObject* move_storage(PyObject* self, PyObject* buffer);

// A tensor on the memory of anything with the buffer protocol (a NumPy array, array.array,
// bytes...).
Tensor from_buffer_object(PyObject* object, const char* function);
// Whether that would work.
bool has_buffer(PyObject* object);

}  // namespace wisp::python
