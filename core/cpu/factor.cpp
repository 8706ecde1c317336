#include "cpu/factor.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/lapack_tiny.h"

namespace wisp::cpu::lapack {

namespace {

constexpr Int large = 256;       // smaller ones are over before threads could help
constexpr Int panel = 64;        // columns factorised at a time, on one thread
constexpr Int piece = 64;        // columns one thread works on
constexpr Int wide_piece = 128;  // the same, where every piece costs something of its own

template <class T>
Matrix block(const T* data, int64_t rows, int64_t cols, int64_t ld) {
  return {reinterpret_cast<char*>(const_cast<T*>(data)), rows, cols, 1, ld};
}

// C -= A B.
template <class T>
void subtract_product(const Matrix& a, const Matrix& b, const Matrix& c) {
  gemm(dtype_of<T>, a, b, c, -1, 1);
}

// Row i and row pivots[i] change places, for i in [first, last); pivots count from 1.
template <class T>
void exchange_rows(T* columns, Int count, Int lda, const Int* pivots, Int first, Int last) {
  parallel_for(count, piece, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      T* column = columns + j * lda;
      for (Int i = first; i < last; ++i) std::swap(column[i], column[pivots[i] - 1]);
    }
  });
}

}  // namespace

template <class T>
Int factor_lu(Int m, Int n, T* a, Int lda, Int* pivots) {
  const Int k = std::min(m, n);
  if (std::max(m, n) <= tiny::limit) return tiny::getrf(m, n, a, lda, pivots);
  if (k < large) return getrf(m, n, a, lda, pivots);
  Int info = 0;
  for (Int j = 0; j < k; j += panel) {
    const Int width = std::min(panel, k - j), next = j + width, right = n - next;
    T* corner = a + static_cast<int64_t>(j) * lda + j;
    T* beside = corner + static_cast<int64_t>(width) * lda;
    const Int zero = getrf(m - j, width, corner, lda, pivots + j);
    if (zero > 0 && info == 0) info = zero + j;
    for (Int i = j; i < next; ++i) pivots[i] += j;
    exchange_rows(a, j, lda, pivots, j, next);
    if (right == 0) continue;
    exchange_rows(a + static_cast<int64_t>(next) * lda, right, lda, pivots, j, next);
    parallel_for(right, piece, [&](int64_t begin, int64_t end) {
      trsm('L', 'L', 'N', 'U', width, static_cast<Int>(end - begin), corner, lda,
           beside + begin * lda, lda);
    });
    if (m == next) continue;
    subtract_product<T>(block(corner + width, m - next, width, lda),
                        block(beside, width, right, lda),
                        block(beside + width, m - next, right, lda));
  }
  return info;
}

template <class T>
void solve_lu(char trans, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  if (n <= tiny::limit && nrhs <= tiny::limit)
    return tiny::getrs(trans, n, nrhs, a, lda, pivots, b, ldb);
  parallel_for(nrhs, n < large ? nrhs : piece, [&](int64_t begin, int64_t end) {
    getrs(trans, n, static_cast<Int>(end - begin), a, lda, pivots, b + begin * ldb, ldb);
  });
}

namespace {

// The lower triangle of C -= A A^H, by blocks of columns; C has as many rows as A.
template <class T>
void subtract_square(const T* a, Int rows, Int width, Int lda, T* c) {
  const T* right = a;
  int64_t step = lda;
  Scratch<T> conjugate(is_complex<T> ? static_cast<int64_t>(rows) * width : 0);
  if constexpr (is_complex<T>) {
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t i = 0; i < rows; ++i) conjugate[j * rows + i] = conj(a[j * lda + i]);
    }
    right = conjugate.data();
    step = rows;
  }
  for (Int j = 0; j < rows; j += large) {
    const Int cols = std::min(large, rows - j);
    const Matrix transposed{reinterpret_cast<char*>(const_cast<T*>(right + j)), width, cols, step,
                            1};
    subtract_product<T>(block(a + j, rows - j, width, lda), transposed,
                        block(c + static_cast<int64_t>(j) * lda + j, rows - j, cols, lda));
  }
}

}  // namespace

