// A piece of a product of bfloat16 matrices, summed in float32: operands are packed as pairs of
// neighbours along the summed dimension, which is how processors with instructions for bfloat16
// want them. `Dot` says what a pair of the left matrix is kept as, and how it is multiplied.
#pragma once

#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

#if defined(__AVX512F__)
constexpr int bfloat_vector_bytes = 64, bfloat_columns = 4;
#elif defined(__AVX__)
constexpr int bfloat_vector_bytes = 32, bfloat_columns = 2;
#else
constexpr int bfloat_vector_bytes = 16, bfloat_columns = 2;
#endif
constexpr int bfloat_rows = 6, bfloat_width = bfloat_vector_bytes / 4;
constexpr int bfloat_panel = bfloat_columns * bfloat_width;
static_assert(BFloatPiece::max_cols % bfloat_panel == 0 &&
              BFloatPiece::max_rows % bfloat_rows == 0);

typedef float FloatVector __attribute__((vector_size(bfloat_vector_bytes), aligned(4), may_alias));
typedef uint32_t PairVector
    __attribute__((vector_size(bfloat_vector_bytes), aligned(4), may_alias));

WISP_INLINE uint32_t pair_of(BFloat16 low, BFloat16 high) {
  return low.bits | static_cast<uint32_t>(high.bits) << 16;
}

// Works on every processor: a bfloat16 is the upper half of a float32.
struct WidenedPairs {
  struct Left {
    float low, high;
  };
  static WISP_INLINE Left left(BFloat16 low, BFloat16 high) { return {low, high}; }
  // Sums of rows x columns vectors go on by one pair.
  template <int rows>
  static WISP_INLINE void add(FloatVector (&sums)[rows][bfloat_columns], const Left* a,
                              const uint32_t* b) {
    FloatVector right[bfloat_columns];
    for (int j = 0; j < bfloat_columns; ++j)
      right[j] = FloatVector(*reinterpret_cast<const PairVector*>(b + j * bfloat_width) << 16);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < bfloat_columns; ++j) sums[i][j] += a[i].low * right[j];
    }
    for (int j = 0; j < bfloat_columns; ++j)
      right[j] =
          FloatVector(*reinterpret_cast<const PairVector*>(b + j * bfloat_width) >> 16 << 16);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < bfloat_columns; ++j) sums[i][j] += a[i].high * right[j];
    }
  }
};

template <class Dot>
struct BFloatGemm {
  using Left = typename Dot::Left;
  static_assert(sizeof(Left) <= BFloatPiece::left_bytes);

  // One row of `rows` pairs per pair of columns, of the rows [first, first + rows).
  static void pack_left(const BFloatPiece& p, int64_t first, int64_t rows, int64_t k, int64_t depth,
                        Left* out) {
    for (int64_t i = 0; i < rows; ++i) {
      const BFloat16* from = p.a + (first + i) * p.a_row + k * p.a_col;
      int64_t d = 0;
      for (; d + 1 < depth; d += 2)
        out[d / 2 * rows + i] = Dot::left(from[d * p.a_col], from[(d + 1) * p.a_col]);
      if (d < depth) out[d / 2 * rows + i] = Dot::left(from[d * p.a_col], BFloat16(0.0f));
    }
  }

  // One row of a panel's width per pair of rows; columns past the end are zero.
  static void pack_right(const BFloatPiece& p, int64_t first, int64_t k, int64_t depth,
                         uint32_t* out) {
    const int64_t left = p.cols - first;
    const int64_t cols = left < bfloat_panel ? left : bfloat_panel;
    const BFloat16* from = p.b + k * p.b_row + first * p.b_col;
    if (cols < bfloat_panel) {
      for (int64_t i = 0; i < (depth + 1) / 2 * bfloat_panel; ++i) out[i] = 0;
    }
    if (p.b_row == 1) {  // pairs are neighbours in memory
      for (int64_t j = 0; j < cols; ++j) {
        const BFloat16* column = from + j * p.b_col;
        for (int64_t d = 0; d + 1 < depth; d += 2)
          __builtin_memcpy(out + d / 2 * bfloat_panel + j, column + d, 4);
      }
    } else {
      for (int64_t d = 0; d + 1 < depth; d += 2) {
        const BFloat16 *low = from + d * p.b_row, *high = low + p.b_row;
        uint32_t* to = out + d / 2 * bfloat_panel;
        if (p.b_col == 1) {
#pragma GCC ivdep
          for (int64_t j = 0; j < cols; ++j) to[j] = pair_of(low[j], high[j]);
        } else {
          for (int64_t j = 0; j < cols; ++j) to[j] = pair_of(low[j * p.b_col], high[j * p.b_col]);
        }
      }
    }
    if (depth % 2 == 0) return;
    const BFloat16* last = from + (depth - 1) * p.b_row;
    uint32_t* to = out + depth / 2 * bfloat_panel;
    for (int64_t j = 0; j < cols; ++j) to[j] = last[j * p.b_col].bits;
  }

  template <int rows>
  static void micro(const Left* a, const uint32_t* b, int64_t pairs, float* sums, bool goes_on) {
    FloatVector acc[rows][bfloat_columns] = {};
    for (int64_t d = 0; d < pairs; ++d)
      Dot::template add<rows>(acc, a + d * rows, b + d * bfloat_panel);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < bfloat_columns; ++j) {
        auto* to =
            reinterpret_cast<FloatVector*>(sums + i * BFloatPiece::max_cols + j * bfloat_width);
        *to = goes_on ? *to + acc[i][j] : acc[i][j];
      }
    }
  }

  static void round_to_result(const BFloatPiece& p) {
    for (int64_t i = 0; i < p.rows; ++i) {
      const float* from = p.sums + i * BFloatPiece::max_cols;
      BFloat16* to = p.c + i * p.c_row;
      if (p.beta != 0) {
        for (int64_t j = 0; j < p.cols; ++j)
          to[j] = BFloat16(p.alpha * from[j] + p.beta * static_cast<float>(to[j]));
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < p.cols; ++j) to[j] = BFloat16(p.alpha * from[j]);
      }
    }
  }

  static void run(const BFloatPiece& p) {
    using Micro = void (*)(const Left*, const uint32_t*, int64_t, float*, bool);
    static constexpr Micro micros[] = {micro<1>, micro<2>, micro<3>, micro<4>, micro<5>, micro<6>};
    static_assert(sizeof(micros) / sizeof(Micro) == bfloat_rows);
    Left* left = static_cast<Left*>(p.left);
    for (int64_t k = 0; k < p.depth; k += BFloatPiece::max_depth) {
      const int64_t rest = p.depth - k;
      const int64_t depth = rest < BFloatPiece::max_depth ? rest : BFloatPiece::max_depth;
      const int64_t pairs = (depth + 1) / 2;
      for (int64_t i = 0; i < p.rows; i += bfloat_rows) {
        const int64_t rows = p.rows - i < bfloat_rows ? p.rows - i : bfloat_rows;
        pack_left(p, i, rows, k, depth, left + i * pairs);
      }
      for (int64_t j = 0; j < p.cols; j += bfloat_panel) {
        pack_right(p, j, k, depth, p.right);
        for (int64_t i = 0; i < p.rows; i += bfloat_rows) {
          const int64_t rows = p.rows - i < bfloat_rows ? p.rows - i : bfloat_rows;
          micros[rows - 1](left + i * pairs, p.right, pairs, p.sums + i * BFloatPiece::max_cols + j,
                           k > 0);
        }
      }
    }
    round_to_result(p);
  }
};

}  // namespace

}  // namespace wisp::cpu
