// Reductions: sums, means, products, truth and counts.
#include "ops/reduce.h"

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"
#include "ops/scan.h"
#include "tensor/arranged.h"

namespace wisp::ops {

using cpu::Reduction;

namespace {

uint64_t all_dims(int64_t ndim) { return ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << ndim) - 1; }

uint64_t dims_of(const Arg& dims, int64_t ndim, EmptyDims empty, const char* op) {
  if (dims.kind == ArgKind::integer) return uint64_t(1) << wrap_dim(dims.as.integer, ndim, op);
  if (dims.is_none()) return all_dims(ndim);
  if (dims.size == 0) return empty == EmptyDims::all ? all_dims(ndim) : 0;
  uint64_t reduced = 0;
  for (int64_t dim : wrap_dims(dims.integers(), ndim, op)) reduced |= uint64_t(1) << dim;
  return reduced;
}

}  // namespace

uint64_t reduced_dims(const Args& args, int dim, int64_t ndim, EmptyDims empty) {
  return dim ? dims_of(args[dim], ndim, empty, args.name()) : all_dims(ndim);
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

int64_t count_reduced(IntSpan sizes, uint64_t reduced) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if ((reduced >> i) & 1) count *= sizes[i];
  }
  return count;
}

void check_not_empty(const Infer& infer, int dim, uint64_t reduced, ErrorKind unspecified) {
  const Tensor& self = infer.tensor(0);
  if (self.numel() != 0) return;
  const bool specified = dim && (infer[dim].kind == ArgKind::integer || infer[dim].size > 0);
  if (!specified) {
    fail(unspecified, infer.name(),
         "(): Expected reduction dim to be specified for input.numel() == 0. ",
         "Specify the reduction dim with the 'dim' argument.");
  }
  for (int64_t i = 0; i < self.ndim(); ++i) {
    WISP_CHECK_INDEX(!((reduced >> i) & 1) || self->size(i) != 0, infer.name(),
                     "(): Expected reduction dim ", i, " to have non-zero size.");
  }
}

TensorSpec& infer_reduced(Infer& infer, int dim, int keepdim, DType dtype, EmptyDims empty) {
  const Tensor& self = infer.tensor(0);
  const uint64_t reduced = reduced_dims(infer, dim, self.ndim(), empty);
  return infer.push(reduced_shape(self.sizes(), reduced, keepdim && infer.boolean(keepdim)), dtype,
                    self.device());
}

constinit WISP_THREAD_LOCAL ReduceSink* reduce_sink = nullptr;

// Sums over all pixels of images in blocks of channels (see tensor/arranged.h), as they lie in
// memory: as tensors of the dimensions (member, block, pixel, channel of the block).
bool sum_arranged(const Tensor& self, uint64_t reduced, DType compute, const Tensor& out,
                  const cpu::ReduceParams& params) {
  const cpu::Operand target = operand(out);
  const Arranged use(self);
  const uint64_t pixels = (uint64_t(1) << self.ndim()) - 4;
  if (!use.exists() || !use.is_image(self) || (reduced & pixels) != pixels) return false;
  const Arrangement& order = use.order();
  const int64_t blocks = order.channels / order.block, size = order.pixels * order.block;
  const int64_t sizes[] = {self->size(0), blocks, order.pixels, order.block};
  const int64_t strides[] = {blocks * size, size, order.block, 1};
  cpu::reduce({.op = Reduction::sum,
               .compute = compute,
               .sizes = sizes,
               .in = {use.data(), strides, self.dtype()},
               .reduced = (reduced & 1) | 4 | (reduced & 2 ? 2 + 8 : 0),
               .out = target,
               .second = {},
               .params = params});
  return true;
}

void run_reduce(const Call& call, Reduction op, uint64_t reduced, DType compute, const Tensor& out,
                const cpu::ReduceParams& params, const Tensor* second) {
  if (WISP_UNLIKELY(reduce_sink != nullptr) && reduce_sink->reducing == &call.op()) {
    return reduce_sink->take(op, reduced, compute, second != nullptr, params);
  }
  const Tensor& self = call.tensor(0);
  if (WISP_UNLIKELY(self->storage().is_arranged()) && op == Reduction::sum &&
      sum_arranged(self, reduced, compute, out, params))
    return;
  cpu::reduce({.op = op,
               .compute = compute,
               .sizes = self.sizes(),
               .in = operand(self),
               .reduced = reduced,
               .out = operand(out),
               .second = second ? operand(*second) : cpu::Operand(),
               .params = params});
}

