// Products of bfloat16 matrices without float32 copies of them.
#pragma once

#include <algorithm>

#include "base/half.h"
#include "cpu/gemm.h"

namespace wisp::cpu {

// C = beta * C + alpha * A * B, none of them empty, summed in float32 and rounded once. C is
// consecutive along its rows. With a row of bfloat16 (and beta 0) it is added to every row.
void bfloat_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                    const BFloat16* row = nullptr);
// The same into a C of float32.
void bfloat_product_to_float(const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                             float beta);

// What a kernel computes at once: some rows and columns of C, over the whole depth. Strides in
// elements.
struct BFloatPiece {
  static constexpr int64_t max_cols = 1024, max_steps = 384;
  static constexpr int64_t max_right = 256 * max_steps;  // packed of B at once; fits into a cache
  static constexpr int64_t max_panel = 64;               // columns next to one another there
  static constexpr int64_t tile_rows = 6;                // rows that are multiplied at once
  static constexpr int64_t left_tiles = 16;              // packed at once, if A has to be

  const BFloat16* a;
  int64_t a_row, a_col;
  const BFloat16* b;
  int64_t b_row, b_col;
  BFloat16* c;
  float* float_c;  // in place of c, which is null then
  int64_t c_row;
  int64_t rows, cols, depth;
  float alpha, beta;
  const BFloat16* row;  // null: none
  // Memory to work in. Packed numbers have four bytes, and at most max_steps of them follow one
  // another along the depth. `left` has room for left_size() numbers, `right` for all columns,
  // rounded up to whole panels; `sums`, which may be null if the depth is at most max_steps, for
  // all of the piece, likewise rounded up.
  static int64_t left_size(int64_t rows, int64_t depth);
  void *left, *right;
  float* sums;
  int64_t sums_row;
};

// Of tiles that are packed, or of a single row as it is.
inline int64_t BFloatPiece::left_size(int64_t rows, int64_t depth) {
  const int64_t tiles = std::min((rows + tile_rows - 1) / tile_rows, left_tiles);
  return std::max(tiles * tile_rows * std::min(depth, max_steps), rows == 1 ? depth : 0);
}

}  // namespace wisp::cpu
