// softmax and log_softmax along one dimension of consecutive memory, and their derivatives.
#pragma once

#include "cpu/scan.h"

namespace wisp::cpu {

// All pointers are to consecutive memory of `dtype`, float32 or float64.
struct SoftmaxCall {
  bool log;
  DType dtype;
  Lines lines;
  const char* x;
  char* y;
};
void softmax(const SoftmaxCall& call);

// The gradient of x, given that of y, and y.
struct SoftmaxGradCall {
  bool log;
  DType dtype;
  Lines lines;
  const char *grad, *y;
  char* x_grad;
};
void softmax_grad(const SoftmaxGradCall& call);

// The largest element of a line, and the sum of exp(x - largest).
struct SoftmaxStats {
  double largest, sum;
};

constexpr int64_t max_softmax_columns = 256;  // handled together
constexpr int64_t max_short_line = 112;       // elements

// One of softmax and log_softmax, of one dtype.
struct SoftmaxKernel {
  // A line of n consecutive elements.
  void (*row)(void* y, const void* x, int64_t n) = nullptr;
  void (*row_grad)(void* x_grad, const void* grad, const void* y, int64_t n) = nullptr;
  // n <= max_softmax_columns neighbouring lines of `rows` elements, `step` elements apart. In place
  // too.
  void (*columns)(void* y, const void* x, int64_t n, int64_t rows, int64_t step) = nullptr;
  void (*columns_grad)(void* x_grad, const void* grad, const void* y, int64_t n, int64_t rows,
                       int64_t step) = nullptr;
  // A piece of a long line: what has to be known of it all, and the result of the piece.
  SoftmaxStats (*stats)(const void* x, int64_t n) = nullptr;
  void (*apply)(void* y, const void* x, int64_t n, const SoftmaxStats& stats) = nullptr;
  double (*grad_sum)(const void* grad, const void* y, int64_t n) = nullptr;
  void (*apply_grad)(void* x_grad, const void* grad, const void* y, int64_t n,
                     double sum) = nullptr;
};

}  // namespace wisp::cpu