Tensor unreduce(const Tensor& reduced, const Backward& b, int dim, int keepdim) {
  if (keepdim && b.boolean(keepdim)) return reduced;
  const IntSpan shape = b.shape(0);
  const uint64_t dims = reduced_dims(b, dim, static_cast<int64_t>(shape.size()));
  return reshape(reduced, reduced_shape(shape, dims, true));
}

Tensor expand_reduced(const Tensor& reduced, const Backward& b, int dim, int keepdim) {
  return expand(unreduce(reduced, b, dim, keepdim), b.shape(0));
}

OpDef reduction(OpDef def) {
  if (def.jvp == Jvp::unset) def.jvp = def.vjp.empty() ? Jvp::none : Jvp::transposed;
  def.batch = Batch::loop;
  def.traits |= trait::reduction;
  return def;
}

namespace {

// --- Sums and products

// Sums of integers are int64.
DType sum_dtype(const Infer& infer, int dtype) {
  if (infer.has(dtype)) return infer.dtype(dtype);
  const DType own = infer.tensor(0).dtype();
  return is_differentiable(own) ? own : DType::int64;
}

template <int dim, int keepdim, int dtype>
void infer_sum(Infer& infer) {
  infer_reduced(infer, dim, keepdim, sum_dtype(infer, dtype));
}

// The dtype to fold in: the result's, unless the input is an integer that sums to an integer
// anyway.
DType fold_dtype(DType input, DType result) {
  if (is_differentiable(result)) return math_dtype(result);
  return is_differentiable(input) ? DType::int64 : input;
}

template <Reduction op, int dim>
void fold_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const uint64_t reduced = reduced_dims(call, dim, self.ndim());
  if (out.dtype() != DType::bool_)
    return run_reduce(call, op, reduced, fold_dtype(self.dtype(), out.dtype()), out);
  // Adding bools is "or", multiplying them "and".
  run_reduce(call, op == Reduction::prod ? Reduction::all : Reduction::any, reduced,
             math_dtype(self.dtype()), out);
}

void check_mean(const Infer& infer, int dtype) {
  const bool given = infer.has(dtype);
  const DType wanted = given ? infer.dtype(dtype) : infer.tensor(0).dtype();
  WISP_CHECK(is_differentiable(wanted), infer.name(), "(): could not infer output dtype. ",
             given ? "Optional" : "Input",
             " dtype must be either a floating point or complex dtype. Got: ", legacy_name(wanted));
}

template <int dim, int keepdim, int dtype>
void infer_mean(Infer& infer) {
  check_mean(infer, dtype);
  infer_reduced(infer, dim, keepdim, sum_dtype(infer, dtype));
}

template <int dim>
void mean_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const uint64_t reduced = reduced_dims(call, dim, self.ndim());
  cpu::ReduceParams params;
  params.divisor = static_cast<double>(count_reduced(self.sizes(), reduced));
  run_reduce(call, Reduction::sum, reduced, math_dtype(out.dtype()), out, params);
}

template <int dim, int keepdim>
Tensor mean_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const uint64_t reduced = reduced_dims(b, dim, static_cast<int64_t>(shape.size()));
  const double count = static_cast<double>(count_reduced(shape, reduced));
  return expand_reduced(div(b.grad(), count), b, dim, keepdim);
}

// Sum or mean of a small consecutive float tensor in one go.
template <bool mean>
TensorImpl* sum_direct(const OpDef&, const Arg* args) {
  constexpr int64_t limit = 4096;
  const TensorImpl& self = *args[0].as.tensor;
  const DType dtype = self.dtype();
  if (!contains(dtypes::real_math, dtype) || !args[1].is_none() || self.numel() > limit ||
      !self.is_contiguous()) {
    return nullptr;
  }
  const cpu::ReduceKernel& kernel = cpu::reduce_kernel(Reduction::sum, dtype);
  cpu::ReduceParams params;
  if (mean) params.divisor = static_cast<double>(self.numel());
  alignas(16) char acc[cpu::max_acc_bytes];
  kernel.init(acc, 1);
  kernel.row(acc, self.bytes(), self.numel(), 0, params);
  TensorImpl* out = TensorImpl::make_empty({}, dtype, self.device());
  kernel.finish(out->bytes(), nullptr, acc, 1, params);
  return out;
}

