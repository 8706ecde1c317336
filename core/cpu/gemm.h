// Matrix products C = beta * C + alpha * A * B.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// A matrix in memory: element (i, j) is data[i * row + j * col].
struct Matrix {
  char* data;
  int64_t rows, cols;
  int64_t row, col;  // strides in elements
};

// For float32, float64, complex64 and complex128. C must not overlap A or B, and be consecutive along
// one of its dimensions. A and B may have any strides.
void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, double alpha, double beta);

}  // namespace wisp::cpu
