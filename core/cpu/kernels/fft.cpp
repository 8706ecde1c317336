// Fourier transforms by factors. Numbers travel as separate real and imaginary parts, so that a
// vector holds neighbouring ones: transforms side by side, or, from the second factor on, parts of
// one. Every step writes its results in the order the next one reads (Stockham), so that nothing is
// permuted at the end.
#include "base/compiler.h"
#include "cpu/fft_kernels.h"
#include "cpu/kernels/fft_vector.h"

#ifndef WISP_ISA
#error "compiled once per instruction set: WISP_ISA names it"
#endif

namespace wisp::cpu {

namespace {

constexpr double sqrt_half = 0.70710678118654752440;

// --- Transforms of one factor

template <class V>
WISP_INLINE void dft2(Z<V>* a) {
  const Z<V> d = a[0] - a[1];
  a[0] = a[0] + a[1];
  a[1] = d;
}

template <class V>
WISP_INLINE void dft4(Z<V>& a0, Z<V>& a1, Z<V>& a2, Z<V>& a3) {
  const Z<V> s0 = a0 + a2, d0 = a0 - a2, s1 = a1 + a3, d1 = a1 - a3;
  a0 = s0 + s1;
  a2 = s0 - s1;
  a1 = {d0.re + d1.im, d0.im - d1.re};
  a3 = {d0.re - d1.im, d0.im + d1.re};
}

// Even and odd numbers on their own, then pairs: three of the four odd ones turn by multiples of
// 45 degrees.
template <class T, class V>
WISP_INLINE void dft8(Z<V>* a) {
  dft4(a[0], a[2], a[4], a[6]);
  dft4(a[1], a[3], a[5], a[7]);
  constexpr T c = T(sqrt_half);
  const Z<V> b1 = {c * (a[3].re + a[3].im), c * (a[3].im - a[3].re)};
  const Z<V> b2 = {a[5].im, -a[5].re};
  const Z<V> b3 = {c * (a[7].im - a[7].re), c * (-a[7].re - a[7].im)};
  const Z<V> e0 = a[0], e1 = a[2], e2 = a[4], e3 = a[6], o0 = a[1];
  a[0] = e0 + o0;
  a[4] = e0 - o0;
  a[1] = e1 + b1;
  a[5] = e1 - b1;
  a[2] = e2 + b2;
  a[6] = e2 - b2;
  a[3] = e3 + b3;
  a[7] = e3 - b3;
}

// An odd factor: numbers j and R - j share their products.
template <int R, class T, class V>
WISP_INLINE void dft_odd(Z<V>* a, int radix, const T* roots) {
  const int size = R ? R : radix, half = (size - 1) / 2;
  constexpr int room = (R ? R : max_radix) / 2 + 1;
  Z<V> sum[room], difference[room];
  const Z<V> a0 = a[0];
  Z<V> total = a0;
  for (int k = 1; k <= half; ++k) {
    sum[k] = a[k] + a[size - k];
    difference[k] = a[k] - a[size - k];
    total = total + sum[k];
  }
  a[0] = total;
  for (int j = 1; j <= half; ++j) {
    Z<V> even = a0, odd = {a0.re - a0.re, a0.re - a0.re};
    for (int k = 1, at = j; k <= half; ++k) {
      const T c = roots[2 * at], s = roots[2 * at + 1];
      even = {even.re + c * sum[k].re, even.im + c * sum[k].im};
      odd = {odd.re + s * difference[k].re, odd.im + s * difference[k].im};
      at += j;
      if (at >= size) at -= size;
    }
    a[j] = {even.re - odd.im, even.im + odd.re};
    a[size - j] = {even.re + odd.im, even.im - odd.re};
  }
}

template <int R, class T, class V>
WISP_INLINE void dft(Z<V>* a, int radix, const T* roots) {
  if constexpr (R == 2) {
    dft2(a);
  } else if constexpr (R == 4) {
    dft4(a[0], a[1], a[2], a[3]);
  } else if constexpr (R == 8) {
    dft8<T>(a);
  } else {
    dft_odd<R>(a, radix, roots);
  }
}

// --- Steps

// The factor: known when compiled, or R = 0.
template <int R>
WISP_INLINE int size_of(int radix) {
  if (R) return R;
  if (radix < 11 || radix > max_radix) __builtin_unreachable();
  return radix;
}

// What a step needs to know besides its data.
template <class T>
struct Job {
  int radix;
  int64_t stride, after;
  const T *twiddles, *roots;
};

// The numbers q, q + 1 ... (as many as V has) of one p.
template <int R, bool twisted, class V, class T>
WISP_INLINE void butterfly(const Job<T>& job, int64_t p, int64_t q, Split<T> x, Split<T> y) {
  const int size = size_of<R>(job.radix);
  Z<V> a[R ? R : max_radix];
  for (int k = 0; k < size; ++k) {
    const int64_t at = q + job.stride * (p + job.after * k);
    a[k] = {load<V>(x.re + at), load<V>(x.im + at)};
  }
  dft<R>(a, size, job.roots);
  const T* w = job.twiddles + p * 2 * (size - 1) - 2;
  for (int j = 0; j < size; ++j) {
    if (twisted && j > 0) a[j] = times(a[j], w[2 * j], w[2 * j + 1]);
    const int64_t at = q + job.stride * (size * p + j);
    store(y.re + at, a[j].re);
    store(y.im + at, a[j].im);
  }
}

template <int R, bool twisted, class T>
WISP_INLINE void butterflies(const Job<T>& job, int64_t p, Split<T> x, Split<T> y) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  int64_t q = 0;
  for (; q + width <= job.stride; q += width) butterfly<R, twisted, V>(job, p, q, x, y);
  for (; q < job.stride; ++q) butterfly<R, twisted, T>(job, p, q, x, y);
}

template <int R, class T>
void step(const Job<T>& given, Split<T> x, Split<T> y) {
  const Job<T> job = given;
  butterflies<R, false>(job, 0, x, y);  // its twiddles are all 1
  for (int64_t p = 1; p < job.after; ++p) butterflies<R, true>(job, p, x, y);
}

template <class T>
void run_step(const Job<T>& job, Split<T> x, Split<T> y) {
  switch (job.radix) {
    case 2:
      return step<2>(job, x, y);
    case 3:
      return step<3>(job, x, y);
    case 4:
      return step<4>(job, x, y);
    case 5:
      return step<5>(job, x, y);
    case 7:
      return step<7>(job, x, y);
    case 8:
      return step<8>(job, x, y);
    default:
      return step<0>(job, x, y);
  }
}

template <class T>
WISP_INLINE Job<T> job_of(const FftTables<T>& plan, int i, int64_t stride) {
  const FftStep& s = plan.steps[i];
  return {s.radix, stride, s.after, plan.table + s.twiddles, plan.table + s.roots};
}

template <class T>
Split<T> steps(const FftTables<T>& plan, int64_t stride, Split<T> x, Split<T> y) {
  for (int i = 0; i < plan.step_count; ++i) {
    run_step(job_of(plan, i, stride), x, y);
    stride *= plan.steps[i].radix;
    std::swap(x, y);
  }
  return x;
}

// --- One transform of consecutive numbers

// The first step has stride 1: a vector holds neighbouring p instead, and its results are turned
// (8 of each p become neighbours).
template <class T>
void first_step(const FftTables<T>& plan, const T* in, Split<T> y, T sign) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  const int64_t m = plan.n / 8;
  int64_t p = 0;
  for (; p + width <= m; p += width) {
    Z<V> a[8];
    for (int k = 0; k < 8; ++k) {
      a[k] = load_pairs<T>(in + 2 * (p + m * k));
      a[k].im *= sign;
    }
    dft8<T>(a);
    for (int j = 1; j < 8; ++j) {
      const T* w = plan.first + 2 * m * (j - 1) + p;
      a[j] = a[j] * Z<V>{load<V>(w), load<V>(w + m)};
    }
    for (int64_t block = 0; block < 8; block += width) {
      turn<T>(a + block, y, 8 * p + block, 8);
    }
  }
  for (; p < m; ++p) {
    Z<T> a[8];
    for (int k = 0; k < 8; ++k) {
      a[k] = {in[2 * (p + m * k)], sign * in[2 * (p + m * k) + 1]};
    }
    dft8<T>(a);
    for (int j = 0; j < 8; ++j) {
      const T* w = plan.first + 2 * m * (j - 1) + p;
      if (j > 0) a[j] = times(a[j], w[0], w[m]);
      y.re[8 * p + j] = a[j].re;
      y.im[8 * p + j] = a[j].im;
    }
  }
}

