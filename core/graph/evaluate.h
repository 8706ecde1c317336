// Runs single nodes outside of a program, for passes.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// The outputs of an operator, builtin or constructor of lists, tuples and dicts for these inputs,
// or nothing if it fails or is no such node. Nothing is recorded for backward.
std::optional<std::vector<Datum>> evaluate(const Node& node, std::vector<Datum> inputs);

}  // namespace wisp::graph
