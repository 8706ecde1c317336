// Running a plan on one row of consecutive numbers.
#pragma once

#include "cpu/fft_plan.h"

namespace wisp::cpu {

// What happens to the numbers on the way in and out: factors of imaginary parts (-1 conjugates),
// and of the result. Conjugating both makes the transform go backward.
template <class T>
struct FftEnds {
  T in_sign = 1, out_sign = 1, scale = 1;
};

// `in` and `out` are complex numbers and may be the same memory.
template <class T>
void fft_row(const FftPlan<T>& plan, const T* in, T* out, const FftEnds<T>& ends);

}  // namespace wisp::cpu
