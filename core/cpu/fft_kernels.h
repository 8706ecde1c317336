// The part of the transforms that is compiled once per instruction set.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// The largest factor that is transformed by its definition.
constexpr int max_radix = 47;

// One step of a mixed-radix transform. `after` is what is left of the length behind this factor;
// number q + stride * (p + after * k) of the input meets others of the same q and p.
struct FftStep {
  int radix;
  int64_t after;
  int64_t twiddles;  // where exp(-2 pi i p j / (radix * after)) starts: (p, j = 1..radix-1) pairs
  int64_t roots;     // where exp(-2 pi i j / radix) starts
};

// What the kernels read of a plan. Complex numbers are pairs of T, real part first.
template <class T>
struct FftTables {
  int64_t n = 0;
  const FftStep* steps = nullptr;
  int step_count = 0;
  const T* table = nullptr;  // the roots of all steps
  // The first step's twiddles for neighbouring p: for every j = 1..7 a row of real and a row of
  // imaginary parts. Only if the first radix is 8.
  const T* first = nullptr;

  // Of a long transform, run as transforms of its columns and of its rows.
  int64_t column_length = 0, row_length = 0;
  const T* lanes = nullptr;   // exp(-2 pi i k l / n) for k < column_length and lane l, parts apart
  const T* coarse = nullptr;  // exp(-2 pi i (k << fine_bits) / n)
  const T* fine = nullptr;    // exp(-2 pi i k / n) for k < 1 << fine_bits
};
constexpr int fine_bits = 10;

// Real and imaginary parts apart.
template <class T>
struct Split {
  T *re, *im;
};

// `count` transforms side by side: where each starts, and the distance between its numbers, in
// complex (or, where said so, real) numbers.
template <class T>
struct Lanes {
  T* data;
  const int64_t* offsets;
  int64_t count;
  int64_t step;
};

// Numbers between the arrays of a transform, so that they do not compete for the same cache lines.
constexpr int64_t fft_gap = 16;

// Only forward transforms exist. Backward ones conjugate what they read and what they write: signs
// are 1 or -1, the factor of imaginary parts.
template <class T>
struct FftKernels {
  int64_t width = 1;  // numbers of a vector: how many transforms run side by side

  // One transform of consecutive numbers, of a length that is a multiple of 8 and at least 16.
  // `work` has room for 4 (n + fft_gap) numbers.
  void (*row)(const FftTables<T>& plan, const T* in, T* out, T* work, T in_sign, T out_sign,
              T scale) = nullptr;
  // `stride` transforms at once (the fastest index); the result is in x or y, as returned.
  Split<T> (*steps)(const FftTables<T>& plan, int64_t stride, Split<T> x, Split<T> y) = nullptr;

  // Between memory and [n][width]. Lanes beyond `count` are read as zeros and not written.
  void (*load)(const Lanes<const T>& from, int64_t n, Split<T> x, T sign) = nullptr;
  void (*store)(Split<T> x, int64_t n, const Lanes<T>& to, T sign, T scale) = nullptr;
  // The same for real numbers: number 2k is the real part of k, 2k + 1 the imaginary one.
  void (*load_real)(const Lanes<const T>& from, int64_t n, Split<T> x) = nullptr;
  void (*store_real)(Split<T> x, int64_t n, const Lanes<T>& to, T sign, T scale) = nullptr;

  // From the transform of n complex numbers to the first n + 1 of that of the 2n real ones they
  // stand for, and back (conjugated, without the factor 1/2). `roots` are exp(-2 pi i k / 2n),
  // k <= n/2. For consecutive numbers ...
  void (*split_halves)(const T* roots, int64_t n, T* x) = nullptr;
  void (*join_halves)(const T* roots, int64_t n, const T* in, T* out) = nullptr;
  // ... and for [n][width], in place; x has room for n + 1.
  void (*split_lanes)(const T* roots, int64_t n, Split<T> x) = nullptr;
  void (*join_lanes)(const T* roots, int64_t n, Split<T> x) = nullptr;

  // Columns `first` .. first + width - 1 of a long transform, multiplied by their twiddles and
  // stored into `to`, where rows lie side by side in groups of `width`, ready to be transformed.
  void (*twist)(const FftTables<T>& plan, Split<T> x, int64_t first, T* to) = nullptr;
};

template <class T>
const FftKernels<T>& fft_kernels();

}  // namespace wisp::cpu
