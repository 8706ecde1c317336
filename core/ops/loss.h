// What losses share: how they are added up.
#pragma once

#include "dispatch/op_def.h"

namespace wisp::ops {

enum class Reduction : int64_t { none, mean, sum };

// From the arguments `reduction` and, if not None, the older `size_average` and `reduce`, which
// stand at these positions; 0 means that there is no such argument.
Reduction reduction_of(const Args& args, int reduction, int size_average = 0, int reduce = 0);

Tensor reduced(const Tensor& loss, Reduction how);

}  // namespace wisp::ops
