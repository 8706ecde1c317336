// Covariance and correlation.
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

void check_weights(const Tensor& weights, const char* which, int64_t observations) {
  WISP_CHECK(weights.ndim() <= 1, "cov(): expected ", which,
             " to have one or fewer dimensions but got ", which, " with ", weights.ndim(),
             " dimensions");
  WISP_CHECK(weights.numel() == observations, "cov(): expected ", which,
             " to have the same numel as there are observations in the input but got ",
             weights.numel(), " != ", observations);
  WISP_CHECK(weights.numel() == 0 || invoke<"min">(weights).item().real() >= 0, "cov(): ", which,
             " cannot be negative");
}

// The product of how often each observation occurs and how much it counts; undefined if all count
// once. cov(self, *, correction, fweights, aweights)
Tensor cov_weights(const Args& args, int64_t observations) {
  Tensor weights;
  if (args.has(2)) {
    weights = args.tensor(2);
    WISP_CHECK(is_integral(weights.dtype()),
               "cov(): expected fweights to have integral dtype but got fweights with ",
               legacy_name(weights.dtype()), " dtype");
    check_weights(weights, "fweights", observations);
  }
  if (args.has(3)) {
    const Tensor& importance = args.tensor(3);
    WISP_CHECK(is_floating(importance.dtype()),
               "cov(): expected aweights to have floating point dtype but got aweights with ",
               legacy_name(importance.dtype()), " dtype");
    check_weights(importance, "aweights", observations);
    weights = weights.defined() ? mul(weights, importance) : importance;
  }
  if (weights.defined()) {
    WISP_CHECK(weights.numel() == 0 || sum(weights).item().real() != 0,
               "cov(): weights sum to zero, can't be normalized");
  }
  return weights;
}

// What the sum of products is divided by.
Tensor degrees_of_freedom(const Args& args, const Tensor& weights, int64_t observations,
                          DType dtype) {
  const int64_t correction = args.integer(1);
  Tensor degrees = full(IntSpan(), observations - correction, dtype);
  if (weights.defined() && args.has(3) && correction != 0) {
    const Tensor total = sum(weights);
    degrees = sub(total, mul(div(sum(mul(weights, args.tensor(3))), total), Scalar(correction)));
  } else if (weights.defined()) {
    degrees = sub(sum(weights), Scalar(correction));
  }
  if (degrees.item().real() > 0) return degrees;
  warn(
      "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
      "observations.");
  return zeros_like(degrees);
}

void cov_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() <= 2,
             "cov(): expected input to have two or fewer dimensions but got an input with ",
             self.ndim(), " dimensions");
  WISP_CHECK(self.dtype() != DType::bool_, "cov(): bool dtype is not supported for input");
  const Dims row{1, self.numel()};
  Tensor rows = self.ndim() < 2 ? reshape(self, row) : self;
  rows = to(rows, to_floating(rows.dtype()));
  const int64_t observations = rows.size(1), last = 1;
  const Tensor weights = cov_weights(args, observations);
  const Tensor mean = weights.defined()
                          ? div(sum(mul(rows, weights), IntSpan(&last, 1), true), sum(weights))
                          : invoke<"mean.dim">(rows, IntSpan(&last, 1), true);
  const Tensor centred = sub(rows, mean);
  const Tensor weighted = weights.defined() ? mul(centred, weights) : centred;
  const DType dtype = promote(weighted.dtype(), centred.dtype());
  const Tensor products = mm(to(centred, dtype), adjoint(to(weighted, dtype)));
  const Tensor degrees = degrees_of_freedom(args, weights, observations, to_real(products.dtype()));
  outs.push(invoke<"squeeze">(div(products, degrees)));
}

Tensor within_one(const Tensor& t) { return clamp(t, -1, 1); }

void corrcoef_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() <= 2,
             "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
             self.ndim(), " dimensions");
  const Tensor covariance = invoke<"cov">(self);
  if (covariance.ndim() == 0) {  // of one variable with itself
    outs.push(div(covariance, covariance));
    return;
  }
  const Tensor variance = diagonal(covariance);
  const Tensor deviation = invoke<"sqrt">(is_complex(variance.dtype()) ? real(variance) : variance);
  const Tensor result = div(div(covariance, unsqueeze(deviation, -1)), unsqueeze(deviation, 0));
  outs.push(is_complex(result.dtype())
                ? invoke<"complex">(within_one(real(result)), within_one(imag(result)))
                : within_one(result));
}

}  // namespace

void register_statistics(Registry& r) {
  r.add(
      {.schema =
           "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
       .doc =
           "Covariances of the variables that are the rows of `self`, with observations as columns. `fweights` says "
           "how often each was made, `aweights` how much it counts.\n\n"
           ">>> wisp.cov(wisp.tensor([[0., 1., 2.], [2., 1., 0.]]))\n"
           "tensor([[ 1., -1.],\n        [-1.,  1.]])",
       .body = cov_body,
       .onnx = "+ MatMul of centred rows"});
  r.add({.schema = "corrcoef(Tensor self) -> Tensor",
         .doc = "Pearson's correlation coefficients of the rows of `self`.\n\n"
                ">>> wisp.corrcoef(wisp.tensor([[0., 1., 2.], [4., 2., 0.]]))\n"
                "tensor([[ 1., -1.],\n        [-1.,  1.]])",
         .body = corrcoef_body,
         .onnx = "+ MatMul of centred rows"});
}

}  // namespace wisp::ops
