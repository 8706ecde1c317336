// Tensors from Python data.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

// Whether it is a NumPy array (NumPy need not be installed).
bool is_array(PyObject* value);
// A tensor of a number, nested sequence, array or tensor, of the dtype it suggests.
Tensor tensor_from_python(PyObject* data, const char* function);

}  // namespace wisp::python
