// A piece of a product of bfloat16 matrices, summed in float32. `Dot` says what operands are packed
// as, and how they are multiplied: widened one by one, or as pairs of neighbours along the depth,
// which is how processors with instructions for bfloat16 want them.
//
// For as many terms as fit, B is brought into panels as wide as the tiles (they stay in the
// second-level cache), and the rows of A go over them, a few at a time. Every element of C is made
// by the same operations in the same order wherever the cuts are.
#pragma once

#include <cstring>
#include <utility>

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
constexpr int bfloat_rows = BFloatPiece::tile_rows, bfloat_width = bfloat_vector_bytes / 4;
static_assert(bfloat_rows == 6);
constexpr int bfloat_panel = bfloat_columns * bfloat_width;
static_assert(BFloatPiece::max_panel % bfloat_panel == 0);
static_assert(BFloatPiece::max_cols % bfloat_panel == 0);

typedef float FloatVector __attribute__((vector_size(bfloat_vector_bytes), aligned(4), may_alias));
typedef uint32_t PairVector
    __attribute__((vector_size(bfloat_vector_bytes), aligned(4), may_alias));
typedef uint16_t HalfVector
    __attribute__((vector_size(bfloat_vector_bytes / 2), aligned(2), may_alias));

WISP_INLINE int64_t bfloat_parts(int64_t n, int64_t each) { return (n + each - 1) / each; }

// Works on every processor.
struct Widened {
  using Packed = float;
  static constexpr int64_t step = 1;         // elements along the depth that are packed together
  static constexpr bool reads_rows = false;  // of A where they lie, in whole steps
  static constexpr bool narrows = false;     // whether panels may have fewer vectors
  // Multiplies a single row by columns, if it has a way of its own.
  static bool multiply_row(const BFloatPiece&, float*) { return false; }
  static WISP_INLINE Packed pack(const BFloat16* from, int64_t, int64_t) { return *from; }
  // n of them, next to one another across the depth.
  static void pack_across(const BFloat16* from, int64_t, int64_t, int64_t n, Packed* out) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  }
  // Six of them, of which eight can be read; may write eight.
  static WISP_INLINE void pack_six(const BFloat16* from, int64_t, Packed* out) {
    for (int i = 0; i < 6; ++i) out[i] = from[i];
  }
  // Sums of rows x vectors go on by one step. Rows of A are `row` bytes apart.
  template <int rows, int vectors>
  static WISP_INLINE void add(FloatVector (&sums)[rows][vectors], const char* a, int64_t row,
                              const Packed* b) {
    FloatVector right[vectors];
    for (int j = 0; j < vectors; ++j)
      right[j] = *reinterpret_cast<const FloatVector*>(b + j * bfloat_width);
    for (int i = 0; i < rows; ++i) {
      const float left = *reinterpret_cast<const float*>(a + i * row);
      for (int j = 0; j < vectors; ++j) sums[i][j] += left * right[j];
    }
  }
  static void round(const float* from, int64_t n, BFloat16* to) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
};

// What pairs have in common, however they are multiplied.
struct Paired {
  typedef uint32_t Packed __attribute__((may_alias, aligned(2)));
  static constexpr int64_t step = 2;
  static constexpr bool reads_rows = true, narrows = true;
  static bool multiply_row(const BFloatPiece&, float*) { return false; }
  static WISP_INLINE Packed pack(const BFloat16* from, int64_t stride, int64_t count) {
    return from->bits | (count > 1 ? static_cast<uint32_t>(from[stride].bits) << 16 : 0u);
  }
  static void pack_across(const BFloat16* from, int64_t stride, int64_t count, int64_t n,
                          Packed* out) {
    int64_t i = 0;
    for (; count > 1 && i + bfloat_width <= n; i += bfloat_width) {
      const auto low = *reinterpret_cast<const HalfVector*>(from + i);
      const auto high = *reinterpret_cast<const HalfVector*>(from + i + stride);
      *reinterpret_cast<PairVector*>(out + i) = __builtin_convertvector(low, PairVector) |
                                                __builtin_convertvector(high, PairVector) << 16;
    }
    for (; i < n; ++i) out[i] = pack(from + i, stride, count);
  }
  static WISP_INLINE void pack_six(const BFloat16* from, int64_t stride, Packed* out) {
    typedef uint16_t Eight __attribute__((vector_size(16)));
    Eight low, high;
    std::memcpy(&low, from, sizeof(Eight));
    std::memcpy(&high, from + stride, sizeof(Eight));
    const Eight first = __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11);
    const Eight last = __builtin_shufflevector(low, high, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(out, &first, sizeof(Eight));
    std::memcpy(out + 4, &last, sizeof(Eight));
  }
  static void round(const float* from, int64_t n, BFloat16* to) { Widened::round(from, n, to); }
};

