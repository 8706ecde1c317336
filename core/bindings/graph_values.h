// Python values <-> values of a graph, by their types in the graph.
#pragma once

#include "bindings/python.h"
#include "graph/graph.h"

namespace wisp::python {

// Whether a value may stand where the type is expected; on success `datum` is it. Lists and dicts
// are copied.
bool to_datum(PyObject* value, const graph::Type& type, graph::Datum& datum);
// Without a type to go by: as the value is. Fails for what no graph can hold.
graph::Datum to_datum(PyObject* value);
graph::TypeRef type_of(PyObject* value);
// A new reference. The type names the classes of named tuples; it may be null.
PyObject* to_python(const graph::Datum& value, const graph::Type* type);

}  // namespace wisp::python
