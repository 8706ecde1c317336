// The small Python types: dtype, device, Size, layout, memory_format, Generator.
#pragma once

#include "base/device.h"
#include "base/dtype.h"
#include "base/small_vector.h"
#include "bindings/python.h"

namespace wisp {
class Generator;
}

namespace wisp::python {

void add_small_types(PyObject* module);

// What dtypes, sizes and the like are shown as being of: "wisp", or "torch" where wisp stands in.
const char* shown_package();

PyObject* wrap(DType dtype);  // new reference
PyObject* wrap(Device device);
PyObject* wrap_size(IntSpan sizes);
PyObject* wrap_size(PyObject* tuple);  // of numbers
PyObject* wrap(MemoryFormat format);
PyObject* wrap_layout();

bool is_dtype(PyObject* object);
// Also takes Python's own types: float means float64, as in PyTorch.
bool to_dtype(PyObject* object, DType& dtype);
bool is_device(PyObject* object);
// A device, a string or a number; fails, with advice, unless tensors can live there.
Device to_device(PyObject* object);
// Where new tensors live unless a call says so.
Device default_device();
// Whether that was ever changed, or any tensor lives elsewhere than on the CPU.
bool devices_matter();
bool to_memory_format(PyObject* object, MemoryFormat& format);
bool is_layout(PyObject* object);

}  // namespace wisp::python
