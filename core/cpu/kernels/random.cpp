// Philox 4x32-10: ten rounds of multiplications turn (seed, counter) into four random words.
// Counters are worked on side by side, each in a 64-bit vector lane so that the products fit.
#include "cpu/kernels/tile.h"
#include "cpu/vmath_trig.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wisp::cpu {

namespace {

#if defined(__AVX512F__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // inside the compiler's own header
typedef uint64_t Lanes __attribute__((vector_size(64)));
WISP_INLINE Lanes multiply_low(Lanes a, Lanes b) {
  return (Lanes)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
#elif defined(__AVX2__)
typedef uint64_t Lanes __attribute__((vector_size(32)));
WISP_INLINE Lanes multiply_low(Lanes a, Lanes b) {
  return (Lanes)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
#elif defined(__x86_64__)
typedef uint64_t Lanes __attribute__((vector_size(16)));
WISP_INLINE Lanes multiply_low(Lanes a, Lanes b) {
  return (Lanes)_mm_mul_epu32((__m128i)a, (__m128i)b);
}
#else
typedef uint64_t Lanes __attribute__((vector_size(16)));
WISP_INLINE Lanes multiply_low(Lanes a, Lanes b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
#endif
constexpr int width = sizeof(Lanes) / 8;

constexpr int counters = 64;           // per chunk
constexpr int chunk32 = 4 * counters;  // elements that take one word each
constexpr int chunk64 = 2 * counters;  // elements that take two

struct Words {
  alignas(64) uint32_t w[4][counters];
};

WISP_INLINE void store_low(uint32_t* out, Lanes lanes) {
#if defined(__AVX512F__)
  _mm256_store_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi64_epi32((__m512i)lanes));
#elif defined(__AVX2__)
  const __m256i picked =
      _mm256_permutevar8x32_epi32((__m256i)lanes, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  _mm_store_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(picked));
#else
  for (int l = 0; l < width; ++l) out[l] = static_cast<uint32_t>(lanes[l]);
#endif
}

// The words of the first `count` counters from `first` on, rounded up to whole vectors. Only the
// low halves of the lanes count: the multiplication ignores the rest.
WISP_INLINE void philox(uint64_t seed, uint64_t first, int count, Words& out) {
  const Lanes m0 = Lanes{} + 0xD2511F53u, m1 = Lanes{} + 0xCD9E8D57u;
  Lanes next;
  for (int l = 0; l < width; ++l) next[l] = first + static_cast<uint64_t>(l);
  for (int i = 0; i < count; i += width, next += width) {
    Lanes c0 = next;
    Lanes c1 = c0 >> 32, c2 = {}, c3 = {};
    uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Lanes p0 = multiply_low(c0, m0), p1 = multiply_low(c2, m1);
      c0 = (p1 >> 32) ^ c1 ^ static_cast<uint64_t>(k0);
      c2 = (p0 >> 32) ^ c3 ^ static_cast<uint64_t>(k1);
      c1 = p1;
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    store_low(out.w[0] + i, c0);
    store_low(out.w[1] + i, c1);
    store_low(out.w[2] + i, c2);
    store_low(out.w[3] + i, c3);
  }
}

WISP_INLINE float unit(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word >> 8)) * 0x1p-24f;
}

WISP_INLINE double unit(uint32_t high, uint32_t low) {
  // 53 bits, joined in floating point: there is no vector conversion of 64-bit integers.
  return (static_cast<double>(static_cast<int32_t>(high >> 5)) * 67108864.0 +
          static_cast<double>(static_cast<int32_t>(low >> 6))) *
         0x1p-53;
}

// Calls make(words, row, count, chunk elements) chunk by chunk. Element e of a chunk belongs to
// counter e % 64, so that neighbours come from neighbouring lanes. `first` is the number of the
// first element, a multiple of the chunk.
template <int chunk, class T, class Make>
WISP_INLINE void by_chunk(T* out, int64_t n, uint64_t seed, uint64_t counter, Make make) {
  Words words;
  T row[chunk];
  for (int64_t at = 0; at < n; at += chunk, counter += counters) {
    const int count = n - at < chunk ? static_cast<int>(n - at) : chunk;
    const int used = count < counters ? (count + 7) / 8 * 8 : counters;
    philox(seed, counter, used, words);
    if (count == chunk) {
      make(words, out + at, counters, chunk / counters);
      continue;
    }
    make(words, row, used, (count + counters - 1) / counters);
    for (int r = 0; r * counters < count; ++r) {
      const int m = count - r * counters < counters ? count - r * counters : counters;
      for (int i = 0; i < m; ++i) out[at + r * counters + i] = row[r * counters + i];
    }
  }
}

void uniform_f32(float* out, int64_t n, uint64_t seed, uint64_t counter) {
  by_chunk<chunk32>(out, n, seed, counter, [](const Words& words, float* row, int used, int rows) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < used; ++i) row[r * counters + i] = unit(words.w[r][i]);
    }
  });
}

