// Groups of nodes that are to run as one.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// Puts nodes of a block, in their order, into a prim::FusionGroup that stands where the last of
// them stood: what they read has to be the same there.
void make_group(Graph& graph, const std::vector<Node*>& members);

}  // namespace wisp::graph
