// Scans that derivatives of other families use.
#pragma once

#include "tensor/tensor.h"

namespace wisp::ops {

// For every element, the product of all others along a dimension. Differentiable, zeros or not.
Tensor product_of_others(const Tensor& self, int64_t dim);

}  // namespace wisp::ops