template <class Dot>
struct BFloatGemm {
  using Packed = typename Dot::Packed;
  static_assert(sizeof(Packed) == 4);
  static constexpr int64_t step = Dot::step;
  static constexpr int64_t max_depth = step * BFloatPiece::max_steps;

  // Terms of the sums that are added up in registers.
  struct Slab {
    int64_t first, depth;
    int64_t steps() const { return bfloat_parts(depth, step); }
  };

  // Columns that are packed next to one another; what is missing of the last vector is zero.
  struct Panel {
    int64_t first, cols, vectors;
    int64_t width() const { return vectors * bfloat_width; }
  };

  struct Panels {
    explicit Panels(const BFloatPiece& p) : count(bfloat_parts(p.cols, bfloat_panel)) {
      const int64_t vectors = bfloat_parts(p.cols, bfloat_width);
      for (int64_t i = 0, first = 0; i < count; ++i) {
        const int64_t end = Dot::narrows ? vectors * (i + 1) / count : (i + 1) * bfloat_columns;
        const int64_t rest = p.cols - first * bfloat_width, width = (end - first) * bfloat_width;
        all[i] = {first * bfloat_width, rest < width ? rest : width, end - first};
        first = end;
      }
    }
    const Panel* begin() const { return all; }
    const Panel* end() const { return all + count; }

    int64_t count;
    Panel all[BFloatPiece::max_cols / bfloat_panel];
  };

  // Rows of A: where the next row and the next step are, in bytes.
  struct Left {
    const char* data;
    int64_t row, step;
  };

  // Whether numbers next to one another along the depth can be read as pairs: they lie in memory as
  // they would be packed.
  static bool has_pairs(const BFloat16* data, int64_t along, int64_t across) {
    return step == 2 && along == 1 && across % 2 == 0 &&
           reinterpret_cast<uintptr_t>(data) % sizeof(Packed) == 0;
  }

