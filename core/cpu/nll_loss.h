// The negative log-likelihood of classes: picks one element per target.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// x has shape (outer, classes, inner) and targets (outer, inner), both consecutive. x and weight
// (one per class, or null) are of `dtype`, float32 or float64.
struct NllShape {
  DType dtype;
  int64_t outer, classes, inner, ignore_index;
  const int64_t* target;
  const char* weight;
};

// Fails if a target that is not ignored is no class.
void check_targets(const NllShape& shape);

struct NllSums {
  double loss, weight;
};
// The sums of -weight * x and of the weights; with `each`, the terms are left there instead.
NllSums nll_loss(const NllShape& shape, const char* x, char* each);

// x_grad, which is zero before, gets -weight * scale * grad. `grad` is one per target, or null
// for 1.
void nll_loss_grad(const NllShape& shape, const char* grad, double scale, char* x_grad);

// --- Cross entropy of rows, which are consecutive (inner is 1): nll_loss of log_softmax without
// keeping that. `stats` gets the largest element of each row and the sum of exp(x - largest).
NllSums cross_entropy(const NllShape& shape, const char* x, double* stats, char* each);
// Writes the gradient: softmax times weight * scale * grad, less that at the target.
void cross_entropy_grad(const NllShape& shape, const char* x, const double* stats, const char* grad,
                        double scale, char* x_grad);

}  // namespace wisp::cpu
