// What loops over more than the caches hold do about it: they ask for what they will read ahead of
// time, and write past the caches, because the results are gone before anybody reads them again and
// a store that goes straight to memory need not fetch the line first.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/compiler.h"

namespace wisp::cpu {

// What a loop does in all.
struct Traffic {
  int64_t read = 0, written = 0;  // bytes
  int64_t passes = 1;             // what it computes, counted in kernels that add
};

bool fetches_ahead(const Traffic& traffic);
bool streams(const Traffic& traffic);

// Inlined, as kernels that are compiled once per instruction set use them too.
#if defined(__x86_64__)
WISP_INLINE void stream_line(char* out, const char* in) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out), _mm512_loadu_si512(in));
#else
  const auto* from = reinterpret_cast<const __m128i*>(in);
  auto* to = reinterpret_cast<__m128i*>(out);
  const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
  const __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
  _mm_stream_si128(to, a);
  _mm_stream_si128(to + 1, b);
  _mm_stream_si128(to + 2, c);
  _mm_stream_si128(to + 3, d);
#endif
}
#endif

// Copies; call stream_done() on the same thread before others may read what was written.
WISP_INLINE void stream_copy(char* out, const char* in, size_t bytes) {
#if defined(__x86_64__)
  const size_t head = (64 - reinterpret_cast<uintptr_t>(out) % 64) % 64;
  if (bytes >= head + 64) {
    __builtin_memcpy(out, in, head);
    out += head, in += head, bytes -= head;
    for (; bytes >= 64; out += 64, in += 64, bytes -= 64) stream_line(out, in);
  }
#endif
  __builtin_memcpy(out, in, bytes);
}

inline void stream_done() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace wisp::cpu
