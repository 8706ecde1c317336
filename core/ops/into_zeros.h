// Derivative rules of operators that pick elements: gradients go back into zeros.
#pragma once

#include "dispatch/call.h"
#include "dispatch/mode.h"
#include "ops/ops.h"

namespace wisp::ops {

// The result of an operator that writes into its first operand, here zeros of the shape of the
// rule's first input. Inside vmap samples share these zeros while what is written differs, so that
// they cannot be written in place.
template <OpName Name, class... Values>
Tensor put_into_zeros(const Backward& b, const Values&... values) {
  const Tensor result = zeros(b.shape(0), b.grad().dtype());
  if (mode.transforms) return invoke<Name>(result, values...);
  return invoke_in_place<Name>(result, values...);
}

}  // namespace wisp::ops
