// Elements that are not zero: counting, finding and compacting them.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// How many elements of a strided tensor are not zero.
int64_t count_nonzero(IntSpan sizes, const Operand& mask);

// The coordinates of the elements that are not zero, row by row: out[k * sizes.size() + dim].
void nonzero(IntSpan sizes, const Operand& mask, int64_t* out);

// For every element of the mask that is not zero, in order, where its place is in a tensor of the
// same sizes and other strides. `out` has room for count_nonzero().
void nonzero_offsets(IntSpan sizes, const Operand& mask, IntSpan strides, int64_t* out);

}  // namespace wisp::cpu
