#include "cpu/bfloat_gemm.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "cpu/copy.h"
#include "cpu/isa.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t tile_rows = BFloatPiece::tile_rows, panel_cols = BFloatPiece::max_panel;

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
int64_t round_up(int64_t n, int64_t step) { return ceil_div(n, step) * step; }

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

// A copy of A whose rows are as the instructions want them.
class EvenRows {
 public:
  explicit EvenRows(const Matrix& a)
      : stride_(round_up(a.cols, 2)),
        data_(a.rows * stride_),
        matrix_{reinterpret_cast<char*>(data_.data()), a.rows, a.cols, stride_, 1} {
    const int64_t sizes[] = {a.rows, a.cols}, from[] = {a.row, a.col}, to[] = {stride_, 1};
    cpu::copy(sizes, {matrix_.data, to, DType::bfloat16}, {a.data, from, DType::bfloat16});
    for (int64_t i = 0; a.cols < stride_ && i < a.rows; ++i)
      data_[i * stride_ + a.cols] = BFloat16(0.0f);
  }
  const Matrix& matrix() const { return matrix_; }

 private:
  int64_t stride_;
  Scratch<BFloat16> data_;
  Matrix matrix_;
};

bool has_even_rows(const Matrix& a) { return a.col == 1 && a.cols % 2 == 0; }

template <class Result>
void run(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta,
         const BFloat16* row) {
  std::optional<EvenRows> even;
  if (has_bfloat_instructions() && !has_even_rows(a)) even.emplace(a);
  BFloatPiece all = piece_of<Result>(even ? even->matrix() : a, b, c);
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
