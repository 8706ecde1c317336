// Losses that compare elements one by one.
#include "ops/loss.h"

#include <cmath>
#include <numbers>

#include "cpu/pointwise_sum.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/raw.h"

namespace wisp::ops {

Reduction reduction_of(const Args& args, int reduction, int size_average, int reduce) {
  const bool old = (size_average && args.has(size_average)) || (reduce && args.has(reduce));
  if (old) {
    const bool average = !args.has(size_average) || args.boolean(size_average);
    const bool reduces = !args.has(reduce) || args.boolean(reduce);
    const char* word = !reduces ? "none" : average ? "mean" : "sum";
    warn(str("size_average and reduce args will be deprecated, please use reduction='", word,
             "' instead."));
    return !reduces ? Reduction::none : average ? Reduction::mean : Reduction::sum;
  }
  const std::string_view word = args.string(reduction);
  if (word == "none") return Reduction::none;
  if (word == "mean") return Reduction::mean;
  WISP_CHECK_VALUE(word == "sum", word, " is not a valid value for reduction");
  return Reduction::sum;
}

Tensor reduced(const Tensor& loss, Reduction how) {
  if (how == Reduction::none) return loss;
  return how == Reduction::mean ? invoke<"mean">(loss) : sum(loss);
}

namespace {

using cpu::Opcode;

// --- Kernels: name(Tensor self, Tensor target, int reduction, numbers...), which add up what the
// tile kernel gives, and name_grad(Tensor grad, Tensor self, Tensor target, numbers...)

Reduction reduction_at(const Args& args, int i) { return static_cast<Reduction>(args.integer(i)); }

void infer_loss(Infer& infer) {
  const Tensor &self = infer.tensor(0), &target = infer.tensor(1);
  WISP_CHECK(same(self.sizes(), target.sizes()), infer.name() + 1,
             "(): expected input and target of equal shapes, got ", self.sizes(), " and ",
             target.sizes());
  infer_pointwise(infer, Types::same);
  if (!contains(dtypes::real_math, infer.compute))
    fail_not_implemented(infer.name() + 1, infer.compute);
  if (reduction_at(infer, 2) == Reduction::none) return;
  infer.out().sizes.clear();
  infer.out().strides.clear();
}

void loss_kernel(const Call& call) {
  const auto opcode = static_cast<Opcode>(call.op().opcode);
  const Reduction how = reduction_at(call, 2);
  cpu::Params params;
  for (size_t i = 3; i < call.op().sig.params.size(); ++i)
    params.values[i - 3] = call.real(static_cast<int>(i));
  if (how == Reduction::none) return run_pointwise(call, opcode, params);
  const Tensor &self = call.tensor(0), &target = call.tensor(1);
  const Dims strides = contiguous_strides(self.sizes());
  const double sum = cpu::pointwise_sum({.op = opcode,
                                         .compute = call.compute,
                                         .inputs = 2,
                                         .sizes = self.sizes(),
                                         .out = {nullptr, strides, call.compute},
                                         .in = {operand(self), operand(target), {}},
                                         .params = params});
  const double result = how == Reduction::mean ? sum / static_cast<double>(self.numel()) : sum;
  visit<dtypes::floating>(call.out().dtype(), call.name(),
                          [&]<class T>() { *call.out().data<T>() = convert<T>(result); });
}

void infer_loss_grad(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::real_math);
}

void loss_grad_kernel(const Call& call) {
  cpu::Params params;
  for (size_t i = 3; i < call.op().sig.params.size(); ++i)
    params.values[i - 3] = call.real(static_cast<int>(i));
  run_pointwise(call, static_cast<Opcode>(call.op().opcode), params);
}

// The gradient of one element: that of the loss, or its share of the mean.
Tensor grad_of_each(const Backward& b) {
  if (reduction_at(b, 2) != Reduction::mean) return b.grad();
  return div(b.grad(), static_cast<double>(b.tensor(0).numel()));
}

template <OpName Grad, int numbers>
Tensor by_self(const Backward& b) {
  if constexpr (numbers == 0) return invoke<Grad>(grad_of_each(b), b[0], b[1]);
  if constexpr (numbers == 1) return invoke<Grad>(grad_of_each(b), b[0], b[1], b[3]);
}
template <OpName Grad, int numbers>
Tensor by_target(const Backward& b) {  // of losses of the difference
  return neg(by_self<Grad, numbers>(b));
}
template <OpName Grad, int numbers>
Tensor by_grad(const Backward& b) {
  if constexpr (numbers == 0) return invoke<Grad>(b.grad(), b[1], b[2]);
  if constexpr (numbers == 1) return invoke<Grad>(b.grad(), b[1], b[2], b[3]);
}

// Second derivatives, times both gradients.
Tensor scaled(const Backward& b, double factor) { return mul(mul(b.grad(), b.tensor(0)), factor); }

Tensor squared_error_second(const Backward& b) { return scaled(b, 2); }
Tensor smooth_l1_second(const Backward& b) {
  const Tensor near = lt(abs(sub(b.tensor(1), b.tensor(2))), b.scalar(3));
  return where(near, scaled(b, 1 / b.real(3)), Scalar(0));
}
Tensor huber_second(const Backward& b) {
  const Tensor near = lt(abs(sub(b.tensor(1), b.tensor(2))), b.scalar(3));
  return where(near, scaled(b, 1), Scalar(0));
}
template <VjpFn second>
Tensor negated(const Backward& b) {
  return neg(second(b));
}

// x is a probability: ((1 - y) log(1 - x) + y log x), negated.
Tensor bce_by_target(const Backward& b) {
  const Tensor& x = b.tensor(0);
  const Tensor gap = sub(clamp(log1p(neg(x)), Scalar(-100)), clamp(log(x), Scalar(-100)));
  return mul(grad_of_each(b), gap);
}
Tensor bce_second_by_self(const Backward& b) {
  const Tensor &x = b.tensor(1), &y = b.tensor(2);
  const Tensor spread = clamp(mul(x, sub(Scalar(1), x)), Scalar(1e-12));
  const Tensor bend = div(add(sub(square(x), mul(mul(x, y), 2)), y), square(spread));
  return mul(mul(b.grad(), b.tensor(0)), bend);
}
Tensor bce_second_by_target(const Backward& b) {
  const Tensor& x = b.tensor(1);
  const Tensor spread = clamp(mul(x, sub(Scalar(1), x)), Scalar(1e-12));
  return neg(div(mul(b.grad(), b.tensor(0)), spread));
}

// x is a logit.
Tensor bce_logits_by_target(const Backward& b) { return neg(mul(grad_of_each(b), b.tensor(0))); }
Tensor bce_logits_second_by_self(const Backward& b) {
  const Tensor s = sigmoid(b.tensor(1));
  return mul(mul(b.grad(), b.tensor(0)), mul(s, sub(Scalar(1), s)));
}
Tensor bce_logits_second_by_target(const Backward& b) { return neg(mul(b.grad(), b.tensor(0))); }

struct Kernel {
  const char *schema, *grad_schema;
  Opcode opcode, grad_opcode;
  const char* node;
  std::vector<Vjp> vjp, grad_vjp;
};

void add_kernel(Registry& r, Kernel k) {
  r.add({.schema = k.schema,
         .doc = "The kernel of the loss of nn.functional.",
         .infer = infer_loss,
         .kernel = loss_kernel,
         .opcode = code(k.opcode),
         .vjp = std::move(k.vjp),
         .jvp = Jvp::transposed,
         .batch = Batch::loop,
         .onnx = "+ a few pointwise operators",
         .homes = home::internal,
         .node = k.node});
  r.add(pointwise(Types::same,
                  {.schema = k.grad_schema,
                   .doc = "The derivative of the loss of an element by the input, times `grad`.",
                   .infer = infer_loss_grad,
                   .kernel = loss_grad_kernel,
                   .opcode = code(k.grad_opcode),
                   .vjp = std::move(k.grad_vjp),
                   .onnx = "- backward only",
                   .homes = home::internal}));
}

void register_kernels(Registry& r) {
  add_kernel(r, {"_mse_loss(Tensor self, Tensor target, int reduction) -> Tensor",
                 "_mse_loss_grad(Tensor grad, Tensor self, Tensor target) -> Tensor",
                 Opcode::squared_error,
                 Opcode::squared_error_grad,
                 "MseLossBackward0",
                 {{"self", "self target reduction", by_self<"_mse_loss_grad", 0>},
                  {"target", "self target reduction", by_target<"_mse_loss_grad", 0>}},
                 {{"grad", "self target", by_grad<"_mse_loss_grad", 0>},
                  {"self", "grad", squared_error_second},
                  {"target", "grad", negated<squared_error_second>}}});
  add_kernel(r,
             {"_smooth_l1_loss(Tensor self, Tensor target, int reduction, float beta) -> Tensor",
              "_smooth_l1_loss_grad(Tensor grad, Tensor self, Tensor target, float beta) -> Tensor",
              Opcode::smooth_l1,
              Opcode::smooth_l1_grad,
              "SmoothL1LossBackward0",
              {{"self", "self target reduction beta", by_self<"_smooth_l1_loss_grad", 1>},
               {"target", "self target reduction beta", by_target<"_smooth_l1_loss_grad", 1>}},
              {{"grad", "self target beta", by_grad<"_smooth_l1_loss_grad", 1>},
               {"self", "grad self target beta", smooth_l1_second},
               {"target", "grad self target beta", negated<smooth_l1_second>}}});
  add_kernel(r, {"_huber_loss(Tensor self, Tensor target, int reduction, float delta) -> Tensor",
                 "_huber_loss_grad(Tensor grad, Tensor self, Tensor target, float delta) -> Tensor",
                 Opcode::huber,
                 Opcode::huber_grad,
                 "HuberLossBackward0",
                 {{"self", "self target reduction delta", by_self<"_huber_loss_grad", 1>},
                  {"target", "self target reduction delta", by_target<"_huber_loss_grad", 1>}},
                 {{"grad", "self target delta", by_grad<"_huber_loss_grad", 1>},
                  {"self", "grad self target delta", huber_second},
                  {"target", "grad self target delta", negated<huber_second>}}});
  add_kernel(r, {"_bce_loss(Tensor self, Tensor target, int reduction) -> Tensor",
                 "_bce_loss_grad(Tensor grad, Tensor self, Tensor target) -> Tensor",
                 Opcode::bce,
                 Opcode::bce_grad,
                 "BinaryCrossEntropyBackward0",
                 {{"self", "self target reduction", by_self<"_bce_loss_grad", 0>},
                  {"target", "self reduction", bce_by_target}},
                 {{"grad", "self target", by_grad<"_bce_loss_grad", 0>},
                  {"self", "grad self target", bce_second_by_self},
                  {"target", "grad self", bce_second_by_target}}});
  add_kernel(r, {"_bce_logits_loss(Tensor self, Tensor target, int reduction) -> Tensor",
                 "_bce_logits_loss_grad(Tensor grad, Tensor self, Tensor target) -> Tensor",
                 Opcode::bce_logits,
                 Opcode::bce_logits_grad,
                 "BinaryCrossEntropyWithLogitsBackward0",
                 {{"self", "self target reduction", by_self<"_bce_logits_loss_grad", 0>},
                  {"target", "self reduction", bce_logits_by_target}},
                 {{"grad", "self target", by_grad<"_bce_logits_loss_grad", 0>},
                  {"self", "grad self", bce_logits_second_by_self},
                  {"target", "grad", bce_logits_second_by_target}}});
}

// --- The public functions

// Input and target, broadcast; a warning if that was needed.
struct Pair {
  explicit Pair(const Args& args, bool warns = true)
      : input(args.tensor(0)), target(args.tensor(1)) {
    if (same(input.sizes(), target.sizes())) return;
    if (warns) {
      warn(str(
          "Using a target size (", target.sizes(), ") that is different to the input size (",
          input.sizes(),
          "). This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."));
    }
    const Dims shape = broadcast(input.sizes(), target.sizes());
    input = expand(input, shape);
    target = expand(target, shape);
  }
  Tensor input, target;
};

void check_same_shape(const Args& args) {
  const Tensor &input = args.tensor(0), &target = args.tensor(1);
  WISP_CHECK_VALUE(same(input.sizes(), target.sizes()), "Using a target size (", target.sizes(),
                   ") that is different to the input size (", input.sizes(),
                   ") is deprecated. Please ensure they have the same size.");
}

int64_t number(Reduction how) { return static_cast<int64_t>(how); }

void check_weight(const Args& args, int weight) {
  WISP_CHECK_VALUE(same(args.tensor(weight).sizes(), args.tensor(0).sizes()),
                   "Weights and input must have the same size.");
}

// Argument 5 holds the weights; the mean is sum(weight * loss) / sum(weight).
Tensor weighted(const Tensor& each, const Args& args, Reduction how) {
  check_weight(args, 5);
  const Tensor &weight = args.tensor(5), scaled = mul(each, weight);
  return how == Reduction::mean ? div(sum(scaled), sum(weight)) : reduced(scaled, how);
}

// (input, target, size_average, reduce, reduction, weight)
template <OpName Kernel>
void distance_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 4, 2, 3);
  const Pair pair(args);
  if (!args.has(5)) return outs.push(invoke<Kernel>(pair.input, pair.target, number(how)));
  outs.push(weighted(invoke<Kernel>(pair.input, pair.target, number(Reduction::none)), args, how));
}

