// Variance and standard deviation. The overloads with `correction` do the work; those with
// `unbiased` are the older spelling of corrections 1 and 0.
#include <algorithm>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/reduce.h"

namespace wisp::ops {

using cpu::Reduction;

namespace {

double correction_of(const Args& args) { return args.has(2) ? args.real(2) : 1; }

// What the sum of squares is divided by.
double freedom(const Args& args, IntSpan sizes) {
  const uint64_t reduced = reduced_dims(args, 1, static_cast<int64_t>(sizes.size()));
  return std::max(0.0, static_cast<double>(count_reduced(sizes, reduced)) - correction_of(args));
}

template <bool with_mean>
void infer_variance(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(is_differentiable(self.dtype()), infer.name(),
             "(): std and var only support floating point and complex dtypes, got ",
             name(self.dtype()));
  WISP_CHECK(!infer.has(2) || !infer.scalar(2).is_complex(), infer.name(),
             "(): expected a real correction");
  infer_reduced(infer, 1, 3, to_real(self.dtype()));
  if (with_mean) infer_reduced(infer, 1, 3, self.dtype());
  if (count_elements(infer.out().sizes) > 0 && freedom(infer, self.sizes()) <= 0) {
    warn(str(
        infer.name(),
        "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction ",
        "factor (input numel divided by output numel)."));
  }
}

template <bool take_root, bool with_mean>
void variance_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  cpu::ReduceParams params;
  params.correction = correction_of(call);
  params.take_root = take_root;
  run_reduce(call, Reduction::moments, reduced_dims(call, 1, self.ndim()), math_dtype(self.dtype()),
             call.out(), params, with_mean ? &call.out(1) : nullptr);
}

// d var / d x = 2 (x - mean) / freedom
Tensor variance_grad(const Backward& b, const Tensor& grad) {
  const Tensor& self = b.tensor(0);
  const Tensor distance = sub(self, invoke<"mean.dim">(self, b[1], true));
  return mul(mul(unreduce(grad, b, 1, 3), 2 / freedom(b, self.sizes())), distance);
}

// d std / d var = 1 / (2 std), and nothing where all elements are equal.
Tensor root_grad(const Backward& b, const Tensor& grad) {
  return where(eq(b.out(), 0), Scalar(0), div(grad, mul(b.out(), 2)));
}

Tensor mean_part(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const uint64_t reduced = reduced_dims(b, 1, static_cast<int64_t>(shape.size()));
  return expand_reduced(div(b.grad(1), static_cast<double>(count_reduced(shape, reduced))), b, 1,
                        3);
}

template <bool take_root>
Tensor with_mean_grad(const Backward& b) {
  if (!b.has_grad(0)) return mean_part(b);
  const Tensor spread = variance_grad(b, take_root ? root_grad(b, b.grad()) : b.grad());
  return b.has_grad(1) ? add(spread, mean_part(b)) : spread;
}

// (self, unbiased) and (self, dim, unbiased, keepdim), by way of the overload with `correction`.
template <OpName name>
void full_body(const Args& args, TensorList& outs) {
  for (Tensor& t : invoke_many<name>(args[0], Arg(), args.boolean(1) ? 1 : 0, false))
    outs.push(std::move(t));
}
template <OpName name>
void dim_body(const Args& args, TensorList& outs) {
  for (Tensor& t : invoke_many<name>(args[0], args[1], args.boolean(2) ? 1 : 0, args[3]))
    outs.push(std::move(t));
}

void register_var(Registry& r) {
  r.add(
      {.schema = "var(Tensor self, bool unbiased=True) -> Tensor",
       .doc =
           "The variance of all elements.\n\n>>> wisp.var(wisp.tensor([1., 2., 3.]), unbiased=False)\ntensor(0.6667)",
       .body = full_body<"var.correction">,
       .onnx = "+ ReduceMean of squares"});
  r.add(
      {.schema =
           "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       .doc =
           "The variance over the given dimensions.\n\n>>> wisp.var(wisp.tensor([[1., 2.], [3., 6.]]), 0)\ntensor([2., 8.])",
       .body = dim_body<"var.correction">,
       .onnx = "+ ReduceMean of squares",
       .traits = trait::out | trait::out_casts});
  r.add(reduction(
      {.schema =
           "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       .doc =
           "The variance over the given dimensions; squares are divided by their number minus `correction` (1 unless given).\n\n>>> wisp.var(wisp.tensor([1., 2., 3.]), correction=0)\ntensor(0.6667)",
       .infer = infer_variance<false>,
       .kernel = variance_kernel<false, false>,
       .vjp = {{"self", "self dim correction keepdim",
                [](const Backward& b) { return variance_grad(b, b.grad()); }}},
       .onnx = "+ ReduceMean of squares",
       .traits = trait::out | trait::out_casts}));
  r.add(
      {.schema = "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       .doc =
           "Variance and mean of all elements.\n\n>>> wisp.var_mean(wisp.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))",
       .body = full_body<"var_mean.correction">,
       .onnx = "+ ReduceMean of squares",
       .homes = home::function});
  r.add(
      {.schema =
           "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
       .doc =
           "Variance and mean over the given dimensions.\n\n>>> wisp.var_mean(wisp.tensor([[1., 2.], [3., 6.]]), 0)\n(tensor([2., 8.]), tensor([2., 4.]))",
       .body = dim_body<"var_mean.correction">,
       .onnx = "+ ReduceMean of squares",
       .homes = home::function});
  r.add(reduction(
      {.schema =
           "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       .doc =
           "Variance and mean over the given dimensions; squares are divided by their number minus `correction` (1 unless given).\n\n>>> wisp.var_mean(wisp.tensor([1., 2., 3.]), correction=0)\n(tensor(0.6667), tensor(2.))",
       .infer = infer_variance<true>,
       .kernel = variance_kernel<false, true>,
       .vjp = {{"self", "self dim correction keepdim", with_mean_grad<false>}},
       .onnx = "+ ReduceMean of squares",
       .homes = home::function}));
}

void register_std(Registry& r) {
  r.add(
      {.schema = "std(Tensor self, bool unbiased=True) -> Tensor",
       .doc =
           "The standard deviation of all elements.\n\n>>> wisp.std(wisp.tensor([1., 2., 3.]))\ntensor(1.)",
       .body = full_body<"std.correction">,
       .onnx = "+ Sqrt of ReduceMean"});
  r.add(
      {.schema =
           "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       .doc =
           "The standard deviation over the given dimensions.\n\n>>> wisp.std(wisp.tensor([[1., 2.], [3., 6.]]), 0, unbiased=False)\ntensor([1., 2.])",
       .body = dim_body<"std.correction">,
       .onnx = "+ Sqrt of ReduceMean",
       .traits = trait::out | trait::out_casts});
  r.add(reduction(
      {.schema =
           "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       .doc =
           "The standard deviation over the given dimensions; squares are divided by their number minus `correction` (1 unless given).\n\n>>> wisp.std(wisp.tensor([1., 3.]), correction=0)\ntensor(1.)",
       .infer = infer_variance<false>,
       .kernel = variance_kernel<true, false>,
       .vjp = {{"self", "self dim correction keepdim result",
                [](const Backward& b) { return variance_grad(b, root_grad(b, b.grad())); }}},
       .onnx = "+ Sqrt of ReduceMean",
       .traits = trait::out | trait::out_casts}));
  r.add(
      {.schema = "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       .doc =
           "Standard deviation and mean of all elements.\n\n>>> wisp.std_mean(wisp.tensor([1., 2., 3.]))\n(tensor(1.), tensor(2.))",
       .body = full_body<"std_mean.correction">,
       .onnx = "+ Sqrt of ReduceMean",
       .homes = home::function});
  r.add(
      {.schema =
           "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
       .doc =
           "Standard deviation and mean over the given dimensions.\n\n>>> wisp.std_mean(wisp.tensor([[1., 2.], [3., 6.]]), 0, unbiased=False)\n(tensor([1., 2.]), tensor([2., 4.]))",
       .body = dim_body<"std_mean.correction">,
       .onnx = "+ Sqrt of ReduceMean",
       .homes = home::function});
  r.add(reduction(
      {.schema =
           "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       .doc =
           "Standard deviation and mean over the given dimensions; squares are divided by their number minus `correction` (1 unless given).\n\n>>> wisp.std_mean(wisp.tensor([1., 3.]), correction=0)\n(tensor(1.), tensor(2.))",
       .infer = infer_variance<true>,
       .kernel = variance_kernel<true, true>,
       .vjp = {{"self", "self dim correction keepdim result", with_mean_grad<true>}},
       .onnx = "+ Sqrt of ReduceMean",
       .homes = home::function}));
}

}  // namespace

void register_variance(Registry& r) {
  register_var(r);
  register_std(r);
}

}  // namespace wisp::ops
