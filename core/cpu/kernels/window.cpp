// Rows of pooling and interpolation.
#include <cmath>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "cpu/kernels/tile.h"
#include "cpu/window_kernels.h"

namespace wisp::cpu {

namespace {

template <class T>
void add_scaled(T* __restrict y, const T* __restrict x, T weight, int64_t n, bool first) {
  if (first) {
    for (int64_t i = 0; i < n; ++i) y[i] = weight * x[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] += weight * x[i];
  }
}

// Long sums are kept in several parts, which do not wait for each other.
template <class T>
WISP_INLINE T weighed(const T* x, const T* weight, int64_t count) {
  constexpr int64_t parts = 16;
  T sum = 0;
  int64_t k = 0;
  if (count >= 2 * parts) {
    T part[parts] = {};
    for (; k + parts <= count; k += parts) {
      for (int64_t j = 0; j < parts; ++j) part[j] += weight[k + j] * x[k + j];
    }
    for (int64_t j = 0; j < parts; ++j) sum += part[j];
  }
  for (; k < count; ++k) sum += weight[k] * x[k];
  return sum;
}

// Outputs of the same number of taps, known when compiling: several at a time.
template <class T, int taps>
WISP_INLINE void weigh_even(T* __restrict y, const T* __restrict x, const int32_t* __restrict start,
                            const T* __restrict weight, int64_t n) {
#pragma GCC ivdep
  for (int64_t o = 0; o < n; ++o) {
    T sum = weight[o * taps] * x[start[o]];
    for (int k = 1; k < taps; ++k) sum += weight[o * taps + k] * x[start[o] + k];
    y[o] = sum;
  }
}

// The same for one or two taps, 16 outputs at a time. Where an image grows, those lie within two
// vectors of the input, and finding them there is much quicker than reading them one by one. With
// `count`, outputs may have fewer taps.
#if defined(__AVX512F__)
WISP_INLINE __m512 some_floats(const float* x, int64_t n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << (n < 16 ? n : 16)) - 1), x);
}

template <int taps>
WISP_INLINE bool weigh_sixteen(float* y, const float* x, const int32_t* start, const int32_t* count,
                               const float* weight) {
  const int32_t first = start[0], span = start[15] + (count ? count[15] : taps) - first;
  if (span > 32 || span < (count ? 0 : taps)) return false;
  const __m512i given = count ? _mm512_loadu_si512(count) : _mm512_set1_epi32(taps);
  auto having = [&](int k) { return _mm512_cmpgt_epi32_mask(given, _mm512_set1_epi32(k)); };
  const __m512 left = some_floats(x + first, span);
  const __m512 right = span > 16 ? some_floats(x + first + 16, span - 16) : left;
  const __m512i at = _mm512_sub_epi32(_mm512_loadu_si512(start), _mm512_set1_epi32(first));
  __m512 sum = _mm512_permutex2var_ps(left, at, right), factor = _mm512_loadu_ps(weight);
  if constexpr (taps == 2) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512 more = _mm512_loadu_ps(weight + 16);
    const __m512 next = _mm512_permutex2var_ps(left, _mm512_add_epi32(at, one), right);
    sum = _mm512_maskz_mul_ps(having(0), sum, _mm512_permutex2var_ps(factor, even, more));
    factor = _mm512_permutex2var_ps(factor, _mm512_add_epi32(even, one), more);
    sum = _mm512_add_ps(sum, _mm512_maskz_mul_ps(having(1), next, factor));
  } else {
    sum = _mm512_maskz_mul_ps(having(0), sum, factor);
  }
  _mm512_storeu_ps(y, sum);
  return true;
}
#endif

// Returns how many it has done, from the first on.
template <class T, int taps>
int64_t weigh_vectors([[maybe_unused]] T* y, [[maybe_unused]] const T* x,
                      [[maybe_unused]] const int32_t* start, [[maybe_unused]] const int32_t* count,
                      [[maybe_unused]] const T* weight, [[maybe_unused]] int64_t n) {
  int64_t o = 0;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    while (o + 16 <= n &&
           weigh_sixteen<taps>(y + o, x, start + o, count ? count + o : nullptr, weight + o * taps))
      o += 16;
  }
#endif
  return o;
}

template <class T, int taps>
WISP_INLINE void weigh_few(T* y, const T* x, const int32_t* start, const T* weight, int64_t n) {
  const int64_t o = weigh_vectors<T, taps>(y, x, start, nullptr, weight, n);
  weigh_even<T, taps>(y + o, x, start + o, weight + o * taps, n - o);
}

