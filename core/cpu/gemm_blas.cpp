#include "cpu/gemm_blas.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "cpu/blas.h"
#include "cpu/copy.h"
#include "cpu/kernels/kernels.h"
#include "cpu/onednn_gemm.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int row_major = 101, no_trans = 111, trans = 112;
constexpr int64_t max_blas_size = INT32_MAX / 2;

// By measurement on processors with AVX-512: oneDNN is up to 13 % faster, unless it has to turn the
// right matrix around or there is little of either.
bool prefers_onednn(int tb, int64_t m, int64_t n, int64_t k) {
  return tb == no_trans && std::min({m, n, k}) >= 64 && m * n * k >= 2'000'000 && has_onednn_gemm();
}

// Whether a narrow result is better computed by way of its transposed. oneDNN takes 48 columns at a
// time: with 200 of them this is 12 % faster, turning the result around included; with 96, 192 and
// 384 it would be 1 to 5 % slower. Only where no factor has to be turned for it.
bool prefers_long_rows(const FloatProduct& p) {
  return p.turns_a && !p.turns_b && p.beta == 0 && p.n <= 512 && p.n % 48 != 0 && p.m >= 2 * p.n &&
         p.k >= 256;
}

void by_long_rows(const FloatProduct& p) {
  const Scratch<float> turned(p.m * p.n);
  onednn_gemm({true, false, p.n, p.m, p.k, p.alpha, p.b, p.ldb, p.a, p.lda, 0, turned.data(), p.m});
  kernels().gemm_f32.transpose(turned.data(), p.m, p.c, p.ldc, p.m, p.n);
}

void call_blas(int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
               const float* b, int ldb, float beta, float* c, int ldc) {
  if (prefers_onednn(tb, m, n, k)) {
    const FloatProduct job{ta == trans, tb == trans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
    prefers_long_rows(job) ? by_long_rows(job) : onednn_gemm(job);
  } else {
    blas().sgemm(row_major, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}
void call_blas(int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
               const double* b, int ldb, double beta, double* c, int ldc) {
  blas().dgemm(row_major, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_blas(int ta, int tb, int m, int n, int k, Complex<float> alpha, const Complex<float>* a,
               int lda, const Complex<float>* b, int ldb, Complex<float> beta, Complex<float>* c,
               int ldc) {
  blas().cgemm(row_major, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void call_blas(int ta, int tb, int m, int n, int k, Complex<double> alpha, const Complex<double>* a,
               int lda, const Complex<double>* b, int ldb, Complex<double> beta, Complex<double>* c,
               int ldc) {
  blas().zgemm(row_major, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

// How BLAS names a matrix: transposed or not, and its leading dimension. Others are copied first.
template <class T>
class BlasOperand {
 public:
  explicit BlasOperand(const Matrix& m) : data_(reinterpret_cast<const T*>(m.data)) {
    if (try_layout(m.rows, m.cols, m.row, m.col)) {
      flag_ = no_trans;
    } else if (try_layout(m.cols, m.rows, m.col, m.row)) {
      flag_ = trans;
    } else {
      copy(m);
    }
  }
  // Where the part that starts at (row, col) of the matrix begins.
  const T* at(int64_t row, int64_t col) const {
    return data_ + (flag_ == no_trans ? row * lead_ + col : col * lead_ + row);
  }
  int flag() const { return flag_; }
  int lead() const { return lead_; }

 private:
  // Rows (or columns) of consecutive elements, `lead` apart. Strides of dimensions of size one mean
  // nothing.
  bool try_layout(int64_t lines, int64_t length, int64_t lead, int64_t step) {
    if (lines == 1) lead = length;
    if ((step != 1 && length > 1) || lead < length || lead >= max_blas_size) return false;
    lead_ = static_cast<int>(lead);
    return true;
  }
  void copy(const Matrix& m) {
    copy_.emplace(m.rows * m.cols);
    const int64_t sizes[] = {m.rows, m.cols}, dense[] = {m.cols, 1}, strides[] = {m.row, m.col};
    cpu::copy(sizes, {reinterpret_cast<char*>(copy_->data()), dense, dtype_of<T>},
              {m.data, strides, dtype_of<T>});
    data_ = copy_->data();
    flag_ = no_trans;
    lead_ = static_cast<int>(m.cols);
  }

  const T* data_;
  int flag_ = no_trans, lead_ = 1;
  std::optional<Scratch<T>> copy_;
};

struct Grid {
  int64_t rows, cols;  // of one piece
};

// Pieces large enough that copying their operands into BLAS's own layout costs little, small enough
// to share among threads. The grid depends on the shape alone.
Grid cut(int64_t m, int64_t n, int64_t k) {
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (flops < 4e5) return {m, n};
  auto half = [](int64_t x, int64_t least) {
    return x > least ? std::max<int64_t>((x / 2 + 15) / 16 * 16, 16) : x;
  };
  if (flops < 1e8) return m >= n ? Grid{half(m, 31), n} : Grid{m, half(n, 31)};
  auto count = [](int64_t x) { return std::max<int64_t>(1, (x + 512) / 1024); };
  auto piece = [](int64_t x, int64_t pieces) { return ((x + pieces - 1) / pieces + 15) / 16 * 16; };
  int64_t down = count(m), across = count(n);
  if (down * across == 1) return m >= n ? Grid{half(m, 31), n} : Grid{m, half(n, 31)};
  // Few pieces are made an even number, so that two threads get equal shares.
  if (down * across % 2 == 1 && down * across < 16) ++(m / down >= n / across ? down : across);
  return {piece(m, down), piece(n, across)};
}

}  // namespace

template <class T>
void blas_gemm(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  const int64_t m = a.rows, n = b.cols, k = a.cols;
  WISP_CHECK(std::max({m, n, k}) < max_blas_size && (c.row < max_blas_size || m == 1),
             "matrix product: sizes ", m, "x", k, " and ", k, "x", n, " are too large");
  const BlasOperand<T> left(a), right(b);
  const Grid grid = cut(m, n, k);
  const int64_t across = (n + grid.cols - 1) / grid.cols, down = (m + grid.rows - 1) / grid.rows;
  const int lead = static_cast<int>(m == 1 ? n : c.row);
  parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t row = piece / across * grid.rows, col = piece % across * grid.cols;
      const int rows = static_cast<int>(std::min(grid.rows, m - row));
      const int cols = static_cast<int>(std::min(grid.cols, n - col));
      T* out = reinterpret_cast<T*>(c.data) + row * c.row + col;
      call_blas(left.flag(), right.flag(), rows, cols, static_cast<int>(k), alpha, left.at(row, 0),
                left.lead(), right.at(0, col), right.lead(), beta, out, lead);
    }
  });
}

template void blas_gemm(const Matrix&, const Matrix&, const Matrix&, float, float);
template void blas_gemm(const Matrix&, const Matrix&, const Matrix&, double, double);
template void blas_gemm(const Matrix&, const Matrix&, const Matrix&, Complex<float>,
                        Complex<float>);
template void blas_gemm(const Matrix&, const Matrix&, const Matrix&, Complex<double>,
                        Complex<double>);

}  // namespace wisp::cpu
