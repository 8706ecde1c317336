#include "cpu/bfloat_gemm.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t tile_rows = BFloatPiece::tile_rows, panel_cols = BFloatPiece::max_panel;

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
int64_t round_up(int64_t n, int64_t step) { return ceil_div(n, step) * step; }

uint32_t pair_of(const BFloat16* low, int64_t step, bool has_high) {
  return low->bits | (has_high ? static_cast<uint32_t>(low[step].bits) << 16 : 0u);
}

// Six pairs from two columns, of which eight numbers can be read; writes eight.
void pack_column(const BFloat16* low, const BFloat16* high, uint32_t* out) {
  typedef uint16_t Eight __attribute__((vector_size(16)));
  Eight l, h;
  std::memcpy(&l, low, sizeof(Eight));
  std::memcpy(&h, high, sizeof(Eight));
  const Eight made[] = {__builtin_shufflevector(l, h, 0, 8, 1, 9, 2, 10, 3, 11),
                        __builtin_shufflevector(l, h, 4, 12, 5, 13, 6, 14, 7, 15)};
  std::memcpy(out, made, sizeof(made));
}

// Some tiles next to one another. Columns that are consecutive are read from their beginning to
// their end.
void pack_tiles(const Matrix& a, int64_t first, int64_t end, uint32_t* out) {
  const auto* from = reinterpret_cast<const BFloat16*>(a.data);
  const int64_t steps = ceil_div(a.cols, 2);
  for (int64_t d = 0; d < steps; ++d) {
    const bool has_high = 2 * d + 1 < a.cols;
    for (int64_t i = first; i < end; i += tile_rows) {
      const BFloat16* low = from + i * a.row + 2 * d * a.col;
      uint32_t* to = out + i * steps + d * tile_rows;
      if (a.row == 1 && has_high && i + 8 <= a.rows && d + 1 < steps) {
        pack_column(low, low + a.col, to);
        continue;
      }
      for (int64_t r = 0; r < std::min(tile_rows, a.rows - i); ++r)
        to[r] = pair_of(low + r * a.row, a.col, has_high);
    }
  }
}

// How C is cut. It depends on the shape alone, so that results do not depend on the number of
// threads. Columns are cut before rows: what is cut off is packed by one thread then.
struct Cut {
  int64_t rows, cols;  // of a piece
  int64_t down, across;

  Cut(int64_t m, int64_t n, int64_t k) : rows(m), cols(std::min(n, BFloatPiece::max_cols)) {
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    across = ceil_div(n, cols);
    down = 1;
    if (work > 1e6) {
      set_across(n, across);
      while (across < 8 && cols > panel_cols) set_across(n, 2 * across);
      while (down * across < 8 && rows >= 16 * tile_rows) set_down(m, 2 * down);
      // Two threads get equal shares.
      if (down * across % 2 && across < 16 && rows >= 16 * tile_rows) set_down(m, 2 * down);
    }
  }

 private:
  void set_across(int64_t n, int64_t parts) {
    cols = round_up(ceil_div(n, parts), 16);
    across = ceil_div(n, cols);
  }
  void set_down(int64_t m, int64_t parts) {
    rows = round_up(ceil_div(m, parts), tile_rows);
    down = ceil_div(m, rows);
  }
};

template <class Result>
BFloatPiece piece_of(const Matrix& a, const Matrix& b, const Matrix& c) {
  constexpr bool rounds = std::is_same_v<Result, BFloat16>;
  return {.a = reinterpret_cast<const BFloat16*>(a.data),
          .a_row = a.row,
          .a_col = a.col,
          .pairs = nullptr,
          .b = reinterpret_cast<const BFloat16*>(b.data),
          .b_row = b.row,
          .b_col = b.col,
          .c = rounds ? reinterpret_cast<BFloat16*>(c.data) : nullptr,
          .float_c = rounds ? nullptr : reinterpret_cast<float*>(c.data),
          .c_row = c.row,
          .rows = c.rows,
          .cols = c.cols,
          .depth = a.cols,
          .alpha = 1,
          .beta = 0,
          .row = nullptr,
          .left = nullptr,
          .right = nullptr,
          .sums = nullptr,
          .sums_row = 0};
}

// A part of a piece, whose first row begins a tile.
BFloatPiece part_of(const BFloatPiece& all, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  BFloatPiece part = all;
  part.a += row * all.a_row;
  if (all.pairs) part.pairs += row * ceil_div(all.depth, 2);
  part.b += col * all.b_col;
  if (all.c) part.c += row * all.c_row + col;
  if (all.float_c) part.float_c += row * all.c_row + col;
  if (all.row) part.row += col;
  part.rows = std::min(rows, all.rows - row);
  part.cols = std::min(cols, all.cols - col);
  return part;
}

void run(const BFloatPiece& all) {
  const Cut cut(all.rows, all.cols, all.depth);
  const int64_t steps = std::min(all.depth, BFloatPiece::max_steps);
  const int64_t width = round_up(cut.cols, panel_cols);
  const int64_t left_rows = std::min(all.rows, BFloatPiece::left_tiles * tile_rows);
  const double work = static_cast<double>(cut.rows * cut.cols) * static_cast<double>(all.depth);
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(1e5 / std::max(work, 1.0)));
  parallel_for(cut.down * cut.across, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> left(all.rows == 1 ? all.depth : left_rows * steps);
    const Scratch<float> right(width * steps);
    const Scratch<float> sums(all.depth > BFloatPiece::max_steps ? cut.rows * width : 0);
    for (int64_t index = begin; index < end; ++index) {
      BFloatPiece part = part_of(all, index / cut.across * cut.rows, cut.rows,
                                 index % cut.across * cut.cols, cut.cols);
      part.left = left.data();
      part.right = right.data();
      part.sums = sums.data();
      part.sums_row = width;
      kernels().bfloat_gemm(part);
    }
  });
}

template <class Result>
void run(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
         const BFloat16* row) {
  const bool in_pairs = has_bfloat_instructions() && (a.col != 1 || a.cols % 2 == 1);
  const Scratch<uint32_t> pairs(in_pairs ? size_of_pairs(a) : 0);
  BFloatPiece all = piece_of<Result>(a, b, c);
  if (in_pairs) {
    pack_pairs(a, pairs.data());
    all.pairs = pairs.data();
  }
  all.alpha = alpha;
  all.beta = beta;
  all.row = row;
  run(all);
}

}  // namespace

int64_t size_of_pairs(const Matrix& a) { return round_up(a.rows, tile_rows) * ceil_div(a.cols, 2); }

void pack_pairs(const Matrix& a, uint32_t* out) {
  constexpr int64_t at_once = 5 * tile_rows;  // about a line of each column
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / (at_once * a.cols));
  parallel_for(ceil_div(a.rows, at_once), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack_tiles(a, i * at_once, std::min(a.rows, (i + 1) * at_once), out);
  });
}

void bfloat_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                    const BFloat16* row) {
  run<BFloat16>(a, b, c, alpha, beta, row);
}

void bfloat_product_to_float(const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                             float beta) {
  run<float>(a, b, c, alpha, beta, nullptr);
}

}  // namespace wisp::cpu
