#include "cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "cpu/blas.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

Matrix transposed(const Matrix& m) { return {m.data, m.cols, m.rows, m.col, m.row}; }

template <class T>
const GemmKernels<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().gemm_f32;
  } else {
    return kernels().gemm_f64;
  }
}

// The part of a matrix that starts at (row, col).
template <class T>
Matrix block(const Matrix& m, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  return {m.data + (row * m.row + col * m.col) * static_cast<int64_t>(sizeof(T)), rows, cols, m.row, m.col};
}

// A copy with consecutive rows, each padded so that whole vectors can be read.
template <class T>
class Packed {
 public:
  Packed(const Matrix& m, int64_t padding)
      : stride_((m.cols + padding - 1) / padding * padding),
        data_(m.rows * stride_ <= inline_size ? inline_ : (heap_.resize(m.rows * stride_), heap_.data())) {
    const T* source = reinterpret_cast<const T*>(m.data);
    for (int64_t i = 0; i < m.rows; ++i) {
      T* row = data_ + i * stride_;
      for (int64_t j = 0; j < m.cols; ++j) row[j] = source[i * m.row + j * m.col];
      for (int64_t j = m.cols; j < stride_; ++j) row[j] = T(0);
    }
  }
  T* data() { return data_; }
  int64_t stride() const { return stride_; }

 private:
  static constexpr int64_t inline_size = 4096;
  int64_t stride_;
  std::vector<T> heap_;
  T inline_[inline_size];
  T* data_;
};

template <class T>
void small(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  const auto& kernel = kernels_for<T>();
  const T* ap = reinterpret_cast<const T*>(a.data);
  T* cp = reinterpret_cast<T*>(c.data);
  if (b.col == 1 && b.cols % kernel.width == 0) {
    kernel.small(ap, a.row, a.col, reinterpret_cast<const T*>(b.data), b.row, cp, c.row, a.rows, b.cols, a.cols,
                 alpha, beta);
    return;
  }
  Packed<T> packed(b, kernel.width);
  kernel.small(ap, a.row, a.col, packed.data(), packed.stride(), cp, c.row, a.rows, b.cols, a.cols, alpha, beta);
}

// c is a column.
template <class T>
void times_vector(const Matrix& a, const Matrix& x, const Matrix& c, T alpha, T beta) {
  const auto& kernel = kernels_for<T>();
  const T* ap = reinterpret_cast<const T*>(a.data);
  const T* xp = reinterpret_cast<const T*>(x.data);
  T* cp = reinterpret_cast<T*>(c.data);
  const int64_t grain = std::max<int64_t>(16, (1 << 16) / std::max<int64_t>(a.cols, 1));
  if (a.col == 1 || a.cols == 1) {
    std::vector<T> gathered;
    if (x.row != 1 && x.rows > 1) {
      gathered.resize(x.rows);
      for (int64_t i = 0; i < x.rows; ++i) gathered[i] = xp[i * x.row];
      xp = gathered.data();
    }
    parallel_for(a.rows, grain, [&](int64_t begin, int64_t end) {
      kernel.gemv_rows(ap + begin * a.row, a.row, xp, cp + begin * c.row, c.row, end - begin, a.cols, alpha, beta);
    });
    return;
  }
  std::vector<T> out;
  T* y = cp;
  if (c.row != 1) {
    out.resize(c.rows);
    y = out.data();
    for (int64_t i = 0; i < c.rows && beta != T(0); ++i) y[i] = cp[i * c.row];
  }
  parallel_for(a.rows, std::max<int64_t>(grain, 64), [&](int64_t begin, int64_t end) {
    kernel.gemv_columns(ap + begin, a.col, xp, x.row, y + begin, end - begin, a.cols, alpha, beta);
  });
  for (int64_t i = 0; i < c.rows && y != cp; ++i) cp[i * c.row] = y[i];
}