// The last step leaves pairs, scaled.
template <int R, class T>
void last_step(const Job<T>& given, Split<T> x, T* out, T sign, T scale) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  const Job<T> job = given;
  const int size = size_of<R>(job.radix);
  const T im_scale = sign * scale;
  for (int64_t q = 0; q < job.stride; q += width) {
    Z<V> a[R ? R : max_radix];
    for (int k = 0; k < size; ++k) {
      const int64_t at = q + job.stride * k;
      a[k] = {load<V>(x.re + at), load<V>(x.im + at)};
    }
    dft<R>(a, size, job.roots);
    for (int j = 0; j < size; ++j) {
      store_pairs<T>(out + 2 * (q + job.stride * j),
                     Z<V>{scaled(a[j].re, scale), scaled(a[j].im, im_scale)});
    }
  }
}

template <class T>
void run_last_step(const Job<T>& job, Split<T> x, T* out, T sign, T scale) {
  switch (job.radix) {
    case 2:
      return last_step<2>(job, x, out, sign, scale);
    case 3:
      return last_step<3>(job, x, out, sign, scale);
    case 4:
      return last_step<4>(job, x, out, sign, scale);
    case 5:
      return last_step<5>(job, x, out, sign, scale);
    case 7:
      return last_step<7>(job, x, out, sign, scale);
    case 8:
      return last_step<8>(job, x, out, sign, scale);
    default:
      return last_step<0>(job, x, out, sign, scale);
  }
}

