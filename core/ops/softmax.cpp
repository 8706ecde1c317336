// softmax and its relatives.
#include "cpu/softmax.h"

#include <limits>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"
#include "ops/reduce.h"

namespace wisp::ops {

namespace {

int64_t dim_of(const Args& args, int i, const Tensor& t) {
  return wrap_dim(args.integer(i), t.ndim(), args.name());
}

// Along the dimension of a derivative rule, keeping it.
Tensor sum_along(const Tensor& t, const Backward& b, int dim) {
  const int64_t along = b.integer(dim);
  return sum(t, IntSpan(&along, 1), true);
}

// --- softmax(self, dim, dtype) and log_softmax

void infer_softmax(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const DType dtype = infer.dtype_or_none(2).value_or(self.dtype());
  if (!is_floating(dtype)) fail_not_implemented(infer.name(), dtype);
  dim_of(infer, 1, self);
  infer.push(self.sizes(), dtype, self.device());
}

template <bool log>
void softmax_kernel(const Call& call) {
  const DType compute = math_dtype(call.out().dtype());
  const Tensor self = consecutive(call.tensor(0), compute);
  const Tensor result =
      call.out().dtype() == compute ? call.out() : Tensor::empty(self.sizes(), compute);
  cpu::softmax({.log = log,
                .dtype = compute,
                .lines = cpu::lines_of(self.sizes(), dim_of(call, 1, self)),
                .x = self->bytes(),
                .y = result->bytes()});
  if (!result.is_same(call.out())) copy_raw(call.out(), result);
}

// --- Their derivatives, as operators (grad, result, dim)

void infer_softmax_grad(Infer& infer) {
  const Tensor &grad = infer.tensor(0), &result = infer.tensor(1);
  WISP_CHECK(same(grad.sizes(), result.sizes()), infer.name(), "(): expected equal shapes, got ",
             grad.sizes(), " and ", result.sizes());
  infer.push(grad.sizes(), promote(grad.dtype(), result.dtype()), grad.device());
}

template <bool log>
void softmax_grad_kernel(const Call& call) {
  const DType compute = math_dtype(call.out().dtype());
  const Tensor grad = consecutive(call.tensor(0), compute),
               y = consecutive(call.tensor(1), compute);
  const Tensor result =
      call.out().dtype() == compute ? call.out() : Tensor::empty(grad.sizes(), compute);
  cpu::softmax_grad({.log = log,
                     .dtype = compute,
                     .lines = cpu::lines_of(grad.sizes(), dim_of(call, 2, grad)),
                     .grad = grad->bytes(),
                     .y = y->bytes(),
                     .x_grad = result->bytes()});
  if (!result.is_same(call.out())) copy_raw(call.out(), result);
}

// y (g - sum(g y)), differentiated by y.
Tensor softmax_grad_by_result(const Backward& b) {
  const Tensor &grad = b.tensor(0), &y = b.tensor(1);
  const Tensor direct = mul(b.grad(), sub(grad, sum_along(mul(grad, y), b, 2)));
  return sub(direct, mul(grad, sum_along(mul(b.grad(), y), b, 2)));
}

// g - exp(y) sum(g), differentiated by g and by y.
Tensor log_softmax_grad_by_grad(const Backward& b) {
  return sub(b.grad(), sum_along(mul(b.grad(), exp(b.tensor(1))), b, 2));
}
Tensor log_softmax_grad_by_result(const Backward& b) {
  return neg(mul(mul(b.grad(), exp(b.tensor(1))), sum_along(b.tensor(0), b, 2)));
}

// --- nn.functional: `dim` may be left out, and is guessed

Arg implicit_dim(const Args& args) {
  if (args.has(1)) return args[1];
  warn(str("Implicit dimension choice for ", args.name(),
           " has been deprecated. Change the call to include dim=X as an argument."));
  const int64_t ndim = args.tensor(0).ndim();
  return Arg(ndim == 0 || ndim == 1 || ndim == 3 ? 0 : 1);
}

// --- logsumexp(self, dim, keepdim)

// Complex numbers: shifted by the largest real part, which keeps exponentials in range.
Tensor complex_logsumexp(const Tensor& self, IntSpan dim, bool keepdim) {
  GradMode no_grad(false);
  const Tensor largest = amax(real(self), dim, true);
  const Tensor shift = where(isfinite(largest), largest, Scalar(0));
  const Tensor total = log(sum(exp(sub(self, shift)), dim, keepdim));
  return add(total, reshape(shift, total.sizes()));
}

void logsumexp_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  if (is_complex(self.dtype()))
    return copy_raw(call.out(), complex_logsumexp(self, call.integers(1), call.boolean(2)));
  const DType compute = math_dtype(call.out().dtype());
  run_reduce(call, cpu::Reduction::logsumexp, reduced_dims(call, 1, self.ndim()), compute,
             call.out());
}

Tensor logsumexp_grad(const Backward& b) {
  const Tensor share = exp(sub(b.tensor(0), unreduce(b.out(), b, 1, 2)));
  return mul(unreduce(b.grad(), b, 1, 2), conj(share));
}

void register_rows(Registry& r) {
  r.add(
      {.schema = "softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor",
       .doc =
           "`exp(self)`, scaled so that it adds up to 1 along a dimension.\n\n>>> wisp.softmax(wisp.tensor([0., 0., 0., 0.]), 0)\ntensor([0.2500, 0.2500, 0.2500, 0.2500])",
       .infer = infer_softmax,
       .kernel = softmax_kernel<false>,
       .vjp = {{"self", "dim result",
                [](const Backward& b) {
                  return invoke<"_softmax_grad">(b.grad(), b.out(), b[1]);
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Softmax",
       .traits = trait::out,
       .homes = home::function | home::method | home::special});
  r.add(
      {.schema = "log_softmax(Tensor self, int dim, Dtype? dtype=None) -> Tensor",
       .doc =
           "The logarithm of softmax, without its loss of accuracy.\n\n>>> wisp.log_softmax(wisp.tensor([0., 0.]), 0)\ntensor([-0.6931, -0.6931])",
       .infer = infer_softmax,
       .kernel = softmax_kernel<true>,
       .vjp = {{"self", "dim result",
                [](const Backward& b) {
                  return invoke<"_log_softmax_grad">(b.grad(), b.out(), b[1]);
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "LogSoftmax",
       .traits = trait::out,
       .homes = home::function | home::method | home::special});
  r.add({.schema = "_softmax_grad(Tensor grad, Tensor output, int dim) -> Tensor",
         .doc = "Derivative of softmax: `output * (grad - sum(grad * output))`.",
         .infer = infer_softmax_grad,
         .kernel = softmax_grad_kernel<false>,
         .vjp = {{"grad", "output dim",
                  [](const Backward& b) { return invoke<"_softmax_grad">(b.grad(), b[1], b[2]); }},
                 {"output", "grad output dim", softmax_grad_by_result}},
         .jvp = Jvp::transposed,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal,
         .node = "SoftmaxBackwardDataBackward0"});
  r.add({.schema = "_log_softmax_grad(Tensor grad, Tensor output, int dim) -> Tensor",
         .doc = "Derivative of log_softmax: `grad - exp(output) * sum(grad)`.",
         .infer = infer_softmax_grad,
         .kernel = softmax_grad_kernel<true>,
         .vjp = {{"grad", "output dim", log_softmax_grad_by_grad},
                 {"output", "grad output dim", log_softmax_grad_by_result}},
         .jvp = Jvp::transposed,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal,
         .node = "LogSoftmaxBackwardDataBackward0"});
}

void register_functional(Registry& r) {
  r.add(
      {.schema =
           "softmax.functional(Tensor self, int? dim=None, int _stacklevel=3, Dtype? dtype=None) -> Tensor",
       .doc =
           "softmax; without `dim` it is guessed, with a warning.\n\n>>> wisp.nn.functional.softmax(wisp.tensor([0., 0.]), dim=0)\ntensor([0.5000, 0.5000])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"softmax">(args[0], implicit_dim(args), args[3]));
           },
       .onnx = "Softmax",
       .homes = home::functional});
  r.add(
      {.schema =
           "log_softmax.functional(Tensor self, int? dim=None, int _stacklevel=3, Dtype? dtype=None) -> Tensor",
       .doc =
           "log_softmax; without `dim` it is guessed, with a warning.\n\n>>> wisp.nn.functional.log_softmax(wisp.tensor([0., 0.]), dim=0)\ntensor([-0.6931, -0.6931])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"log_softmax">(args[0], implicit_dim(args), args[3]));
           },
       .onnx = "LogSoftmax",
       .homes = home::functional});
  r.add(
      {.schema =
           "softmin(Tensor self, int? dim=None, int _stacklevel=3, Dtype? dtype=None) -> Tensor",
       .doc =
           "softmax of `-self`.\n\n>>> wisp.nn.functional.softmin(wisp.tensor([0., 0.]), dim=0)\ntensor([0.5000, 0.5000])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"softmax">(neg(args.tensor(0)), implicit_dim(args), args[3]));
           },
       .onnx = "Softmax",
       .homes = home::functional});
}

}  // namespace

void register_softmax(Registry& r) {
  register_rows(r);
  register_functional(r);
  r.add(reduction(
      {.schema = "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       .doc =
           "The logarithm of the sum of exponentials over the given dimensions, without overflow.\n\n>>> wisp.logsumexp(wisp.tensor([0., 0.]), 0)\ntensor(0.6931)",
       .infer =
           [](Infer& infer) { infer_reduced(infer, 1, 2, to_floating(infer.tensor(0).dtype())); },
       .kernel = logsumexp_kernel,
       .vjp = {{"self", "self dim keepdim result", logsumexp_grad}},
       .onnx = "ReduceLogSumExp",
       .traits = trait::out | trait::out_casts,
       .homes = home::function | home::method | home::special}));
}

}  // namespace wisp::ops
