// Products of slices of a tensor with one matrix, which a loop makes one by one, made together.
#pragma once

#include "dispatch/call.h"

namespace wisp::ops {

struct SliceProducts {
  const Tensor& stack;  // whose slices of `dim` are the left matrices, from `first` on
  int64_t dim, first;
  int64_t count;  // how many are wanted at most
  const Tensor& right;
  bool turned;  // the right matrix is the transposed of `right`
  Tensor bias;  // may be undefined
};

// One product per slice, the same to the last bit as single calls of mm or linear give. Undefined
// if they had better be made one by one: they are large, few, recorded or watched, or do not fit.
Tensor slice_products(const SliceProducts& wanted);

}  // namespace wisp::ops
