// Runs backward: on the calling thread, without recursion, newest node first.
#pragma once

#include "autograd/meta.h"

namespace wisp::autograd {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
};

// Adds the gradients of `outputs` (weighted by `grads`) to the .grad of the leaves they depend on; only
// to those of `inputs` if any are given.
void backward(std::span<const Tensor> outputs, std::span<const Tensor> grads, BackwardOptions options,
              std::span<const Tensor> inputs = {});

// Returns the gradients with respect to `inputs`, undefined where an output does not depend on one.
std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> grads,
                              std::span<const Tensor> inputs, BackwardOptions options);

// Calls f when the outermost backward of this thread that is now running has finished.
void when_backward_ends(std::function<void()> f);
bool in_backward();
// The node being run, for Node-aware hooks.
Node* current_node();

}  // namespace wisp::autograd
