#pragma once

#include "cpu/pointwise.h"

namespace wisp::cpu {

// The sum of what pointwise() would write, which is not kept: `out` has no memory, but consecutive
// strides and the compute dtype, float32 or float64.
double pointwise_sum(const Pointwise& call);

}  // namespace wisp::cpu
