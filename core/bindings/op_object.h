// Python functions and methods made from the operator table.
#pragma once

#include "bindings/arguments.h"

namespace wisp::python {

// Adds every public operator: functions to the namespaces below `module`, methods to Tensor.
void add_operators(PyObject* module);

// Runs a parsed call and wraps its results.
PyObject* run(const Signature& signature, Spelling spelling, PyObject* self, Parsed& parsed);

}  // namespace wisp::python