  template <int to_write, int locality>
  static WISP_INLINE void fetch(const void* data, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64)
      __builtin_prefetch(static_cast<const char*>(data) + at, to_write, locality);
  }

  static bool reads_rows(const BFloatPiece& p) {
    return Dot::reads_rows && p.a_col == 1 && p.depth % step == 0;
  }

  // What follows in some rows of A, tile after tile, of each tile_rows numbers per step. Columns
  // lie far apart: they are asked for some time before, and few stay in the first-level cache
  // together, for all tiles.
  static void pack_left(const BFloatPiece& p, int64_t first, int64_t rows, const Slab& slab) {
    constexpr int64_t at_once = 8, ahead = 4 * at_once;
    const BFloat16* from = p.a + first * p.a_row + slab.first * p.a_col;
    for (int64_t begin = 0; begin < slab.depth; begin += at_once) {
      const int64_t end = slab.depth - begin < at_once ? slab.depth : begin + at_once;
      for (int64_t d = begin; p.a_row == 1 && d < end; ++d)
        fetch<0, 2>(from + (d + ahead) * p.a_col, rows * sizeof(BFloat16));
      for (int64_t tile = 0; tile < rows; tile += bfloat_rows) {
        Packed* out = static_cast<Packed*>(p.left) + tile * slab.steps();
        for (int64_t d = begin; d < end; d += step)
          pack_tile(p, from + d * p.a_col + tile * p.a_row, p.rows - first - tile, slab.depth - d,
                    out + d / step * bfloat_rows);
      }
    }
  }

  // Of one tile of `rows` rows or more, what belongs to one step.
  static WISP_INLINE void pack_tile(const BFloatPiece& p, const BFloat16* from, int64_t rows,
                                    int64_t count, Packed* out) {
    if (p.a_row == 1 && rows >= 8 && count > step) return Dot::pack_six(from, p.a_col, out);
    for (int64_t i = 0; i < bfloat_rows && i < rows; ++i)
      out[i] = Dot::pack(from + i * p.a_row, p.a_col, count);
  }

  static void pack_right(const BFloatPiece& p, const Panel& panel, const Slab& slab, Packed* out) {
    const BFloat16* from = p.b + slab.first * p.b_row + panel.first * p.b_col;
    const int64_t cols = panel.cols, width = panel.width();
    if (cols < width) {
      for (int64_t i = 0; i < slab.steps() * width; ++i) out[i] = 0;
    }
    if (has_pairs(from, p.b_row, p.b_col)) {
      const int64_t whole = slab.depth / step;
      kernels().gemm_f32.transpose(reinterpret_cast<const float*>(from), p.b_col / step,
                                   reinterpret_cast<float*>(out), width, whole, cols);
      for (int64_t j = 0; whole * step < slab.depth && j < cols; ++j)
        out[whole * width + j] = Dot::pack(from + j * p.b_col + whole * step, 1, 1);
      return;
    }
    for (int64_t d = 0; d < slab.depth; d += step, out += width, from += step * p.b_row) {
      if (p.b_col == 1) {
        Dot::pack_across(from, p.b_row, slab.depth - d, cols, out);
      } else {
        for (int64_t j = 0; j < cols; ++j)
          out[j] = Dot::pack(from + j * p.b_col, p.b_row, slab.depth - d);
      }
    }
  }

  template <int rows, int vectors>
  static void micro(const Left& a, const Packed* b, int64_t steps, float* sums, int64_t sums_row,
                    bool goes_on) {
    FloatVector acc[rows][vectors];  // in registers, which takes loops that are unrolled
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) acc[i][j] = FloatVector{};
    }
    const char* left = a.data;
    for (int64_t d = 0; d < steps; ++d, left += a.step, b += vectors * bfloat_width)
      Dot::template add<rows, vectors>(acc, left, a.row, b);