void uniform_f64(double* out, int64_t n, uint64_t seed, uint64_t counter) {
  by_chunk<chunk64>(out, n, seed, counter, [](const Words& words, double* row, int used, int rows) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < used; ++i)
        row[r * counters + i] = unit(words.w[2 * r][i], words.w[2 * r + 1][i]);
    }
  });
}

// Box and Muller's transformation makes two normal numbers of two uniform ones, the first of which
// is taken from (0, 1].
void normal_f32(float* out, int64_t n, uint64_t seed, uint64_t counter) {
  by_chunk<chunk32>(out, n, seed, counter, [](const Words& words, float* row, int used, int rows) {
    for (int r = 0; r < rows; r += 2) {
      float* cosines = row + r * counters;
      float* sines = cosines + counters;
      for (int i = 0; i < used; ++i) {
        const float radius = __builtin_sqrtf(-2.0f * vmath::log(1.0f - unit(words.w[r][i])));
        const vmath::SinCos<float> direction = vmath::sincos_turns(unit(words.w[r + 1][i]));
        cosines[i] = radius * direction.cos;
        sines[i] = radius * direction.sin;
      }
    }
  });
}

void normal_f64(double* out, int64_t n, uint64_t seed, uint64_t counter) {
  by_chunk<chunk64>(out, n, seed, counter, [](const Words& words, double* row, int used, int) {
    for (int i = 0; i < used; ++i) {
      const double radius =
          __builtin_sqrt(-2.0 * vmath::log(1.0 - unit(words.w[0][i], words.w[1][i])));
      const vmath::SinCos<double> direction =
          vmath::sincos_turns(unit(words.w[2][i], words.w[3][i]));
      row[i] = radius * direction.cos;
      row[counters + i] = radius * direction.sin;
    }
  });
}

void bits_u64(uint64_t* out, int64_t n, uint64_t seed, uint64_t counter) {
  by_chunk<chunk64>(
      out, n, seed, counter, [](const Words& words, uint64_t* row, int used, int rows) {
        for (int r = 0; r < rows; ++r) {
          for (int i = 0; i < used; ++i) {
            row[r * counters + i] =
                static_cast<uint64_t>(words.w[2 * r][i]) << 32 | words.w[2 * r + 1][i];
          }
        }
      });
}

void drop(const Dropout& part, const float* draws) {
#pragma GCC ivdep
  for (int64_t i = 0; i < part.n; ++i) {
    const bool keep = draws[i] < part.keep;
    part.kept[i] = keep;
    part.out[i] = part.x[i] * (keep ? part.scale : 0);
  }
}

// Each half of a counter's words decides about one number: of `used` counters, number i takes half
// i / used of counter i % used.
template <class T>
WISP_INLINE void drop_halves(T* x, int count, const Words& words, int used, uint32_t keep,
                             T scale) {
  for (int half = 0; half * used < count; ++half) {
    const uint32_t* word = words.w[half / 2];
    const int shift = half % 2 ? 16 : 0;
    T* to = x + half * used;
    const int n = count - half * used < used ? count - half * used : used;
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) {
      const T factor = (word[i] >> shift & 0xffff) < keep ? scale : T(0);
      to[i] *= factor;
    }
  }
}

template <class T>
void drop_rows(T* x, int64_t rows, int64_t count, const RowDrops<T>& drops) {
  const uint32_t keep = drops.keep;  // copies, which x does not share memory with
  const T scale = drops.scale;
  const int used = static_cast<int>((drops.length + 63) / 64 * 8);
  Words words;
  for (int64_t i = 0; i < rows; ++i) {
    philox(drops.stream.seed, drops.stream.counter + static_cast<uint64_t>(i) * drops.step, used,
           words);
    drop_halves(x + i * count, static_cast<int>(count), words, used, keep, scale);
  }
}

}  // namespace

namespace WISP_ISA {

void fill_random(Kernels& table) {
  table.uniform_f32 = uniform_f32;
  table.uniform_f64 = uniform_f64;
  table.normal_f32 = normal_f32;
  table.normal_f64 = normal_f64;
  table.bits_u64 = bits_u64;
  table.drop = drop;
  table.drop_rows_f32 = drop_rows<float>;
  table.drop_rows_f64 = drop_rows<double>;
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
