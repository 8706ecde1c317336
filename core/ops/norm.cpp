// Norms and what is made of them.
#include <cmath>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/reduce.h"

namespace wisp::ops {

using cpu::Reduction;

namespace {

// --- linalg.vector_norm(self, ord, dim, keepdim, dtype)

void check_norm_dtype(const Infer& infer, DType own, DType wanted) {
  const char* op = "linalg.vector_norm(): ";
  WISP_CHECK(is_differentiable(own), op,
             "Expected a floating point or complex tensor as input. Got ", legacy_name(own));
  WISP_CHECK(is_differentiable(wanted), op, "dtype should be floating point or complex, but got ",
             legacy_name(wanted));
  WISP_CHECK(is_complex(own) == is_complex(wanted), op, "dtype should be ",
             is_complex(own) ? "complex" : "real", " for ", is_complex(own) ? "complex" : "real",
             " inputs, but got ", legacy_name(wanted));
  WISP_CHECK(promote(own, wanted) == wanted, op, "the dtype of the input (", legacy_name(own),
             ") should be convertible without narrowing to the specified dtype (",
             legacy_name(wanted), ")");
  WISP_CHECK(!infer.scalar(1).is_complex(), op,
             "Expected a non-complex scalar as the order of norm.");
}

void infer_vector_norm(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const DType dtype = infer.dtype_or_none(4).value_or(self.dtype());
  check_norm_dtype(infer, self.dtype(), dtype);
  const TensorSpec& spec = infer_reduced(infer, 2, 3, to_real(dtype));
  const double order = infer.real(1);
  // Sums start from 0, the largest and smallest element from nothing.
  WISP_CHECK(
      self.numel() > 0 || count_elements(spec.sizes) == 0 || (order >= 0 && !std::isinf(order)),
      "linalg.vector_norm(): cannot compute the ", order,
      " norm on an empty tensor because the operation does not have an identity");
}

Reduction norm_of(double order) {
  if (order == 2) return Reduction::norm_2;
  if (order == 1) return Reduction::norm_1;
  if (order == 0) return Reduction::norm_0;
  if (std::isinf(order)) return order > 0 ? Reduction::norm_inf : Reduction::norm_minus_inf;
  return Reduction::norm_p;
}

void vector_norm_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  cpu::ReduceParams params;
  params.p = call.real(1);
  const DType dtype = call.dtype_or_none(4).value_or(self.dtype());
  run_reduce(call, norm_of(params.p), reduced_dims(call, 2, self.ndim()), math_dtype(dtype),
             call.out(), params);
}

// sgn(x) |x|^(p - 1); zeros do not move a norm.
Tensor steepness(const Tensor& x, double p) {
  if (p == 1) return sgn(x);
  if (p == 2) return x;
  if (p > 2) return mul(x, pow(abs(x), p - 2));
  const Tensor zero = eq(x, 0);
  return where(zero, Scalar(0), mul(sgn(x), pow(where(zero, Scalar(1), abs(x)), p - 1)));
}

// The elements of extreme size share the gradient; so do all that are NaN. The result itself may be
// rounded otherwise than these sizes.
Tensor extreme_size_grad(const Backward& b, const Tensor& grad) {
  const Tensor size = abs(b.tensor(0));
  const Arg dims = b.has(2) ? b[2] : Arg(IntSpan());
  const Tensor extreme =
      b.real(1) > 0 ? invoke<"amax">(size, dims, true) : invoke<"amin">(size, dims, true);
  const Tensor chosen = logical_or(eq(size, extreme), isnan(size));
  const Tensor share = div(grad, invoke<"sum.dim">(chosen, b[2], true));
  return mul(sgn(b.tensor(0)), mul(share, chosen));
}

// d |x|_p / d x_i = sgn(x_i) (|x_i| / |x|_p)^(p - 1), and 0 where the norm is 0.
Tensor vector_norm_grad(const Backward& b) {
  const double p = b.real(1);
  if (p == 0) return {};  // counts do not change with small steps
  const Tensor grad = unreduce(b.grad(), b, 2, 3), norm = unreduce(b.out(), b, 2, 3);
  if (std::isinf(p)) return extreme_size_grad(b, grad);
  const Tensor slope = steepness(b.tensor(0), p);
  if (p == 1) return mul(slope, grad);
  const Tensor zero = eq(norm, 0), divisor = where(zero, Scalar(1), norm);
  const Tensor scale = div(grad, p == 2 ? divisor : pow(divisor, p - 1));
  return mul(slope, where(zero, Scalar(0), scale));
}

// --- norm, renorm, dist

void norm_body(const Args& args, TensorList& outs) {
  const Arg order = args.has(1) ? args[1] : Arg(2);
  outs.push(invoke<"vector_norm">(args[0], order, args[2], args[3], args[4]));
}

void named_norm_body(const Args& args, TensorList& outs) {
  const std::string_view order = args.string(1);
  if (order == "nuc") {
    Dims all_dims;
    for (int64_t i = 0; i < args.tensor(0).ndim(); ++i) all_dims.push_back(i);
    const Arg dims = args.has(2) ? args[2] : Arg(all_dims);
    return outs.push(invoke<"linalg_matrix_norm">(args[0], order, dims, args[3], args[4]));
  }
  WISP_CHECK(order == "fro", "norm(): Order ", order, " not supported.");
  outs.push(invoke<"vector_norm">(args[0], 2, args[2], args[3], args[4]));
}

// Slices along `dim` whose norm exceeds maxnorm are scaled down to it.
void renorm_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const double p = args.real(1), most = args.real(3);
  WISP_CHECK(p > 0, "renorm(): non-positive-norm not supported");
  WISP_CHECK(most >= 0, "renorm(): expected maxnorm to be >= 0 but got ", most);
  WISP_CHECK(self.ndim() > 1, "renorm(): input needs at least 2 dimensions, got ", self.ndim(),
             " dimensions");
  const int64_t dim = wrap_dim(args.integer(2), self.ndim(), args.name());
  Dims others;
  for (int64_t i = 0; i < self.ndim(); ++i) {
    if (i != dim) others.push_back(i);
  }
  const Tensor norm = vector_norm(self, p, others, true, math_dtype(self.dtype()));
  const Tensor factor = where(gt(norm, most), div(Scalar(most), add(norm, 1e-7)), Scalar(1));
  outs.push(mul(self, to(factor, to_real(self.dtype()))));
}

}  // namespace

