// Backward of a chain by the rules of its calls, as single nodes would run them.
#pragma once

#include "autograd/chain_node.h"

namespace wisp::autograd {

// Gradients along the edges of the node from those of its outputs.
void run_chain_rules(ChainNode& node, TensorList& grads, TensorList& results);

// The same; what the rules call is written down, if it is a chain.
ChainGradient learn_chain_rules(ChainNode& node, TensorList& grads, TensorList& results);

}  // namespace wisp::autograd
