// Norms, variance, and the logarithm of sums of exponentials.
#include <cmath>
#include <limits>

#include "cpu/kernels/exp_sum.h"
#include "cpu/kernels/size_of.h"

namespace wisp::cpu {

namespace {

// Sums of some power of the elements, in double: squares of floats neither overflow nor vanish
// there.
enum class Power { zero, one, two, three, any };

template <class T, Power power>
struct Norm {
  using Acc = double;
  using Result = typename RealOf<T>::type;
  static WISP_INLINE Acc start() { return 0; }

  static WISP_INLINE auto term(T x, double p) {
    if constexpr (power == Power::zero) {
      return x != T(0) ? 1.0 : 0.0;
    } else if constexpr (power == Power::one) {
      return size_of(x);
    } else if constexpr (power == Power::three) {
      const double size = static_cast<double>(size_of(x));
      return size * size * size;
    } else if constexpr (power == Power::any) {
      return vmath::pow(static_cast<double>(size_of(x)), p);
    } else if constexpr (detail::is_complex_type<T>) {
      const double re = x.re, im = x.im;
      return re * re + im * im;
    } else {
      return static_cast<double>(x) * static_cast<double>(x);
    }
  }

  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams& params) {
    const double p = params.p;
    acc += sum_of(x, n, [p](T v) { return term(v, p); });
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams& params) {
    acc += term(x, params.p);
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc += later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) {
    return static_cast<Result>(power == Power::two ? std::sqrt(acc) : acc);
  }
};
template <class T>
using Norm0 = Norm<T, Power::zero>;
template <class T>
using Norm1 = Norm<T, Power::one>;
template <class T>
using Norm2 = Norm<T, Power::two>;

// Of cubes, which need no logarithms, or of any other power.
template <class T>
struct NormP : Norm<T, Power::any> {
  using Cubes = Norm<T, Power::three>;
  using Powers = Norm<T, Power::any>;
  static void row(double& acc, const T* x, int64_t n, int64_t index, const ReduceParams& params) {
    params.p == 3 ? Cubes::row(acc, x, n, index, params) : Powers::row(acc, x, n, index, params);
  }
  static void columns(double* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows,
                      int64_t index, const ReduceParams& params) {
    params.p == 3 ? fold_columns<T, Cubes>(acc, n, x, row_bytes, rows, index, params)
                  : fold_columns<T, Powers>(acc, n, x, row_bytes, rows, index, params);
  }
  static WISP_INLINE auto result(double acc, const ReduceParams& params) {
    return static_cast<typename Powers::Result>(std::pow(acc, 1 / params.p));
  }
};

WISP_INLINE double scaled(double value, double by) { return value * by; }
WISP_INLINE Complex<double> scaled(Complex<double> value, double by) {
  return {value.re * by, value.im * by};
}
WISP_INLINE double squared(double d) { return d * d; }
WISP_INLINE double squared(Complex<double> d) { return d.re * d.re + d.im * d.im; }

// Mean and sum of squared differences from it: of a block at a time, joined by Chan's formula.
template <class T>
struct Moments {
  using Mean = Wide<T>;
  struct Acc {
    Mean mean;
    double squares;
    int64_t count;
  };
  using Result = typename RealOf<T>::type;
  static WISP_INLINE Acc start() { return {Mean(0), 0, 0}; }

  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    if (n == 0) return;
    const Mean mean = scaled(total(x, n), 1.0 / static_cast<double>(n));
    merge(acc, {mean, sum_of(x, n, [mean](T v) { return squared(Mean(v) - mean); }), n});
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    if (later.count == 0) return;
    const double all = static_cast<double>(acc.count + later.count);
    const double share = static_cast<double>(later.count) / all;
    const Mean shift = later.mean - acc.mean;
    acc.squares += later.squares + squared(shift) * static_cast<double>(acc.count) * share;
    acc.mean = acc.count ? acc.mean + scaled(shift, share) : later.mean;
    acc.count += later.count;
  }

  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows, int64_t,
                      const ReduceParams&) {
    for_each_block<T>(n, x, row_bytes, rows,
                      [&](int64_t first, int64_t count, const T* top, int64_t height) {
                        block(acc + first, count, top, row_bytes, height);
                      });
  }

  static WISP_INLINE Result result(const Acc& acc, const ReduceParams& params) {
    const double divisor = static_cast<double>(acc.count) - params.correction;
    const double variance = acc.squares / (divisor > 0 ? divisor : 0);
    return static_cast<Result>(params.take_root ? std::sqrt(variance) : variance);
  }
  static WISP_INLINE T second(const Acc& acc) {
    return T(acc.count ? acc.mean : scaled(Mean(1), std::numeric_limits<double>::quiet_NaN()));
  }

 private:
  static WISP_INLINE Mean total(const T* x, int64_t n) {
    if constexpr (detail::is_complex_type<T>) {
      using R = typename RealOf<T>::type;
      const auto sum = sum_block(reinterpret_cast<const R*>(x), 2 * n, [](R v) { return v; });
      return {sum.even, sum.odd};
    } else {
      return sum_of(x, n, [](T v) { return v; });
    }
  }
  static void block(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows) {
    Mean mean[block_width];
    double squares[block_width];
    for (int64_t i = 0; i < n; ++i) mean[i] = Mean(0);
    for (int64_t r = 0; r < rows; ++r) {
      const T* line = row_at<T>(x, row_bytes, r);
      for (int64_t i = 0; i < n; ++i) mean[i] = mean[i] + Mean(line[i]);
    }
    for (int64_t i = 0; i < n; ++i) mean[i] = scaled(mean[i], 1.0 / static_cast<double>(rows));
    for (int64_t i = 0; i < n; ++i) squares[i] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const T* line = row_at<T>(x, row_bytes, r);
      for (int64_t i = 0; i < n; ++i) squares[i] += squared(Mean(line[i]) - mean[i]);
    }
    for (int64_t i = 0; i < n; ++i) merge(acc[i], {mean[i], squares[i], rows});
  }
};

template <class T>
struct LogSumExp : ExpSum<T> {
  using Result = T;
  using Acc = typename ExpSum<T>::Acc;
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) {
    return static_cast<T>(std::log(acc.sum) + static_cast<double>(ExpSum<T>::shift(acc.largest)));
  }
};

}  // namespace

namespace WISP_ISA {

void fill_norms(Kernels& table) {
  set<Norm0, Reduction::norm_0, dtypes::math>(table);
  set<Norm1, Reduction::norm_1, dtypes::math>(table);
  set<Norm2, Reduction::norm_2, dtypes::math>(table);
  set<NormP, Reduction::norm_p, dtypes::math>(table);
  set<Moments, Reduction::moments, dtypes::math>(table);
  set<LogSumExp, Reduction::logsumexp, dtypes::real_math>(table);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
