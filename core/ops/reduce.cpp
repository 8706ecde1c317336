// Reductions: sums, products, extremes, truth, norms, variance.
#include "ops/reduce.h"

#include <cmath>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::ops {

using cpu::Reduction;

uint64_t reduced_dims(const Args& args, int dim_argument, int64_t ndim) {
  const Arg& dims = args[dim_argument];
  const uint64_t all = ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << ndim) - 1;
  if (dims.kind == ArgKind::integer) return uint64_t(1) << wrap_dim(dims.as.integer, ndim, args.name());
  if (dims.is_none() || dims.size == 0) return all;
  uint64_t reduced = 0;
  for (int64_t dim : wrap_dims(dims.integers(), ndim, args.name())) reduced |= uint64_t(1) << dim;
  return ndim == 0 ? 0 : reduced;
}

Dims reduced_shape(IntSpan sizes, uint64_t reduced, bool keepdim) {
  Dims shape;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!((reduced >> i) & 1)) {
      shape.push_back(sizes[i]);
    } else if (keepdim) {
      shape.push_back(1);
    }
  }
  return shape;
}

void run_reduce(const Call& call, Reduction op, uint64_t reduced, DType compute,
                const cpu::ReduceParams& params, const Tensor* second) {
  const Tensor& self = call.tensor(0);
  const Tensor& out = call.out();
  const cpu::ReduceKernel& kernel = cpu::reduce_kernel(op, compute);
  cpu::Reduce job{.op = op,
                  .compute = compute,
                  .sizes = self.sizes(),
                  .in = {self->bytes(), self.strides(), self.dtype()},
                  .reduced = reduced,
                  .out = {out->bytes(), out.strides(), out.dtype()},
                  .params = params};
  // Results of float16 and the like are computed wider and rounded once.
  Tensor wide = kernel.result == out.dtype() ? out : Tensor::empty(out.sizes(), kernel.result);
  job.out.data = wide->bytes();
  Tensor wide_second;
  if (second) {
    wide_second = second->dtype() == compute ? *second : Tensor::empty(second->sizes(), compute);
    job.second = wide_second->bytes();
  }
  cpu::reduce(job);
  if (!wide.is_same(out)) invoke_in_place<"copy">(out, wide);
  if (second && !wide_second.is_same(*second)) invoke_in_place<"copy">(*second, wide_second);
}

Tensor unreduce(const Tensor& reduced, IntSpan shape, const Arg& dims, bool keepdim) {
  if (keepdim || shape.empty()) return reduced;
  const bool all = dims.is_none() || (dims.kind == ArgKind::integers && dims.size == 0);
  Dims kept(shape);
  if (all) {
    kept = Dims(shape.size(), 1);
  } else if (dims.kind == ArgKind::integer) {
    kept[wrap_dim(dims.as.integer, static_cast<int64_t>(shape.size()))] = 1;
  } else {
    for (int64_t dim : dims.integers()) kept[wrap_dim(dim, static_cast<int64_t>(shape.size()))] = 1;
  }
  return view(contiguous(reduced), kept);
}

Tensor expand_reduced(const Tensor& grad, IntSpan shape, const Arg& dims, bool keepdim) {
  return expand(unreduce(grad, shape, dims, keepdim), shape);
}

namespace {

// Sums of integers are int64.
DType sum_dtype(const Infer& infer, int dtype_argument) {
  if (infer.has(dtype_argument)) return infer.dtype(dtype_argument);
  const DType dtype = infer.tensor(0).dtype();
  return is_differentiable(dtype) ? dtype : DType::int64;
}

void infer_sum(Infer& infer) { infer.push(IntSpan(), sum_dtype(infer, 1), infer.tensor(0).device()); }

void infer_sum_dim(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const uint64_t reduced = reduced_dims(infer, 1, self.ndim());
  infer.push(reduced_shape(self.sizes(), reduced, infer.boolean(2)), sum_dtype(infer, 3), self.device());
}

// The dtype to fold in: the result's, unless the input is an integer that sums to an integer anyway.
DType fold_dtype(const Tensor& self, DType result) {
  if (is_differentiable(result)) return math_dtype(result);
  return is_differentiable(self.dtype()) ? DType::int64 : self.dtype();
}

template <Reduction op, int dims>
void fold_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const uint64_t reduced = dims ? reduced_dims(call, dims, self.ndim()) : ~uint64_t(0);
  run_reduce(call, op, reduced, fold_dtype(self, call.out().dtype()));
}

int64_t count_reduced(IntSpan sizes, uint64_t reduced) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if ((reduced >> i) & 1) count *= sizes[i];
  }
  return count;
}

void check_mean(const Infer& infer, DType dtype) {
  WISP_CHECK(is_differentiable(dtype), infer.name(),
             "(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ",
             legacy_name(dtype));
}

