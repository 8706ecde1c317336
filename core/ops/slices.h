// Tensors that belong to the rounds of a loop, and their products with one matrix, which the loop
// makes one by one, made together.
#pragma once

#include "dispatch/call.h"

namespace wisp::ops {

// Tensors of one shape, one per round.
struct Slices {
  Tensor first;
  std::vector<char*> addresses = {};  // where their elements lie
};

// Slices number `start`, `start + step` and so on of a dimension, up to the last that there is of
// so many. None if nobody may ask for their memory now.
Slices slices_of(const Tensor& stack, int64_t dim, int64_t start, int64_t step, int64_t count);

struct SliceProducts {
  const Slices& left;
  const Tensor& right;
  bool turned;  // the right matrix is the transposed of `right`
  Tensor bias;  // may be undefined
};

// One product per slice, for as many of the first as had better be made at once: the same to the
// last bit as single calls of mm or linear give. Undefined if they had better be made one by one:
// they are large, few, recorded or watched, or do not fit.
Tensor slice_products(const SliceProducts& wanted);

}  // namespace wisp::ops