template <class T>
void row(const FftTables<T>& plan, const T* in, T* out, T* work, T in_sign, T out_sign, T scale) {
  const int64_t apart = plan.n + fft_gap;
  Split<T> x{work, work + apart}, y{work + 2 * apart, work + 3 * apart};
  first_step(plan, in, x, in_sign);
  int64_t stride = 8;
  for (int i = 1; i + 1 < plan.step_count; ++i) {
    run_step(job_of(plan, i, stride), x, y);
    stride *= plan.steps[i].radix;
    std::swap(x, y);
  }
  run_last_step(job_of(plan, plan.step_count - 1, stride), x, out, out_sign, scale);
}

// --- Transforms side by side

template <class T>
WISP_INLINE bool are_neighbours(const Lanes<T>& lanes) {
  for (int64_t l = 1; l < lanes.count; ++l) {
    if (lanes.offsets[l] != lanes.offsets[0] + l) return false;
  }
  return lanes.count == Vector<std::remove_const_t<T>>::width;
}

template <class T>
void load_lanes(const Lanes<const T>& from, int64_t n, Split<T> x, T sign) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  if (are_neighbours(from)) {
    const T* in = from.data + 2 * from.offsets[0];
    for (int64_t k = 0; k < n; ++k) {
      const Z<V> a = load_pairs<T>(in + 2 * from.step * k);
      store(x.re + k * width, a.re);
      store(x.im + k * width, a.im * sign);
    }
    return;
  }
  int64_t done = 0;
  if (from.step == 1 && from.count == width) {
    for (; done + width <= n; done += width) {
      Z<V> a[width];
      for (int64_t l = 0; l < width; ++l) {
        a[l] = load_pairs<T>(from.data + 2 * (from.offsets[l] + done));
        a[l].im *= sign;
      }
      turn<T>(a, x, done * width, width);
    }
  }
  for (int64_t l = 0; l < width; ++l) {
    const bool used = l < from.count;
    const T* in = from.data + (used ? 2 * from.offsets[l] : 0);
    for (int64_t k = done; k < n; ++k) {
      x.re[k * width + l] = used ? in[2 * from.step * k] : T(0);
      x.im[k * width + l] = used ? sign * in[2 * from.step * k + 1] : T(0);
    }
  }
}

