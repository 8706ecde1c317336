// Vectors of complex numbers, real and imaginary parts apart. Included by kernels/fft.cpp only.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/compiler.h"
#include "cpu/fft_kernels.h"

namespace wisp::cpu {

namespace {

template <class T>
struct Vector {
#if defined(__AVX__)
  static constexpr int bytes = 32;  // a radix of 8 turns whole vectors: no more than 8 numbers
#else
  static constexpr int bytes = 16;
#endif
  static constexpr int width = bytes / sizeof(T);
  typedef T type __attribute__((vector_size(bytes)));
};

template <class V, class T>
WISP_INLINE V load(const T* from) {
  V value;  // memory need not be aligned
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}
template <class V, class T>
WISP_INLINE void store(T* to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

// A complex number, or a vector of them.
template <class V>
struct Z {
  V re, im;
  WISP_INLINE friend Z operator+(Z a, Z b) { return {a.re + b.re, a.im + b.im}; }
  WISP_INLINE friend Z operator-(Z a, Z b) { return {a.re - b.re, a.im - b.im}; }
  WISP_INLINE friend Z operator*(Z a, Z b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

template <class V, class T>
WISP_INLINE Z<V> times(Z<V> a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

// A result times its factor. Adding 0 makes -0, which conjugating leaves behind, 0.
template <class V, class T>
WISP_INLINE V scaled(V value, T factor) {
  return value * factor + V{};
}

// Numbers of two vectors in the order pick(0), pick(1) ...; those of b count from the width on.
template <class T, class V, class Pick, int... i>
WISP_INLINE V pick(V a, V b, std::integer_sequence<int, i...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, Pick{}(i)...);
#else
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef Index Mask __attribute__((vector_size(sizeof(V))));
  return __builtin_shuffle(a, b, Mask{Pick{}(i)...});
#endif
}
template <class T, class Pick>
WISP_INLINE typename Vector<T>::type shuffle(typename Vector<T>::type a, typename Vector<T>::type b,
                                             Pick) {
  using V = typename Vector<T>::type;
  return pick<T, V, Pick>(a, b, std::make_integer_sequence<int, Vector<T>::width>());
}

// Between pairs in memory and parts apart.
template <class T>
WISP_INLINE Z<typename Vector<T>::type> load_pairs(const T* from) {
  using V = typename Vector<T>::type;
  const V low = load<V>(from), high = load<V>(from + Vector<T>::width);
  return {shuffle<T>(low, high, [](int i) { return 2 * i; }),
          shuffle<T>(low, high, [](int i) { return 2 * i + 1; })};
}
template <class T>
WISP_INLINE void store_pairs(T* to, Z<typename Vector<T>::type> a) {
  constexpr int width = Vector<T>::width;
  store(to, shuffle<T>(a.re, a.im, [](int i) { return i / 2 + i % 2 * width; }));
  store(to + width, shuffle<T>(a.re, a.im, [](int i) { return (i + width) / 2 + i % 2 * width; }));
}

template <class T>
WISP_INLINE Z<typename Vector<T>::type> reversed(Z<typename Vector<T>::type> a) {
  auto back = [](int i) { return Vector<T>::width - 1 - i; };
  return {shuffle<T>(a.re, a.re, back), shuffle<T>(a.im, a.im, back)};
}

// Rows and columns of a square of numbers exchanged: first of its quarters, then within them.
template <class T, int block = Vector<T>::width / 2>
WISP_INLINE void transpose(typename Vector<T>::type* a) {
  constexpr int width = Vector<T>::width;
  for (int i = 0; i < width; ++i) {
    if (i & block) continue;
    const auto upper = a[i], lower = a[i + block];
    a[i] = shuffle<T>(upper, lower, [](int k) { return k & block ? k - block + width : k; });
    a[i + block] =
        shuffle<T>(upper, lower, [](int k) { return k & block ? k + width : k + block; });
  }
  if constexpr (block > 1) transpose<T, block / 2>(a);
}

// Stores a square transposed: its columns become rows, `step` numbers apart.
template <class T>
WISP_INLINE void turn(const Z<typename Vector<T>::type>* a, Split<T> to, int64_t at, int64_t step) {
  constexpr int width = Vector<T>::width;
  typename Vector<T>::type re[width], im[width];
  for (int i = 0; i < width; ++i) {
    re[i] = a[i].re;
    im[i] = a[i].im;
  }
  transpose<T>(re);
  transpose<T>(im);
  for (int i = 0; i < width; ++i) {
    store(to.re + at + i * step, re[i]);
    store(to.im + at + i * step, im[i]);
  }
}

}  // namespace

}  // namespace wisp::cpu
