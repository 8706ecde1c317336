// What nodes do beyond computing their outputs, as far as the table of operators tells.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// The value of a prim::Constant, or null.
const Datum* constant_of(const Value& value);
// The input for a parameter of the operator, or null if it has none of that name.
const Value* argument(const Node& node, std::string_view param);
// A constant argument that stands for "no": False, 0 or None.
bool is_off(const Value* argument);

// Of a node that calls an operator: whether it may draw random numbers.
bool may_draw(const Node& node);
// Of a node that calls an operator: whether it may write into its inputs or draw random numbers.
bool op_has_effects(const Node& node);
// The inputs whose contents it may change, without those it changes in its blocks.
std::vector<Value*> written_inputs(const Node& node);
// Whether it may change how other nodes behave that share no value with it: grad mode, or anything
// in a function that is called.
bool is_barrier(const Node& node);
// Whether it, or a node in one of its blocks, is one.
bool holds_barrier(const Node& node);

// Whether what a value holds can be changed: tensors, lists, dicts, objects.
bool is_mutable(const Type& type);

}  // namespace wisp::graph
