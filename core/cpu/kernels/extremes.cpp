// Largest and smallest elements, and where they are.
#include <limits>

#include "cpu/kernels/fold.h"
#include "cpu/kernels/size_of.h"

namespace wisp::cpu {

namespace {

constexpr int extreme_lanes = 32;

// NaN wins over everything.
template <class T, bool largest>
WISP_INLINE T better(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return largest ? a | b : a & b;
  } else {
    const T best = largest ? (a > b ? a : b) : (a < b ? a : b);  // b if one of them is NaN
    if constexpr (std::is_floating_point_v<T>) return a != a ? a : best;
    return best;
  }
}

// What loses against everything.
template <class T, bool largest>
WISP_INLINE T worst() {
  if constexpr (std::is_same_v<T, bool>) {
    return !largest;
  } else if constexpr (std::is_floating_point_v<T>) {
    return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  } else {
    return largest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  }
}

// By halves: a chain of as many comparisons would take longer than most rows.
template <int count, bool largest, class T>
WISP_INLINE T best_lane(T* lane) {
  if constexpr (count == 1) {
    return lane[0];
  } else {
    for (int j = 0; j < count / 2; ++j) lane[j] = better<T, largest>(lane[j], lane[j + count / 2]);
    return best_lane<count / 2, largest>(lane);
  }
}

template <bool largest, class T, class F>
WISP_INLINE auto extreme_of_numbers(const T* x, int64_t n, F f) {
  using Value = decltype(f(load(x, 0)));
  Value lane[extreme_lanes];
  for (int j = 0; j < extreme_lanes; ++j) lane[j] = worst<Value, largest>();
  int64_t i = 0;
  for (; i + extreme_lanes <= n; i += extreme_lanes) {
    for (int j = 0; j < extreme_lanes; ++j)
      lane[j] = better<Value, largest>(lane[j], f(load(x, i + j)));
  }
  Value best = best_lane<extreme_lanes, largest>(lane);
  for (; i < n; ++i) best = better<Value, largest>(best, f(load(x, i)));
  return best;
}

// The extreme of f(x); of bools (f is the identity) as of bytes.
template <bool largest, class T, class F>
WISP_INLINE auto extreme_of(const T* x, int64_t n, F f) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(x);
    return extreme_of_numbers<largest>(bytes, n, [](uint8_t v) { return v; }) != 0;
  } else {
    return extreme_of_numbers<largest>(x, n, f);
  }
}

template <class T, bool largest>
struct Extreme {
  using Acc = T;
  using Result = T;
  static WISP_INLINE Acc start() { return worst<T, largest>(); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    acc = better<T, largest>(acc, extreme_of<largest>(x, n, [](T v) { return v; }));
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) {
    acc = better<T, largest>(acc, x);
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    acc = better<T, largest>(acc, later);
  }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc; }
};
template <class T>
using Min = Extreme<T, false>;
template <class T>
using Max = Extreme<T, true>;

// Both at once, the largest as the second result.
template <class T>
struct MinMax {
  struct Acc {
    T low, high;
  };
  using Result = T;
  static WISP_INLINE Acc start() { return {Min<T>::start(), Max<T>::start()}; }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams& p) {
    Min<T>::row(acc.low, x, n, 0, p);
    Max<T>::row(acc.high, x, n, 0, p);
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams& p) {
    Min<T>::one(acc.low, x, 0, p);
    Max<T>::one(acc.high, x, 0, p);
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    Min<T>::merge(acc.low, later.low);
    Max<T>::merge(acc.high, later.high);
  }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc.low; }
  static WISP_INLINE T second(const Acc& acc) { return acc.high; }
};

// The largest or smallest size of a number.
template <class T, bool largest>
struct ExtremeSize {
  using Acc = typename RealOf<T>::type;
  using Result = Acc;
  static WISP_INLINE Acc start() { return largest ? Acc(0) : worst<Acc, largest>(); }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    acc = better<Acc, largest>(acc, extreme_of<largest>(x, n, [](T v) { return size_of(v); }));
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t, const ReduceParams&) {
    acc = better<Acc, largest>(acc, size_of(x));
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    acc = better<Acc, largest>(acc, later);
  }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc; }
};
template <class T>
using MaxSize = ExtremeSize<T, true>;
template <class T>
using MinSize = ExtremeSize<T, false>;

