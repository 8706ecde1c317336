// Products of bfloat16 matrices without float32 copies of them.
#pragma once

#include "base/half.h"
#include "cpu/gemm.h"

namespace wisp::cpu {

// C = beta * C + alpha * A * B, none of them empty, summed in float32 and rounded once. C is
// consecutive along its rows.
void bfloat_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta);
// The same into a C of float32.
void bfloat_product_to_float(const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                             float beta);

// What a kernel computes at once: some rows and columns of C, over the whole depth. Strides in
// elements.
struct BFloatPiece {
  static constexpr int64_t max_rows = 384, max_cols = 256,
                           max_depth = 256;  // depth: packed at once
  static constexpr int64_t max_panel = 64;   // columns packed next to one another

  const BFloat16* a;
  int64_t a_row, a_col;
  const BFloat16* b;
  int64_t b_row, b_col;
  BFloat16* c;
  float* float_c;  // in place of c, which is null then
  int64_t c_row;
  int64_t rows, cols, depth;
  float alpha, beta;
  // Memory to work in: room for rows x max_depth (of a single row: for all of it) and for max_depth
  // x max_panel packed numbers; and for the sums, whose rows are max_cols apart.
  void *left, *right;
  float* sums;
};

}  // namespace wisp::cpu