void call_blas(const Blas& lib, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
               const float* b, int ldb, float beta, float* c, int ldc) {
  lib.sgemm(101, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(const Blas& lib, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
               const double* b, int ldb, double beta, double* c, int ldc) {
  lib.dgemm(101, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(const Blas& lib, int ta, int tb, int m, int n, int k, Complex<float> alpha,
               const Complex<float>* a, int lda, const Complex<float>* b, int ldb, Complex<float> beta,
               Complex<float>* c, int ldc) {
  lib.cgemm(101, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void call_blas(const Blas& lib, int ta, int tb, int m, int n, int k, Complex<double> alpha,
               const Complex<double>* a, int lda, const Complex<double>* b, int ldb, Complex<double> beta,
               Complex<double>* c, int ldc) {
  lib.zgemm(101, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

constexpr int no_trans = 111, trans = 112;
constexpr int64_t max_blas_size = INT32_MAX / 2;

// How BLAS names a matrix: transposed or not, and its leading dimension. Others are copied first.
template <class T>
struct BlasOperand {
  BlasOperand(const Matrix& m, std::vector<T>& copy) {
    auto fits = [](int64_t unit, int64_t lead, int64_t inner) {
      return unit == 1 && lead >= std::max<int64_t>(1, inner) && lead < max_blas_size;
    };
    data = reinterpret_cast<const T*>(m.data);
    if (fits(m.col, m.rows == 1 ? m.cols : m.row, m.cols) || (m.cols == 1 && fits(1, m.row, 1))) {
      flag = no_trans;
      lead = static_cast<int>(m.rows == 1 ? std::max<int64_t>(m.cols, 1) : m.row);
    } else if (fits(m.row, m.cols == 1 ? m.rows : m.col, m.rows) || (m.rows == 1 && fits(1, m.col, 1))) {
      flag = trans;
      lead = static_cast<int>(m.cols == 1 ? std::max<int64_t>(m.rows, 1) : m.col);
    } else {
      copy.resize(static_cast<size_t>(m.rows * m.cols));
      for (int64_t i = 0; i < m.rows; ++i) {
        for (int64_t j = 0; j < m.cols; ++j) copy[i * m.cols + j] = data[i * m.row + j * m.col];
      }
      data = copy.data();
      flag = no_trans;
      lead = static_cast<int>(std::max<int64_t>(m.cols, 1));
    }
  }
  // Where the part starting at (row, col) of the matrix begins.
  const T* at(int64_t row, int64_t col) const {
    return data + (flag == no_trans ? row * lead + col : col * lead + row);
  }
  const T* data;
  int flag, lead;
};

struct Grid {
  int64_t rows, cols;  // of one piece
};

// Pieces large enough that copying their operands into BLAS's own layout costs little, small enough
// to share among threads. The grid depends on the shape alone.
Grid cut(int64_t m, int64_t n, int64_t k) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (flops < 4e5) return {m, n};
  auto half = [](int64_t x, int64_t least) { return x > least ? std::max<int64_t>((x / 2 + 15) / 16 * 16, 16) : x; };
  if (flops < 1e8) return m >= n ? Grid{half(m, 31), n} : Grid{m, half(n, 31)};
  auto piece = [](int64_t x, int64_t target) {
    const int64_t pieces = std::max<int64_t>(1, (x + target / 2) / target);
    return ((x + pieces - 1) / pieces + 15) / 16 * 16;
  };
  Grid grid{piece(m, 1024), piece(n, 1024)};
  if (grid.rows >= m && grid.cols >= n) return m >= n ? Grid{half(m, 31), n} : Grid{m, half(n, 31)};
  return grid;
}

template <class T>
void large(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  const Blas& lib = blas();
  std::vector<T> a_copy, b_copy;
  const BlasOperand<T> left(a, a_copy), right(b, b_copy);
  const int64_t m = a.rows, n = b.cols, k = a.cols;
  const Grid grid = cut(m, n, k);
  const int64_t across = (n + grid.cols - 1) / grid.cols, down = (m + grid.rows - 1) / grid.rows;
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / across * grid.rows, col = piece % across * grid.cols;
      const int rows = static_cast<int>(std::min(grid.rows, m - row));
      const int cols = static_cast<int>(std::min(grid.cols, n - col));
      T* out = reinterpret_cast<T*>(c.data) + row * c.row + col;
      call_blas(lib, left.flag, right.flag, rows, cols, static_cast<int>(k), alpha, left.at(row, 0), left.lead,
                right.at(0, col), right.lead, beta, out, static_cast<int>(std::max<int64_t>(c.row, cols)));
    }
  });
}

template <class T>
void scale(const Matrix& c, T beta) {
  T* data = reinterpret_cast<T*>(c.data);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      T& value = data[i * c.row + j * c.col];
      value = beta == T(0) ? T(0) : value * beta;
    }
  }
}

template <class T>
void run(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  if (c.rows == 0 || c.cols == 0) return;
  if (a.cols == 0) return scale(c, beta);
  if (c.col != 1 && c.cols > 1) return run<T>(transposed(b), transposed(a), transposed(c), alpha, beta);
  WISP_CHECK(std::max({a.rows, a.cols, b.cols}) < max_blas_size, "matrix product: sizes ", a.rows, "x", a.cols,
             " and ", b.rows, "x", b.cols, " are too large");
  if constexpr (std::is_floating_point_v<T>) {
    if (c.cols == 1) return times_vector<T>(a, b, c, alpha, beta);
    if (c.rows == 1) return times_vector<T>(transposed(b), transposed(a), transposed(c), alpha, beta);
    const int64_t work = c.rows * c.cols * a.cols;
    if (work <= 64 * 64 * 64) return small<T>(a, b, c, alpha, beta);
  }
  large<T>(a, b, c, alpha, beta);
}

}  // namespace

void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, double alpha, double beta) {
  visit<dtypes::math>(dtype, "gemm", [&]<class T>() { run<T>(a, b, c, convert<T>(alpha), convert<T>(beta)); });
}

}  // namespace wisp::cpu
