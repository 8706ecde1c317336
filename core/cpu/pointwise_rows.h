// Pointwise calls on short rows and one number for each of them.
#pragma once

#include "cpu/pointwise.h"

namespace wisp::cpu {

// f(row, number) for `rows` rows of `length` consecutive elements; numbers lie `step` bytes apart.
// `out` is not `in`.
using RowsByNumbersFn = void (*)(void* out, const void* in, const char* numbers, int64_t step,
                                 int64_t rows, int64_t length);

// Sums, differences, products and quotients, of float32 and float64.
struct RowsByNumbers {
  RowsByNumbersFn add[2], sub[2], mul[2], div[2];
};

// Does the call, whose last input is the same along the plan's last dimension, if it is one of
// these.
bool try_rows_by_numbers(const Pointwise& call, const LoopPlan& plan);

}  // namespace wisp::cpu
