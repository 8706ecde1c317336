#include "cpu/reduce.h"

#include <cmath>
#include <limits>

#include "cpu/kernels/tile.h"

namespace wisp::cpu {

namespace {

// Folding happens in `lanes` independent accumulators, wide enough for any vector unit; they are joined
// in double precision per tile, which keeps float sums accurate to the last digit or so.
constexpr int lanes = 32;

template <class T>
struct Widest {
  using type = int64_t;
};
template <>
struct Widest<float> {
  using type = double;
};
template <>
struct Widest<double> {
  using type = double;
};
template <class T>
struct Widest<Complex<T>> {
  using type = Complex<double>;
};

template <class T>
WISP_INLINE T absolute(T x) {
  return x < 0 ? -x : x;
}

// Sum of f(x): f maps an element to what is added.
template <class T, class F>
WISP_INLINE typename Widest<T>::type lane_sum(const T* x, int64_t n, F f) {
  using Wide = typename Widest<T>::type;
  using Part = decltype(f(load(x, 0)));
  Part part[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int j = 0; j < lanes; ++j) part[j] = part[j] + f(load(x, i + j));
  }
  Wide total = Wide(0);
  for (int j = 0; j < lanes; ++j) total = total + Wide(part[j]);
  for (; i < n; ++i) total = total + Wide(f(load(x, i)));
  return total;
}

// --- What each reduction does, one struct per kind. Acc must be trivially copyable.

template <class T>
struct Sum {
  using Acc = typename Widest<T>::type;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static Acc start() { return Acc(0); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    using Part = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    acc = acc + lane_sum(x, n, [](T v) { return Part(v); });
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) { acc = acc + Acc(x); }
  static void merge(Acc& acc, const Acc& later) { acc = acc + later; }
  static Result result(const Acc& acc, const ReduceParams& p) {
    if constexpr (std::is_integral_v<T>) {
      return acc;
    } else if constexpr (detail::is_complex_type<T>) {
      return Result(Acc(acc.re / p.divisor, acc.im / p.divisor));
    } else {
      return static_cast<Result>(acc / p.divisor);
    }
  }
};

template <class T>
struct Prod {
  using Acc = typename Widest<T>::type;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static Acc start() { return Acc(1); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    Acc part[4] = {Acc(1), Acc(1), Acc(1), Acc(1)};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (int j = 0; j < 4; ++j) part[j] = part[j] * Acc(load(x, i + j));
    }
    acc = acc * ((part[0] * part[1]) * (part[2] * part[3]));
    for (; i < n; ++i) acc = acc * Acc(load(x, i));
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) { acc = acc * Acc(x); }
  static void merge(Acc& acc, const Acc& later) { acc = acc * later; }
  static Result result(const Acc& acc, const ReduceParams&) { return Result(acc); }
};

// NaN wins over everything.
template <class T, bool largest>
struct Extreme {
  using Acc = T;
  using Result = T;
  static Acc start() {
    if constexpr (std::is_same_v<T, bool>) {
      return !largest;
    } else if constexpr (std::is_floating_point_v<T>) {
      return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    } else {
      return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    }
  }
  static WISP_INLINE T better(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T chosen = largest ? (a > b ? a : b) : (a < b ? a : b);
      return a != a ? a : b != b ? b : chosen;
    } else {
      return largest ? (a > b ? a : b) : (a < b ? a : b);
    }
  }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    T part[lanes];
    for (int j = 0; j < lanes; ++j) part[j] = start();
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      for (int j = 0; j < lanes; ++j) part[j] = better(part[j], load(x, i + j));
    }
    for (int j = 0; j < lanes; ++j) acc = better(acc, part[j]);
    for (; i < n; ++i) acc = better(acc, load(x, i));
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) { acc = better(acc, x); }
  static void merge(Acc& acc, const Acc& later) { acc = better(acc, later); }
  static Result result(const Acc& acc, const ReduceParams&) { return acc; }
};

// The first position of the extreme value (or of the first NaN), and the value.
template <class T, bool largest>
struct ArgExtreme {
  struct Acc {
    T value;
    int64_t index;
  };
  using Result = int64_t;
  static Acc start() { return {Extreme<T, largest>::start(), -1}; }
  static WISP_INLINE bool beats(T candidate, const Acc& acc) {
    if (acc.index < 0) return true;
    if constexpr (std::is_floating_point_v<T>) {
      if (acc.value != acc.value) return false;
      if (candidate != candidate) return true;
    }
    return largest ? candidate > acc.value : candidate < acc.value;
  }
  static void row(Acc& acc, const T* x, int64_t n, int64_t index, const ReduceParams& p) {
    // Find the value with vectors first; look for its place only if it is new.
    T best = Extreme<T, largest>::start();
    Extreme<T, largest>::row(best, x, n, index, p);
    if (!beats(best, acc)) return;
    for (int64_t i = 0; i < n; ++i) {
      const T value = load(x, i);
      if (value == best || (best != best && value != value)) {
        acc = {value, index + i};
        return;
      }
    }
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t index, const ReduceParams&) {
    if (beats(x, acc)) acc = {x, index};
  }
  static void merge(Acc& acc, const Acc& later) {
    if (later.index >= 0 && beats(later.value, acc)) acc = later;
  }
  static Result result(const Acc& acc, const ReduceParams&) { return acc.index; }
  static T second(const Acc& acc) { return acc.value; }
};

