// Discrete Fourier transforms along one dimension of strided memory.
#pragma once

#include "base/dtype.h"
#include "base/small_vector.h"

namespace wisp::cpu {

enum class FftKind : uint8_t {
  complex,
  from_real,  // forward; the result has n / 2 + 1 numbers along the dimension, or all n
  to_real,    // backward; the input has at least n / 2 + 1 numbers, of which the rest is ignored
};

struct FftCall {
  FftKind kind;
  DType dtype;    // of real and imaginary parts: float32 or float64
  int64_t n;      // length of the transform
  IntSpan sizes;  // those of the result
  int64_t dim;
  const char* in;
  IntSpan in_strides;  // in complex numbers, or in real ones where the memory holds such
  char* out;           // may be the same as `in` if the strides are too
  IntSpan out_strides;
  bool forward;
  double scale;
};

void fft(const FftCall& call);

}  // namespace wisp::cpu
