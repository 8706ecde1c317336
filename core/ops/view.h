// Geometry that views share with the operators that undo them.
#pragma once

#include "base/small_vector.h"

namespace wisp::ops {

struct Diagonal {
  Dims sizes, strides;  // the other dimensions, then the diagonal
  int64_t offset;
};

// The diagonal of two dimensions, `shift` places above the main one.
Diagonal diagonal_of(IntSpan sizes, IntSpan strides, int64_t shift, int64_t dim1, int64_t dim2,
                     const char* op);

}  // namespace wisp::ops