template <class T, bool all>
struct Truth {
  using Acc = bool;
  using Result = bool;
  static Acc start() { return all; }
  static WISP_INLINE bool truth(T x) { return x != T(0); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    if (acc != all) return;
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= truth(load(x, i)) != all;
    if (found) acc = !all;
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) {
    acc = all ? acc & truth(x) : acc | truth(x);
  }
  static void merge(Acc& acc, const Acc& later) { acc = all ? acc & later : acc | later; }
  static Result result(const Acc& acc, const ReduceParams&) { return acc; }
};

// Size of a number, in double: squares of floats neither overflow nor vanish there.
template <class T>
WISP_INLINE double size_of(T x) {
  if constexpr (detail::is_complex_type<T>) {
    return std::hypot(static_cast<double>(x.re), static_cast<double>(x.im));
  } else {
    return absolute(static_cast<double>(x));
  }
}

template <class T, Reduction kind>
struct Norm {
  using Acc = double;
  using Result = typename RealOf<T>::type;
  static constexpr bool extreme = kind == Reduction::norm_inf || kind == Reduction::norm_minus_inf;
  static Acc start() {
    return kind == Reduction::norm_minus_inf ? std::numeric_limits<double>::infinity() : 0.0;
  }
  static WISP_INLINE double term(T x, const ReduceParams& p) {
    if constexpr (kind == Reduction::norm_0) {
      return x != T(0) ? 1.0 : 0.0;
    } else if constexpr (kind == Reduction::norm_2) {
      if constexpr (detail::is_complex_type<T>) {
        const double re = x.re, im = x.im;
        return re * re + im * im;
      } else {
        return static_cast<double>(x) * static_cast<double>(x);
      }
    } else if constexpr (kind == Reduction::norm_p) {
      return std::pow(size_of(x), p.p);
    } else {
      return size_of(x);
    }
  }
  static WISP_INLINE void add(Acc& acc, double value) {
    if constexpr (extreme) {
      const bool wins = kind == Reduction::norm_inf ? value > acc : value < acc;
      acc = acc != acc ? acc : (wins || value != value) ? value : acc;
    } else {
      acc += value;
    }
  }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams& p) {
    double part[8];
    for (int j = 0; j < 8; ++j) part[j] = start();
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int j = 0; j < 8; ++j) add(part[j], term(x[i + j], p));
    }
    for (int j = 0; j < 8; ++j) add(acc, part[j]);
    for (; i < n; ++i) add(acc, term(x[i], p));
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams& p) { add(acc, term(x, p)); }
  static void merge(Acc& acc, const Acc& later) { add(acc, later); }
  static Result result(const Acc& acc, const ReduceParams& p) {
    if constexpr (kind == Reduction::norm_2) return static_cast<Result>(std::sqrt(acc));
    if constexpr (kind == Reduction::norm_p) return static_cast<Result>(std::pow(acc, 1 / p.p));
    return static_cast<Result>(acc);
  }
};

// Mean and sum of squared differences from it, tile by tile, joined by Chan's formula.
template <class T>
struct Moments {
  using Wide = typename Widest<T>::type;
  struct Acc {
    Wide mean;
    double squares;
    int64_t count;
  };
  using Result = typename RealOf<T>::type;
  static Acc start() { return {Wide(0), 0, 0}; }
  static WISP_INLINE double square_size(Wide d) {
    if constexpr (detail::is_complex_type<T>) {
      return d.re * d.re + d.im * d.im;
    } else {
      return d * d;
    }
  }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    if (n == 0) return;
    const Wide mean = scale(lane_sum(x, n, [](T v) { return v; }), 1.0 / static_cast<double>(n));
    double part[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      for (int j = 0; j < 8; ++j) part[j] += square_size(Wide(x[i + j]) - mean);
    }
    double squares = 0;
    for (int j = 0; j < 8; ++j) squares += part[j];
    for (; i < n; ++i) squares += square_size(Wide(x[i]) - mean);
    merge(acc, {mean, squares, n});
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) {
    ++acc.count;
    const Wide before = Wide(x) - acc.mean;
    acc.mean = acc.mean + scale(before, 1.0 / static_cast<double>(acc.count));
    acc.squares += real_product(before, Wide(x) - acc.mean);
  }
  static void merge(Acc& acc, const Acc& later) {
    if (later.count == 0) return;
    const double total = static_cast<double>(acc.count + later.count);
    const Wide shift = later.mean - acc.mean;
    const double share = static_cast<double>(later.count) / total;
    acc.squares += later.squares + square_size(shift) * static_cast<double>(acc.count) * share;
    acc.mean = acc.mean + scale(shift, share);
    acc.count += later.count;
  }
  static Result result(const Acc& acc, const ReduceParams& p) {
    const double divisor = static_cast<double>(acc.count) - p.correction;
    const double variance = acc.squares / (divisor > 0 ? divisor : 0);
    return static_cast<Result>(p.take_root ? std::sqrt(variance) : variance);
  }
  static T second(const Acc& acc) {
    const Wide mean = acc.count ? acc.mean : scale(Wide(0), std::numeric_limits<double>::quiet_NaN());
    return T(mean);
  }

 private:
  static WISP_INLINE Wide scale(Wide value, double by) {
    if constexpr (detail::is_complex_type<T>) {
      return {value.re * by, value.im * by};
    } else {
      return value * by;
    }
  }
  static WISP_INLINE double real_product(Wide a, Wide b) {
    if constexpr (detail::is_complex_type<T>) {
      return a.re * b.re + a.im * b.im;
    } else {
      return a * b;
    }
  }
};