template <class T>
void store_lanes(Split<T> x, int64_t n, const Lanes<T>& to, T sign, T scale) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  const T im_scale = sign * scale;
  if (are_neighbours(to)) {
    T* out = to.data + 2 * to.offsets[0];
    for (int64_t k = 0; k < n; ++k) {
      const Z<V> a = {scaled(load<V>(x.re + k * width), scale),
                      scaled(load<V>(x.im + k * width), im_scale)};
      store_pairs<T>(out + 2 * to.step * k, a);
    }
    return;
  }
  int64_t done = 0;
  if (to.step == 1 && to.count == width) {
    for (; done + width <= n; done += width) {
      V re[width], im[width];
      for (int64_t k = 0; k < width; ++k) {
        re[k] = scaled(load<V>(x.re + (done + k) * width), scale);
        im[k] = scaled(load<V>(x.im + (done + k) * width), im_scale);
      }
      transpose<T>(re);
      transpose<T>(im);
      for (int64_t l = 0; l < width; ++l)
        store_pairs<T>(to.data + 2 * (to.offsets[l] + done), Z<V>{re[l], im[l]});
    }
  }
  for (int64_t l = 0; l < to.count; ++l) {
    T* out = to.data + 2 * to.offsets[l];
    for (int64_t k = done; k < n; ++k) {
      out[2 * to.step * k] = scaled(x.re[k * width + l], scale);
      out[2 * to.step * k + 1] = scaled(x.im[k * width + l], im_scale);
    }
  }
}

// Consecutive real numbers are pairs already.
template <class T>
WISP_INLINE bool are_pairs(const Lanes<T>& lanes) {
  for (int64_t l = 0; l < lanes.count; ++l) {
    if (lanes.offsets[l] % 2 != 0) return false;
  }
  return lanes.step == 1;
}

template <class T>
WISP_INLINE Lanes<T> as_pairs(const Lanes<T>& lanes, int64_t* offsets) {
  for (int64_t l = 0; l < lanes.count; ++l) offsets[l] = lanes.offsets[l] / 2;
  return {lanes.data, offsets, lanes.count, 1};
}

template <class T>
void load_real_lanes(const Lanes<const T>& from, int64_t n, Split<T> x) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  if (are_pairs(from)) {
    int64_t offsets[width];
    return load_lanes(as_pairs(from, offsets), n, x, T(1));
  }
  if (are_neighbours(from)) {
    const T* in = from.data + from.offsets[0];
    for (int64_t k = 0; k < n; ++k) {
      store(x.re + k * width, load<V>(in + from.step * 2 * k));
      store(x.im + k * width, load<V>(in + from.step * (2 * k + 1)));
    }
    return;
  }
  for (int64_t l = 0; l < width; ++l) {
    const bool used = l < from.count;
    const T* in = from.data + (used ? from.offsets[l] : 0);
    for (int64_t k = 0; k < n; ++k) {
      x.re[k * width + l] = used ? in[from.step * 2 * k] : T(0);
      x.im[k * width + l] = used ? in[from.step * (2 * k + 1)] : T(0);
    }
  }
}

