// One step of Muon: momentum, made nearly orthogonal by a Newton-Schulz iteration.
#pragma once

#include <span>

#include "base/dtype.h"

namespace wisp::cpu {

// Matrices with consecutive rows, of one dtype: float32 or float64.
struct MuonStep {
  char* param;
  const char* grad;
  char* momentum;
  int64_t rows, cols;
  double rate, shrink;  // of the update, of the parameter
};
struct MuonSettings {
  double keep;                    // of the momentum
  bool nesterov;                  // use the momentum as it will be after the next step
  double linear, cubic, quintic;  // coefficients of the polynomial that is iterated
  int64_t iterations;
  double least_norm;  // to divide by
};
void muon(DType dtype, std::span<const MuonStep> steps, const MuonSettings& settings);

}  // namespace wisp::cpu