// Only windows at the borders have fewer taps than the others, or, where a gradient flows back
// through an image that shrank, any of them.
template <class T>
void weigh(T* y, const T* x, const int32_t* start, const int32_t* count, const T* weight,
           int64_t most, int64_t n) {
  auto one = [&](int64_t o) { y[o] = weighed(x + start[o], weight + o * most, count[o]); };
  int64_t first = 0, last = n;
  if (most > 4) {
    for (; first < n; ++first) one(first);
    return;
  }
  for (; first < n && count[first] < most; ++first) one(first);
  for (; last > first && count[last - 1] < most; --last) one(last - 1);
  for (int64_t o = first; o < last; ++o) {  // a gap: windows of unequal size
    if (count[o] == most) continue;
    auto vectors = most == 1 ? weigh_vectors<T, 1> : weigh_vectors<T, 2>;
    if (most <= 2)
      first +=
          vectors(y + first, x, start + first, count + first, weight + first * most, last - first);
    for (; first < last; ++first) one(first);
  }
  const int64_t even = last - first;
  const T* w = weight + first * most;
  if (most == 1) weigh_few<T, 1>(y + first, x, start + first, w, even);
  if (most == 2) weigh_few<T, 2>(y + first, x, start + first, w, even);
  if (most == 3) weigh_even<T, 3>(y + first, x, start + first, w, even);
  if (most == 4) weigh_even<T, 4>(y + first, x, start + first, w, even);
}

// Some columns of a sum of rows, which stay in registers. Rows are asked for well before they are
// needed: they lie anywhere in memory.
template <class T, int width>
WISP_INLINE void add_columns(T* y, const T* table, const int64_t* index, const T* weight,
                             int64_t count, int64_t columns) {
  constexpr int64_t ahead = 8;
  T sum[width] = {};
  for (int64_t i = 0; i < count; ++i) {
    if (i + ahead < count) {
      const char* next = reinterpret_cast<const char*>(table + index[i + ahead] * columns);
      for (size_t line = 0; line < width * sizeof(T); line += 64) __builtin_prefetch(next + line);
    }
    const T* row = table + index[i] * columns;
    const T factor = weight ? weight[i] : T(1);
    for (int c = 0; c < width; ++c) sum[c] += factor * row[c];
  }
  for (int c = 0; c < width; ++c) y[c] = sum[c];
}

template <class T>
void add_rows(T* y, const T* table, const int64_t* index, const T* weight, int64_t count,
              int64_t columns) {
  int64_t c = 0;
  for (; c + 64 <= columns; c += 64)
    add_columns<T, 64>(y + c, table + c, index, weight, count, columns);
  for (; c + 16 <= columns; c += 16)
    add_columns<T, 16>(y + c, table + c, index, weight, count, columns);
  for (; c < columns; ++c) add_columns<T, 1>(y + c, table + c, index, weight, count, columns);
}

template <class T>
void add_picked(T* __restrict y, const T* __restrict x, const int32_t* __restrict offset,
                const T* __restrict weight, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += offset[i] >= 0 ? weight[i] * x[offset[i]] : T(0);
}

template <class T>
WISP_INLINE T picked(const T* x, int32_t offset, T weight) {
  return offset >= 0 ? weight * x[offset] : T(0);
}

template <class T>
void pick_four(T* __restrict y, const T* __restrict x, const Neighbours<T>& neighbours, int64_t n) {
  const int32_t *a = neighbours.offsets[0], *b = neighbours.offsets[1], *c = neighbours.offsets[2],
                *d = neighbours.offsets[3];
  const T *wa = neighbours.weights[0], *wb = neighbours.weights[1], *wc = neighbours.weights[2],
          *wd = neighbours.weights[3];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    y[i] = (picked(x, a[i], wa[i]) + picked(x, b[i], wb[i])) +
           (picked(x, c[i], wc[i]) + picked(x, d[i], wd[i]));
  }
}

// One coordinate: the pixel before it, whether that one and the next are in the image, the way on
// from it, and the derivative of the place by the coordinate.
template <class T>
struct Along {
  int32_t index;
  bool first, second;
  T part, factor;
};