// --- From a struct to a ReduceKernel.

template <class T, class R>
ReduceKernel make_kernel() {
  using Acc = typename R::Acc;
  static_assert(sizeof(Acc) <= 64);
  ReduceKernel kernel;
  kernel.acc_bytes = sizeof(Acc);
  kernel.result = dtype_of<typename R::Result>;
  kernel.init = [](void* accs, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Acc*>(accs)[i] = R::start();
  };
  kernel.row = [](void* acc, const void* x, int64_t n, int64_t index, const ReduceParams& p) {
    R::row(*static_cast<Acc*>(acc), static_cast<const T*>(x), n, index, p);
  };
  kernel.column = [](void* accs, const void* x, int64_t n, int64_t index, const ReduceParams& p) {
    Acc* acc = static_cast<Acc*>(accs);
    const T* values = static_cast<const T*>(x);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) R::one(acc[i], load(values, i), index, p);
  };
  kernel.merge = [](void* acc, const void* later) {
    R::merge(*static_cast<Acc*>(acc), *static_cast<const Acc*>(later));
  };
  kernel.finish = [](void* out, void* second, const void* accs, int64_t n, const ReduceParams& p) {
    const Acc* acc = static_cast<const Acc*>(accs);
    for (int64_t i = 0; i < n; ++i) {
      static_cast<typename R::Result*>(out)[i] = R::result(acc[i], p);
      if constexpr (requires { R::second(acc[i]); }) {
        if (second) static_cast<T*>(second)[i] = R::second(acc[i]);
      }
    }
  };
  return kernel;
}

template <template <class> class R, Reduction op, DTypeSet Set>
void set(Kernels& table) {
  for_each_type<Set>([&]<class T>() {
    table.reduce[int(op)][int(dtype_of<T>)] = make_kernel<T, R<T>>();
  });
}

template <class T>
using Min = Extreme<T, false>;
template <class T>
using Max = Extreme<T, true>;
template <class T>
using ArgMin = ArgExtreme<T, false>;
template <class T>
using ArgMax = ArgExtreme<T, true>;
template <class T>
using Any = Truth<T, false>;
template <class T>
using All = Truth<T, true>;
template <class T>
using Norm0 = Norm<T, Reduction::norm_0>;
template <class T>
using Norm1 = Norm<T, Reduction::norm_1>;
template <class T>
using Norm2 = Norm<T, Reduction::norm_2>;
template <class T>
using NormInf = Norm<T, Reduction::norm_inf>;
template <class T>
using NormMinusInf = Norm<T, Reduction::norm_minus_inf>;
template <class T>
using NormP = Norm<T, Reduction::norm_p>;

}  // namespace

namespace WISP_ISA {

void fill_reduce(Kernels& table) {
  set<Sum, Reduction::sum, dtypes::bits | dtypes::math>(table);
  set<Prod, Reduction::prod, dtypes::bits | dtypes::math>(table);
  set<Min, Reduction::min, dtypes::bits | dtypes::real_math>(table);
  set<Max, Reduction::max, dtypes::bits | dtypes::real_math>(table);
  set<ArgMin, Reduction::argmin, dtypes::bits | dtypes::real_math>(table);
  set<ArgMax, Reduction::argmax, dtypes::bits | dtypes::real_math>(table);
  set<Any, Reduction::any, dtypes::bits | dtypes::math>(table);
  set<All, Reduction::all, dtypes::bits | dtypes::math>(table);
  set<Norm0, Reduction::norm_0, dtypes::math>(table);
  set<Norm1, Reduction::norm_1, dtypes::math>(table);
  set<Norm2, Reduction::norm_2, dtypes::math>(table);
  set<NormInf, Reduction::norm_inf, dtypes::math>(table);
  set<NormMinusInf, Reduction::norm_minus_inf, dtypes::math>(table);
  set<NormP, Reduction::norm_p, dtypes::math>(table);
  set<Moments, Reduction::moments, dtypes::math>(table);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
