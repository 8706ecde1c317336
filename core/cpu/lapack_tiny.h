// Factorisations of tiny matrices: calling LAPACK would cost more than the work itself. The same
// algorithms with the same conventions, column by column.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/lapack.h"

namespace wisp::cpu::lapack::tiny {

constexpr Int limit = 12;  // rows and columns

// |re| + |im|: how LAPACK compares pivots.
template <class T>
Real<T> magnitude(T value) {
  if constexpr (is_complex<T>) {
    return std::abs(value.re) + std::abs(value.im);
  } else {
    return std::abs(value);
  }
}

template <class T>
T conjugate(T value) {
  if constexpr (is_complex<T>) {
    return conj(value);
  } else {
    return value;
  }
}

template <class T>
Int getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  Int info = 0;
  for (Int j = 0; j < std::min(m, n); ++j) {
    T* column = a + j * lda;
    Int pivot = j;
    for (Int i = j + 1; i < m; ++i) {
      if (magnitude(column[i]) > magnitude(column[pivot])) pivot = i;
    }
    pivots[j] = pivot + 1;
    if (column[pivot] == T(0)) {
      if (info == 0) info = j + 1;
      continue;
    }
    if (pivot != j) {
      for (Int c = 0; c < n; ++c) std::swap(a[c * lda + j], a[c * lda + pivot]);
    }
    const T inverse = T(1) / column[j];
    for (Int i = j + 1; i < m; ++i) column[i] = column[i] * inverse;
    for (Int c = j + 1; c < n; ++c) {
      T* other = a + c * lda;
      const T factor = other[j];
      for (Int i = j + 1; i < m; ++i) other[i] = other[i] - column[i] * factor;
    }
  }
  return info;
}

// One column of A x = b. `inverse` has 1 / U_jj.
template <class T>
void solve_column(Int n, const T* a, Int lda, const Int* pivots, const T* inverse, T* b) {
  for (Int i = 0; i < n; ++i) std::swap(b[i], b[pivots[i] - 1]);
  for (Int j = 0; j < n; ++j) {
    for (Int i = j + 1; i < n; ++i) b[i] = b[i] - a[j * lda + i] * b[j];
  }
  for (Int j = n; j-- > 0;) {
    b[j] = b[j] * inverse[j];
    for (Int i = 0; i < j; ++i) b[i] = b[i] - a[j * lda + i] * b[j];
  }
}

// One column of A^T x = b, or of A^H x = b.
template <class T>
void solve_transposed_column(bool conjugated, Int n, const T* a, Int lda, const Int* pivots, T* b) {
  auto at = [&](Int i, Int j) { return conjugated ? conjugate(a[j * lda + i]) : a[j * lda + i]; };
  for (Int j = 0; j < n; ++j) {
    for (Int i = 0; i < j; ++i) b[j] = b[j] - at(i, j) * b[i];
    b[j] = b[j] / at(j, j);
  }
  for (Int j = n; j-- > 0;) {
    for (Int i = j + 1; i < n; ++i) b[j] = b[j] - at(i, j) * b[i];
  }
  for (Int i = n; i-- > 0;) std::swap(b[i], b[pivots[i] - 1]);
}

template <class T>
void getrs(char trans, Int n, Int nrhs, const T* a, Int lda, const Int* pivots, T* b, Int ldb) {
  T inverse[limit];
  for (Int j = 0; j < n; ++j) inverse[j] = T(1) / a[j * lda + j];
  for (Int j = 0; j < nrhs; ++j) {
    if (trans == 'N') {
      solve_column(n, a, lda, pivots, inverse, b + j * ldb);
    } else {
      solve_transposed_column(trans == 'C', n, a, lda, pivots, b + j * ldb);
    }
  }
}

