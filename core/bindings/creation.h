// Tensors from Python data.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

// A NumPy array, memoryview or array.array.
bool is_array(PyObject* value);
// A tensor of a number, nested sequence, array or tensor, of the dtype it suggests.
Tensor tensor_from_python(PyObject* data, const char* function);

}  // namespace wisp::python
