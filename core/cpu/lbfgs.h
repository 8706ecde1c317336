// L-BFGS on vectors of consecutive elements, float32 or float64.
#pragma once

#include <span>

#include "base/dtype.h"

namespace wisp::cpu {

// What a step has changed: change = grad - last_grad, step = t * last_direction, and the products
// change * step and change * change.
struct LbfgsChange {
  const char *grad, *last_grad, *last_direction;
  double t;
  char *change, *step;
  double curvature, square;  // results
};
void lbfgs_change(DType dtype, int64_t n, LbfgsChange& call);

// The gradient times an estimate of the inverse Hessian, negated. The estimate is made of changes
// of the gradient, the steps that caused them (oldest first) and one over the product of each pair,
// and `scale`, from which it starts. `weights` get a number for each pair.
struct LbfgsDirection {
  const char* grad;
  std::span<const char* const> changes, steps;
  std::span<const double> inverses;
  double scale;
  char* direction;
  std::span<double> weights;
};
void lbfgs_direction(DType dtype, int64_t n, const LbfgsDirection& call);

}  // namespace wisp::cpu