void l1_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 4, 2, 3);
  const Pair pair(args);
  const Tensor each = abs(sub(pair.input, pair.target));
  outs.push(args.has(5) ? weighted(each, args, how) : reduced(each, how));
}

void smooth_l1_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 4, 2, 3);
  const double beta = args.real(5);
  WISP_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  const Pair pair(args);
  outs.push(beta == 0 ? reduced(abs(sub(pair.input, pair.target)), how)
                      : invoke<"_smooth_l1_loss">(pair.input, pair.target, number(how), beta));
}

// (input, target, reduction, delta, weight)
void huber_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 2);
  const double delta = args.real(3);
  WISP_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const Pair pair(args);
  if (!args.has(4))
    return outs.push(invoke<"_huber_loss">(pair.input, pair.target, number(how), delta));
  check_weight(args, 4);
  const Tensor each =
      invoke<"_huber_loss">(pair.input, pair.target, number(Reduction::none), delta);
  outs.push(reduced(mul(each, args.tensor(4)), how));
}

// (input, target, weight, size_average, reduce, reduction)
void bce_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 5, 3, 4);
  check_same_shape(args);
  const Tensor& input = args.tensor(0);
  WISP_CHECK(
      !is_floating(input.dtype()) || input.numel() == 0 || !input->is_readable() ||
          all(logical_or(isnan(input), logical_and(ge(input, 0), le(input, 1)))).item().truth(),
      "all elements of input should be between 0 and 1");
  if (!args.has(2)) return outs.push(invoke<"_bce_loss">(input, args[1], number(how)));
  outs.push(reduced(
      mul(invoke<"_bce_loss">(input, args[1], number(Reduction::none)), args.tensor(2)), how));
}

