// Numbers at equal distances.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// out[i] = first + i * step, in double and then of that dtype.
void write_range(DType dtype, char* out, int64_t n, double first, double step);

}  // namespace wisp::cpu
