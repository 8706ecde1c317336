// Sums, products, counts and truth.
#include "cpu/kernels/fold.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

template <class T, bool skip_nan>
struct RealSum {
  using Acc = Wide<T>;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static WISP_INLINE Acc start() { return Acc(0); }
  static WISP_INLINE Addend<T> term(T x) {
    return static_cast<Addend<T>>(skip_nan && x != x ? T(0) : x);
  }

  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    acc += sum_of(x, n, [](T v) { return term(v); });
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc += later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams& p) {
    if constexpr (std::is_integral_v<T>) return acc;
    return static_cast<Result>(acc / p.divisor);
  }

  // Eight rows at a time, in two levels: long columns lose no digits.
  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows, int64_t,
                      const ReduceParams&) {
    constexpr int64_t level = 512;
    if (rows > level) {
      Acc part[max_columns];
      for (int64_t r = 0; r < rows; r += level) {
        for (int64_t i = 0; i < n; ++i) part[i] = Acc(0);
        const int64_t count = rows - r < level ? rows - r : level;
        add_rows(part, n, row_at<T>(x, row_bytes, r), row_bytes, count);
        for (int64_t i = 0; i < n; ++i) acc[i] += part[i];
      }
      return;
    }
    add_rows(acc, n, x, row_bytes, rows);
  }

 private:
  static void add_rows(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows) {
    const int64_t step = row_bytes / static_cast<int64_t>(sizeof(T));
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8) {
      const T* first = row_at<T>(x, row_bytes, r);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        acc[i] += static_cast<Acc>(tree_sum(first + i, step, [](T v) { return term(v); }));
      }
    }
    for (; r < rows; ++r) {
      const T* one_row = row_at<T>(x, row_bytes, r);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) acc[i] += static_cast<Acc>(term(load(one_row, i)));
    }
  }
};

// Complex numbers are pairs of reals that add up on their own.
template <class T>
struct ComplexSum {
  using Acc = Complex<double>;
  using Result = Complex<T>;
  static WISP_INLINE Acc start() { return Acc(0, 0); }
  static void row(Acc& acc, const Complex<T>* x, int64_t n, int64_t, const ReduceParams&) {
    const auto total = sum_block(reinterpret_cast<const T*>(x), 2 * n, [](T v) { return v; });
    acc = acc + Acc(total.even, total.odd);
  }
  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows,
                      int64_t index, const ReduceParams& p) {
    for (int64_t i = 0; i < n; i += max_columns / 2) {  // within what the sum of reals can take
      const int64_t count = n - i < max_columns / 2 ? n - i : max_columns / 2;
      RealSum<T, false>::columns(reinterpret_cast<double*>(acc + i), 2 * count,
                                 static_cast<const Complex<T>*>(x) + i, row_bytes, rows, index, p);
    }
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc = acc + later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams& p) {
    return Result(Acc(acc.re / p.divisor, acc.im / p.divisor));
  }
};

template <class T>
struct SumOf {
  using type = RealSum<T, false>;
};
template <class T>
struct SumOf<Complex<T>> {
  using type = ComplexSum<T>;
};
template <class T>
using Sum = typename SumOf<T>::type;
template <class T>
using NanSum = RealSum<T, true>;

// Multiplies by four numbers as doubles. Compilers convert the halves of a vector of floats one by
// one, where there is an instruction for all of it.
using FourWide = FourOf<double>::type;
WISP_INLINE void times_four(FourWide& product, const double* x) {
  FourWide four;
  __builtin_memcpy(&four, x, sizeof four);
  product *= four;
}
WISP_INLINE void times_four(FourWide& product, const float* x) {
#if defined(__AVX__)
  product *= FourWide(_mm256_cvtps_pd(_mm_loadu_ps(x)));
#else
  float __attribute__((vector_size(16))) four;
  __builtin_memcpy(&four, x, sizeof four);
  product *= __builtin_convertvector(four, FourWide);
#endif
}