void register_sums(Registry& r) {
  r.add(reduction(
      {.schema = "sum(Tensor self, *, Dtype? dtype=None) -> Tensor",
       .doc = "The sum of all elements.\n\n>>> wisp.sum(wisp.tensor([1., 2., 3.]))\ntensor(6.)",
       .infer = infer_sum<0, 0, 1>,
       .kernel = fold_kernel<Reduction::sum, 0>,
       .direct = sum_direct<false>,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return expand(b.grad(), b.shape(0)); }}},
       .jvp = Jvp::linear,
       .onnx = "ReduceSum"}));
  r.add(reduction(
      {.schema =
           "sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The sum over the given dimensions.\n\n>>> wisp.sum(wisp.tensor([[1., 2.], [3., 4.]]), 0)\ntensor([4., 6.])",
       .infer = infer_sum<1, 2, 3>,
       .kernel = fold_kernel<Reduction::sum, 1>,
       .vjp = {{"self", "self.shape dim keepdim",
                [](const Backward& b) { return expand_reduced(b.grad(), b, 1, 2); }}},
       .jvp = Jvp::linear,
       .onnx = "ReduceSum",
       .traits = trait::out,
       .node = "SumBackward1"}));
  r.add(reduction(
      {.schema = "mean(Tensor self, *, Dtype? dtype=None) -> Tensor",
       .doc = "The mean of all elements.\n\n>>> wisp.mean(wisp.tensor([1., 2., 3.]))\ntensor(2.)",
       .infer = infer_mean<0, 0, 1>,
       .kernel = mean_kernel<0>,
       .direct = sum_direct<true>,
       .vjp = {{"self", "self.shape", mean_grad<0, 0>}},
       .jvp = Jvp::linear,
       .onnx = "ReduceMean"}));
  r.add(reduction(
      {.schema =
           "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The mean over the given dimensions.\n\n>>> wisp.mean(wisp.tensor([[1., 2.], [3., 4.]]), 1)\ntensor([1.5000, 3.5000])",
       .infer = infer_mean<1, 2, 3>,
       .kernel = mean_kernel<1>,
       .vjp = {{"self", "self.shape dim keepdim", mean_grad<1, 2>}},
       .jvp = Jvp::linear,
       .onnx = "ReduceMean",
       .traits = trait::out,
       .node = "MeanBackward1"}));
}

// --- Sums that leave out NaN

void infer_nansum(Infer& infer) {
  WISP_CHECK(!is_complex(infer.tensor(0).dtype()), "nansum(): does not support complex inputs");
  infer_sum<1, 2, 3>(infer);
}

void nansum_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  if (!is_floating(self.dtype())) return fold_kernel<Reduction::sum, 1>(call);
  const DType compute =
      is_floating(out.dtype()) ? math_dtype(promote(self.dtype(), out.dtype())) : DType::float64;
  run_reduce(call, Reduction::nansum, reduced_dims(call, 1, self.ndim()), compute, out);
}

void nanmean_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(is_differentiable(self.dtype()),
             "nanmean(): expected input to have floating point or complex dtype but got ",
             legacy_name(self.dtype()));
  const Tensor known = invoke<"sum.dim">(logical_not(isnan(self)), args[1], args[2]);
  outs.push(div(invoke<"nansum">(self, args[1], args[2], args[3]), known));
}

void register_nan_sums(Registry& r) {
  r.add(reduction(
      {.schema =
           "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The sum over the given dimensions, with NaN counted as 0.\n\n>>> wisp.nansum(wisp.tensor([1., float('nan'), 2.]))\ntensor(3.)",
       .infer = infer_nansum,
       .kernel = nansum_kernel,
       .vjp = {{"self", "self dim keepdim",
                [](const Backward& b) {
                  return where(isnan(b.tensor(0)), Scalar(0), expand_reduced(b.grad(), b, 1, 2));
                }}},
       .onnx = "+ ReduceSum of Where",
       .traits = trait::out}));
  r.add(
      {.schema =
           "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The mean over the given dimensions of all elements that are not NaN.\n\n>>> wisp.nanmean(wisp.tensor([1., float('nan'), 2.]))\ntensor(1.5000)",
       .body = nanmean_body,
       .onnx = "+ Div of two ReduceSum",
       .traits = trait::out});
}

// --- Products

