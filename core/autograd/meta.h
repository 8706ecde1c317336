// What autograd keeps on a tensor beyond its grad_fn, and how edges to tensors are found.
#pragma once

#include "autograd/node.h"

namespace wisp::autograd {

// The end of the graph at a leaf: adds what arrives to the leaf's .grad. Part of the leaf's meta,
// so that it is there as long as the tensor and no longer.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(TensorImpl* leaf) : Node(1) { leaf_ = leaf; }
  std::string name() const override { return "AccumulateGrad"; }
  void apply(TensorList& grads, TensorList& results) override;
};

using PostAccumulateHook = std::function<void(const Tensor& leaf)>;

struct AutogradMeta : Object {
  explicit AutogradMeta(TensorImpl* tensor) : accumulate(tensor) {}
  ~AutogradMeta() override;
  Tensor grad;
  AccumulateGrad accumulate;
  bool retains_grad = false;
  Node* retained_by = nullptr;  // the node that stores this tensor's gradient during backward
  std::vector<std::pair<uint64_t, PostAccumulateHook>> post_accumulate;
};

AutogradMeta& meta(const Tensor& tensor);  // made on first use
AutogradMeta* meta_if_any(const TensorImpl& tensor);

// The node that made a tensor, brought up to date if it is a view whose base was written in place.
// Null for leaves.
Node* grad_fn(const Tensor& tensor);
// grad_fn, or the leaf's AccumulateGrad; nowhere if the tensor does not require grad.
Edge grad_edge(const Tensor& tensor);
// Makes `tensor` the output of `node`.
void set_history(const Tensor& tensor, Node* node, uint32_t output);

Tensor grad(const Tensor& tensor);
void set_grad(const Tensor& tensor, Tensor grad);
void set_requires_grad(const Tensor& tensor, bool value);
void retain_grad(const Tensor& tensor);

// Adds to a gradient, in place if nobody else holds it.
void add_gradient(Tensor& sum, Tensor grad);

// The same data with no history; x.detach(), or x.data with a version count of its own.
Tensor detach(const Tensor& tensor, bool own_version = false);

}  // namespace wisp::autograd
