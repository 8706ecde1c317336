// Layer normalisation of the rows of a consecutive matrix: to mean 0 and variance 1, then scaled
// and shifted by weight and bias.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// All pointers are to consecutive memory of `dtype`, float32 or float64; weight and bias have
// `columns` elements and may be null, mean and rstd (1 / standard deviation) have `rows`.
struct LayerNormCall {
  DType dtype;
  int64_t rows, columns;
  double eps;
  const char *x, *weight, *bias;
  char *y, *mean, *rstd;
};
void layer_norm(const LayerNormCall& call);

// Results that are not wanted are null.
struct LayerNormGradCall {
  DType dtype;
  int64_t rows, columns;
  const char *grad, *x, *mean, *rstd, *weight;
  char *x_grad, *weight_grad, *bias_grad;
};
void layer_norm_grad(const LayerNormGradCall& call);

struct LayerNormKernel {
  // One row of n elements.
  void (*row)(const LayerNormCall& call, int64_t row) = nullptr;
  void (*row_grad)(const LayerNormGradCall& call, int64_t row) = nullptr;
  // Adds what a row gives to the gradients of weight and bias, unless those are null.
  void (*add_parameter_grads)(const LayerNormGradCall& call, int64_t row, void* weight_grad,
                              void* bias_grad) = nullptr;
};

}  // namespace wisp::cpu