template <class T>
WISP_INLINE Along<T> along(T coordinate, T scale, T shift, T last, bool kept_inside) {
  const T given = (coordinate + 1) * scale - shift;
  const T held = given < 0 ? T(0) : given > last ? last : given;
  const T at = kept_inside ? held : given, base = std::floor(at);
  const T safe = base >= T(-2) && base <= last ? base : T(-2);
  const bool free = !kept_inside || (given > 0 && given < last);
  return {static_cast<int32_t>(safe), safe >= 0, safe >= T(-1) && safe < last, at - base,
          free ? scale : T(0)};
}

template <class T>
void find_neighbours(const PlanePlaces<T>& places, const Neighbours<T>& given) {
  const Neighbours<T> out = given;
  const T width = static_cast<T>(places.width), height = static_cast<T>(places.height);
  const T shift = places.align_corners ? T(0) : T(0.5);
  const T sx = (places.align_corners ? width - 1 : width) / 2,
          sy = (places.align_corners ? height - 1 : height) / 2;
  const int32_t row = static_cast<int32_t>(places.width);
  const bool kept = places.kept_inside;
  const T* at = places.at;
#pragma GCC ivdep
  for (int64_t i = 0; i < places.count; ++i) {
    const Along<T> x = along(at[2 * i], sx, shift, width - 1, kept),
                   y = along(at[2 * i + 1], sy, shift, height - 1, kept);
    const int32_t corner = y.index * row + x.index;
    out.offsets[0][i] = y.first && x.first ? corner : -1;
    out.offsets[1][i] = y.first && x.second ? corner + 1 : -1;
    out.offsets[2][i] = y.second && x.first ? corner + row : -1;
    out.offsets[3][i] = y.second && x.second ? corner + row + 1 : -1;
    out.weights[0][i] = (1 - y.part) * (1 - x.part);
    out.weights[1][i] = (1 - y.part) * x.part;
    out.weights[2][i] = y.part * (1 - x.part);
    out.weights[3][i] = y.part * x.part;
  }
  if (!out.slopes[0][0]) return;
#pragma GCC ivdep
  for (int64_t i = 0; i < places.count; ++i) {
    const Along<T> x = along(at[2 * i], sx, shift, width - 1, kept),
                   y = along(at[2 * i + 1], sy, shift, height - 1, kept);
    out.slopes[0][0][i] = (y.part - 1) * x.factor;
    out.slopes[0][1][i] = (1 - y.part) * x.factor;
    out.slopes[0][2][i] = -y.part * x.factor;
    out.slopes[0][3][i] = y.part * x.factor;
    out.slopes[1][0][i] = (x.part - 1) * y.factor;
    out.slopes[1][1][i] = -x.part * y.factor;
    out.slopes[1][2][i] = (1 - x.part) * y.factor;
    out.slopes[1][3][i] = x.part * y.factor;
  }
}

template <class T>
WISP_INLINE bool beats(T x, T best) {
  return x > best || x != x;
}

template <class T>
void larger(T* __restrict best, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) best[i] = beats(x[i], best[i]) ? x[i] : best[i];
}

template <class T>
void larger_at(T* __restrict best, int32_t* __restrict at, const T* __restrict x, int32_t here,
               int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool take = beats(x[i], best[i]);
    at[i] = take ? here : at[i];
    best[i] = take ? x[i] : best[i];
  }
}

// Windows of two or three elements that lie evenly apart, the common case.
template <class T, int count, int stride>
WISP_INLINE void largest_even(T* __restrict y, const T* __restrict x, int64_t n) {
  for (int64_t o = 0; o < n; ++o) {
    T best = x[o * stride];
    for (int k = 1; k < count; ++k) {
      const T value = x[o * stride + k];
      best = beats(value, best) ? value : best;
    }
    y[o] = best;
  }
}

template <class T>
WISP_INLINE bool try_even(T* y, const T* x, const int32_t* start, const int32_t* count, int64_t n) {
  if (count[0] != count[n - 1]) return false;
  if (count[0] == 2) return largest_even<T, 2, 2>(y, x + start[0], n), true;
  if (count[0] == 3) return largest_even<T, 3, 2>(y, x + start[0], n), true;
  return false;
}

// Windows of any one size: the first element of all of them, then the second, and so on.
template <class T>
WISP_INLINE void largest_by_columns(T* __restrict y, const T* __restrict x, int64_t count,
                                    int64_t dilation, int64_t stride, int64_t n) {
  for (int64_t k = 0; k < count; ++k, x += dilation) {
    for (int64_t o = 0; o < n; ++o) {
      const T value = x[o * stride];
      y[o] = beats(value, y[o]) ? value : y[o];
    }
  }
}

