// Between the values of programs in C++ and those of graphs.
#pragma once

#include "graph/graph.h"
#include "runtime/serialization/value.h"

namespace wisp::api::jit {

graph::Datum to_datum(const Value& value);
// Fails for what a Value cannot be: objects, dtypes, devices, complex numbers.
Value to_value(const graph::Datum& datum);

// Calls a function, or a method of `self`, its arguments checked and completed by their defaults.
Value call(const graph::Function& function, graph::ObjectData* self,
           const std::vector<Value>& inputs);

}  // namespace wisp::api::jit
