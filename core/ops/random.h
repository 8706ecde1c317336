// What operators that draw random numbers share.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/generator.h"
#include "base/parallel.h"
#include "cpu/random.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

// Takes the numbers for n elements from the generator given as an argument, or the default one.
inline cpu::RandomStream draw(const Args& args, int generator, int64_t n) {
  Generator* given = args.generator(generator);
  const Generator::State state =
      (given ? *given : default_generator()).reserve(cpu::counters_for(n));
  return {state.seed, state.counter};
}

// Runs fill(pointer) on out's memory, or on a buffer that is then converted into it.
template <class T, class F>
void fill_through(const Tensor& out, F fill) {
  if (out.dtype() == dtype_of<T> && out.is_contiguous()) {
    fill(out.data<T>());
    return;
  }
  Tensor buffer = Tensor::empty(out.sizes(), dtype_of<T>);
  fill(buffer.data<T>());
  copy_raw(out, buffer);
}

// Real and imaginary parts of a complex tensor, in a last dimension of two.
inline Tensor parts_of(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor parts = t.alias(sizes, strides, 2 * t->offset());
  parts->set_dtype(to_real(t.dtype()));
  return parts;
}

struct Unmapped {};

constexpr int64_t drawn_tile = 1 << 11;  // numbers that are mapped while they are in the cache

template <class T, class F>
void map_tile(T* data, int64_t n, F f) {
  if constexpr (std::is_invocable_v<F, T*, int64_t>) {
    f(data, n);
  } else if constexpr (!std::is_same_v<F, Unmapped>) {
    const auto map = [&](int64_t count) {
      for (int64_t i = 0; i < count; ++i) data[i] = static_cast<T>(f(data[i]));
    };
    n == drawn_tile ? map(drawn_tile) : map(n);  // a known count becomes vector code
  }
}

// Draws uniform (or normal) numbers and maps each with f, or some at once with f(data, n), in
// double for float64 and complex128, else in float. Complex numbers get two independent parts.
template <class Source, class F>
void fill_mapped(const Tensor& out, cpu::RandomStream stream, Source source, F f) {
  auto run = [&]<class T>(T* data, int64_t n) {
    parallel_for(n, 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += drawn_tile) {
        const int64_t count = std::min(drawn_tile, end - at);
        source(data + at, count, cpu::stream_from<T>(stream, at));
        map_tile(data + at, count, f);
      }
    });
  };
  if (is_complex(out.dtype())) {
    fill_mapped(parts_of(out), stream, source, f);
  } else if (out.dtype() == DType::float64) {
    fill_through<double>(out, [&](double* data) { run(data, out.numel()); });
  } else {
    fill_through<float>(out, [&](float* data) { run(data, out.numel()); });
  }
}

constexpr auto uniform_source = [](auto* data, int64_t n, cpu::RandomStream s) {
  cpu::fill_uniform(data, n, s);
};
constexpr auto normal_source = [](auto* data, int64_t n, cpu::RandomStream s) {
  cpu::fill_normal(data, n, s);
};

inline int64_t draws_of(const Tensor& out) {
  return out.numel() * (is_complex(out.dtype()) ? 2 : 1);
}

// 64 random bits per element.
inline Tensor random_words(int64_t n, cpu::RandomStream stream) {
  Tensor bits = Tensor::empty({n}, DType::int64);
  cpu::fill_bits(reinterpret_cast<uint64_t*>(bits.data<int64_t>()), n, stream);
  return bits;
}
// The same word as a number below `range`: the high half of a product spreads evenly over it.
inline uint64_t below(int64_t word, uint64_t range) {
  return static_cast<uint64_t>(
      (static_cast<unsigned __int128>(static_cast<uint64_t>(word)) * range) >> 64);
}

// Cuts a number in [0, 1) down to the bits a dtype keeps, so that rounding does not reach 1.
struct CutBits {
  explicit CutBits(DType dtype)
      : steps(dtype == DType::float16    ? 2048
              : dtype == DType::bfloat16 ? 256
                                         : 0) {}
  template <class T>
  T operator()(T x) const {
    return steps > 0 ? std::floor(x * static_cast<T>(steps)) / static_cast<T>(steps) : x;
  }
  int steps;
};

inline void check_random_dtype(const Args& args, DType dtype) {
  WISP_CHECK_KIND(not_implemented, is_differentiable(dtype), args.name(),
                  "(): not implemented for '", legacy_name(dtype),
                  "'; random numbers of this kind need a floating-point dtype");
}

// Integers in [low, low + range) (range 0 means all 2^64), and the check that they fit a dtype.
void fill_integers(const Tensor& out, int64_t low, uint64_t range, cpu::RandomStream stream);
void check_range(const Args& args, int64_t low, int64_t high, DType dtype);

// A result like self.
inline void infer_like_self(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  TensorSpec& spec = infer.push(self.sizes(), self.dtype(), self.device());
  if (!self.is_contiguous()) spec.strides = preserved_strides(self.sizes(), self.strides());
}

inline Tensor no_gradient(const Backward& b) { return zeros_like(b.grad()); }

}  // namespace wisp::ops
