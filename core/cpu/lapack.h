// LAPACK, found in OpenBLAS when first needed. A thin typed layer: one function per routine, for
// float, double and their complex numbers. Matrices are stored column by column, columns `ld`
// elements apart; all are overwritten as LAPACK does. Results are LAPACK's `info`: 0 if all went
// well, positive if the numbers did not allow an answer.
#pragma once

#include <optional>
#include <type_traits>

#include "base/dtype.h"
#include "cpu/gemm.h"
#include "cpu/scratch.h"

namespace wisp::cpu::lapack {

using Int = int32_t;

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

// A size as LAPACK's integer; fails if it does not fit.
Int to_int(int64_t size);

// Copies a strided matrix to columns `ld` apart, and back.
template <class T>
void load(const Matrix& from, T* to, int64_t ld);
template <class T>
void store(const T* from, int64_t ld, const Matrix& to);

// Working memory, sized on first use and kept. One of them serves calls of one routine with one
// shape.
class Work {
 public:
  bool sized() const { return main_.has_value(); }
  template <class T>
  void size(int64_t main, int64_t reals = 0, int64_t ints = 0) {
    count_ = to_int(main);
    reals_count_ = to_int(reals);
    ints_count_ = to_int(ints);
    main_.emplace(main * static_cast<int64_t>(sizeof(T)));
    reals_.emplace(reals * static_cast<int64_t>(sizeof(Real<T>)));
    ints_.emplace(ints);
  }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(main_->data());
  }
  template <class T>
  Real<T>* reals() const {
    return reinterpret_cast<Real<T>*>(reals_->data());
  }
  Int* ints() const { return ints_->data(); }
  const Int* count() const { return &count_; }
  const Int* reals_count() const { return &reals_count_; }
  const Int* ints_count() const { return &ints_count_; }

 private:
  Int count_ = 0, reals_count_ = 0, ints_count_ = 0;
  std::optional<Scratch<char>> main_, reals_;
  std::optional<Scratch<Int>> ints_;
};

// Cholesky: A = L L^H ('L') or U^H U ('U'); solving with it; the inverse made of it.
template <class T>
Int potrf(char uplo, Int n, T* a, Int lda);
template <class T>
Int potrs(char uplo, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb);
template <class T>
Int potri(char uplo, Int n, T* a, Int lda);

// A = P L U; solving with A ('N'), its transpose ('T') or conjugate transpose ('C').
template <class T>
Int getrf(Int m, Int n, T* a, Int lda, Int* pivots);
template <class T>
Int getrs(char trans, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb);

// Bunch-Kaufman: A = L D L^T, or L D L^H if hermitian.
template <class T>
Int sytrf(bool hermitian, Int n, T* a, Int lda, Int* pivots, Work& work);
template <class T>
Int sytrs(bool hermitian, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb);

// B becomes the solution of op(A) X = B (side 'L') or X op(A) = B ('R') for a triangular A.
template <class T>
void trsm(char side, char uplo, char trans, char diag, Int m, Int n, T* a, Int lda, T* b, Int ldb);

// A = Q R with Q as Householder reflections; Q of k of them as a matrix; products with it.
template <class T>
Int geqrf(Int m, Int n, T* a, Int lda, T* tau, Work& work);
template <class T>
Int orgqr(Int m, Int n, Int k, T* a, Int lda, T* tau, Work& work);
template <class T>
Int ormqr(char side, char trans, Int m, Int n, Int k, T* a, Int lda, T* tau, T* c, Int ldc,
          Work& work);

// A = U S V^H. job: 'N' values only, 'S' thin, 'A' full.
template <class T>
Int gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vh, Int ldvh,
          Work& work);
// Eigenvalues, ascending, of a hermitian matrix of which one triangle is read; job 'V': the
// eigenvectors replace it.
template <class T>
Int syevd(char job, char uplo, Int n, T* a, Int lda, Real<T>* w, Work& work);
// Eigenvalues and, if `right` is given, right eigenvectors. Real matrices: pairs of complex ones
// share two columns (real and imaginary part).
template <class T>
Int geev(Int n, T* a, Int lda, Complex<Real<T>>* w, T* right, Int ld, Work& work);

// Least squares. B has max(m, n) rows.
template <class T>
Int gels(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Work& work);
enum class Driver { gels, gelsy, gelsd, gelss };
// `s`: singular values, not written by gelsy. Columns of A are all free for gelsy to move.
template <class T>
Int gels_rank(Driver driver, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s,
              Real<T> rcond, Int* rank, Work& work);

}  // namespace wisp::cpu::lapack
