// Finds runs of pointwise nodes, and products between them, that the interpreter may do in one step
// where tensors are small.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/specialised.h"
#include "ops/chain.h"

namespace wisp::graph {

struct NodeChain {
  std::vector<const Node*> members;  // constants may stand between them
  std::vector<const Value*> inputs, outputs;
  std::unique_ptr<ops::Chain> chain;  // null if there is nothing to gain
};

// The chain of pointwise nodes that begins at a node, as long as it can be.
NodeChain chain_from(const Node& first);
// One that also has products, those that it may have: at least one. It cannot be recorded.
NodeChain product_chain_from(const Node& first, const std::function<bool(const Node&)>& may_have);
// One of just these nodes, if they can be one: then it has all of them as members. Some of their
// outputs are known to be views, and some values are wanted though nobody reads them.
NodeChain chain_of(std::vector<const Node*> nodes,
                   const std::unordered_map<const Value*, ViewOf>& views,
                   const std::unordered_set<const Value*>& wanted);

}  // namespace wisp::graph
