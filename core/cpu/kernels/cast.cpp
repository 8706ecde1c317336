#include "cpu/kernels/tile.h"
#include "cpu/kernels/turn.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

template <class To, class From>
[[gnu::noinline]] void cast_tile(void* out, const void* in, int64_t n) {
  To* y = static_cast<To*>(out);
  const From* x = static_cast<const From*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(load(x, i));
}

// Conversions that compilers do not turn into vectors, or into the one instruction there is.

// There are vector instructions between 32 bits and floating point: a block of numbers that fit
// goes that way.
constexpr int64_t narrow_block = 64;

template <class From>
void to_int64(void* out, const void* in, int64_t n) {
  using Flag = std::conditional_t<sizeof(From) == 4, int32_t, int64_t>;
  for (int64_t at = 0; at < n; at += narrow_block) {
    int64_t* y = static_cast<int64_t*>(out) + at;
    const From* x = static_cast<const From*>(in) + at;
    const int64_t count = std::min(narrow_block, n - at);
    Flag wide = 0;
    for (int64_t i = 0; i < count; ++i) wide |= !(std::abs(x[i]) < From(2147483648.0));
    if (wide) {
      for (int64_t i = 0; i < count; ++i) y[i] = convert<int64_t>(x[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] = static_cast<int32_t>(x[i]);
    }
  }
}

template <class To>
void from_int64(void* out, const void* in, int64_t n) {
  for (int64_t at = 0; at < n; at += narrow_block) {
    To* y = static_cast<To*>(out) + at;
    const int64_t* x = static_cast<const int64_t*>(in) + at;
    const int64_t count = std::min(narrow_block, n - at);
    uint64_t wide = 0;
    for (int64_t i = 0; i < count; ++i) wide |= static_cast<uint64_t>(x[i]) + 0x80000000u;
    if (wide >> 32) {
      for (int64_t i = 0; i < count; ++i) y[i] = convert<To>(x[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) y[i] = static_cast<To>(static_cast<int32_t>(x[i]));
    }
  }
}

template <>
void cast_tile<int64_t, float>(void* out, const void* in, int64_t n) {
  to_int64<float>(out, in, n);
}
template <>
void cast_tile<int64_t, double>(void* out, const void* in, int64_t n) {
  to_int64<double>(out, in, n);
}
template <>
void cast_tile<float, int64_t>(void* out, const void* in, int64_t n) {
  from_int64<float>(out, in, n);
}
template <>
void cast_tile<double, int64_t>(void* out, const void* in, int64_t n) {
  from_int64<double>(out, in, n);
}

#if defined(__F16C__)
template <>
void cast_tile<Half, float>(void* out, const void* in, int64_t n) {
  Half* y = static_cast<Half*>(out);
  const float* x = static_cast<const float*>(in);
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) y[i] = Half(x[i]);
}

template <>
void cast_tile<float, Half>(void* out, const void* in, int64_t n) {
  float* y = static_cast<float*>(out);
  const Half* x = static_cast<const Half*>(in);
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    _mm512_storeu_ps(y + i,
                     _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i))));
  }
#endif
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < n; ++i) y[i] = x[i];
}
#endif

template <class To, class From>
constexpr auto best_cast();

// Two conversions that are vectors each, in place of one that is not.
template <class To, class Via, class From>
void cast_by_way_of(void* out, const void* in, int64_t n) {
  To* y = static_cast<To*>(out);
  const From* x = static_cast<const From*>(in);
  Via between[narrow_block];
  for (int64_t at = 0; at < n; at += narrow_block) {
    const int64_t count = std::min(narrow_block, n - at);
    best_cast<Via, From>()(between, x + at, count);
    best_cast<To, Via>()(y + at, between, count);
  }
}

template <class To, class From>
constexpr auto best_cast() {
  constexpr bool halves = std::is_same_v<To, Half> || std::is_same_v<From, Half>;
  constexpr bool at_once =
      std::is_same_v<To, From> || std::is_same_v<To, float> || std::is_same_v<From, float>;
  if constexpr (halves && !at_once) {  // single numbers go by way of float, too
    return cast_by_way_of<To, float, From>;
  } else if constexpr (std::is_same_v<From, bool> && !std::is_integral_v<To>) {
    return cast_by_way_of<To, uint8_t, From>;
  } else {
    return cast_tile<To, From>;
  }
}

void repeat(void* out, const void* value, size_t item, int64_t n) {
  by_item_size(item, [&]<class T>() {
    T* to = static_cast<T*>(out);
    T one;
    std::memcpy(&one, value, sizeof(T));
    for (int64_t i = 0; i < n; ++i) to[i] = one;
  });
}

// Whole vectors, as long as what they write behind a row is written again with the next ones.
template <class T>
void spread_values(T* out, const char* values, int64_t step, int64_t rows, int64_t length) {
  T* const end = out + rows * length;
  for (int64_t r = 0; r < rows; ++r, out += length) {
    T value;
    std::memcpy(&value, values + r * step, sizeof(T));
    int64_t i = 0;
    if constexpr (sizeof(T) <= 8) {
      typedef T Vector __attribute__((vector_size(32)));
      constexpr int64_t width = 32 / static_cast<int64_t>(sizeof(T));
      if (end - out >= length + width) {
        const Vector repeated = Vector{} + value;
        for (; i < length; i += width) std::memcpy(out + i, &repeated, sizeof repeated);
      }
    }
    for (; i < length; ++i) out[i] = value;
  }
}

void spread(void* out, const void* values, int64_t step, size_t item, int64_t rows,
            int64_t length) {
  by_item_size(item, [&]<class T>() {
    spread_values(static_cast<T*>(out), static_cast<const char*>(values), step, rows, length);
  });
}

void reverse(void* out, const void* last, size_t item, int64_t n) {
  by_item_size(item, [&]<class T>() {
    T* to = static_cast<T*>(out);
    const T* from = static_cast<const T*>(last) - (n - 1);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[n - 1 - i];
  });
}

void turn_items(const void* in, int64_t in_col, void* out, int64_t out_row, int64_t rows,
                int64_t cols, size_t item) {
  in_col /= static_cast<int64_t>(item);
  out_row /= static_cast<int64_t>(item);
  by_item_size(item, [&]<class T>() {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    if constexpr (sizeof(T) <= 8) {
      turn(from, in_col, to, out_row, rows, cols);
    } else {
      for (int64_t j = 0; j < cols; ++j) {
        for (int64_t i = 0; i < rows; ++i) to[i * out_row + j] = from[i + j * in_col];
      }
    }
  });
}

}  // namespace

namespace WISP_ISA {

void fill_cast(Kernels& table) {
  table.repeat = repeat;
  table.spread = spread;
  table.reverse = reverse;
  table.turn = turn_items;
  for_each_type<dtypes::all>([&]<class To>() {
    for_each_type<dtypes::all>([&]<class From>() {
      table.cast[int(dtype_of<To>)][int(dtype_of<From>)] = best_cast<To, From>();
    });
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
