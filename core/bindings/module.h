// The parts of the extension module wisp._C, each in its file.
#pragma once

#include "bindings/python.h"

namespace wisp::python {

void add_autograd_functions(PyObject* module);
void add_grad_modes(PyObject* module);
void add_saved_hooks(PyObject* module);
void add_overrides(PyObject* module);
void add_collected_functions(PyObject* module);
void add_creation_functions(PyObject* module);
void add_interop_functions(PyObject* module);
void add_lazy_functions(PyObject* module);
void add_optimizer_functions(PyObject* module);
void add_runtime_functions(PyObject* module);
void add_sample_keys(PyObject* module);
void add_transforms(PyObject* module);
void add_jit(PyObject* module);

}  // namespace wisp::python
