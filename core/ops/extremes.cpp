// Largest and smallest elements, and where they are.
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/reduce.h"

namespace wisp::ops {

using cpu::Reduction;

namespace {

void check_ordered(const Infer& infer) {
  const DType dtype = infer.tensor(0).dtype();
  if (is_complex(dtype)) fail_not_implemented(infer.name(), dtype);
}

template <int dim, int keepdim>
void infer_extreme(Infer& infer) {
  check_ordered(infer);
  const Tensor& self = infer.tensor(0);
  check_not_empty(infer, dim, reduced_dims(infer, dim, self.ndim()));
  infer_reduced(infer, dim, keepdim, self.dtype());
}

template <Reduction op, int dim>
void extreme_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  run_reduce(call, op, reduced_dims(call, dim, self.ndim()), math_dtype(self.dtype()), call.out());
}

// --- All elements at once: the gradient is shared by those that are the extreme, or NaN if that
// won.

Tensor full_extreme_grad(const Backward& b) {
  const Tensor& self = b.tensor(0);
  const Tensor chosen = logical_or(eq(self, b.out()), isnan(self));
  return where(chosen, div(b.grad(), sum(chosen)), Scalar(0));
}

// --- Along dimensions: shared evenly among equals

Tensor share(const Backward& b, const Tensor& grad, const Tensor& extreme, int dim, int keepdim) {
  const Tensor chosen = eq(b.tensor(0), unreduce(extreme, b, dim, keepdim));
  const Tensor count = invoke<"sum.dim">(chosen, b[dim], true);
  return mul(chosen, div(unreduce(grad, b, dim, keepdim), count));
}

Tensor amax_grad(const Backward& b) { return share(b, b.grad(), b.out(), 1, 2); }

void infer_aminmax(Infer& infer) {
  check_ordered(infer);
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(
      count_reduced(self.sizes(), reduced_dims(infer, 1, self.ndim())) > 0 || self.numel() > 0,
      "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
  infer_reduced(infer, 1, 2, self.dtype());
  infer_reduced(infer, 1, 2, self.dtype());
}

void aminmax_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const uint64_t reduced = reduced_dims(call, 1, self.ndim());
  run_reduce(call, Reduction::min_max, reduced, math_dtype(self.dtype()), call.out(0), {},
             &call.out(1));
}

Tensor aminmax_grad(const Backward& b) {
  if (!b.has_grad(0)) return share(b, b.grad(1), b.out(1), 1, 2);
  const Tensor low = share(b, b.grad(0), b.out(0), 1, 2);
  return b.has_grad(1) ? add(low, share(b, b.grad(1), b.out(1), 1, 2)) : low;
}

// --- Values and their positions along one dimension: the gradient goes to the position

void infer_extreme_dim(Infer& infer) {
  infer_extreme<1, 2>(infer);
  infer_reduced(infer, 1, 2, DType::int64);
}

template <Reduction op>
void extreme_dim_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const uint64_t reduced = reduced_dims(call, 1, self.ndim());
  run_reduce(call, op, reduced, math_dtype(self.dtype()), call.out(1), {}, &call.out(0));
}

Tensor extreme_dim_grad(const Backward& b) {
  if (b.shape(0).empty()) return b.grad();
  const Tensor places = unreduce(b.out(1), b, 1, 2);
  return scatter_add(zeros(b.shape(0), b.grad().dtype()), b.integer(1), places,
                     unreduce(b.grad(), b, 1, 2));
}

void infer_position(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(!is_complex(self.dtype()), infer.name(), "(): does not support complex input");
  WISP_CHECK(self.dtype() != DType::bool_, infer.name(), "(): does not support bool input");
  check_not_empty(infer, 1, reduced_dims(infer, 1, self.ndim()), ErrorKind::index);
  infer_reduced(infer, 1, 2, DType::int64);
}

