// Adding up consecutive elements, and how a reduction is spelled: a struct over one accumulator
// becomes a ReduceKernel. Included by files of this folder only (see tile.h).
#pragma once

#include "cpu/kernels/tile.h"
#include "cpu/reduce.h"

namespace wisp::cpu {

namespace {

// What sums are kept in: floats are added up as doubles, integers as int64.
template <class T>
struct WideOf {
  using type = int64_t;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <class T>
struct WideOf<Complex<T>> {
  using type = Complex<double>;
};
template <class T>
using Wide = typename WideOf<T>::type;

// Independent partial sums: enough of them to keep any vector unit busy.
constexpr int lanes = 16;
// int32 lanes add up so many numbers of 16 bits without overflow.
constexpr int64_t lane_block = 1 << 14;

// Some numbers (a power of two), `step` apart, added as a tree: of eight, three roundings instead
// of seven.
template <int64_t count, class T, class F>
WISP_INLINE auto tree_sum(const T* x, int64_t step, F f) {
  if constexpr (count == 1) {
    return f(load(x, 0));
  } else {
    return tree_sum<count / 2>(x, step, f) + tree_sum<count / 2>(x + count / 2 * step, step, f);
  }
}

// Sums of the elements at even and at odd positions, which are the parts of complex numbers.
template <class T>
struct EvenOdd {
  T even, odd;
};

// Four numbers at once.
template <class T>
struct FourOf;
template <>
struct FourOf<double> {
  using type = double __attribute__((vector_size(32)));
};
template <>
struct FourOf<int64_t> {
  using type = int64_t __attribute__((vector_size(32)));
};
template <>
struct FourOf<int32_t> {
  using type = int32_t __attribute__((vector_size(16)));
};

// Lanes that are kept while a loop runs. Compilers leave an array in memory from one step to the
// next; vectors of the size that the processor has stay in registers.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
template <class T>
struct KeptLanes {
  typedef T Vector __attribute__((vector_size(vector_bytes)));
  static constexpr int count = lanes * sizeof(T) / vector_bytes;
  Vector part[count] = {};

