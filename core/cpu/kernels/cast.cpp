#include "cpu/kernels/tile.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

template <class To, class From>
void cast_tile(void* out, const void* in, int64_t n) {
  To* y = static_cast<To*>(out);
  const From* x = static_cast<const From*>(in);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(load(x, i));
}

// Conversions that compilers do not turn into vectors, or into the one instruction there is.

#if defined(__x86_64__)
template <>
void cast_tile<int64_t, float>(void* out, const void* in, int64_t n) {
  int64_t* y = static_cast<int64_t*>(out);
  const float* x = static_cast<const float*>(in);
  for (int64_t i = 0; i < n; ++i) y[i] = _mm_cvttss_si64(_mm_set_ss(x[i]));
}

template <>
void cast_tile<int64_t, double>(void* out, const void* in, int64_t n) {
  int64_t* y = static_cast<int64_t*>(out);
  const double* x = static_cast<const double*>(in);
  for (int64_t i = 0; i < n; ++i) y[i] = _mm_cvttsd_si64(_mm_set_sd(x[i]));
}
#endif

#if defined(__F16C__)
template <>
void cast_tile<Half, float>(void* out, const void* in, int64_t n) {
  Half* y = static_cast<Half*>(out);
  const float* x = static_cast<const float*>(in);
  int64_t i = 0;
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
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  }
  for (; i < n; ++i) y[i] = x[i];
}
#endif

}  // namespace

namespace WISP_ISA {

void fill_cast(Kernels& table) {
  for_each_type<dtypes::all>([&]<class To>() {
    for_each_type<dtypes::all>([&]<class From>() {
      table.cast[int(dtype_of<To>)][int(dtype_of<From>)] = cast_tile<To, From>;
    });
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
