// oneDNN's product of matrices of float32.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// False where the library is missing, or no faster than OpenBLAS: on processors without AVX-512.
// Loads it when first called.
bool has_onednn_gemm();

// c = alpha op(a) op(b) + beta c for matrices in row-major order, on the calling thread alone.
struct FloatProduct {
  bool turns_a, turns_b;  // op: transposes
  int64_t m, n, k;
  float alpha;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float beta;
  float* c;
  int64_t ldc;
};
void onednn_gemm(const FloatProduct& job);

}  // namespace wisp::cpu
