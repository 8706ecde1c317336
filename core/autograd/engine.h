// Runs backward: on the calling thread, without recursion, newest node first.
#pragma once

#include "autograd/meta.h"

namespace wisp::autograd {

struct BackwardOptions {
  bool keep_graph = false;
  bool create_graph = false;
};

// Where backward starts or ends: a tensor, or its place in the graph if the tensor itself is gone.
struct Point {
  Point(const Tensor& t) : tensor(t) {}
  Point(Edge e) : place(std::move(e)) {}
  Edge edge() const { return tensor.defined() ? grad_edge(tensor) : place; }
  Tensor tensor;
  Edge place;
};

// Adds the gradients of `outputs` (weighted by `grads`) to the .grad of the leaves they depend on;
// only to those of `inputs` if any are given.
void backward(std::span<const Point> outputs, std::span<const Tensor> grads,
              BackwardOptions options, std::span<const Point> inputs = {});

// Returns the gradients with respect to `inputs`, undefined where an output does not depend on one.
std::vector<Tensor> gradients(std::span<const Point> outputs, std::span<const Tensor> grads,
                              std::span<const Point> inputs, BackwardOptions options);

// Lets others ask for these by dispatch/derivatives.h.
void install_derivatives();

// Calls f when the outermost backward of this thread that is now running has finished.
void when_backward_ends(std::function<void()> f);
bool in_backward();
// The node being run, for Node-aware hooks.
Node* current_node();

// Set while a backward runs that was asked for the gradients of some tensors only.
extern constinit WISP_THREAD_LOCAL bool backward_is_partial;
// Whether such a backward needs what goes along this edge.
bool edge_is_needed(const Edge& edge);

}  // namespace wisp::autograd
