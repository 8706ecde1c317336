// Turning matrices around: rows from columns. Included by files of this folder only (see tile.h).
#pragma once

#include <utility>

#include "base/compiler.h"

namespace wisp::cpu {

namespace {

// Vectors of one part of 16 bytes, or of two that do the same side by side where there are wider
// registers: instructions that move elements do so within such parts.
template <class T>
struct Turning {
#if defined(__AVX2__)
  static constexpr int parts = 2;
#else
  static constexpr int parts = 1;
#endif
  static constexpr int side = 16 / sizeof(T);  // elements of a part
  typedef T Part __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
  typedef T Whole __attribute__((vector_size(16 * parts), aligned(alignof(T)), may_alias));
};

// Elements of a and b in turn, from the first or the second half of each part.
template <class T, bool second>
constexpr int zipped_place(int at, int parts) {
  constexpr int side = Turning<T>::side;
  const int within = at % side, half = second ? side / 2 : 0;
  return at / side * side + half + within / 2 + (within % 2 ? parts * side : 0);
}
template <class T, bool second, class V, int... at>
WISP_INLINE V zipped(V a, V b, std::integer_sequence<int, at...>) {
  return __builtin_shufflevector(a, b, zipped_place<T, second>(at, sizeof(V) / 16)...);
}

// The transposed of a square matrix, or of two of them side by side: zipping the rows of the first
// half with those of the second, again and again, brings every element to its place.
template <class T, class V>
WISP_INLINE void turn_square(V* x) {
  constexpr int side = Turning<T>::side;
  constexpr auto places = std::make_integer_sequence<int, sizeof(V) / sizeof(T)>();
  for (int done = 1; done < side; done *= 2) {
    V y[side];
    for (int l = 0; l < side / 2; ++l) {
      y[2 * l] = zipped<T, false>(x[l], x[l + side / 2], places);
      y[2 * l + 1] = zipped<T, true>(x[l], x[l + side / 2], places);
    }
    for (int l = 0; l < side; ++l) x[l] = y[l];
  }
}

template <class T>
WISP_INLINE auto part_at(const T* x) {
  return *reinterpret_cast<const typename Turning<T>::Part*>(x);
}
template <class V, class P, int... at>
WISP_INLINE V joined(P a, P b, std::integer_sequence<int, at...>) {
  return __builtin_shufflevector(a, b, at...);
}

// As many columns as a vector of type V has elements.
template <class T, class V>
WISP_INLINE void turn_columns(const T* in, int64_t in_col, T* out, int64_t out_row, int64_t rows) {
  constexpr int side = Turning<T>::side, width = sizeof(V) / sizeof(T);
  int64_t i = 0;
  for (; i + side <= rows; i += side) {
    V x[side];
    for (int l = 0; l < side; ++l) {
      if constexpr (width == side) {
        x[l] = part_at(in + i + l * in_col);
      } else {
        x[l] = joined<V>(part_at(in + i + l * in_col), part_at(in + i + (l + side) * in_col),
                         std::make_integer_sequence<int, width>());
      }
    }
    turn_square<T>(x);
    for (int l = 0; l < side; ++l) *reinterpret_cast<V*>(out + (i + l) * out_row) = x[l];
  }
  for (; i < rows; ++i) {
    for (int l = 0; l < width; ++l) out[i * out_row + l] = in[i + l * in_col];
  }
}

// Rows of `out` from columns of `in`; both are consecutive.
template <class T>
void turn(const T* in, int64_t in_col, T* out, int64_t out_row, int64_t rows, int64_t cols) {
  using Part = typename Turning<T>::Part;
  using Whole = typename Turning<T>::Whole;
  constexpr int64_t side = Turning<T>::side, width = sizeof(Whole) / sizeof(T);
  int64_t j = 0;
  for (; j + width <= cols; j += width)
    turn_columns<T, Whole>(in + j * in_col, in_col, out + j, out_row, rows);
  for (; j + side <= cols; j += side)
    turn_columns<T, Part>(in + j * in_col, in_col, out + j, out_row, rows);
  for (; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) out[i * out_row + j] = in[i + j * in_col];
  }
}

}  // namespace

}  // namespace wisp::cpu
