#include "cpu/block_gemm.h"

#include <algorithm>

#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

template <class T>
T* at(const Matrix& m, int64_t i, int64_t j) {
  return reinterpret_cast<T*>(m.data) + i * m.row + j * m.col;
}

// The first-level cache holds columns as wide as a tile of so many rows.
constexpr int64_t panel_rows = 128, tile_vectors = 4;

// B as it lies, some rows at a time.
template <class T>
void by_rows_of_b(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  for (int64_t p = 0; p < b.rows; p += panel_rows) {
    const int64_t terms = std::min(panel_rows, b.rows - p);
    gemm_kernels_of<T>().small(at<T>(a, 0, p), a.row, a.col, at<T>(b, p, 0), b.row, at<T>(c, 0, 0),
                               c.row, c.rows, c.cols, terms, alpha, p == 0 ? beta : T(1));
  }
}

// B in columns, which are turned into rows a panel at a time.
template <class T>
void by_turned_panels(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  const auto& kernel = gemm_kernels_of<T>();
  const int64_t width = tile_vectors * kernel.width;
  const Scratch<T> panel(std::min(panel_rows, b.rows) * width);
  for (int64_t p = 0; p < b.rows; p += panel_rows) {
    const int64_t terms = std::min(panel_rows, b.rows - p);
    for (int64_t j = 0; j < b.cols; j += width) {
      const int64_t size = std::min(width, b.cols - j);
      kernel.transpose(at<T>(b, p, j), b.col, panel.data(), width, terms, size);
      kernel.small(at<T>(a, 0, p), a.row, a.col, panel.data(), width, at<T>(c, 0, j), c.row, c.rows,
                   size, terms, alpha, p == 0 ? beta : T(1));
    }
  }
}

}  // namespace

template <class T>
void block_gemm(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  if (!gemm_kernels_of<T>().masks || b.rows == 0 || (b.col != 1 && b.row != 1))
    return gemm(dtype_of<T>, a, b, c, alpha, beta);
  b.col == 1 ? by_rows_of_b(a, b, c, alpha, beta) : by_turned_panels(a, b, c, alpha, beta);
}

template void block_gemm<float>(const Matrix&, const Matrix&, const Matrix&, float, float);
template void block_gemm<double>(const Matrix&, const Matrix&, const Matrix&, double, double);

}  // namespace wisp::cpu
