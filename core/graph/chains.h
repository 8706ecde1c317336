// Finds runs of pointwise nodes that the interpreter may do in one step where tensors are small.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "ops/chain.h"

namespace wisp::graph {

struct NodeChain {
  std::vector<const Node*> members;  // constants may stand between them
  std::vector<const Value*> inputs, outputs;
  std::unique_ptr<ops::Chain> chain;  // null if there is nothing to gain
};

// The chain that begins at a node, as long as it can be.
NodeChain chain_from(const Node& first);

}  // namespace wisp::graph
