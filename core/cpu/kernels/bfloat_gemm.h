// A piece of a product of bfloat16 matrices, summed in float32. `Dot` says what operands are packed
// as, and how they are multiplied: widened one by one, or as pairs of neighbours along the depth,
// which is how processors with instructions for bfloat16 want them.
#pragma once

#include "cpu/bfloat_gemm.h"
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
static_assert(BFloatPiece::max_panel % bfloat_panel == 0);
static_assert(BFloatPiece::max_cols % bfloat_panel == 0);

typedef float FloatVector __attribute__((vector_size(bfloat_vector_bytes), aligned(4), may_alias));

WISP_INLINE uint32_t pair_of(BFloat16 low, BFloat16 high) {
  return low.bits | static_cast<uint32_t>(high.bits) << 16;
}

// Works on every processor.
struct Widened {
  using Packed = float;
  static constexpr int64_t step = 1;       // elements along the depth that are packed together
  static constexpr bool has_rows = false;  // whether it multiplies a single row by columns itself
  static WISP_INLINE Packed pack(const BFloat16* from, int64_t, int64_t) { return *from; }
  // Sums of rows x columns vectors go on by one step.
  template <int rows>
  static WISP_INLINE void add(FloatVector (&sums)[rows][bfloat_columns], const Packed* a,
                              const Packed* b) {
    FloatVector right[bfloat_columns];
    for (int j = 0; j < bfloat_columns; ++j)
      right[j] = *reinterpret_cast<const FloatVector*>(b + j * bfloat_width);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < bfloat_columns; ++j) sums[i][j] += a[i] * right[j];
    }
  }
};

// What pairs have in common, however they are multiplied.
struct Paired {
  typedef uint32_t Packed __attribute__((may_alias));
  static constexpr int64_t step = 2;
  static constexpr bool has_rows = false;
  static WISP_INLINE Packed pack(const BFloat16* from, int64_t stride, int64_t count) {
    return pair_of(*from, count > 1 ? from[stride] : BFloat16(0.0f));
  }
};

template <class Dot>
struct BFloatGemm {
  using Packed = typename Dot::Packed;
  static_assert(sizeof(Packed) == 4);
  static constexpr int64_t step = Dot::step;

  // `rows` numbers per step, of the rows that start at `first`.
  static void pack_left(const BFloatPiece& p, int64_t first, int64_t rows, int64_t k, int64_t depth,
                        Packed* out) {
    const BFloat16* from = p.a + first * p.a_row + k * p.a_col;
    int64_t d = 0;
    if (has_pairs(from, p.a_col, p.a_row)) {
      const auto* pairs = reinterpret_cast<const Packed*>(from);
      for (; d + step <= depth; d += step, ++pairs)
        for (int64_t i = 0; i < rows; ++i) *out++ = pairs[i * p.a_row / step];
    }
    for (; d + step <= depth; d += step) {
      const BFloat16* column = from + d * p.a_col;
      for (int64_t i = 0; i < rows; ++i) *out++ = Dot::pack(column + i * p.a_row, p.a_col, step);
    }
    for (int64_t i = 0; d < depth && i < rows; ++i)
      *out++ = Dot::pack(from + d * p.a_col + i * p.a_row, p.a_col, depth - d);
  }

  static int64_t rows_from(const BFloatPiece& p, int64_t first) {
    return p.rows - first < bfloat_rows ? p.rows - first : bfloat_rows;
  }

  // The same for all rows, which lie next to one another in memory: a whole column at once.
  static void pack_left_columns(const BFloatPiece& p, int64_t k, int64_t depth, Packed* out) {
    const int64_t steps = (depth + step - 1) / step;
    Packed column[BFloatPiece::max_rows];
    for (int64_t d = 0; d < steps; ++d) {
      const BFloat16* from = p.a + (k + d * step) * p.a_col;
      const int64_t count = depth - d * step;
#pragma GCC ivdep
      for (int64_t i = 0; i < p.rows; ++i) column[i] = Dot::pack(from + i, p.a_col, count);
      for (int64_t i = 0; i < p.rows; i += bfloat_rows) {
        Packed* to = out + i * steps + d * rows_from(p, i);
        for (int64_t r = 0; r < rows_from(p, i); ++r) to[r] = column[i + r];
      }
    }
  }

  // Whether numbers next to one another along the depth can be read as pairs: they lie in memory as
  // they would be packed.
  static bool has_pairs(const BFloat16* data, int64_t along, int64_t across) {
    return step == 2 && along == 1 && across % 2 == 0 &&
           reinterpret_cast<uintptr_t>(data) % sizeof(Packed) == 0;
  }

