#include "cpu/bfloat_gemm.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// The size of one piece. It depends on the shape alone, so that results do not depend on the number
// of threads.
struct Grid {
  static constexpr int64_t row_step = 6, col_step = BFloatPiece::max_panel;
  int64_t rows, cols;

  Grid(int64_t m, int64_t n, int64_t k)
      : rows(std::min(round_up(m, row_step), BFloatPiece::max_rows)),
        cols(std::min(round_up(n, col_step), BFloatPiece::max_cols)) {
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    while (work > 1e6 && ((m + rows - 1) / rows) * ((n + cols - 1) / cols) < 4) {
      if (rows > 2 * row_step) {
        rows = round_up(rows / 2, row_step);
      } else if (cols > col_step) {
        cols = round_up(cols / 2, col_step);
      } else {
        break;
      }
    }
  }
};

template <class Result>
void run(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta) {
  const int64_t m = c.rows, n = c.cols, k = a.cols;
  const Grid grid(m, n, k);
  const int64_t across = (n + grid.cols - 1) / grid.cols, down = (m + grid.rows - 1) / grid.rows;
  const auto* left = reinterpret_cast<const BFloat16*>(a.data);
  const auto* right = reinterpret_cast<const BFloat16*>(b.data);
  auto* out = reinterpret_cast<Result*>(c.data);
  const int64_t depth = std::min(k, BFloatPiece::max_depth);
  const double work = static_cast<double>(grid.rows * grid.cols) * static_cast<double>(k);
  const auto grain = std::max<int64_t>(1, static_cast<int64_t>(1e5 / std::max(work, 1.0)));
  parallel_for(down * across, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> lefts(std::max(grid.rows * depth, m == 1 ? k : 0));
    const Scratch<float> rights(depth * BFloatPiece::max_panel);
    const Scratch<float> sums(grid.rows * BFloatPiece::max_cols);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / across * grid.rows, col = piece % across * grid.cols;
      Result* to = out + row * c.row + col;
      constexpr bool rounds = std::is_same_v<Result, BFloat16>;
      kernels().bfloat_gemm({.a = left + row * a.row,
                             .a_row = a.row,
                             .a_col = a.col,
                             .b = right + col * b.col,
                             .b_row = b.row,
                             .b_col = b.col,
                             .c = rounds ? reinterpret_cast<BFloat16*>(to) : nullptr,
                             .float_c = rounds ? nullptr : reinterpret_cast<float*>(to),
                             .c_row = c.row,
                             .rows = std::min(grid.rows, m - row),
                             .cols = std::min(grid.cols, n - col),
                             .depth = k,
                             .alpha = alpha,
                             .beta = beta,
                             .left = lefts.data(),
                             .right = rights.data(),
                             .sums = sums.data()});
    }
  });
}

}  // namespace

void bfloat_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta) {
  run<BFloat16>(a, b, c, alpha, beta);
}

void bfloat_product_to_float(const Matrix& a, const Matrix& b, const Matrix& c, float alpha,
                             float beta) {
  run<float>(a, b, c, alpha, beta);
}

}  // namespace wisp::cpu