  WISP_INLINE void add(const T (&more)[lanes]) {
    Vector parts[count];
    __builtin_memcpy(parts, more, sizeof more);
    for (int k = 0; k < count; ++k) part[k] += parts[k];
  }
  WISP_INLINE void read(T (&out)[lanes]) const { __builtin_memcpy(out, part, sizeof out); }
};

template <class Lane>
WISP_INLINE EvenOdd<Lane> sum_lanes(const Lane (&lane)[lanes]) {
  typename FourOf<Lane>::type part[lanes / 4];
  __builtin_memcpy(part, lane, sizeof lane);
  const auto sum = (part[0] + part[1]) + (part[2] + part[3]);
  return {sum[0] + sum[2], sum[1] + sum[3]};
}

// One sum per lane of `count` groups of lanes, as trees. Group after group, so that memory is read
// in order: a processor fetches ahead of a loop that goes up, much less of one that goes down.
template <class Part>
struct LaneSums {
  Part of[lanes];
};
template <int64_t count, class T, class F>
WISP_INLINE auto lane_sums(const T* x, F f) {
  LaneSums<decltype(f(load(x, 0)))> sums;
  if constexpr (count <= 2) {
    for (int j = 0; j < lanes; ++j) sums.of[j] = tree_sum<count>(x + j, lanes, f);
  } else {
    const auto first = lane_sums<count / 2>(x, f);
    const auto second = lane_sums<count / 2>(x + count / 2 * lanes, f);
    for (int j = 0; j < lanes; ++j) sums.of[j] = first.of[j] + second.of[j];
  }
  return sums;
}

// Fewer elements than lanes.
template <class Lane, class T, class F>
WISP_INLINE EvenOdd<Lane> sum_few(const T* x, int64_t n, F f) {
  EvenOdd<Lane> total{}, more{};
  auto add_pair = [&](EvenOdd<Lane>& sums, int64_t at) {
    sums.even += static_cast<Lane>(f(load(x, at)));
    sums.odd += static_cast<Lane>(f(load(x, at + 1)));
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    add_pair(total, i);
    add_pair(more, i + 2);
  }
  if (i + 2 <= n) {
    add_pair(total, i);
    i += 2;
  }
  if (i < n) total.even += static_cast<Lane>(f(load(x, i)));
  return {total.even + more.even, total.odd + more.odd};
}

// The lanes of what is left when whole groups of eight are gone: `n` elements that end a run of at
// least as many as there are lanes.
template <class T, class F>
WISP_INLINE KeptLanes<float> sum_rest(const T* x, int64_t n, F f) {
  KeptLanes<float> rest;
  const auto add = [&](const LaneSums<float>& sums, int64_t taken) {
    rest.add(sums.of);
    x += taken * lanes;
    n -= taken * lanes;
  };
  if (n >= 4 * lanes) add(lane_sums<4>(x, f), 4);
  if (n >= 2 * lanes) add(lane_sums<2>(x, f), 2);
  if (n >= lanes) add(lane_sums<1>(x, f), 1);
  const T* last = x + n - lanes;  // its first elements have been added already
  LaneSums<float> few;
  for (int j = 0; j < lanes; ++j) few.of[j] = j >= lanes - n ? f(load(last, j)) : 0.0f;
  rest.add(few.of);
  return rest;
}

// Floats are added in trees of up to eight and from there on as doubles: nothing is lost in the
// long run.
template <class T, class F>
WISP_INLINE EvenOdd<double> sum_floats(const T* x, int64_t n, F f) {
  if (n < lanes) return sum_few<double>(x, n, f);
  KeptLanes<double> total;
  const auto add = [&](const float (&sums)[lanes]) {
    double wide[lanes];
    for (int j = 0; j < lanes; ++j) wide[j] = static_cast<double>(sums[j]);
    total.add(wide);
  };
  int64_t i = 0;
  for (; i + 8 * lanes <= n; i += 8 * lanes) add(lane_sums<8>(x + i, f).of);
  if (i < n) {
    float rest[lanes];
    sum_rest(x + i, n - i, f).read(rest);
    add(rest);
  }
  double lane[lanes];
  total.read(lane);
  return sum_lanes(lane);
}

template <class T, class F>
WISP_INLINE auto sum_block(const T* x, int64_t n, F f) {
  using Lane = decltype(f(load(x, 0)));
  if constexpr (std::is_same_v<Lane, float>) {
    return sum_floats(x, n, f);
  } else {
    KeptLanes<Lane> kept;
    int64_t i = 0;
    for (; i + 8 * lanes <= n; i += 8 * lanes) kept.add(lane_sums<8>(x + i, f).of);
    for (; i + lanes <= n; i += lanes) kept.add(lane_sums<1>(x + i, f).of);
    Lane lane[lanes];
    kept.read(lane);
    const EvenOdd<Lane> total = sum_lanes(lane), rest = sum_few<Lane>(x + i, n - i, f);
    return EvenOdd<Lane>{total.even + rest.even, total.odd + rest.odd};
  }
}

// Sum of f(x) over n elements; f gives what is added, in the type it is to be added in.
template <class T, class F>
WISP_INLINE auto sum_of(const T* x, int64_t n, F f) {
  using Part = decltype(f(load(x, 0)));
  if constexpr (std::is_same_v<Part, int32_t>) {
    int64_t total = 0;
    for (int64_t i = 0; i < n; i += lane_block) {
      const auto part = sum_block(x + i, n - i < lane_block ? n - i : lane_block, f);
      total += int64_t(part.even) + part.odd;
    }
    return total;
  } else {
    const auto total = sum_block(x, n, f);
    return total.even + total.odd;
  }
}

// What single elements are converted to before they are added.
template <class T>
using Addend = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) <= 2, int32_t, int64_t>>;

// --- From a struct to a ReduceKernel. R has
//   Acc, Result          trivially copyable
//   start()              the accumulator of nothing
//   row(acc, x, n, index, params), merge(acc, later), result(acc, params)
//   one(acc, x, index, params), or columns(accs, ...) if there is a better way than `one` for all
//   second(acc)          optional: a further result, of type T

template <class T>
WISP_INLINE const T* row_at(const void* x, int64_t row_bytes, int64_t row) {
  return reinterpret_cast<const T*>(static_cast<const char*>(x) + row * row_bytes);
}

// Reductions that take two passes go through blocks of columns that stay in the first-level cache
// between the two.
constexpr int64_t block_width = 128, block_height = 32;

template <class T, class F>
WISP_INLINE void for_each_block(int64_t n, const void* x, int64_t row_bytes, int64_t rows, F f) {
  for (int64_t first = 0; first < n; first += block_width) {
    const int64_t count = n - first < block_width ? n - first : block_width;
    for (int64_t r = 0; r < rows; r += block_height) {
      f(first, count, row_at<T>(x, row_bytes, r) + first,
        rows - r < block_height ? rows - r : block_height);
    }
  }
}

template <class T, class R>
void fold_columns(void* accs, int64_t n, const void* x, int64_t row_bytes, int64_t rows,
                  int64_t index, const ReduceParams& given) {
  const ReduceParams params = given;
  using Acc = typename R::Acc;
  Acc* acc = static_cast<Acc*>(accs);
  if constexpr (requires { R::columns(acc, n, x, row_bytes, rows, index, params); }) {
    R::columns(acc, n, x, row_bytes, rows, index, params);
  } else {
    int64_t r = 0;
    for (; r + 4 <= rows;
         r += 4) {  // four at a time: accumulators are loaded and stored less often
      const T *a = row_at<T>(x, row_bytes, r), *b = row_at<T>(x, row_bytes, r + 1);
      const T *c = row_at<T>(x, row_bytes, r + 2), *d = row_at<T>(x, row_bytes, r + 3);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        Acc one = acc[i];
        R::one(one, load(a, i), index + r, params);
        R::one(one, load(b, i), index + r + 1, params);
        R::one(one, load(c, i), index + r + 2, params);
        R::one(one, load(d, i), index + r + 3, params);
        acc[i] = one;
      }
    }
    for (; r < rows; ++r) {
      const T* a = row_at<T>(x, row_bytes, r);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) R::one(acc[i], load(a, i), index + r, params);
    }
  }
}

