#include "cpu/scan.h"

#include <cmath>
#include <limits>

#include "cpu/kernels/fold.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

// --- What each scan does: `next` takes an element into the accumulator and gives the running
// value.

template <class T>
struct RunningSum {
  using Acc = Wide<T>;
  static WISP_INLINE Acc start() { return Acc(0); }
  static WISP_INLINE T next(Acc& acc, T x, int64_t, int64_t*) {
    acc = acc + Acc(x);
    return T(acc);
  }
};

template <class T>
struct RunningProduct {
  using Acc = Wide<T>;
  static WISP_INLINE Acc start() { return Acc(1); }
  static WISP_INLINE T next(Acc& acc, T x, int64_t, int64_t*) {
    acc = acc * Acc(x);
    return T(acc);
  }
};

// Among equals the last one counts; NaN wins, and stays.
template <class T, bool largest>
struct RunningExtreme {
  struct Acc {
    T value;
    int64_t place;  // -1: nothing seen yet
  };
  static WISP_INLINE Acc start() { return {T(0), -1}; }
  static WISP_INLINE T next(Acc& acc, T x, int64_t index, int64_t* place) {
    const bool wins = (largest ? x >= acc.value : x <= acc.value) | (x != x) | (acc.place < 0);
    acc = wins ? Acc{x, index} : acc;
    *place = acc.place;
    return acc.value;
  }
};
template <class T>
using RunningMax = RunningExtreme<T, true>;
template <class T>
using RunningMin = RunningExtreme<T, false>;

// The largest element so far, and the sum of exp(x - largest).
template <class T>
struct RunningLogSumExp {
  struct Acc {
    T largest;
    double sum;
  };
  static WISP_INLINE Acc start() { return {-std::numeric_limits<T>::infinity(), 0}; }
  static WISP_INLINE T next(Acc& acc, T x, int64_t, int64_t*) {
    const T distance = vmath::fabs(x - acc.largest);
    const double ratio =
        static_cast<double>(x == acc.largest ? T(1) : vmath::exp(-distance));  // of infinities: 1
    const bool grows = x > acc.largest;
    acc.sum = grows ? acc.sum * ratio + 1 : acc.sum + ratio;
    acc.largest = grows ? x : acc.largest;
    return acc.largest + vmath::log(static_cast<T>(acc.sum));
  }
};

// The logarithm itself is carried on: of two, that of the larger real part, plus log(1 + e^(other -
// it)). So the imaginary part of a single element stays what it is, also beyond pi.
template <class T>
struct RunningLogSumExp<Complex<T>> {
  using Acc = Complex<double>;
  static constexpr double inf = std::numeric_limits<double>::infinity();
  static WISP_INLINE Acc start() { return {-inf, 0}; }
  // e^a + e^b where both are infinite: only the quadrant is known.
  static WISP_INLINE Acc both_infinite(Acc a, Acc b) {
    auto far = [](double direction) { return direction == 0 ? 0 : inf * direction; };
    return {inf, std::atan2(far(std::sin(a.im)) + far(std::sin(b.im)),
                            far(std::cos(a.im)) + far(std::cos(b.im)))};
  }
  static WISP_INLINE Acc add(Acc a, Acc b) {
    if (b.re == -inf && b.im == b.im) return a;
    if (a.re == -inf && b.re == b.re && b.im == b.im) return b;
    if (a.re == inf && b.re == inf) return both_infinite(a, b);
    const Acc high = a.re >= b.re ? a : b, low = a.re >= b.re ? b : a;
    const double ratio = std::exp(low.re - high.re);
    const double re = ratio * std::cos(low.im - high.im), im = ratio * std::sin(low.im - high.im);
    const double growth = 2 * re + ratio * ratio;  // of the square of the length
    return {high.re + std::log1p(growth < -1 ? -1 : growth) / 2, high.im + std::atan2(im, 1 + re)};
  }
  static WISP_INLINE Complex<T> next(Acc& acc, Complex<T> z, int64_t, int64_t*) {
    acc = add(acc, {z.re, z.im});
    return {static_cast<T>(acc.re), static_cast<T>(acc.im)};
  }
};

// --- From a struct to a ScanKernel.

template <class T, class R>
void scan_row(typename R::Acc& acc, const T* x, T* y, int64_t* places, int64_t n, int64_t step,
              int64_t index) {
  typename R::Acc running = acc;
  int64_t unused;
  for (int64_t i = 0; i < n; ++i) {
    y[i * step] = R::next(running, load(x, i * step), index + i, places ? places + i : &unused);
  }
  acc = running;
}

