// Layer normalisation of the rows of a consecutive matrix: to mean 0 and variance 1, then scaled
// and shifted by weight and bias.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// All pointers are to consecutive memory of `dtype`, float32 or float64, but for those to matrices,
// which are `stored` and converted some rows at a time; weight and bias have `columns` elements and
// may be null, mean and rstd (1 / standard deviation) have `rows`.
struct LayerNormCall {
  DType dtype, stored;
  int64_t rows, columns;
  double eps;
  const char *x, *weight, *bias;
  char *y, *mean, *rstd;
  bool streams = false;  // whether y is written past the caches: set by layer_norm()
};
void layer_norm(LayerNormCall call);

// Results that are not wanted are null.
struct LayerNormGradCall {
  DType dtype, stored;
  int64_t rows, columns;
  const char *grad, *x, *mean, *rstd, *weight;
  char *x_grad, *weight_grad, *bias_grad;
  bool streams = false;  // as above
};
void layer_norm_grad(LayerNormGradCall call);

struct LayerNormKernel {
  void (*rows)(const LayerNormCall& call, int64_t begin, int64_t end) = nullptr;
  // Adds what rows give to the gradients of weight and bias, unless those are null.
  void (*rows_grad)(const LayerNormGradCall& call, int64_t begin, int64_t end, void* weight_grad,
                    void* bias_grad) = nullptr;
};

}  // namespace wisp::cpu
