// Large matrix products, cut into pieces for BLAS.
#pragma once

#include "cpu/gemm.h"

namespace wisp::cpu {

// For float, double and their complex numbers; nothing is empty and C's rows are consecutive.
template <class T>
void blas_gemm(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta);

}  // namespace wisp::cpu