// The product of n numbers, made of doubles: float32 would leave its range much earlier.
template <class T>
WISP_INLINE double product_of(const T* x, int64_t n) {
  constexpr int parts = 8;  // products that do not wait for each other
  FourWide part[parts];
  for (int j = 0; j < parts; ++j) part[j] = FourWide{1, 1, 1, 1};
  int64_t i = 0;
  for (; i + 4 * parts <= n; i += 4 * parts) {
    for (int j = 0; j < parts; ++j) times_four(part[j], x + i + 4 * j);
  }
  for (; i + 8 <= n; i += 8) {
    times_four(part[0], x + i);
    times_four(part[1], x + i + 4);
  }
  const FourWide four =
      ((part[0] * part[4]) * (part[2] * part[6])) * ((part[1] * part[5]) * (part[3] * part[7]));
  double product = (four[0] * four[2]) * (four[1] * four[3]);
  for (; i < n; ++i) product *= static_cast<double>(x[i]);
  return product;
}

template <class T>
struct Prod {
  using Acc = Wide<T>;
  using Result = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
  static WISP_INLINE Acc start() { return Acc(1); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    if constexpr (std::is_floating_point_v<T>) {
      acc *= product_of(x, n);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(Acc)) {
      widened_row(acc, x, n);
    } else {
      Acc lane[lanes];
      for (int j = 0; j < lanes; ++j) lane[j] = start();
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) {
        for (int j = 0; j < lanes; ++j) lane[j] = lane[j] * Acc(load(x, i + j));
      }
      for (int j = 0; j < lanes; ++j) acc = acc * lane[j];
      for (; i < n; ++i) acc = acc * Acc(load(x, i));
    }
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) { acc = acc * Acc(x); }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc = acc * later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return Result(acc); }

 private:
  // All narrow integers share one loop of products, which takes much code per type that it
  // converts.
  static void widened_row(Acc& acc, const T* x, int64_t n) {
    constexpr int64_t most = 256;
    Acc wide[most];
    for (int64_t i = 0; i < n; i += most) {
      const int64_t count = n - i < most ? n - i : most;
      for (int64_t k = 0; k < count; ++k) wide[k] = Acc(load(x, i + k));
      Prod<Acc>::row(acc, wide, count, 0, {});
    }
  }
};

template <class T>
WISP_INLINE bool truth(T x) {
  return x != T(0);
}

template <class T, bool all>
struct Truth {
  using Acc = bool;
  using Result = bool;
  static WISP_INLINE Acc start() { return all; }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    if (acc != all) return;
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= truth(load(x, i)) != all;
    if (found) acc = !all;
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) {
    acc = all ? acc & truth(x) : acc | truth(x);
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    acc = all ? acc & later : acc | later;
  }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc; }
};
template <class T>
using Any = Truth<T, false>;
template <class T>
using All = Truth<T, true>;

// How many elements are not zero.
template <class T>
struct Count {
  using Acc = int64_t;
  using Result = int64_t;
  static WISP_INLINE Acc start() { return 0; }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    acc += sum_of(x, n, [](T v) { return static_cast<int32_t>(truth(v)); });
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) { acc += truth(x); }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc += later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc; }
};

// Whether an integer is zero does not depend on its sign: one kernel serves all of a size.
template <size_t bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = uint8_t;
};
template <>
struct BitsOf<2> {
  using type = uint16_t;
};
template <>
struct BitsOf<4> {
  using type = uint32_t;
};
template <>
struct BitsOf<8> {
  using type = uint64_t;
};
template <class T, bool integral = std::is_integral_v<T>>
struct SameZero {
  using type = T;
};
template <class T>
struct SameZero<T, true> {
  using type = typename BitsOf<sizeof(T)>::type;
};

template <template <class> class R, Reduction op>
WISP_INLINE void set_truth(Kernels& table) {
  for_each_type<dtypes::bits | dtypes::math>([&]<class T>() {
    using Bits = typename SameZero<T>::type;
    table.reduce[int(op)][int(dtype_of<T>)] = make_kernel<Bits, R<Bits>>();
  });
}

}  // namespace

namespace WISP_ISA {

void fill_reduce(Kernels& table) {
  set<Sum, Reduction::sum, dtypes::bits | dtypes::math>(table);
  set<NanSum, Reduction::nansum, dtypes::real_math>(table);
  set<Prod, Reduction::prod, dtypes::bits | dtypes::math>(table);
  set_truth<Any, Reduction::any>(table);
  set_truth<All, Reduction::all>(table);
  set_truth<Count, Reduction::count_nonzero>(table);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