void register_norm(Registry& r) {
  r.add(reduction(
      {.schema =
           "vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The norm `sum(abs(x)**ord)**(1/ord)` over the given dimensions; with inf and -inf the largest and smallest size, with 0 the number of non-zeros.\n\n>>> wisp.linalg.vector_norm(wisp.tensor([3., 4.]))\ntensor(5.)",
       .infer = infer_vector_norm,
       .kernel = vector_norm_kernel,
       .vjp = {{"self", "self ord dim keepdim result", vector_norm_grad}},
       .onnx = "ReduceL2",
       .traits = trait::out,
       .homes = home::linalg,
       .node = "LinalgVectorNormBackward0"}));
  r.add(
      {.schema =
           "norm(Tensor self, Scalar? p=2, int[1]? dim=None, bool keepdim=False, Dtype? dtype=None) -> Tensor",
       .doc =
           "The norm over the given dimensions: `linalg.vector_norm` by an older name.\n\n>>> wisp.norm(wisp.tensor([3., 4.]))\ntensor(5.)",
       .body = norm_body,
       .onnx = "ReduceL2",
       .traits = trait::out});
  r.add(
      {.schema =
           "norm.name(Tensor self, str p, int[1]? dim=None, bool keepdim=False, Dtype? dtype=None) -> Tensor",
       .doc =
           "The Frobenius (\"fro\") or nuclear (\"nuc\") norm.\n\n>>> wisp.norm(wisp.tensor([[1., 2.], [2., 4.]]), p='fro')\ntensor(5.)",
       .body = named_norm_body,
       .onnx = "ReduceL2",
       .traits = trait::out});
  r.add(
      {.schema = "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
       .doc =
           "Scales every slice along `dim` whose p-norm exceeds `maxnorm` down to it.\n\n>>> wisp.renorm(wisp.tensor([[3., 4.], [0., 1.]]), 2, 0, 1)\ntensor([[0.6000, 0.8000],\n        [0.0000, 1.0000]])",
       .body = renorm_body,
       .onnx = "+ Mul of ReduceL2",
       .traits = trait::in_place | trait::out});
  r.add(
      {.schema = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
       .doc =
           "The p-norm of `self - other`.\n\n>>> wisp.dist(wisp.tensor([3., 4.]), wisp.tensor([0., 0.]))\ntensor(5.)",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(
                 invoke<"vector_norm">(sub(args.tensor(0), args.tensor(1)), args[2], Arg(), false));
           },
       .onnx = "+ ReduceL2 of Sub"});
}

}  // namespace wisp::ops