WISP_INLINE bool are_even(const int32_t* start, const int32_t* count, int64_t stride, int64_t n) {
  const int32_t step = static_cast<int32_t>(stride);
  bool even = stride > 0;
  for (int32_t o = 0; o < static_cast<int32_t>(n); ++o)
    even = even & (count[o] == count[0]) & (start[o] == start[0] + o * step);
  return even;
}

template <class T>
void largest_whole(T* y, const T* x, int64_t count, int64_t dilation, int64_t stride, int64_t n) {
  if constexpr (std::is_same_v<T, float>) {  // for others it would be kernels that few use
    if (stride == 1) return largest_by_columns(y, x, count, dilation, 1, n);
    if (stride == 4) return largest_by_columns(y, x, count, dilation, 4, n);
  }
  largest_by_columns(y, x, count, dilation, stride, n);
}

// y holds the lowest number everywhere.
template <class T>
void largest(T* y, const T* x, const int32_t* start, const int32_t* count, int64_t dilation,
             int64_t stride, int64_t n) {
  auto one = [&](int64_t o) {
    if (count[o] == 0) return;
    const T* from = x + start[o];
    T best = from[0];
    for (int64_t k = 1; k < count[o]; ++k) {
      const T value = from[k * dilation];
      best = beats(value, best) ? value : best;
    }
    y[o] = best;
  };
  if (n > 10 && dilation == 1 && stride == 2) {  // the windows at the ends may be cut off
    if (try_even(y + 1, x, start + 1, count + 1, n - 2)) return one(0), one(n - 1);
  }
  int64_t first = 0, last = n;
  while (first < n / 2 && count[first] != count[n / 2]) ++first;
  while (last > n / 2 + 1 && count[last - 1] != count[n / 2]) --last;
  if (n > 10 && are_even(start + first, count + first, stride, last - first)) {
    largest_whole(y + first, x + start[first], count[first], dilation, stride, last - first);
  } else {
    first = n, last = n;
  }
  for (int64_t o = 0; o < first; ++o) one(o);
  for (int64_t o = last; o < n; ++o) one(o);
}

template <class T>
void fill_one(WindowKernels<T>& sums) {
  sums = {add_scaled<T>, weigh<T>, add_rows<T>, add_picked<T>, pick_four<T>, find_neighbours<T>};
}

// The number of the first pixel of a line, if anybody asks for it.
template <class T>
WISP_INLINE int64_t first_pixel(const PixelRow<T>& row, int64_t r) {
  return row.index ? row.rows[r] * row.width : 0;
}

// Some channels of one window: the largest and where it is.
template <class T, bool indexed>
void largest_pixel(const PixelRow<T>& row, int64_t o, int64_t channel, int many) {
  const int64_t first = row.count[o] ? first_pixel(row, 0) + row.start[o] : 0;
  for (int c = 0; c < many; ++c) {
    T best = row.lowest;
    int64_t at = first;
    for (int64_t r = 0; r < row.row_count; ++r) {
      for (int64_t k = 0; k < row.count[o]; ++k) {
        const int64_t column = row.start[o] + k * row.dilation;
        const T x = row.lines[r][column * row.channels + channel + c];
        if (!beats(x, best)) continue;
        best = x;
        at = first_pixel(row, r) + column;
      }
    }
    row.y[o * row.channels + channel + c] = best;
    if (indexed) row.index[o * row.channels + channel + c] = at;
  }
}

// As many channels as fill a register, or half of a wide one, all windows of a row.
template <int count>
struct Lanes {
  typedef float Channels __attribute__((vector_size(count * sizeof(float))));
  typedef int32_t Places __attribute__((vector_size(count * sizeof(float))));
};

// Calls f(pixel, its channels) for all pixels of a window, in order.
template <class Channels, class F>
WISP_INLINE void each_pixel(const PixelRow<float>& row, int64_t o, int64_t channel, F f) {
  for (int64_t r = 0; r < row.row_count; ++r) {
    int64_t pixel = first_pixel(row, r) + row.start[o];
    const float* from = row.lines[r] + row.start[o] * row.channels + channel;
    for (int32_t k = 0; k < row.count[o]; ++k) {
      Channels x;
      __builtin_memcpy(&x, from, sizeof x);
      f(pixel, x);
      pixel += row.dilation;
      from += row.dilation * row.channels;
    }
  }
}

