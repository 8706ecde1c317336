// Numbers of 16 bits that are computed with as they are read, in registers: arithmetic and sums,
// which would wait for tiles of floats otherwise.
#include "cpu/kernels/fold.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

constexpr int64_t width = vector_bytes / 4;
typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef uint32_t Words __attribute__((vector_size(vector_bytes)));
typedef uint16_t Shorts __attribute__((vector_size(vector_bytes / 2)));

template <class T>
WISP_INLINE Floats widen(const T* x) {
  if constexpr (std::is_same_v<T, BFloat16>) {
#if defined(__AVX512F__)
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    return reinterpret_cast<Floats>(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
#elif defined(__F16C__)
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
    return reinterpret_cast<Floats>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
#endif
  }
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(
      _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))));
#elif defined(__F16C__)
  return reinterpret_cast<Floats>(
      _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
#else
  Floats wide;
  for (int64_t i = 0; i < width; ++i) wide[i] = static_cast<float>(x[i]);
  return wide;
#endif
}

template <class T>
WISP_INLINE void narrow(T* y, Floats v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const Words bits = reinterpret_cast<Words>(v),
                rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const Words quiet = Words{} + 0x7fc0;
    const Words result = v != v ? quiet : rounded;
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                        _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(result)));
#else
    const Shorts out = __builtin_convertvector(result, Shorts);
    __builtin_memcpy(y, &out, sizeof out);
#endif
    return;
  }
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                      _mm512_cvtps_ph(reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                   _mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT));
#else
  for (int64_t i = 0; i < width; ++i) y[i] = T(v[i]);
#endif
}

// --- Arithmetic; F takes floats and vectors of them.

template <class T, class F>
void half_binary_tile(void* out, const void* const* in, int64_t n, const Params&) {
  T* y = static_cast<T*>(out);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  int64_t i = 0;
  for (; i + width <= n; i += width) narrow(y + i, F{}(widen(a + i), widen(b + i)));
  for (; i < n; ++i) y[i] = T(F{}(static_cast<float>(a[i]), static_cast<float>(b[i])));
}

// The number is a float.
template <class T, class F>
void half_number_tile(void* out, const void* const* in, int64_t n, const Params&) {
  T* y = static_cast<T*>(out);
  const T* a = static_cast<const T*>(in[0]);
  const float number = *static_cast<const float*>(in[1]);
  const Floats numbers = Floats{} + number;
  int64_t i = 0;
  for (; i + width <= n; i += width) narrow(y + i, F{}(widen(a + i), numbers));
  for (; i < n; ++i) y[i] = T(F{}(static_cast<float>(a[i]), number));
}

template <Opcode Op, class F>
WISP_INLINE void half_binary(Kernels& table, F) {
  for_each_type<dtypes::half>([&]<class T>() {
    table.tile[int(Op)][int(dtype_of<T>)] = half_binary_tile<T, F>;
    table.by_number[int(Op)][int(dtype_of<T>)] = half_number_tile<T, F>;
  });
}

template <class T, class F>
void half_ternary_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  const Params params = given;
  T* y = static_cast<T*>(out);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]),
          *c = static_cast<const T*>(in[2]);
  int64_t i = 0;
  for (; i + width <= n; i += width)
    narrow(y + i, F{}(widen(a + i), widen(b + i), widen(c + i), params));
  for (; i < n; ++i) {
    y[i] = T(
        F{}(static_cast<float>(a[i]), static_cast<float>(b[i]), static_cast<float>(c[i]), params));
  }
}

template <Opcode Op, class F>
WISP_INLINE void half_ternary(TileTable& table, F) {
  for_each_type<dtypes::half>(
      [&]<class T>() { table[int(Op)][int(dtype_of<T>)] = half_ternary_tile<T, F>; });
}

// What only moves signs is the same for both kinds.
constexpr uint16_t sign_bit = 0x8000;
WISP_INLINE void set_both(TileTable& table, Opcode op, TileFn kernel) {
  table[int(op)][int(DType::float16)] = table[int(op)][int(DType::bfloat16)] = kernel;
}
template <Opcode Op, class F>
WISP_INLINE void bits_unary(TileTable& table, F) {
  set_both(table, Op, unary_tile<uint16_t, uint16_t, F>);
}
template <Opcode Op, class F>
WISP_INLINE void bits_binary(TileTable& table, F) {
  set_both(table, Op, binary_tile<uint16_t, uint16_t, F>);
}