// The lower triangle.
template <class T>
Int potrf(Int n, T* a, Int lda) {
  for (Int j = 0; j < n; ++j) {
    T* column = a + j * lda;
    Real<T> square;
    if constexpr (is_complex<T>) {
      square = column[j].re;
    } else {
      square = column[j];
    }
    if (!(square > 0)) return j + 1;  // NaN too
    const Real<T> root = std::sqrt(square), inverse = 1 / root;
    column[j] = T(root);
    for (Int i = j + 1; i < n; ++i) column[i] = column[i] * T(inverse);
    for (Int c = j + 1; c < n; ++c) {
      const T factor = conjugate(column[c]);
      for (Int i = c; i < n; ++i) a[c * lda + i] = a[c * lda + i] - column[i] * factor;
    }
  }
  return 0;
}

// Whether squares of the elements neither overflow nor vanish; float is squared in double.
template <class T>
bool squares_fit(Int m, Int n, const T* a, Int lda) {
  if constexpr (sizeof(Real<T>) == 4) return true;
  for (Int j = 0; j < n; ++j) {
    for (Int i = 0; i < m; ++i) {
      const Real<T> size = magnitude(a[j * lda + i]);
      if (size != 0 && !(size > Real<T>(1e-100) && size < Real<T>(1e100))) return false;
    }
  }
  return true;
}

template <class T>
double square(T value) {
  if constexpr (is_complex<T>) {
    return square(value.re) + square(value.im);
  } else {
    return static_cast<double>(value) * static_cast<double>(value);
  }
}

// Turns x, of which x[0] is on the diagonal, into a reflection I - tau v v^H that maps it to
// (beta, 0, ...): beta replaces x[0], v (whose first element is 1) the rest. Returns tau.
template <class T>
T make_reflection(Int n, T* x) {
  double rest = 0;
  for (Int i = 1; i < n; ++i) rest += square(x[i]);
  const T alpha = x[0];
  if constexpr (is_complex<T>) {
    if (rest == 0 && alpha.im == 0) return T(0);
    const Real<T> beta = static_cast<Real<T>>(
        -std::copysign(std::sqrt(square(alpha) + rest), static_cast<double>(alpha.re)));
    const T scale = T(1) / (alpha - T(beta));
    for (Int i = 1; i < n; ++i) x[i] = x[i] * scale;
    x[0] = T(beta);
    return T((beta - alpha.re) / beta, -alpha.im / beta);
  } else {
    if (rest == 0) return T(0);
    const T beta =
        static_cast<T>(-std::copysign(std::sqrt(square(alpha) + rest), static_cast<double>(alpha)));
    const T scale = T(1) / (alpha - beta);
    for (Int i = 1; i < n; ++i) x[i] = x[i] * scale;
    x[0] = beta;
    return (beta - alpha) / beta;
  }
}

// column -= tau v (v^H column), where v[0] counts as 1.
template <class T>
void apply_reflection(Int n, const T* v, T tau, T* column) {
  T product = column[0];
  for (Int i = 1; i < n; ++i) product = product + conjugate(v[i]) * column[i];
  product = product * tau;
  column[0] = column[0] - product;
  for (Int i = 1; i < n; ++i) column[i] = column[i] - v[i] * product;
}

template <class T>
void geqrf(Int m, Int n, T* a, Int lda, T* tau) {
  for (Int j = 0; j < std::min(m, n); ++j) {
    T* corner = a + j * lda + j;
    tau[j] = make_reflection(m - j, corner);
    for (Int c = 1; c < n - j; ++c)
      apply_reflection(m - j, corner, conjugate(tau[j]), corner + c * lda);
  }
}

template <class T>
void orgqr(Int m, Int n, Int k, T* a, Int lda, const T* tau) {
  for (Int j = k; j < n; ++j) {
    std::fill_n(a + j * lda, m, T(0));
    a[j * lda + j] = T(1);
  }
  for (Int j = k; j-- > 0;) {
    T *column = a + j * lda, *corner = column + j;
    for (Int c = 1; c < n - j; ++c) apply_reflection(m - j, corner, tau[j], corner + c * lda);
    for (Int i = 1; i < m - j; ++i) corner[i] = T(0) - corner[i] * tau[j];
    corner[0] = T(1) - tau[j];
    std::fill_n(column, j, T(0));
  }
}

}  // namespace wisp::cpu::lapack::tiny