  // As many numbers as a panel is wide per step; columns past the end are zero.
  static void pack_right(const BFloatPiece& p, int64_t first, int64_t k, int64_t depth,
                         Packed* out) {
    const int64_t left = p.cols - first;
    const int64_t cols = left < bfloat_panel ? left : bfloat_panel;
    const BFloat16* from = p.b + k * p.b_row + first * p.b_col;
    if (cols < bfloat_panel) {
      for (int64_t i = 0; i < (depth + step - 1) / step * bfloat_panel; ++i) out[i] = 0;
    }
    if (has_pairs(p.b, p.b_row, p.b_col)) {
      const int64_t whole = depth / step;
      kernels().gemm_f32.transpose(reinterpret_cast<const float*>(from), p.b_col / step,
                                   reinterpret_cast<float*>(out), bfloat_panel, whole, cols);
      for (int64_t j = 0; whole * step < depth && j < cols; ++j)
        out[whole * bfloat_panel + j] = Dot::pack(from + j * p.b_col + whole * step, 1, 1);
    } else if (p.b_col == 1) {
      for (int64_t d = 0; d < depth; d += step) {
        const BFloat16* row = from + d * p.b_row;
        Packed* to = out + d / step * bfloat_panel;
#pragma GCC ivdep
        for (int64_t j = 0; j < cols; ++j) to[j] = Dot::pack(row + j, p.b_row, depth - d);
      }
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        const BFloat16* column = from + j * p.b_col;
        for (int64_t d = 0; d < depth; d += step)
          out[d / step * bfloat_panel + j] = Dot::pack(column + d * p.b_row, p.b_row, depth - d);
      }
    }
  }

  template <int rows>
  static void micro(const Packed* a, const Packed* b, int64_t steps, float* sums, bool goes_on) {
    FloatVector acc[rows][bfloat_columns] = {};
    for (int64_t d = 0; d < steps; ++d)
      Dot::template add<rows>(acc, a + d * rows, b + d * bfloat_panel);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < bfloat_columns; ++j) {
        auto* to =
            reinterpret_cast<FloatVector*>(sums + i * BFloatPiece::max_cols + j * bfloat_width);
        *to = goes_on ? *to + acc[i][j] : acc[i][j];
      }
    }
  }

  static void multiply(const BFloatPiece& p) {
    using Micro = void (*)(const Packed*, const Packed*, int64_t, float*, bool);
    static constexpr Micro micros[] = {micro<1>, micro<2>, micro<3>, micro<4>, micro<5>, micro<6>};
    static_assert(sizeof(micros) / sizeof(Micro) == bfloat_rows);
    Packed *left = reinterpret_cast<Packed*>(p.left), *right = reinterpret_cast<Packed*>(p.right);
    for (int64_t k = 0; k < p.depth; k += BFloatPiece::max_depth) {
      const int64_t rest = p.depth - k;
      const int64_t depth = rest < BFloatPiece::max_depth ? rest : BFloatPiece::max_depth;
      const int64_t steps = (depth + step - 1) / step;
      if (p.a_row == 1) {
        pack_left_columns(p, k, depth, left);
      } else {
        for (int64_t i = 0; i < p.rows; i += bfloat_rows)
          pack_left(p, i, rows_from(p, i), k, depth, left + i * steps);
      }
      for (int64_t j = 0; j < p.cols; j += bfloat_panel) {
        pack_right(p, j, k, depth, right);
        for (int64_t i = 0; i < p.rows; i += bfloat_rows)
          micros[rows_from(p, i) - 1](left + i * steps, right, steps,
                                      p.sums + i * BFloatPiece::max_cols + j, k > 0);
      }
    }
  }

  // A single row by a matrix, which is read once: packing would cost more than it saves.

  static constexpr int64_t lanes = 32;  // sums that go side by side; as many in every build

  static float dot(const float* a, const BFloat16* b, int64_t n) {
    float sums[lanes] = {};
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      for (int64_t l = 0; l < lanes; ++l) sums[l] += a[i + l] * static_cast<float>(b[i + l]);
    }
    for (int64_t l = 0; i < n; ++i, ++l) sums[l] += a[i] * static_cast<float>(b[i]);
    for (int64_t half = lanes / 2; half; half /= 2) {
      for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
    }
    return sums[0];
  }

  static void multiply_by_columns(const BFloatPiece& p, const float* a, float* sums) {
    for (int64_t k = 0; k < p.depth; k += BFloatPiece::max_depth) {
      const int64_t rest = p.depth - k;
      const int64_t depth = rest < BFloatPiece::max_depth ? rest : BFloatPiece::max_depth;
      for (int64_t j = 0; j < p.cols; ++j) {
        const float part = dot(a + k, p.b + j * p.b_col + k, depth);
        sums[j] = k > 0 ? sums[j] + part : part;
      }
    }
  }

  static void multiply_by_rows(const BFloatPiece& p, const float* a, float* sums) {
    for (int64_t j = 0; j < p.cols; ++j) sums[j] = 0;
    for (int64_t d = 0; d < p.depth; ++d) {
      const BFloat16* row = p.b + d * p.b_row;
#pragma GCC ivdep
      for (int64_t j = 0; j < p.cols; ++j) sums[j] += a[d] * static_cast<float>(row[j]);
    }
  }

  static bool multiply_directly(const BFloatPiece& p) {
    if (p.rows > 1 || (p.b_row != 1 && p.b_col != 1)) return false;
    if constexpr (Dot::has_rows) {
      if (p.b_row == 1 && p.a_col == 1) {
        Dot::multiply_row(p);
        return true;
      }
    }
    float* a = static_cast<float*>(p.left);
    for (int64_t d = 0; d < p.depth; ++d) a[d] = p.a[d * p.a_col];
    p.b_row == 1 ? multiply_by_columns(p, a, p.sums) : multiply_by_rows(p, a, p.sums);
    return true;
  }

  template <class Result>
  static void write_result(const BFloatPiece& p, Result* c) {
    for (int64_t i = 0; i < p.rows; ++i) {
      const float* from = p.sums + i * BFloatPiece::max_cols;
      Result* to = c + i * p.c_row;
      if (p.beta != 0) {
#pragma GCC ivdep
        for (int64_t j = 0; j < p.cols; ++j)
          to[j] = Result(p.alpha * from[j] + p.beta * static_cast<float>(to[j]));
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < p.cols; ++j) to[j] = Result(p.alpha * from[j]);
      }
    }
  }

  static void run(const BFloatPiece& p) {
    if (!multiply_directly(p)) multiply(p);
    p.float_c ? write_result(p, p.float_c) : write_result(p, p.c);
  }
};

}  // namespace

}  // namespace wisp::cpu
