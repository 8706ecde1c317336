// One step of Adafactor, which keeps mean squares of rows and columns in place of those of
// elements.
#pragma once

#include <span>

#include "base/dtype.h"

namespace wisp::cpu {

// Consecutive memory of one dtype, float32 or float64.
struct AdafactorStep {
  char* param;
  const char* grad;
  char *rows, *columns;             // mean squares of each row and each column; or
  char* squares;                    // of each element, else null
  int64_t matrices, height, width;  // a vector is one row
  double take;                      // the share of the newest squares in the means
  double rate;                      // relative to the size of the parameter; negative: uphill
  double shrink;                    // of the parameter, before anything else
  double least;                     // mean square root to divide by
  double least_size;                // of the parameter
  double limit;                     // of the root mean square of an update before the rate
};
void adafactor(DType dtype, std::span<const AdafactorStep> steps);

}  // namespace wisp::cpu
