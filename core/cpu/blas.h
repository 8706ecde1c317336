// OpenBLAS, loaded when first needed: importing wisp does not pay for it.
#pragma once

#include <cstdint>

namespace wisp::cpu {

struct Blas {
  using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c,
                         int ldc);
  using Dgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                         const double* a, int lda, const double* b, int ldb, double beta, double* c,
                         int ldc);
  using Cgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k,
                         const void* alpha, const void* a, int lda, const void* b, int ldb,
                         const void* beta, void* c, int ldc);
  Sgemm sgemm;
  Dgemm dgemm;
  Cgemm cgemm, zgemm;
};

// Fails with a clear message if the library that was installed next to wisp is missing.
const Blas& blas();

// A function of that library by the name Fortran knows it by ("dgetrf"): see cpu/lapack.h.
void* blas_function(const char* name);

}  // namespace wisp::cpu