// (input, target, weight, size_average, reduce, reduction, pos_weight)
void bce_logits_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 5, 3, 4);
  const Tensor &input = args.tensor(0), &target = args.tensor(1);
  WISP_CHECK_VALUE(same(input.sizes(), target.sizes()), "Target size (", target.sizes(),
                   ") must be the same as input size (", input.sizes(), ")");
  if (!args.has(2) && !args.has(6))
    return outs.push(invoke<"_bce_logits_loss">(input, target, number(how)));
  Tensor each;
  if (args.has(6)) {
    const Tensor rest = sub(Scalar(1), target),
                 log_weight = add(mul(sub(args.tensor(6), 1), target), 1);
    each = sub(mul(rest, input), mul(log_weight, invoke<"_log_sigmoid">(input)));
  } else {
    each = invoke<"_bce_logits_loss">(input, target, number(Reduction::none));
  }
  outs.push(reduced(args.has(2) ? mul(each, args.tensor(2)) : each, how));
}

void register_functions(Registry& r) {
  r.add(
      {.schema =
           "mse_loss(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? weight=None) -> Tensor",
       .doc =
           "The mean (or sum, or each) of `(input - target)**2`.\n\n>>> wisp.nn.functional.mse_loss(wisp.tensor([1., 2.]), wisp.tensor([1., 4.]))\ntensor(2.)",
       .body = distance_body<"_mse_loss">,
       .onnx = "+ Sub, Mul and ReduceMean",
       .homes = home::functional});
  r.add(
      {.schema =
           "l1_loss(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? weight=None) -> Tensor",
       .doc =
           "The mean (or sum, or each) of `|input - target|`.\n\n>>> wisp.nn.functional.l1_loss(wisp.tensor([1., 2.]), wisp.tensor([1., 4.]))\ntensor(1.)",
       .body = l1_loss_body,
       .onnx = "+ Sub, Abs and ReduceMean",
       .homes = home::functional});
  r.add(
      {.schema =
           "smooth_l1_loss(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', float beta=1.0) -> Tensor",
       .doc =
           "l1_loss, but a parabola where the difference is below beta.\n\n>>> wisp.nn.functional.smooth_l1_loss(wisp.tensor([1., 2.]), wisp.tensor([1., 4.]))\ntensor(0.7500)",
       .body = smooth_l1_loss_body,
       .onnx = "+ a few pointwise operators",
       .homes = home::functional});
  r.add(
      {.schema =
           "huber_loss(Tensor self, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
       .doc =
           "A parabola where the difference is below delta, and straight beyond.\n\n>>> wisp.nn.functional.huber_loss(wisp.tensor([1., 2.]), wisp.tensor([1., 4.]))\ntensor(0.7500)",
       .body = huber_loss_body,
       .onnx = "+ a few pointwise operators",
       .homes = home::functional});
  r.add(
      {.schema =
           "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
       .doc =
           "`-target * log(input) - (1 - target) * log(1 - input)` of probabilities, averaged.\n\n>>> wisp.nn.functional.binary_cross_entropy(wisp.tensor([0.5, 0.25]), wisp.tensor([1., 0.]))\ntensor(0.4904)",
       .body = bce_body,
       .onnx = "+ a few pointwise operators",
       .homes = home::functional});
  r.add(
      {.schema =
           "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? pos_weight=None) -> Tensor",
       .doc =
           "binary_cross_entropy of `sigmoid(input)`, without its loss of accuracy.\n\n>>> wisp.nn.functional.binary_cross_entropy_with_logits(wisp.tensor([0., 2.]), wisp.tensor([1., 0.]))\ntensor(1.4100)",
       .body = bce_logits_body,
       .onnx = "+ a few pointwise operators",
       .homes = home::functional});
}

}  // namespace

void register_loss(Registry& r) {
  register_kernels(r);
  register_functions(r);
}

}  // namespace wisp::ops
