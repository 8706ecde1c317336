#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// For every element of consecutive rows the product of all others in its row; no division, so that
// zeros need no care. float32 or float64.
void product_of_others(DType dtype, int64_t rows, int64_t n, const char* in, char* out);

}  // namespace wisp::cpu