template <class T>
void store_real_lanes(Split<T> x, int64_t n, const Lanes<T>& to, T sign, T scale) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  if (are_pairs(to)) {
    int64_t offsets[width];
    return store_lanes(x, n, as_pairs(to, offsets), sign, scale);
  }
  const T im_scale = sign * scale;
  if (are_neighbours(to)) {
    T* out = to.data + to.offsets[0];
    for (int64_t k = 0; k < n; ++k) {
      store(out + to.step * 2 * k, scaled(load<V>(x.re + k * width), scale));
      store(out + to.step * (2 * k + 1), scaled(load<V>(x.im + k * width), im_scale));
    }
    return;
  }
  for (int64_t l = 0; l < to.count; ++l) {
    T* out = to.data + to.offsets[l];
    for (int64_t k = 0; k < n; ++k) {
      out[to.step * 2 * k] = scaled(x.re[k * width + l], scale);
      out[to.step * (2 * k + 1)] = scaled(x.im[k * width + l], im_scale);
    }
  }
}

// --- Real transforms

// Numbers k and n - k of the transform of x[2j] + i x[2j+1] become those of the transform of x.
template <class V>
WISP_INLINE void split_pair(Z<V>& a, Z<V>& b, Z<V> w) {
  const Z<V> even = {a.re + b.re, a.im - b.im};
  const Z<V> odd = Z<V>{a.im + b.im, b.re - a.re} * w;
  a = {V(0.5f * (even.re + odd.re)), V(0.5f * (even.im + odd.im))};
  b = {V(0.5f * (even.re - odd.re)), V(0.5f * (odd.im - even.im))};
}

// And back, conjugated and without the factor 1/2.
template <class V>
WISP_INLINE void join_pair(Z<V>& a, Z<V>& b, Z<V> w) {
  const Z<V> even = {a.re + b.re, a.im - b.im};
  const Z<V> odd = Z<V>{a.re - b.re, a.im + b.im} * Z<V>{w.re, -w.im};
  a = {even.re - odd.im, -even.im - odd.re};
  b = {even.re + odd.im, even.im - odd.re};
}

template <class T>
WISP_INLINE Z<T> number(const T* x, int64_t k) {
  return {x[2 * k], x[2 * k + 1]};
}
template <class T>
WISP_INLINE void put(T* x, int64_t k, Z<T> a) {
  x[2 * k] = a.re;
  x[2 * k + 1] = a.im;
}

// change(a, b, w) on all pairs of numbers k and n - k, 0 < k <= n/2. A pair of vectors may not
// overlap, as each reads what the other writes.
template <class T, class F>
WISP_INLINE void for_each_pair(const T* roots, int64_t n, const T* in, T* out, F change) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  int64_t k = 1;
  for (; k + width <= n - k - width + 1; k += width) {
    const int64_t other = n - k - width + 1;
    Z<V> a = load_pairs<T>(in + 2 * k), b = reversed<T>(load_pairs<T>(in + 2 * other));
    change(a, b, load_pairs<T>(roots + 2 * k));
    store_pairs<T>(out + 2 * k, a);
    store_pairs<T>(out + 2 * other, reversed<T>(b));
  }
  for (; k <= n - k; ++k) {
    Z<T> a = number(in, k), b = number(in, n - k);
    change(a, b, number(roots, k));
    put(out, n - k, b);
    if (k != n - k) put(out, k, a);
  }
}

template <class T>
void split_halves(const T* roots, int64_t n, T* x) {
  const Z<T> first = number(x, 0);
  for_each_pair(roots, n, x, x, [](auto& a, auto& b, auto w) { split_pair(a, b, w); });
  put(x, 0, {first.re + first.im, T(0)});
  put(x, n, {first.re - first.im, T(0)});
}

template <class T>
void join_halves(const T* roots, int64_t n, const T* in, T* out) {
  const T first = in[0], last = in[2 * n];
  for_each_pair(roots, n, in, out, [](auto& a, auto& b, auto w) { join_pair(a, b, w); });
  put(out, 0, {first + last, last - first});
}

