// Stores that do not go through the caches. Included by files of this folder only (see tile.h).
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

#if defined(__x86_64__)
WISP_INLINE void write_line(void* out, const void* in) {
#if defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(out), _mm512_loadu_si512(in));
#elif defined(__AVX__)
  for (int k = 0; k < 2; ++k)
    _mm256_stream_si256(static_cast<__m256i*>(out) + k,
                        _mm256_loadu_si256(static_cast<const __m256i*>(in) + k));
#else
  for (int k = 0; k < 4; ++k)
    _mm_stream_si128(static_cast<__m128i*>(out) + k,
                     _mm_loadu_si128(static_cast<const __m128i*>(in) + k));
#endif
}
#endif

// Copies n elements, whole lines of a cache past it. The thread calls stream_done() (stream.h)
// before others may read them.
template <class T>
WISP_INLINE void write_past_caches(T* out, const T* in, int64_t n) {
  int64_t i = 0;
#if defined(__x86_64__)
  constexpr int64_t line = 64 / sizeof(T);
  for (; i < n && reinterpret_cast<uintptr_t>(out + i) % 64 != 0; ++i) out[i] = in[i];
  for (; i + line <= n; i += line) write_line(out + i, in + i);
#endif
  for (; i < n; ++i) out[i] = in[i];
}

}  // namespace

}  // namespace wisp::cpu
