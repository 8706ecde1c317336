// Backward for those who know nothing of the room `autograd`, which sets this at start.
#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace wisp {

struct Derivatives {
  // The gradients of `outputs`, weighted by `weights`, with respect to `inputs`: undefined where no
  // output depends on one.
  std::vector<Tensor> (*gradients)(std::span<const Tensor> outputs, std::span<const Tensor> weights,
                                   std::span<const Tensor> inputs, bool keep_graph,
                                   bool create_graph) = nullptr;
  // Adds them to those of the leaves instead.
  void (*backward)(std::span<const Tensor> outputs, std::span<const Tensor> weights,
                   bool keep_graph, bool create_graph) = nullptr;
  Tensor (*gradient_of)(const Tensor& leaf) = nullptr;  // what has been added up; may be undefined
};
inline Derivatives derivatives;

}  // namespace wisp