template <class T>
WISP_INLINE auto lane(Split<T> x, int64_t k) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  return Z<V>{load<V>(x.re + k * width), load<V>(x.im + k * width)};
}
template <class T, class V>
WISP_INLINE void put_lane(Split<T> x, int64_t k, Z<V> a) {
  constexpr int64_t width = Vector<T>::width;
  store(x.re + k * width, a.re);
  store(x.im + k * width, a.im);
}

template <class T, class F>
WISP_INLINE void for_each_lane_pair(const T* roots, int64_t n, Split<T> x, F change) {
  using V = typename Vector<T>::type;
  for (int64_t k = 1; k <= n - k; ++k) {
    auto a = lane(x, k), b = lane(x, n - k);
    const Z<T> w = number(roots, k);
    change(a, b, Z<V>{V{} + w.re, V{} + w.im});
    put_lane(x, n - k, b);
    if (k != n - k) put_lane(x, k, a);
  }
}

template <class T>
void split_lanes(const T* roots, int64_t n, Split<T> x) {
  using V = typename Vector<T>::type;
  const Z<V> first = lane(x, 0);
  for_each_lane_pair(roots, n, x, [](auto& a, auto& b, auto w) { split_pair(a, b, w); });
  put_lane(x, 0, Z<V>{first.re + first.im, V{}});
  put_lane(x, n, Z<V>{first.re - first.im, V{}});
}

template <class T>
void join_lanes(const T* roots, int64_t n, Split<T> x) {
  using V = typename Vector<T>::type;
  const V first = lane(x, 0).re, last = lane(x, n).re;
  for_each_lane_pair(roots, n, x, [](auto& a, auto& b, auto w) { join_pair(a, b, w); });
  put_lane(x, 0, Z<V>{first + last, last - first});
}

// --- Long transforms

// Number k of column c turns by k c / n of a circle: the product of what its place in the vector
// and the vector's first column ask for.
template <class T>
void twist(const FftTables<T>& plan, Split<T> x, int64_t first, T* to) {
  using V = typename Vector<T>::type;
  constexpr int64_t width = Vector<T>::width;
  constexpr int64_t mask = (int64_t(1) << fine_bits) - 1;
  const int64_t rows = plan.row_length;
  for (int64_t block = 0, turns = 0; block < plan.column_length; block += width) {
    Z<V> a[width];
    for (int64_t i = 0; i < width; ++i, turns += first) {
      if (turns >= plan.n) turns -= plan.n;
      const Z<T> base = number(plan.coarse, turns >> fine_bits) * number(plan.fine, turns & mask);
      const T* w = plan.lanes + 2 * width * (block + i);
      a[i] = times(lane(x, block + i) * Z<V>{load<V>(w), load<V>(w + width)}, base.re, base.im);
    }
    T* group = to + 2 * rows * block;
    turn<T>(a, Split<T>{group, group + rows * width}, first * width, width);
  }
}

template <class T>
FftKernels<T> table() {
  FftKernels<T> k;
  k.width = Vector<T>::width;
  k.row = row<T>;
  k.steps = steps<T>;
  k.load = load_lanes<T>;
  k.store = store_lanes<T>;
  k.load_real = load_real_lanes<T>;
  k.store_real = store_real_lanes<T>;
  k.split_halves = split_halves<T>;
  k.join_halves = join_halves<T>;
  k.split_lanes = split_lanes<T>;
  k.join_lanes = join_lanes<T>;
  k.twist = twist<T>;
  return k;
}

}  // namespace

namespace WISP_ISA {
FftKernels<float> fft_kernels_f32() { return table<float>(); }
FftKernels<double> fft_kernels_f64() { return table<double>(); }
}  // namespace WISP_ISA

}  // namespace wisp::cpu