template <class T>
Int factor_cholesky(Int n, T* a, Int lda) {
  if (n <= tiny::limit) return tiny::potrf(n, a, lda);
  if (n < large) return potrf('L', n, a, lda);
  for (Int j = 0; j < n; j += panel) {
    const Int width = std::min(panel, n - j), below = n - j - width;
    T* corner = a + static_cast<int64_t>(j) * lda + j;
    if (const Int info = potrf('L', width, corner, lda)) return info + j;
    if (below == 0) break;
    parallel_for(below, wide_piece, [&](int64_t begin, int64_t end) {
      trsm('R', 'L', 'C', 'N', static_cast<Int>(end - begin), width, corner, lda,
           corner + width + begin, lda);
    });
    subtract_square(corner + width, below, width, lda,
                    corner + width + static_cast<int64_t>(width) * lda);
  }
  return 0;
}

namespace {

// Applies k reflections, or their inverse, to columns. On a copy of them: LAPACK may write to it
// meanwhile, and other threads read them too.
template <class T>
void reflect(bool inverse, Int m, Int n, Int k, const T* v, Int ldv, const T* tau, T* c, Int ldc) {
  const char trans = !inverse ? 'N' : is_complex<T> ? 'C' : 'T';
  Scratch<T> copy(static_cast<int64_t>(m) * k);
  for (int64_t j = 0; j < k; ++j) std::copy_n(v + j * ldv, m, copy.data() + j * m);
  Work work;
  ormqr('L', trans, m, n, k, copy.data(), m, const_cast<T*>(tau), c, ldc, work);
}

}  // namespace

template <class T>
void factor_qr(Int m, Int n, T* a, Int lda, T* tau, Work& work) {
  const Int k = std::min(m, n);
  if (std::max(m, n) <= tiny::limit && tiny::squares_fit(m, n, a, lda))
    return tiny::geqrf(m, n, a, lda, tau);
  if (k < large) {
    geqrf(m, n, a, lda, tau, work);
    return;
  }
  for (Int j = 0; j < k; j += panel) {
    const Int width = std::min(panel, k - j), right = n - j - width;
    T* corner = a + static_cast<int64_t>(j) * lda + j;
    Work small;
    geqrf(m - j, width, corner, lda, tau + j, small);
    if (right == 0) continue;
    T* beside = corner + static_cast<int64_t>(width) * lda;
    parallel_for(right, wide_piece, [&](int64_t begin, int64_t end) {
      reflect(true, m - j, static_cast<Int>(end - begin), width, corner, lda, tau + j,
              beside + begin * lda, lda);
    });
  }
}

template <class T>
void expand_qr(Int m, Int n, Int k, T* q, Int ldq, T* tau, Work& work) {
  if (m <= tiny::limit) return tiny::orgqr(m, n, k, q, ldq, tau);
  if (k < large) {
    orgqr(m, n, k, q, ldq, tau, work);
    return;
  }
  Scratch<T> v(static_cast<int64_t>(m) * k);
  for (int64_t j = 0; j < k; ++j) std::copy_n(q + j * ldq, m, v.data() + j * m);
  for (int64_t j = 0; j < n; ++j) {
    std::fill_n(q + j * ldq, m, T(0));
    q[j * ldq + j] = T(1);
  }
  // A unit vector is left alone by reflections that start below its one.
  parallel_for(n, wide_piece, [&](int64_t begin, int64_t end) {
    const Int count = std::min(k, static_cast<Int>(end));
    reflect(false, m, static_cast<Int>(end - begin), count, v.data(), m, tau, q + begin * ldq, ldq);
  });
}

#define WISP_LAPACK(T)                                               \
  template Int factor_lu<T>(Int, Int, T*, Int, Int*);                \
  template void solve_lu<T>(char, Int, Int, T*, Int, Int*, T*, Int); \
  template Int factor_cholesky<T>(Int, T*, Int);                     \
  template void factor_qr<T>(Int, Int, T*, Int, T*, Work&);          \
  template void expand_qr<T>(Int, Int, Int, T*, Int, T*, Work&);
WISP_LAPACK(float)
WISP_LAPACK(double)
WISP_LAPACK(Complex<float>)
WISP_LAPACK(Complex<double>)
#undef WISP_LAPACK

}  // namespace wisp::cpu::lapack
