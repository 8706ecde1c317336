// Stores that do not go through the caches. Included by files of this folder only (see tile.h).
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace wisp::cpu {

namespace {

// Copies n elements, whole lines of a cache past it. The thread calls stream_done() (stream.h)
// before others may read them.
template <class T>
WISP_INLINE void write_past_caches(T* out, const T* in, int64_t n) {
  int64_t i = 0;
#if defined(__x86_64__)
  constexpr int64_t line = 64 / sizeof(T);
  for (; i < n && reinterpret_cast<uintptr_t>(out + i) % 64 != 0; ++i) out[i] = in[i];
  for (; i + line <= n; i += line) {
    auto* to = reinterpret_cast<__m128i*>(out + i);
    const auto* from = reinterpret_cast<const __m128i*>(in + i);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(to + k, _mm_loadu_si128(from + k));
  }
#endif
  for (; i < n; ++i) out[i] = in[i];
}

}  // namespace

}  // namespace wisp::cpu
