// wisp.Generator
#pragma once

#include "base/generator.h"
#include "bindings/python.h"

namespace wisp::python {

void add_generator_type(PyObject* module);
bool is_generator(PyObject* object);
Generator* generator_of(PyObject* object);
PyObject* wrap(Generator& generator);  // a new object of the same stream

}  // namespace wisp::python