template <class T, class R>
void finish_fold(void* out, void* second, const void* accs, int64_t n, const ReduceParams& given) {
  const ReduceParams params = given;
  const auto* acc = static_cast<const typename R::Acc*>(accs);
  auto* results = static_cast<typename R::Result*>(out);
  for (int64_t i = 0; i < n; ++i) results[i] = R::result(acc[i], params);
  if constexpr (requires { R::second(acc[0]); }) {
    T* seconds = static_cast<T*>(second);
    for (int64_t i = 0; second && i < n; ++i) seconds[i] = R::second(acc[i]);
  }
}

template <class T, class R>
ReduceKernel make_kernel() {
  using Acc = typename R::Acc;
  static_assert(sizeof(Acc) <= max_acc_bytes);
  ReduceKernel kernel;
  kernel.acc_bytes = sizeof(Acc);
  kernel.result = dtype_of<typename R::Result>;
  kernel.init = [](void* accs, int64_t n) {
    for (int64_t i = 0; i < n; ++i) static_cast<Acc*>(accs)[i] = R::start();
  };
  kernel.row = [](void* acc, const void* x, int64_t n, int64_t index, const ReduceParams& params) {
    R::row(*static_cast<Acc*>(acc), static_cast<const T*>(x), n, index, params);
  };
  kernel.columns = fold_columns<T, R>;
  kernel.merge = [](void* accs, const void* later, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      R::merge(static_cast<Acc*>(accs)[i], static_cast<const Acc*>(later)[i]);
    }
  };
  kernel.finish = finish_fold<T, R>;
  return kernel;
}

template <template <class> class R, Reduction op, DTypeSet Set>
WISP_INLINE void set(Kernels& table) {
  for_each_type<Set>(
      [&]<class T>() { table.reduce[int(op)][int(dtype_of<T>)] = make_kernel<T, R<T>>(); });
}

}  // namespace

}  // namespace wisp::cpu
