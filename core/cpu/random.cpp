#include "cpu/random.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

template <class T>
void fill(T* out, int64_t n, RandomStream stream, RandomFn<T> kernel) {
  // Pieces start at whole chunks of counters (kernels/random.cpp).
  parallel_for(n, 1 << 13, [&](int64_t begin, int64_t end) {
    kernel(out + begin, end - begin, stream.seed, stream_from<T>(stream, begin).counter);
  });
}

}  // namespace

uint64_t counters_for(int64_t n) { return static_cast<uint64_t>(n / 2 + 64); }

void fill_uniform(float* out, int64_t n, RandomStream s) { fill(out, n, s, kernels().uniform_f32); }
void fill_uniform(double* out, int64_t n, RandomStream s) {
  fill(out, n, s, kernels().uniform_f64);
}
void fill_normal(float* out, int64_t n, RandomStream s) { fill(out, n, s, kernels().normal_f32); }
void fill_normal(double* out, int64_t n, RandomStream s) { fill(out, n, s, kernels().normal_f64); }
void drop(const Dropout& call, RandomStream stream) {
  constexpr int64_t tile = 1 << 11;  // draws stay in the first-level cache
  parallel_for(call.n, 1 << 13, [&](int64_t begin, int64_t end) {
    float draws[tile];
    for (int64_t at = begin; at < end; at += tile) {
      const int64_t count = std::min(tile, end - at);
      kernels().uniform_f32(draws, count, stream.seed, stream_from<float>(stream, at).counter);
      kernels().drop({call.x + at, call.out + at, call.kept + at, count, call.keep, call.scale},
                     draws);
    }
  });
}
void fill_bits(uint64_t* out, int64_t n, RandomStream s) { fill(out, n, s, kernels().bits_u64); }

}  // namespace wisp::cpu