// A maximum that ignores NaN is one instruction, and what follows waits for no other: the last NaN
// is kept aside.
template <class Channels>
struct Largest {
  Channels best, nan;
  explicit Largest(float lowest) : best(Channels{} + lowest), nan{} {}
  WISP_INLINE void add(Channels x) {
    best = x > best ? x : best;
    nan = x != x ? x : nan;
  }
  WISP_INLINE void put(float* y) const {
    const Channels result = nan != nan ? nan : best;
    __builtin_memcpy(y, &result, sizeof result);
  }
};

// Windows `count` pixels wide, a number known when compiling: most are 2 or 3.
template <class Channels, int count>
WISP_INLINE void largest_of_width(const PixelRow<float>& row, int64_t o, int64_t channel) {
  const int64_t step = row.dilation * row.channels, corner = row.start[o] * row.channels + channel;
  Largest<Channels> largest(row.lowest);
  for (int64_t r = 0; r < row.row_count; ++r) {
    const float* from = row.lines[r] + corner;
    for (int k = 0; k < count; ++k) {
      Channels x;
      __builtin_memcpy(&x, from + k * step, sizeof x);
      largest.add(x);
    }
  }
  largest.put(row.y + o * row.channels + channel);
}

template <class Channels>
void largest_vectors(const PixelRow<float>& given, int64_t channel) {
  const PixelRow<float> row = given;  // nothing that is written can change it
  for (int64_t o = 0; o < row.n; ++o) {
    if (row.count[o] == 2) {
      largest_of_width<Channels, 2>(row, o, channel);
    } else if (row.count[o] == 3) {
      largest_of_width<Channels, 3>(row, o, channel);
    } else {
      Largest<Channels> largest(row.lowest);
      each_pixel<Channels>(row, o, channel,
                           [&](int64_t, Channels x)
                               __attribute__((always_inline)) { largest.add(x); });
      largest.put(row.y + o * row.channels + channel);
    }
  }
}

template <int count>
void largest_vectors_at(const PixelRow<float>& row, int64_t channel) {
  using Channels = typename Lanes<count>::Channels;
  using Places = typename Lanes<count>::Places;
  for (int64_t o = 0; o < row.n; ++o) {
    const int64_t first = row.count[o] ? first_pixel(row, 0) + row.start[o] : 0;
    Channels best = Channels{} + row.lowest;
    Places at = Places{} + static_cast<int32_t>(first);
    each_pixel<Channels>(row, o, channel,
                         [&](int64_t pixel, Channels x) __attribute__((always_inline)) {
                           const Places take = (x > best) | (x != x);
                           best = take ? x : best;
                           at = take ? Places{} + static_cast<int32_t>(pixel) : at;
                         });
    const int64_t out = o * row.channels + channel;
    __builtin_memcpy(row.y + out, &best, sizeof best);
    for (int c = 0; c < count; ++c) row.index[out + c] = at[c];
  }
}

// From channel `c` on, while there are that many; returns where the rest begins.
template <bool indexed, int count>
int64_t largest_lanes(const PixelRow<float>& row, int64_t c) {
  for (; c + count <= row.channels; c += count) {
    indexed ? largest_vectors_at<count>(row, c)
            : largest_vectors<typename Lanes<count>::Channels>(row, c);
  }
  return c;
}

template <class T, bool indexed>
void largest_pixels_of(const PixelRow<T>& row) {
  int64_t c = 0;
  if constexpr (std::is_same_v<T, float>) {
#if defined(__AVX512F__)
    c = largest_lanes<indexed, 16>(row, c);
#endif
    c = largest_lanes<indexed, 8>(row, c);
  }
  if (c == row.channels) return;
  for (int64_t o = 0; o < row.n; ++o)
    largest_pixel<T, indexed>(row, o, c, static_cast<int>(row.channels - c));
}

template <class T>
void largest_pixels(const PixelRow<T>& row) {
  row.index ? largest_pixels_of<T, true>(row) : largest_pixels_of<T, false>(row);
}

template <class T>
void fill_one(MaxKernels<T>& kernels) {
  kernels = {larger<T>, larger_at<T>, largest<T>, largest_pixels<T>};
}

}  // namespace

namespace WISP_ISA {
void fill_windows(WindowTable& table);
void fill_windows(WindowTable& table) {
  fill_one(table.f32);
  fill_one(table.f64);
  fill_one(table.max_f32);
  fill_one(table.max_f64);
  fill_one(table.max_i64);
}
}  // namespace WISP_ISA

}  // namespace wisp::cpu
