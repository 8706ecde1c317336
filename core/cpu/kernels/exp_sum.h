// Sums of exponentials that neither overflow nor vanish. Included by files of this folder only (see
// tile.h).
#pragma once

#include <limits>

#include "cpu/kernels/fold.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

constexpr int64_t exp_piece = 1024;  // elements whose exponentials stay in the first-level cache

template <class T>
WISP_INLINE T largest_of(const T* x, int64_t n) {
  T lane[2 * lanes], largest = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (n >= 2 * lanes) {
    for (int j = 0; j < 2 * lanes; ++j) lane[j] = x[j];
    for (i = 2 * lanes; i + 2 * lanes <= n; i += 2 * lanes) {
      for (int j = 0; j < 2 * lanes; ++j) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    }
    for (int j = 0; j < 2 * lanes; ++j) largest = lane[j] > largest ? lane[j] : largest;
  }
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

template <class T>
WISP_INLINE double sum_plain(const T* x, int64_t n) {
  return sum_of(x, n, [](T v) { return v; });
}

// y = exp(x - shift); returns the sum. y may be x. Usually the shift is the largest x.
template <class T, bool below = true>
WISP_INLINE double exponentials(T* y, const T* x, int64_t n, T shift) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += exp_piece) {
    const int64_t count = n - begin < exp_piece ? n - begin : exp_piece;
    const T* from = x + begin;
    T* to = y + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      to[i] = below ? vmath::exp_below(from[i] - shift) : vmath::exp(from[i] - shift);
    }
    sum += sum_plain(to, count);
  }
  return sum;
}

// The same without keeping them.
template <class T, bool below = true>
WISP_INLINE double exponential_sum(const T* x, int64_t n, T shift) {
  T kept[exp_piece];
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += exp_piece) {
    const int64_t count = n - begin < exp_piece ? n - begin : exp_piece;
    sum += exponentials<T, below>(kept, x + begin, count, shift);
  }
  return sum;
}

// The sum of exp(x), as the largest x so far and the sum of exp(x - largest).
template <class T>
struct ExpSum {
  struct Acc {
    T largest;
    double sum;
  };
  static WISP_INLINE Acc start() { return {-std::numeric_limits<T>::infinity(), 0}; }

  // What is subtracted before exp: infinities would turn into NaN.
  static WISP_INLINE T shift(T largest) {
    return vmath::fabs(largest) < vmath::Format<T>::kInf ? largest : T(0);
  }

  static WISP_INLINE void merge(Acc& acc, const Acc& later) {
    const T largest = later.largest > acc.largest ? later.largest : acc.largest,
            base = shift(largest);
    acc.sum = moved(acc, base) + moved(later, base);
    acc.largest = largest;
  }
  // Of one row; with an infinity in it, nothing is subtracted.
  static Acc of(const T* x, int64_t n) {
    const T largest = largest_of(x, n), base = shift(largest);
    return {largest,
            base == largest ? exponential_sum(x, n, base) : exponential_sum<T, false>(x, n, base)};
  }
  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    merge(acc, of(x, n));
  }
  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows, int64_t,
                      const ReduceParams&) {
    for_each_block<T>(n, x, row_bytes, rows,
                      [&](int64_t first, int64_t count, const T* top, int64_t height) {
                        block(acc + first, count, top, row_bytes, height);
                      });
  }

 private:
  static WISP_INLINE T larger(T a, T b) { return a > b ? a : b; }  // b if a is NaN
  static void block(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows) {
    T largest[block_width], base[block_width];
    double sum[block_width];
    for (int64_t i = 0; i < n; ++i) largest[i] = start().largest;
    for (int64_t r = 0; r < rows; ++r) {
      const T* line = row_at<T>(x, row_bytes, r);
      for (int64_t i = 0; i < n; ++i) largest[i] = larger(line[i], largest[i]);
    }
    for (int64_t i = 0; i < n; ++i) {
      base[i] = shift(largest[i]);
      sum[i] = 0;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const T* line = row_at<T>(x, row_bytes, r);
      for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(vmath::exp(line[i] - base[i]));
    }
    for (int64_t i = 0; i < n; ++i) merge(acc[i], {largest[i], sum[i]});
  }
  // The sum relative to another base. A sum of nothing stays 0 whatever the distance.
  static WISP_INLINE double moved(const Acc& acc, T base) {
    const double factor =
        vmath::exp(static_cast<double>(shift(acc.largest)) - static_cast<double>(base));
    return acc.sum == 0 ? 0 : acc.sum * factor;
  }
};

}  // namespace

}  // namespace wisp::cpu
