#include "cpu/bfloat_gemm.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t tile_rows = BFloatPiece::tile_rows, panel_cols = BFloatPiece::max_panel;

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
int64_t round_up(int64_t n, int64_t step) { return ceil_div(n, step) * step; }

// How C is cut. It depends on the shape alone, so that results do not depend on the number of
// threads. Both operands may have to be packed, A for every piece of columns and B for every piece
// of rows: columns are cut first if the rows of A can be read where they lie.
struct Cut {
  int64_t rows, cols;  // of a piece
  int64_t down = 1, across;

  explicit Cut(const BFloatPiece& p) : rows(p.rows) {
    set_across(p.cols, ceil_div(p.cols, widest(p)));
    const double work = static_cast<double>(p.rows * p.cols) * static_cast<double>(p.depth);
    if (work <= 1e6) return;
    if (p.a_col == 1) cut_columns(p.cols);
    while (down * across < 8 && rows >= 16 * tile_rows) set_down(p.rows, 2 * down);
    cut_columns(p.cols);
    // Two threads get equal shares.
    if (down * across % 2 && across < 16 && rows >= 16 * tile_rows) set_down(p.rows, 2 * down);
  }

 private:
  static int64_t widest(const BFloatPiece& p) {
    const int64_t steps =
        p.a_col == 1 ? BFloatPiece::max_steps : std::min(p.depth, BFloatPiece::max_steps);
    return std::min(BFloatPiece::max_right / steps, BFloatPiece::max_cols);
  }
  void cut_columns(int64_t n) {
    while (down * across < 8 && cols > panel_cols) set_across(n, 2 * across);
  }
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

// A part of a piece.
BFloatPiece part_of(const BFloatPiece& all, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  BFloatPiece part = all;
  part.a += row * all.a_row;
  part.b += col * all.b_col;
  if (all.c) part.c += row * all.c_row + col;
  if (all.float_c) part.float_c += row * all.c_row + col;
  if (all.row) part.row += col;
  part.rows = std::min(rows, all.rows - row);
  part.cols = std::min(cols, all.cols - col);
  return part;
}

void run(const BFloatPiece& all) {
  const Cut cut(all);
  const int64_t steps = std::min(all.depth, BFloatPiece::max_steps);
  const int64_t width = round_up(cut.cols, panel_cols);
  const double work = static_cast<double>(cut.rows * cut.cols) * static_cast<double>(all.depth);
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(1e5 / std::max(work, 1.0)));
  parallel_for(cut.down * cut.across, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> left(BFloatPiece::left_size(all.rows, all.depth));
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
  BFloatPiece all = piece_of<Result>(a, b, c);
  all.alpha = alpha;
  all.beta = beta;
  all.row = row;
  run(all);
}

}  // namespace

void bfloat_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
                    const BFloat16* row) {
  run<BFloat16>(a, b, c, alpha, beta, row);
}

void bfloat_product_to_float(const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                             float beta) {
  run<float>(a, b, c, alpha, beta, nullptr);
}

}  // namespace wisp::cpu