#pragma GCC unroll 6
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        // Named, because `auto` would forget that it need not be aligned.
        FloatVector* to = reinterpret_cast<FloatVector*>(sums + i * sums_row + j * bfloat_width);
        if (goes_on) acc[i][j] += *to;
        *to = acc[i][j];
      }
    }
  }

  using Micro = void (*)(const Left&, const Packed*, int64_t, float*, int64_t, bool);
  template <size_t... at>
  static Micro micro_for(int64_t rows, int64_t vectors, std::index_sequence<at...>) {
    static constexpr Micro all[] = {micro < at / bfloat_columns + 1,
                                    Dot::narrows ? at % bfloat_columns + 1 : bfloat_columns > ...};
    return all[(rows - 1) * bfloat_columns + vectors - 1];
  }

  // A tile of C comes out of memory while it is computed.
  static void fetch_result(const BFloatPiece& p, int64_t first, int64_t rows, const Panel& panel) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = (first + i) * p.c_row + panel.first;
      p.float_c ? fetch<1, 3>(p.float_c + at, panel.cols * sizeof(float))
                : fetch<1, 3>(p.c + at, panel.cols * sizeof(BFloat16));
    }
  }

  // Some rows of the product with all panels.
  static void multiply_tile(const BFloatPiece& p, const Panels& panels, const Slab& slab,
                            int64_t first, int64_t rows, const Left& left) {
    alignas(64) float tile[bfloat_rows * bfloat_panel];
    const bool goes_on = slab.first > 0, is_last = slab.first + slab.depth == p.depth;
    const bool whole = !goes_on && is_last;
    const int64_t sums_row = whole ? bfloat_panel : p.sums_row;
    for (const Panel& panel : panels) {
      float* sums = whole ? tile : p.sums + first * sums_row + panel.first;
      if (is_last) fetch_result(p, first, rows, panel);
      micro_for(rows, panel.vectors, std::make_index_sequence<bfloat_rows * bfloat_columns>())(
          left, static_cast<const Packed*>(p.right) + panel.first * slab.steps(), slab.steps(),
          sums, sums_row, goes_on);
      for (int64_t i = 0; is_last && i < rows; ++i)
        write(p, first + i, panel.first, panel.cols, sums + i * sums_row);
    }
  }

  static Left left_of(const BFloatPiece& p, const Slab& slab, int64_t first) {
    constexpr int64_t item = sizeof(BFloat16), packed = sizeof(Packed);
    if (reads_rows(p)) {
      const BFloat16* from = p.a + first * p.a_row + slab.first;
      return {reinterpret_cast<const char*>(from), p.a_row * item, packed};
    }
    constexpr int64_t at_once = BFloatPiece::left_tiles * bfloat_rows;
    const int64_t rest = p.rows - first, done = first % at_once;
    if (done == 0) pack_left(p, first, rest < at_once ? rest : at_once, slab);
    return {static_cast<const char*>(p.left) + done * slab.steps() * packed, packed,
            bfloat_rows * packed};
  }

  static void multiply(const BFloatPiece& p) {
    const Panels panels(p);
    const int64_t slabs = bfloat_parts(p.depth, max_depth);
    const int64_t depth = bfloat_parts(bfloat_parts(p.depth, slabs), step) * step;
    for (int64_t k = 0; k < p.depth; k += depth) {
      const Slab slab{k, p.depth - k < depth ? p.depth - k : depth};
      for (const Panel& panel : panels)
        pack_right(p, panel, slab, static_cast<Packed*>(p.right) + panel.first * slab.steps());
      for (int64_t i = 0; i < p.rows; i += bfloat_rows) {
        const int64_t rows = p.rows - i < bfloat_rows ? p.rows - i : bfloat_rows;
        multiply_tile(p, panels, slab, i, rows, left_of(p, slab, i));
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
    constexpr int64_t most = 256;
    for (int64_t k = 0; k < p.depth; k += most) {
      const int64_t depth = p.depth - k < most ? p.depth - k : most;
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
    float sums[BFloatPiece::max_cols];
    if (!Dot::multiply_row(p, sums)) {
      float* a = static_cast<float*>(p.left);
      for (int64_t d = 0; d < p.depth; ++d) a[d] = p.a[d * p.a_col];
      p.b_row == 1 ? multiply_by_columns(p, a, sums) : multiply_by_rows(p, a, sums);
    }
    write(p, 0, 0, p.cols, sums);
    return true;
  }

  // Some columns of a row of C, whose sums are changed on the way.
  __attribute__((noinline)) static void write(const BFloatPiece& p, int64_t row, int64_t col,
                                              int64_t cols, float* sums) {
    const int64_t at = row * p.c_row + col;
    p.float_c ? complete(p, col, cols, sums, p.float_c + at)
              : complete(p, col, cols, sums, p.c + at);
  }

  template <class Result>
  static void complete(const BFloatPiece& p, int64_t col, int64_t cols, float* sums, Result* to) {
    if (p.alpha != 1) {
      for (int64_t j = 0; j < cols; ++j) sums[j] *= p.alpha;
    }
    if (p.row) {
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) sums[j] += static_cast<float>(p.row[col + j]);
    } else if (p.beta != 0) {
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) sums[j] += p.beta * static_cast<float>(to[j]);
    }
    if constexpr (std::is_same_v<Result, float>) {
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) to[j] = sums[j];
    } else {
      Dot::round(sums, cols, to);
    }
  }

  static void run(const BFloatPiece& p) {
    if (!multiply_directly(p)) multiply(p);
  }
};

}  // namespace

}  // namespace wisp::cpu