// --- Sums, as those of floats: in trees of eight, and from there on as doubles.

template <class T>
struct HalfSum {
  using Acc = double;
  using Result = T;
  static WISP_INLINE Acc start() { return 0; }
  static WISP_INLINE void merge(Acc& acc, const Acc& later) { acc += later; }
  static WISP_INLINE Result result(const Acc& acc, const ReduceParams& p) {
    return T(static_cast<float>(acc / p.divisor));
  }

  static void row(Acc& acc, const T* x, int64_t n, int64_t, const ReduceParams&) {
    double sums[width] = {};
    int64_t i = 0;
    for (; i + 8 * width <= n; i += 8 * width) add(sums, eight(x + i, width));
    Floats rest = {};
    for (; i + width <= n; i += width) rest += widen(x + i);
    add(sums, rest);
    double total = 0;
    for (; i < n; ++i) total += static_cast<double>(static_cast<float>(x[i]));
    for (int64_t half = width / 2; half > 0; half /= 2) {
      for (int64_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    }
    acc += total + sums[0];
  }

  static void columns(Acc* acc, int64_t n, const void* x, int64_t row_bytes, int64_t rows, int64_t,
                      const ReduceParams&) {
    const int64_t step = row_bytes / static_cast<int64_t>(sizeof(T));
    int64_t r = 0;
    for (; r + 8 <= rows; r += 8) {
      const T* first = row_at<T>(x, row_bytes, r);
      int64_t i = 0;
      for (; i + width <= n; i += width) add(acc + i, eight(first + i, step));
      for (; i < n; ++i) {
        acc[i] += static_cast<double>(
            tree_sum<8>(first + i, step, [](T v) { return static_cast<float>(v); }));
      }
    }
    for (; r < rows; ++r) {
      const T* one_row = row_at<T>(x, row_bytes, r);
      int64_t i = 0;
      for (; i + width <= n; i += width) add(acc + i, widen(one_row + i));
      for (; i < n; ++i) acc[i] += static_cast<double>(static_cast<float>(one_row[i]));
    }
  }

 private:
  static WISP_INLINE Floats eight(const T* x, int64_t step) {
    const auto four = [&](const T* from) {
      return (widen(from) + widen(from + step)) + (widen(from + 2 * step) + widen(from + 3 * step));
    };
    return four(x) + four(x + 4 * step);
  }
  static WISP_INLINE void add(double* sums, Floats v) {
    typedef double Doubles __attribute__((vector_size(vector_bytes * 2)));
    Doubles sum;
    __builtin_memcpy(&sum, sums, sizeof sum);
    sum += __builtin_convertvector(v, Doubles);
    __builtin_memcpy(sums, &sum, sizeof sum);
  }
};

}  // namespace

namespace WISP_ISA {

void fill_halves(Kernels& table) {
  half_binary<Opcode::add>(table, [](auto a, auto b) { return a + b; });
  half_binary<Opcode::sub>(table, [](auto a, auto b) { return a - b; });
  half_binary<Opcode::mul>(table, [](auto a, auto b) { return a * b; });
  half_binary<Opcode::div>(table, [](auto a, auto b) { return a / b; });
  half_ternary<Opcode::addcmul>(table.tile, [](auto a, auto b, auto c, const Params& p) {
    return a + param<float>(p) * b * c;
  });
  half_ternary<Opcode::clamp>(table.tile, [](auto x, auto low, auto high, const Params&) {
    const auto raised = x < low ? low : x;
    const auto clamped = raised > high ? high : raised;
    return x != x ? x : low != low ? low : high != high ? high : clamped;
  });
  bits_unary<Opcode::neg>(table.tile, [](uint16_t x) { return x ^ sign_bit; });
  bits_unary<Opcode::abs>(table.tile, [](uint16_t x) { return x & ~sign_bit; });
  bits_binary<Opcode::copysign>(table.tile, [](uint16_t size, uint16_t sign) {
    return (size & ~sign_bit) | (sign & sign_bit);
  });
  set<HalfSum, Reduction::sum, dtypes::half>(table);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