void infer_mean(Infer& infer) {
  const DType dtype = infer.dtype_or_none(1).value_or(infer.tensor(0).dtype());
  check_mean(infer, dtype);
  infer.push(IntSpan(), dtype, infer.tensor(0).device());
}

void infer_mean_dim(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const DType dtype = infer.dtype_or_none(3).value_or(self.dtype());
  check_mean(infer, dtype);
  const uint64_t reduced = reduced_dims(infer, 1, self.ndim());
  infer.push(reduced_shape(self.sizes(), reduced, infer.boolean(2)), dtype, self.device());
}

template <int dims>
void mean_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const uint64_t reduced = dims ? reduced_dims(call, dims, self.ndim()) : ~uint64_t(0);
  cpu::ReduceParams params;
  params.divisor = static_cast<double>(count_reduced(self.sizes(), reduced));
  run_reduce(call, Reduction::sum, reduced, math_dtype(call.out().dtype()), params);
}

Tensor mean_grad(const Backward& b) {
  const double count = static_cast<double>(count_elements(b.shape(0)));
  return div(expand(b.grad(), b.shape(0)), count);
}

Tensor mean_dim_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const uint64_t reduced = reduced_dims(b, 1, static_cast<int64_t>(shape.size()));
  const double count = static_cast<double>(count_reduced(shape, reduced));
  return div(expand_reduced(b.grad(), shape, b[1], b.boolean(2)), count);
}

OpDef reduction(OpDef def) {
  if (def.jvp == Jvp::unset) def.jvp = def.vjp.empty() ? Jvp::none : Jvp::linear;
  def.batch = Batch::loop;
  def.traits |= trait::reduction;
  return def;
}

void register_sums(Registry& r) {
  r.add(reduction({.schema = "sum(Tensor self, *, Dtype? dtype=None) -> Tensor",
                   .doc = "The sum of all elements.\n\n>>> wisp.sum(wisp.tensor([1., 2., 3.]))\ntensor(6.)",
                   .infer = infer_sum,
                   .kernel = fold_kernel<Reduction::sum, 0>,
                   .vjp = {{"self", "self.shape", [](const Backward& b) { return expand(b.grad(), b.shape(0)); }}},
                   .onnx = "ReduceSum"}));
  r.add(reduction({.schema = "sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
                   .doc = "The sum over the given dimensions.\n\n>>> wisp.sum(wisp.tensor([[1., 2.], [3., 4.]]), 0)\ntensor([4., 6.])",
                   .infer = infer_sum_dim,
                   .kernel = fold_kernel<Reduction::sum, 1>,
                   .vjp = {{"self", "self.shape dim keepdim",
                            [](const Backward& b) { return expand_reduced(b.grad(), b.shape(0), b[1], b.boolean(2)); }}},
                   .onnx = "ReduceSum",
                   .traits = trait::out,
                   .node = "SumBackward1"}));
  r.add(reduction({.schema = "mean(Tensor self, *, Dtype? dtype=None) -> Tensor",
                   .doc = "The mean of all elements.\n\n>>> wisp.mean(wisp.tensor([1., 2., 3.]))\ntensor(2.)",
                   .infer = infer_mean,
                   .kernel = mean_kernel<0>,
                   .vjp = {{"self", "self.shape", mean_grad}},
                   .onnx = "ReduceMean"}));
  r.add(reduction({.schema = "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
                   .doc = "The mean over the given dimensions.\n\n>>> wisp.mean(wisp.tensor([[1., 2.], [3., 4.]]), 1)\ntensor([1.5000, 3.5000])",
                   .infer = infer_mean_dim,
                   .kernel = mean_kernel<1>,
                   .vjp = {{"self", "self.shape dim keepdim", mean_dim_grad}},
                   .onnx = "ReduceMean",
                   .traits = trait::out,
                   .node = "MeanBackward1"}));
}

void infer_truth(Infer& infer) {
  const DType dtype = infer.tensor(0).dtype();
  infer.push(IntSpan(), dtype == DType::uint8 ? dtype : DType::bool_, infer.tensor(0).device());
}

template <Reduction op, int dims>
void truth_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const uint64_t reduced = dims ? reduced_dims(call, dims, self.ndim()) : ~uint64_t(0);
  run_reduce(call, op, reduced, math_dtype(self.dtype()));
}

void register_truth(Registry& r) {
  r.add(reduction({.schema = "any(Tensor self) -> Tensor",
                   .doc = "Whether any element is non-zero.\n\n>>> wisp.any(wisp.tensor([0, 1]))\ntensor(True)",
                   .infer = infer_truth,
                   .kernel = truth_kernel<Reduction::any, 0>,
                   .onnx = "ReduceMax"}));
}

}  // namespace

void register_reduce(Registry& r) {
  register_sums(r);
  register_truth(r);
}

}  // namespace wisp::ops
