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

// Slices that begin at `start`, `start + step` and so on of a dimension. Without a length they are
// of one element, and do not have the dimension.
struct SlicesAt {
  int64_t dim, start = 0, step = 1, length = 0;
};
// Up to the last that there is of so many. None if nobody may ask for their memory now.
Slices slices_of(const Tensor& stack, SlicesAt at, int64_t count);

// Copies into each the elements of a tensor of as many, which is contiguous, as one call each
// would.
void fill_slices(const Slices& slices, std::span<const Tensor> from);

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
