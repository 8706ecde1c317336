// Filling memory with random numbers. The value of an element depends on the stream and its
// position alone: any number of threads gives the same numbers, and a longer tensor starts with the
// shorter one.
#pragma once

#include <cstdint>

namespace wisp::cpu {

struct RandomStream {
  uint64_t seed, counter;
};

// The stream of the elements (of type T) from `at` on, a multiple of 256: a counter gives four
// words of 32 bits.
template <class T>
RandomStream stream_from(RandomStream stream, int64_t at) {
  return {stream.seed, stream.counter + static_cast<uint64_t>(at / (sizeof(T) == 4 ? 4 : 2))};
}

// How many counter values a fill of n elements takes.
uint64_t counters_for(int64_t n);

// In [0, 1), with 24 (float) or 53 (double) random bits.
void fill_uniform(float* out, int64_t n, RandomStream stream);
void fill_uniform(double* out, int64_t n, RandomStream stream);
// Of mean 0 and variance 1.
void fill_normal(float* out, int64_t n, RandomStream stream);
void fill_normal(double* out, int64_t n, RandomStream stream);
// out = x * scale where a number of fill_uniform's is below `keep`, else x * 0; `kept` says where.
struct Dropout {
  const float* x;
  float* out;
  bool* kept;
  int64_t n;
  float keep, scale;
};
void drop(const Dropout& call, RandomStream stream);
// Consecutive rows, of each its first numbers: x * scale where 16 random bits are below `keep`,
// else x * 0. Which they are depends on how long the rows are in all (at most 512) and on their
// counters.
template <class T>
struct RowDrops {
  RandomStream stream;  // of the first row
  uint64_t step;        // from one row's counters to those of the next
  int64_t length;
  uint32_t keep;
  T scale;
};
constexpr int64_t most_drops_per_row = 512, counters_per_row = 64;
// 64 random bits each.
void fill_bits(uint64_t* out, int64_t n, RandomStream stream);

}  // namespace wisp::cpu
