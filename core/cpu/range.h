// Numbers at equal distances.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// out[i] = first + i * step, in double and then of that dtype.
void write_range(DType dtype, char* out, int64_t n, double first, double step);
// n numbers from `start` to `end`: filled from both sides, so that both are exact.
void write_spaced(DType dtype, char* out, int64_t n, double start, double end);

}  // namespace wisp::cpu