void register_full(Registry& r) {
  r.add(reduction(
      {.schema = "max(Tensor self) -> Tensor",
       .doc =
           "The largest element; NaN if there is one.\n\n>>> wisp.max(wisp.tensor([1., 3., 2.]))\ntensor(3.)",
       .infer = infer_extreme<0, 0>,
       .kernel = extreme_kernel<Reduction::max, 0>,
       .vjp = {{"self", "self result", full_extreme_grad}},
       .onnx = "ReduceMax",
       .traits = trait::out,
       .node = "MaxBackward1"}));
  r.add(reduction(
      {.schema = "min(Tensor self) -> Tensor",
       .doc =
           "The smallest element; NaN if there is one.\n\n>>> wisp.min(wisp.tensor([3., 1., 2.]))\ntensor(1.)",
       .infer = infer_extreme<0, 0>,
       .kernel = extreme_kernel<Reduction::min, 0>,
       .vjp = {{"self", "self result", full_extreme_grad}},
       .onnx = "ReduceMin",
       .traits = trait::out,
       .node = "MinBackward1"}));
  r.add(
      {.schema = "max.other(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The larger of both, element by element: `maximum`.\n\n>>> wisp.max(wisp.tensor([1, 5]), wisp.tensor([3, 2]))\ntensor([3, 5])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(invoke<"maximum">(args[0], args[1])); },
       .onnx = "Max",
       .traits = trait::out});
  r.add(
      {.schema = "min.other(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The smaller of both, element by element: `minimum`.\n\n>>> wisp.min(wisp.tensor([1, 5]), wisp.tensor([3, 2]))\ntensor([1, 2])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(invoke<"minimum">(args[0], args[1])); },
       .onnx = "Min",
       .traits = trait::out});
}

void register_along(Registry& r) {
  r.add(reduction(
      {.schema =
           "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc =
           "The largest elements along a dimension and their (first) positions.\n\n>>> wisp.max(wisp.tensor([[1., 3.], [4., 2.]]), 1).indices\ntensor([1, 0])",
       .infer = infer_extreme_dim,
       .kernel = extreme_dim_kernel<Reduction::argmax>,
       .vjp = {{"self", "self.shape dim keepdim result1", extreme_dim_grad}},
       .onnx = "TopK",
       .traits = trait::out,
       .node = "MaxBackward0"}));
  r.add(reduction(
      {.schema =
           "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc =
           "The smallest elements along a dimension and their (first) positions.\n\n>>> wisp.min(wisp.tensor([[1., 3.], [4., 2.]]), 1).indices\ntensor([0, 1])",
       .infer = infer_extreme_dim,
       .kernel = extreme_dim_kernel<Reduction::argmin>,
       .vjp = {{"self", "self.shape dim keepdim result1", extreme_dim_grad}},
       .onnx = "TopK",
       .traits = trait::out,
       .node = "MinBackward0"}));
  r.add(reduction(
      {.schema = "amax(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor",
       .doc =
           "The largest elements along the given dimensions. Equal ones share the gradient.\n\n>>> wisp.amax(wisp.tensor([[1., 3.], [4., 2.]]), 0)\ntensor([4., 3.])",
       .infer = infer_extreme<1, 2>,
       .kernel = extreme_kernel<Reduction::max, 1>,
       .vjp = {{"self", "self dim keepdim result", amax_grad}},
       .onnx = "ReduceMax",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "amin(Tensor self, int[1]? dim=[], bool keepdim=False) -> Tensor",
       .doc =
           "The smallest elements along the given dimensions. Equal ones share the gradient.\n\n>>> wisp.amin(wisp.tensor([[1., 3.], [4., 2.]]), 0)\ntensor([1., 2.])",
       .infer = infer_extreme<1, 2>,
       .kernel = extreme_kernel<Reduction::min, 1>,
       .vjp = {{"self", "self dim keepdim result", amax_grad}},
       .onnx = "ReduceMin",
       .traits = trait::out}));
  r.add(reduction(
      {.schema =
           "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
       .doc =
           "The smallest and the largest elements along a dimension, or of all.\n\n>>> wisp.aminmax(wisp.tensor([1., 3., 2.])).max\ntensor(3.)",
       .infer = infer_aminmax,
       .kernel = aminmax_kernel,
       .vjp = {{"self", "self dim keepdim result result1", aminmax_grad}},
       .onnx = "+ ReduceMin and ReduceMax",
       .traits = trait::out}));
}

void register_positions(Registry& r) {
  r.add(reduction(
      {.schema = "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       .doc =
           "Where the largest element along a dimension is; of several the first. Without `dim`, the position in the flattened tensor.\n\n>>> wisp.argmax(wisp.tensor([[1., 3.], [4., 2.]]))\ntensor(2)",
       .infer = infer_position,
       .kernel = extreme_kernel<Reduction::argmax, 1>,
       .onnx = "ArgMax",
       .traits = trait::out}));
  r.add(reduction(
      {.schema = "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       .doc =
           "Where the smallest element along a dimension is; of several the first. Without `dim`, the position in the flattened tensor.\n\n>>> wisp.argmin(wisp.tensor([[1., 3.], [4., 2.]]), 1)\ntensor([0, 1])",
       .infer = infer_position,
       .kernel = extreme_kernel<Reduction::argmin, 1>,
       .onnx = "ArgMin",
       .traits = trait::out}));
}

}  // namespace

void register_max(Registry& r) {
  register_full(r);
  register_along(r);
  register_positions(r);
}

}  // namespace wisp::ops