// The first position of the extreme value (or of the first NaN), and the value.
template <class T, bool largest>
struct ArgExtreme {
  struct Acc {
    T value;
    int64_t index;  // -1: nothing seen yet
  };
  using Result = int64_t;
  static WISP_INLINE Acc start() { return {worst<T, largest>(), -1}; }

  static WISP_INLINE bool beats(T candidate, T value) {
    const bool wins = largest ? candidate > value : candidate < value;
    if constexpr (std::is_floating_point_v<T>)
      return (wins | (candidate != candidate)) & (value == value);
    return wins;
  }
  static WISP_INLINE void one(Acc& acc, T x, int64_t index, const ReduceParams&) {
    if (acc.index < 0 || beats(x, acc.value)) acc = {x, index};
  }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    if (later.index >= 0 && (acc.index < 0 || beats(later.value, acc.value))) acc = later;
  }

  // Finds the value first, with vectors, and looks for its place only if it is new.
  static void row(Acc& acc, const T* x, int64_t n, int64_t index, const ReduceParams&) {
    const T best = extreme_of<largest>(x, n, [](T v) { return v; });
    if (n == 0 || (acc.index >= 0 && !beats(best, acc.value))) return;
    int64_t i = 0;
    if (best == best) {
      while (load(x, i) != best) ++i;
    } else {
      while (load(x, i) == load(x, i)) ++i;
    }
    acc = {best, index + i};
  }

  // Positions are counted in integers as wide as the elements, so that one select serves both.
  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows,
                      int64_t index, const ReduceParams&) {
    using Row = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    constexpr int64_t block = 256;
    T value[block];
    Row place[block];
    for (int64_t first = 0; first < n && rows > 0; first += block) {
      const int64_t count = n - first < block ? n - first : block;
      Acc* mine = acc + first;
      const T* top = static_cast<const T*>(x) + first;
      const bool fresh = mine[0].index < 0;
      for (int64_t i = 0; i < count; ++i) {
        value[i] = fresh ? load(top, i) : mine[i].value;
        place[i] = fresh ? 0 : -1;
      }
      for (int64_t r = 0; r < rows; ++r) {
        const T* line = row_at<T>(top, row_bytes, r);
        const Row here = static_cast<Row>(r);
        for (int64_t i = 0; i < count; ++i) {
          const T candidate = load(line, i);
          const bool wins = beats(candidate, value[i]);
          value[i] = wins ? candidate : value[i];
          place[i] = wins ? here : place[i];
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        if (place[i] >= 0) mine[i] = {value[i], index + place[i]};
      }
    }
  }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams&) { return acc.index; }
  static WISP_INLINE T second(const Acc& acc) { return acc.value; }
};
template <class T>
using ArgMin = ArgExtreme<T, false>;
template <class T>
using ArgMax = ArgExtreme<T, true>;

// All keys of a row are compared with each other, eight rows at a time and without branches.
void rank_few(const uint64_t (*keys)[8], int64_t n, uint64_t (*ranks)[8]) {
  typedef uint64_t Rows __attribute__((vector_size(64), may_alias));
  const auto* key = reinterpret_cast<const Rows*>(keys);
  auto* out = reinterpret_cast<Rows*>(ranks);
  for (int64_t i = 0; i < n; ++i) {
    Rows rank = {};
    for (int64_t j = 0; j < i; ++j) {
      const Rows stays = reinterpret_cast<Rows>(key[j] <= key[i]);  // -1 or 0
      rank -= stays;
      out[j] += stays + 1;
    }
    out[i] = rank;
  }
}

}  // namespace

namespace WISP_ISA {

void fill_extremes(Kernels& table) {
  table.rank_few = rank_few;
  set<Min, Reduction::min, dtypes::bits | dtypes::real_math>(table);
  set<Max, Reduction::max, dtypes::bits | dtypes::real_math>(table);
  set<MinMax, Reduction::min_max, dtypes::bits | dtypes::real_math>(table);
  set<ArgMin, Reduction::argmin, dtypes::bits | dtypes::real_math>(table);
  set<ArgMax, Reduction::argmax, dtypes::bits | dtypes::real_math>(table);
  set<MaxSize, Reduction::norm_inf, dtypes::math>(table);
  set<MinSize, Reduction::norm_minus_inf, dtypes::math>(table);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
