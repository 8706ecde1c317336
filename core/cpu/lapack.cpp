#include "cpu/lapack.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cpu/blas.h"

namespace wisp::cpu::lapack {

Int to_int(int64_t size) {
  WISP_CHECK(size <= INT32_MAX, "a matrix or its working memory is too large for LAPACK: ", size,
             " elements");
  return static_cast<Int>(size);
}

namespace {

template <class T>
constexpr char letter = 's';
template <>
constexpr char letter<double> = 'd';
template <>
constexpr char letter<Complex<float>> = 'c';
template <>
constexpr char letter<Complex<double>> = 'z';

// The routine for T: `name` is that of real numbers, `complex_name` where complex ones differ.
template <class T>
void* find(const char* name, const char* complex_name = nullptr) {
  const char* base = is_complex<T> && complex_name ? complex_name : name;
  return blas_function((letter<T> + std::string(base)).c_str());
}

// Calls a Fortran routine. Texts are followed, at the end, by their hidden lengths; they are all
// one letter.
template <class... A>
void run(void* function, A... args) {
  reinterpret_cast<void (*)(A...)>(function)(args...);
}
constexpr size_t one_letter = 1;

// How much working memory a routine asked for; rounded up, for it answers in its own precision.
template <class T>
int64_t asked(T best) {
  if constexpr (is_complex<T>) {
    return asked(best.re);
  } else {
    return static_cast<int64_t>(std::ceil(std::nextafter(best, std::numeric_limits<T>::max())));
  }
}

constexpr Int query = -1;
constexpr int64_t block = 16;  // rows and columns moved together: a few cache lines each

template <class T, class Move>
void by_blocks(int64_t rows, int64_t cols, Move move) {
  for (int64_t j0 = 0; j0 < cols; j0 += block) {
    for (int64_t i0 = 0; i0 < rows; i0 += block) {
      const int64_t i1 = std::min(i0 + block, rows), j1 = std::min(j0 + block, cols);
      for (int64_t j = j0; j < j1; ++j) {
        for (int64_t i = i0; i < i1; ++i) move(i, j);
      }
    }
  }
}

}  // namespace

template <class T>
void load(const Matrix& from, T* to, int64_t ld) {
  const T* data = reinterpret_cast<const T*>(from.data);
  if (from.row == 1) {
    for (int64_t j = 0; j < from.cols; ++j)
      std::copy_n(data + j * from.col, from.rows, to + j * ld);
    return;
  }
  by_blocks<T>(from.rows, from.cols,
               [&](int64_t i, int64_t j) { to[j * ld + i] = data[i * from.row + j * from.col]; });
}

template <class T>
void store(const T* from, int64_t ld, const Matrix& to) {
  T* data = reinterpret_cast<T*>(to.data);
  by_blocks<T>(to.rows, to.cols,
               [&](int64_t i, int64_t j) { data[i * to.row + j * to.col] = from[j * ld + i]; });
}

template <class T>
Int potrf(char uplo, Int n, T* a, Int lda) {
  static void* const routine = find<T>("potrf");
  Int info = 0;
  run(routine, &uplo, &n, a, &lda, &info, one_letter);
  return info;
}

template <class T>
Int potrs(char uplo, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb) {
  static void* const routine = find<T>("potrs");
  Int info = 0;
  run(routine, &uplo, &n, &nrhs, a, &lda, b, &ldb, &info, one_letter);
  return info;
}

template <class T>
Int potri(char uplo, Int n, T* a, Int lda) {
  static void* const routine = find<T>("potri");
  Int info = 0;
  run(routine, &uplo, &n, a, &lda, &info, one_letter);
  return info;
}

template <class T>
Int getrf(Int m, Int n, T* a, Int lda, Int* pivots) {
  static void* const routine = find<T>("getrf");
  Int info = 0;
  run(routine, &m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
Int getrs(char trans, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  static void* const routine = find<T>("getrs");
  Int info = 0;
  run(routine, &trans, &n, &nrhs, a, &lda, pivots, b, &ldb, &info, one_letter);
  return info;
}

template <class T>
Int sytrf(bool hermitian, Int n, T* a, Int lda, Int* pivots, Work& work) {
  static void* const symmetric = find<T>("sytrf");
  static void* const with_conj = find<T>("sytrf", "hetrf");
  void* const routine = hermitian ? with_conj : symmetric;
  const char uplo = 'L';
  Int info = 0;
  if (!work.sized()) {
    T best;
    run(routine, &uplo, &n, a, &lda, pivots, &best, &query, &info, one_letter);
    work.size<T>(asked(best));
  }
  run(routine, &uplo, &n, a, &lda, pivots, work.data<T>(), work.count(), &info, one_letter);
  return info;
}

template <class T>
Int sytrs(bool hermitian, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb) {
  static void* const symmetric = find<T>("sytrs");
  static void* const with_conj = find<T>("sytrs", "hetrs");
  const char uplo = 'L';
  Int info = 0;
  run(hermitian ? with_conj : symmetric, &uplo, &n, &nrhs, a, &lda, pivots, b, &ldb, &info,
      one_letter);
  return info;
}

template <class T>
void trsm(char side, char uplo, char trans, char diag, Int m, Int n, T* a, Int lda, T* b, Int ldb) {
  static void* const routine = find<T>("trsm");
  const T one(1);
  run(routine, &side, &uplo, &trans, &diag, &m, &n, &one, a, &lda, b, &ldb, one_letter, one_letter,
      one_letter, one_letter);
}

template <class T>
Int geqrf(Int m, Int n, T* a, Int lda, T* tau, Work& work) {
  static void* const routine = find<T>("geqrf");
  Int info = 0;
  if (!work.sized()) {
    T best;
    run(routine, &m, &n, a, &lda, tau, &best, &query, &info);
    work.size<T>(asked(best));
  }
  run(routine, &m, &n, a, &lda, tau, work.data<T>(), work.count(), &info);
  return info;
}

template <class T>
Int orgqr(Int m, Int n, Int k, T* a, Int lda, T* tau, Work& work) {
  static void* const routine = find<T>("orgqr", "ungqr");
  Int info = 0;
  if (!work.sized()) {
    T best;
    run(routine, &m, &n, &k, a, &lda, tau, &best, &query, &info);
    work.size<T>(asked(best));
  }
  run(routine, &m, &n, &k, a, &lda, tau, work.data<T>(), work.count(), &info);
  return info;
}

template <class T>
Int ormqr(char side, char trans, Int m, Int n, Int k, T* a, Int lda, T* tau, T* c, Int ldc,
          Work& work) {
  static void* const routine = find<T>("ormqr", "unmqr");
  Int info = 0;
  if (!work.sized()) {
    T best;
    run(routine, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, &best, &query, &info, one_letter,
        one_letter);
    work.size<T>(asked(best));
  }
  run(routine, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work.data<T>(), work.count(),
      &info, one_letter, one_letter);
  return info;
}

namespace {

template <class T>
void run_gesdd(const char& job, const Int& m, const Int& n, T* a, const Int& lda, Real<T>* s, T* u,
               const Int& ldu, T* vh, const Int& ldvh, T* work, const Int* count, Real<T>* reals,
               Int* ints, Int& info) {
  static void* const routine = find<T>("gesdd");
  if constexpr (is_complex<T>) {
    run(routine, &job, &m, &n, a, &lda, s, u, &ldu, vh, &ldvh, work, count, reals, ints, &info,
        one_letter);
  } else {
    run(routine, &job, &m, &n, a, &lda, s, u, &ldu, vh, &ldvh, work, count, ints, &info,
        one_letter);
  }
}

}  // namespace

template <class T>
Int gesdd(char job, Int m, Int n, T* a, Int lda, Real<T>* s, T* u, Int ldu, T* vh, Int ldvh,
          Work& work) {
  Int info = 0;
  if (!work.sized()) {
    T best;
    Int ints;
    Real<T> real;
    run_gesdd<T>(job, m, n, a, lda, s, u, ldu, vh, ldvh, &best, &query, &real, &ints, info);
    const int64_t small = std::min(m, n), large = std::max(m, n);
    const int64_t reals =
        job == 'N' ? 7 * small : small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
    work.size<T>(asked(best), is_complex<T> ? reals : 0, 8 * small);
  }
  run_gesdd<T>(job, m, n, a, lda, s, u, ldu, vh, ldvh, work.data<T>(), work.count(),
               work.reals<T>(), work.ints(), info);
  return info;
}

namespace {

template <class T>
void run_syevd(const char& job, const char& uplo, const Int& n, T* a, const Int& lda, Real<T>* w,
               T* work, const Int* count, Real<T>* reals, const Int* reals_count, Int* ints,
               const Int* ints_count, Int& info) {
  static void* const routine = find<T>("syevd", "heevd");
  if constexpr (is_complex<T>) {
    run(routine, &job, &uplo, &n, a, &lda, w, work, count, reals, reals_count, ints, ints_count,
        &info, one_letter, one_letter);
  } else {
    run(routine, &job, &uplo, &n, a, &lda, w, work, count, ints, ints_count, &info, one_letter,
        one_letter);
  }
}

}  // namespace

template <class T>
Int syevd(char job, char uplo, Int n, T* a, Int lda, Real<T>* w, Work& work) {
  Int info = 0;
  if (!work.sized()) {
    T best;
    Real<T> reals(0);
    Int ints = 0;
    run_syevd<T>(job, uplo, n, a, lda, w, &best, &query, &reals, &query, &ints, &query, info);
    work.size<T>(asked(best), is_complex<T> ? asked(reals) : 0, ints);
  }
  run_syevd<T>(job, uplo, n, a, lda, w, work.data<T>(), work.count(), work.reals<T>(),
               work.reals_count(), work.ints(), work.ints_count(), info);
  return info;
}

template <class T>
Int geev(Int n, T* a, Int lda, Complex<Real<T>>* w, T* right, Int ld, Work& work) {
  static void* const routine = find<T>("geev");
  const char none = 'N', want = right ? 'V' : 'N';
  const Int one = 1;
  Int info = 0;
  const Int* const lead = right ? &ld : &one;
  // Real eigenvalues come in two arrays, which lie in the working memory of reals.
  auto call = [&](T* memory, const Int* count, Real<T>* reals) {
    T* const no_left = nullptr;
    if constexpr (is_complex<T>) {
      run(routine, &none, &want, &n, a, &lda, w, no_left, &one, right, lead, memory, count, reals,
          &info, one_letter, one_letter);
    } else {
      run(routine, &none, &want, &n, a, &lda, reals, reals + n, no_left, &one, right, lead, memory,
          count, &info, one_letter, one_letter);
    }
  };
  if (!work.sized()) {
    T best;
    Real<T> unused[2] = {};
    call(&best, &query, unused);
    work.size<T>(asked(best), 2 * static_cast<int64_t>(n));
  }
  Real<T>* const reals = work.reals<T>();
  call(work.data<T>(), work.count(), reals);
  if constexpr (!is_complex<T>) {
    for (Int i = 0; i < n; ++i) w[i] = {reals[i], reals[n + i]};
  }
  return info;
}

template <class T>
Int gels(Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Work& work) {
  static void* const routine = find<T>("gels");
  const char trans = 'N';
  Int info = 0;
  if (!work.sized()) {
    T best;
    run(routine, &trans, &m, &n, &nrhs, a, &lda, b, &ldb, &best, &query, &info, one_letter);
    work.size<T>(asked(best));
  }
  run(routine, &trans, &m, &n, &nrhs, a, &lda, b, &ldb, work.data<T>(), work.count(), &info,
      one_letter);
  return info;
}

namespace {

// The three routines that find the rank differ in the order of their arguments.
template <class T>
void run_gels_rank(Driver driver, const Int& m, const Int& n, const Int& nrhs, T* a, const Int& lda,
                   T* b, const Int& ldb, Real<T>* s, const Real<T>& rcond, Int* rank, T* work,
                   const Int* count, Real<T>* reals, Int* ints, Int& info) {
  static void* const y = find<T>("gelsy");
  static void* const d = find<T>("gelsd");
  static void* const svd = find<T>("gelss");
  if constexpr (is_complex<T>) {
    if (driver == Driver::gelsy) {
      run(y, &m, &n, &nrhs, a, &lda, b, &ldb, ints, &rcond, rank, work, count, reals, &info);
    } else if (driver == Driver::gelsd) {
      run(d, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, count, reals, ints, &info);
    } else {
      run(svd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, count, reals, &info);
    }
  } else {
    if (driver == Driver::gelsy) {
      run(y, &m, &n, &nrhs, a, &lda, b, &ldb, ints, &rcond, rank, work, count, &info);
    } else if (driver == Driver::gelsd) {
      run(d, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, count, ints, &info);
    } else {
      run(svd, &m, &n, &nrhs, a, &lda, b, &ldb, s, &rcond, rank, work, count, &info);
    }
  }
}

}  // namespace

template <class T>
Int gels_rank(Driver driver, Int m, Int n, Int nrhs, T* a, Int lda, T* b, Int ldb, Real<T>* s,
              Real<T> rcond, Int* rank, Work& work) {
  Int info = 0;
  if (!work.sized()) {
    T best;
    Real<T> reals(0);
    Int ints = 0;
    run_gels_rank<T>(driver, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, &best, &query, &reals,
                     &ints, info);
    const int64_t small = std::min(m, n);
    int64_t real_count = 0, int_count = 0;
    if (driver == Driver::gelsy) {
      real_count = 2 * static_cast<int64_t>(n);
      int_count = n;
    } else if (driver == Driver::gelsd) {
      real_count = is_complex<T> ? asked(reals) : 0;
      int_count = ints;
    } else {
      real_count = 5 * small;
    }
    work.size<T>(asked(best), real_count, int_count);
  }
  if (driver == Driver::gelsy) std::fill_n(work.ints(), n, 0);
  run_gels_rank<T>(driver, m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work.data<T>(), work.count(),
                   work.reals<T>(), work.ints(), info);
  return info;
}

#define WISP_LAPACK(T)                                                                        \
  template void load<T>(const Matrix&, T*, int64_t);                                          \
  template void store<T>(const T*, int64_t, const Matrix&);                                   \
  template Int potrf<T>(char, Int, T*, Int);                                                  \
  template Int potrs<T>(char, Int, Int, T*, Int, T*, Int);                                    \
  template Int potri<T>(char, Int, T*, Int);                                                  \
  template Int getrf<T>(Int, Int, T*, Int, Int*);                                             \
  template Int getrs<T>(char, Int, Int, T*, Int, Int*, T*, Int);                              \
  template Int sytrf<T>(bool, Int, T*, Int, Int*, Work&);                                     \
  template Int sytrs<T>(bool, Int, Int, T*, Int, Int*, T*, Int);                              \
  template void trsm<T>(char, char, char, char, Int, Int, T*, Int, T*, Int);                  \
  template Int geqrf<T>(Int, Int, T*, Int, T*, Work&);                                        \
  template Int orgqr<T>(Int, Int, Int, T*, Int, T*, Work&);                                   \
  template Int ormqr<T>(char, char, Int, Int, Int, T*, Int, T*, T*, Int, Work&);              \
  template Int gesdd<T>(char, Int, Int, T*, Int, Real<T>*, T*, Int, T*, Int, Work&);          \
  template Int syevd<T>(char, char, Int, T*, Int, Real<T>*, Work&);                           \
  template Int geev<T>(Int, T*, Int, Complex<Real<T>>*, T*, Int, Work&);                      \
  template Int gels<T>(Int, Int, Int, T*, Int, T*, Int, Work&);                               \
  template Int gels_rank<T>(Driver, Int, Int, Int, T*, Int, T*, Int, Real<T>*, Real<T>, Int*, \
                            Work&);
WISP_LAPACK(float)
WISP_LAPACK(double)
WISP_LAPACK(Complex<float>)
WISP_LAPACK(Complex<double>)
#undef WISP_LAPACK

}  // namespace wisp::cpu::lapack