// A running sum waits for its own last addition. Four of them at once do not: where the last three
// begin follows from the sums of the quarters, which are cheap.
template <class T>
void sum_row(Wide<T>& acc, const T* x, T* y, int64_t n, int64_t step) {
  const int64_t quarter = n / 4;
  Wide<T> at[4];
  at[0] = acc;
  for (int q = 1; q < 4; ++q) {
    const T* part = step > 0 ? x + (q - 1) * quarter : x - q * quarter + 1;
    at[q] = at[q - 1] + sum_of(part, quarter, [](T v) { return static_cast<Addend<T>>(v); });
  }
  for (int64_t i = 0; i < quarter; ++i) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const int64_t place = (q * quarter + i) * step;
      y[place] = RunningSum<T>::next(at[q], load(x, place), 0, nullptr);
    }
  }
  acc = at[3];
  scan_row<T, RunningSum<T>>(acc, x + 4 * quarter * step, y + 4 * quarter * step, nullptr,
                             n - 4 * quarter, step, 0);
}

template <class T, class R>
void scan_any_row(void* acc, const void* in, void* out, int64_t* places, int64_t n, int64_t step,
                  int64_t index) {
  auto& mine = *static_cast<typename R::Acc*>(acc);
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  if constexpr (std::is_same_v<R, RunningSum<T>> && !detail::is_complex_type<T>) {
    if (n >= 64) return sum_row(mine, x, y, n, step);
  }
  scan_row<T, R>(mine, x, y, places, n, step, index);
}

// Rows that have nothing to do with each other do not wait for each other's last step.
template <class T, class R>
void scan_four_rows(void* accs, const void* in, void* out, int64_t* places, int64_t n,
                    int64_t step) {
  auto* acc = static_cast<typename R::Acc*>(accs);
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  int64_t unused;
  typename R::Acc running[4] = {acc[0], acc[1], acc[2], acc[3]};
  for (int64_t i = 0; i < n; ++i) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const int64_t at = q * n + i * step;
      y[at] = R::next(running[q], load(x, at), i, places ? places + at : &unused);
    }
  }
}

template <class T, class R>
void scan_columns(void* accs, int64_t n, const void* in, void* out, int64_t* places, int64_t rows,
                  int64_t step, int64_t index) {
  auto* acc = static_cast<typename R::Acc*>(accs);
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(in) + r * step;
    T* y = static_cast<T*>(out) + r * step;
    if constexpr (requires(typename R::Acc a) { a.place; }) {
      for (int64_t i = 0; i < n; ++i)
        y[i] = R::next(acc[i], load(x, i), index + r, places + r * step + i);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = R::next(acc[i], load(x, i), index + r, nullptr);
    }
  }
}

template <class T, class R>
ScanKernel make_scan() {
  ScanKernel kernel;
  kernel.acc_bytes = sizeof(typename R::Acc);
  kernel.init = [](void* accs, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<typename R::Acc*>(accs)[i] = R::start();
  };
  kernel.row = scan_any_row<T, R>;
  kernel.four_rows = scan_four_rows<T, R>;
  kernel.columns = scan_columns<T, R>;
  return kernel;
}

template <template <class> class R, Scan op, DTypeSet Set>
WISP_INLINE void set_scan(Kernels& table) {
  for_each_type<Set>(
      [&]<class T>() { table.scan[int(op)][int(dtype_of<T>)] = make_scan<T, R<T>>(); });
}

// --- y[i] = x[i] + a[i] y[i - 1]

template <class T>
void linear_row(const void* in, const void* factors, void* out, int64_t n, int64_t step) {
  const T *x = static_cast<const T*>(in), *a = static_cast<const T*>(factors);
  T* y = static_cast<T*>(out);
  Wide<T> running = Wide<T>(x[0]);
  y[0] = x[0];
  for (int64_t i = 1; i < n; ++i) {
    running = Wide<T>(x[i * step]) + Wide<T>(a[i * step]) * running;
    y[i * step] = T(running);
  }
}

template <class T>
void linear_columns(const void* in, const void* factors, void* out, int64_t n, int64_t rows,
                    int64_t step) {
  const T *x = static_cast<const T*>(in), *a = static_cast<const T*>(factors);
  T* y = static_cast<T*>(out);
  Wide<T> running[max_scan_columns];
  for (int64_t i = 0; i < n; ++i) {
    running[i] = Wide<T>(x[i]);
    y[i] = x[i];
  }
  for (int64_t r = 1; r < rows; ++r) {
    x += step;
    a += step;
    y += step;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      running[i] = Wide<T>(x[i]) + Wide<T>(a[i]) * running[i];
      y[i] = T(running[i]);
    }
  }
}

}  // namespace

namespace WISP_ISA {

void fill_scan(Kernels& table) {
  set_scan<RunningSum, Scan::sum, dtypes::integral | dtypes::math>(table);
  set_scan<RunningProduct, Scan::prod, dtypes::integral | dtypes::math>(table);
  set_scan<RunningMax, Scan::max, dtypes::bits | dtypes::real_math>(table);
  set_scan<RunningMin, Scan::min, dtypes::bits | dtypes::real_math>(table);
  set_scan<RunningLogSumExp, Scan::logsumexp, dtypes::math>(table);
  for_each_type<dtypes::math>(
      [&]<class T>() { table.linear_scan[int(dtype_of<T>)] = {linear_row<T>, linear_columns<T>}; });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