// d prod / d x_i is the product of all others: no division, so that zeros need no care.
// Elements are multiplied in the dtype of the result, which dtype= may have chosen.
Tensor prod_grad(const Backward& b) {
  const Tensor self = to(b.tensor(0), b.grad().dtype());
  const Tensor flat = reshape(self, Dims{self.numel()});
  return reshape(mul(b.grad(), conj(product_of_others(flat, 0))), self.sizes());
}

Tensor prod_dim_grad(const Backward& b) {
  const Tensor self = to(b.tensor(0), b.grad().dtype());
  if (self.ndim() == 0) return b.grad();
  return mul(unreduce(b.grad(), b, 1, 2), conj(product_of_others(self, b.integer(1))));
}

void register_products(Registry& r) {
  r.add(reduction(
      {.schema = "prod(Tensor self, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The product of all elements.\n\n>>> wisp.prod(wisp.tensor([1., 2., 3.]))\ntensor(6.)",
       .infer = infer_sum<0, 0, 1>,
       .kernel = fold_kernel<Reduction::prod, 0>,
       .vjp = {{"self", "self", prod_grad}},
       .onnx = "ReduceProd"}));
  r.add(reduction(
      {.schema =
           "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The product over a dimension.\n\n>>> wisp.prod(wisp.tensor([[1., 2.], [3., 4.]]), 0)\ntensor([3., 8.])",
       .infer = infer_sum<1, 2, 3>,
       .kernel = fold_kernel<Reduction::prod, 1>,
       .vjp = {{"self", "self dim keepdim", prod_dim_grad}},
       .onnx = "ReduceProd",
       .traits = trait::out,
       .node = "ProdBackward1"}));
}

// --- Truth and counts

// Answers about bytes are bytes.
template <int dim, int keepdim>
void infer_truth(Infer& infer) {
  const DType dtype = infer.tensor(0).dtype() == DType::uint8 ? DType::uint8 : DType::bool_;
  infer_reduced(infer, dim, keepdim, dtype, EmptyDims::none);
}

template <Reduction op, int dim>
void truth_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  run_reduce(call, op, reduced_dims(call, dim, self.ndim(), EmptyDims::none),
             math_dtype(self.dtype()), call.out());
}

void register_truth(Registry& r) {
  r.add(reduction(
      {.schema = "any(Tensor self) -> Tensor",
       .doc = "Whether any element is non-zero.\n\n>>> wisp.any(wisp.tensor([0, 1]))\ntensor(True)",
       .infer = infer_truth<0, 0>,
       .kernel = truth_kernel<Reduction::any, 0>,
       .onnx = "ReduceMax",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "any.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
       .doc =
           "Whether any element along the given dimensions is non-zero.\n\n>>> wisp.any(wisp.tensor([[0, 1], [0, 0]]), 1)\ntensor([ True, False])",
       .infer = infer_truth<1, 2>,
       .kernel = truth_kernel<Reduction::any, 1>,
       .onnx = "ReduceMax",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "all(Tensor self) -> Tensor",
       .doc =
           "Whether all elements are non-zero.\n\n>>> wisp.all(wisp.tensor([0, 1]))\ntensor(False)",
       .infer = infer_truth<0, 0>,
       .kernel = truth_kernel<Reduction::all, 0>,
       .onnx = "ReduceMin",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "all.dims(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor",
       .doc =
           "Whether all elements along the given dimensions are non-zero.\n\n>>> wisp.all(wisp.tensor([[0, 1], [1, 1]]), 1)\ntensor([False,  True])",
       .infer = infer_truth<1, 2>,
       .kernel = truth_kernel<Reduction::all, 1>,
       .onnx = "ReduceMin",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "count_nonzero(Tensor self, int[1]? dim=None) -> Tensor",
       .doc =
           "How many elements along the given dimensions are non-zero.\n\n>>> wisp.count_nonzero(wisp.tensor([0, 1, 2]))\ntensor(2)",
       .infer = [](Infer& infer) { infer_reduced(infer, 1, 0, DType::int64); },
       .kernel =
           [](const Call& c) {
             const Tensor& self = c.tensor(0);
             const uint64_t reduced = reduced_dims(c, 1, self.ndim());
             run_reduce(c, Reduction::count_nonzero, reduced, math_dtype(self.dtype()), c.out());
           },
       .onnx = "+ ReduceSum of Cast"}));
}

}  // namespace

void register_reduce(Registry& r) {
  register_sums(r);
  register_nan_sums(r);
  register_products(r);
  register_truth(r);
}

}  // namespace wisp::ops
