// The kernels of activation functions, each with a derivative of its own; see activation.cpp.
#include <cmath>
#include <numbers>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

// --- Kernels: name(Tensor self, numbers...) and name_grad(Tensor grad, Tensor self, numbers...)

void infer_activation(Infer& infer) {
  infer_pointwise(infer, Types::same);
  if (!contains(dtypes::real_math, infer.compute))
    fail_not_implemented(infer.name() + 1, infer.compute);
}

// Passes all numbers on to the kernel, in order.
void activation_kernel(const Call& call) {
  const OpDef& op = call.op();
  cpu::Params params;
  int count = 0;
  for (size_t i = op.operand_count; i < op.sig.params.size(); ++i)
    params.values[count++] = call.real(static_cast<int>(i));
  run_pointwise(call, static_cast<Opcode>(op.opcode), params);
}

struct Kernel {
  const char *schema, *grad_schema;
  Opcode opcode, grad_opcode;
  const char* saves;         // self and all numbers
  VjpFn rule, grad_rule;     // the derivatives by self, and of that by grad: name_grad both times
  const char* second_saves;  // the second derivative: null if there is none
  VjpFn second;
  const char *onnx, *node;
};

void add_kernel(Registry& r, const Kernel& k) {
  r.add(pointwise(Types::same, {.schema = k.schema,
                                .doc = "The kernel of the function of nn.functional.",
                                .infer = infer_activation,
                                .kernel = activation_kernel,
                                .opcode = code(k.opcode),
                                .vjp = {{"self", k.saves, k.rule}},
                                .onnx = k.onnx,
                                .homes = home::internal,
                                .node = k.node}));
  OpDef grad{.schema = k.grad_schema,
             .doc = "The derivative of the function of nn.functional, times `grad`.",
             .infer = infer_activation,
             .kernel = activation_kernel,
             .opcode = code(k.grad_opcode),
             .vjp = {{"grad", k.saves, k.grad_rule}},
             .onnx = "- backward only",
             .homes = home::internal};
  if (k.second) grad.vjp.push_back({"self", k.second_saves, k.second});
  r.add(pointwise(Types::same, std::move(grad)));
}

// What the second derivative is multiplied with.
Tensor both_grads(const Backward& b) { return mul(b.grad(), b.tensor(0)); }

// s (1 - s), the slope of the sigmoid of x.
Tensor sigmoid_slope(const Tensor& s) { return mul(s, sub(Scalar(1), s)); }

Tensor gelu_second(const Backward& b) {
  const Tensor squared = square(b.tensor(1));
  const Tensor density =
      mul(exp(mul(squared, -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return mul(both_grads(b), mul(density, sub(Scalar(2), squared)));
}

// With u the argument of tanh and t = tanh(u): (1 - t^2) (u' + x (u'' / 2 - t u'^2)).
Tensor gelu_tanh_second(const Backward& b) {
  constexpr double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  const Tensor &x = b.tensor(1), squared = square(x);
  const Tensor t = tanh(mul(mul(x, add(mul(squared, cubic), 1)), factor));
  const Tensor slope = mul(add(mul(squared, 3 * cubic), 1), factor);
  const Tensor bend = sub(mul(x, 3 * cubic * factor), mul(t, square(slope)));
  return mul(both_grads(b), mul(sub(Scalar(1), square(t)), add(slope, mul(x, bend))));
}

Tensor silu_second(const Backward& b) {
  const Tensor &x = b.tensor(1), s = sigmoid(x);
  const Tensor bend = add(mul(x, sub(Scalar(1), mul(s, 2))), 2);
  return mul(both_grads(b), mul(sigmoid_slope(s), bend));
}

// With t = tanh(softplus(x)): s (1 - t^2) (2 + x (1 - s - 2 t s)).
Tensor mish_second(const Backward& b) {
  const Tensor &x = b.tensor(1), s = sigmoid(x), t = tanh(neg(invoke<"_log_sigmoid">(neg(x))));
  const Tensor bend = add(mul(x, sub(sub(Scalar(1), s), mul(mul(t, s), 2))), 2);
  return mul(both_grads(b), mul(mul(s, sub(Scalar(1), square(t))), bend));
}

Tensor softplus_second(const Backward& b) {
  const Tensor z = mul(b.tensor(1), b.scalar(2)), s = sigmoid(z);
  return where(gt(z, b.scalar(3)), Scalar(0),
               mul(both_grads(b), mul(sigmoid_slope(s), b.scalar(2))));
}

Tensor elu_second(const Backward& b) {
  const double alpha = b.real(2), scale = b.real(3), input_scale = b.real(4);
  const Tensor bend =
      mul(exp(mul(b.tensor(1), input_scale)), alpha * scale * input_scale * input_scale);
  return where(gt(b.tensor(1), 0), Scalar(0), mul(both_grads(b), bend));
}

Tensor hardswish_second(const Backward& b) {
  const Tensor& x = b.tensor(1);
  const Tensor curved = logical_and(gt(x, -3), lt(x, 3));
  return where(curved, mul(both_grads(b), 1.0 / 3), Scalar(0));
}

Tensor log_sigmoid_second(const Backward& b) {
  return neg(mul(both_grads(b), sigmoid_slope(sigmoid(b.tensor(1)))));
}

template <OpName Grad, int numbers>
Tensor by_self(const Backward& b) {  // the rule of the function
  if constexpr (numbers == 0) return invoke<Grad>(b.grad(), b[0]);
  if constexpr (numbers == 1) return invoke<Grad>(b.grad(), b[0], b[1]);
  if constexpr (numbers == 2) return invoke<Grad>(b.grad(), b[0], b[1], b[2]);
  if constexpr (numbers == 3) return invoke<Grad>(b.grad(), b[0], b[1], b[2], b[3]);
}
template <OpName Grad, int numbers>
Tensor by_grad(const Backward& b) {  // the rule of its derivative
  if constexpr (numbers == 0) return invoke<Grad>(b.grad(), b[1]);
  if constexpr (numbers == 1) return invoke<Grad>(b.grad(), b[1], b[2]);
  if constexpr (numbers == 2) return invoke<Grad>(b.grad(), b[1], b[2], b[3]);
  if constexpr (numbers == 3) return invoke<Grad>(b.grad(), b[1], b[2], b[3], b[4]);
}

void register_smooth_kernels(Registry& r) {
  add_kernel(r, {"_gelu(Tensor self) -> Tensor", "_gelu_grad(Tensor grad, Tensor self) -> Tensor",
                 Opcode::gelu, Opcode::gelu_grad, "self", by_self<"_gelu_grad", 0>,
                 by_grad<"_gelu_grad", 0>, "grad self", gelu_second, "Gelu", "GeluBackward0"});
  add_kernel(
      r,
      {"_gelu_tanh(Tensor self) -> Tensor", "_gelu_tanh_grad(Tensor grad, Tensor self) -> Tensor",
       Opcode::gelu_tanh, Opcode::gelu_tanh_grad, "self", by_self<"_gelu_tanh_grad", 0>,
       by_grad<"_gelu_tanh_grad", 0>, "grad self", gelu_tanh_second, "Gelu", "GeluBackward0"});
  add_kernel(
      r, {"_silu(Tensor self) -> Tensor", "_silu_grad(Tensor grad, Tensor self) -> Tensor",
          Opcode::silu, Opcode::silu_grad, "self", by_self<"_silu_grad", 0>,
          by_grad<"_silu_grad", 0>, "grad self", silu_second, "+ Mul of Sigmoid", "SiluBackward0"});
  add_kernel(r, {"_mish(Tensor self) -> Tensor", "_mish_grad(Tensor grad, Tensor self) -> Tensor",
                 Opcode::mish, Opcode::mish_grad, "self", by_self<"_mish_grad", 0>,
                 by_grad<"_mish_grad", 0>, "grad self", mish_second, "Mish", "MishBackward0"});
  add_kernel(r, {"_log_sigmoid(Tensor self) -> Tensor",
                 "_log_sigmoid_grad(Tensor grad, Tensor self) -> Tensor", Opcode::log_sigmoid,
                 Opcode::log_sigmoid_grad, "self", by_self<"_log_sigmoid_grad", 0>,
                 by_grad<"_log_sigmoid_grad", 0>, "grad self", log_sigmoid_second,
                 "+ Log of Sigmoid", "LogSigmoidBackward0"});
  add_kernel(
      r, {"_softplus(Tensor self, Scalar beta, Scalar threshold) -> Tensor",
          "_softplus_grad(Tensor grad, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
          Opcode::softplus, Opcode::softplus_grad, "self beta threshold",
          by_self<"_softplus_grad", 2>, by_grad<"_softplus_grad", 2>, "grad self beta threshold",
          softplus_second, "Softplus", "SoftplusBackward0"});
  add_kernel(
      r,
      {"_elu(Tensor self, Scalar alpha, Scalar scale=1, Scalar input_scale=1) -> Tensor",
       "_elu_grad(Tensor grad, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) -> Tensor",
       Opcode::elu, Opcode::elu_grad, "self alpha scale input_scale", by_self<"_elu_grad", 3>,
       by_grad<"_elu_grad", 3>, "grad self alpha scale input_scale", elu_second, "Elu",
       "EluBackward0"});
}

void register_gate(Registry& r) {
  r.add(pointwise(Types::same,
                  {.schema = "_gate(Tensor self, Tensor gate) -> Tensor",
                   .doc = "The product with the sigmoid of `gate`.",
                   .infer = infer_activation,
                   .kernel = activation_kernel,
                   .opcode = code(Opcode::gate),
                   .vjp = {{"self", "gate",
                            [](const Backward& b) { return mul(b.grad(), sigmoid(b.tensor(1))); }},
                           {"gate", "self gate",
                            [](const Backward& b) {
                              return mul(mul(b.grad(), b.tensor(0)),
                                         sigmoid_slope(sigmoid(b.tensor(1))));
                            }}},
                   .onnx = "+ Mul of Sigmoid",
                   .homes = home::internal,
                   .node = "GluBackward0"}));
}

// Flat from the second derivative on, but for hardswish.
void register_piecewise_kernels(Registry& r) {
  add_kernel(
      r, {"_leaky_relu(Tensor self, Scalar slope) -> Tensor",
          "_leaky_relu_grad(Tensor grad, Tensor self, Scalar slope) -> Tensor", Opcode::leaky_relu,
          Opcode::leaky_relu_grad, "self slope", by_self<"_leaky_relu_grad", 1>,
          by_grad<"_leaky_relu_grad", 1>, nullptr, nullptr, "LeakyRelu", "LeakyReluBackward0"});
  add_kernel(r, {"_hardsigmoid(Tensor self) -> Tensor",
                 "_hardsigmoid_grad(Tensor grad, Tensor self) -> Tensor", Opcode::hardsigmoid,
                 Opcode::hardsigmoid_grad, "self", by_self<"_hardsigmoid_grad", 0>,
                 by_grad<"_hardsigmoid_grad", 0>, nullptr, nullptr, "HardSigmoid",
                 "HardsigmoidBackward0"});
  add_kernel(r, {"_hardswish(Tensor self) -> Tensor",
                 "_hardswish_grad(Tensor grad, Tensor self) -> Tensor", Opcode::hardswish,
                 Opcode::hardswish_grad, "self", by_self<"_hardswish_grad", 0>,
                 by_grad<"_hardswish_grad", 0>, "grad self", hardswish_second, "HardSwish",
                 "HardswishBackward0"});
  add_kernel(r, {"_hardshrink(Tensor self, Scalar lambd) -> Tensor",
                 "_shrink_grad(Tensor grad, Tensor self, Scalar lambd) -> Tensor",
                 Opcode::hardshrink, Opcode::shrink_grad, "self lambd", by_self<"_shrink_grad", 1>,
                 by_grad<"_shrink_grad", 1>, nullptr, nullptr, "Shrink", "HardshrinkBackward0"});
  r.add(pointwise(Types::same,
                  {.schema = "_softshrink(Tensor self, Scalar lambd) -> Tensor",
                   .doc = "The kernel of softshrink; its derivative is that of hardshrink.",
                   .infer = infer_activation,
                   .kernel = activation_kernel,
                   .opcode = code(Opcode::softshrink),
                   .vjp = {{"self", "self lambd", by_self<"_shrink_grad", 1>}},
                   .onnx = "Shrink",
                   .homes = home::internal,
                   .node = "SoftshrinkBackward0"}));
}

// --- Kernels that take integers as well: bounds and thresholds

void hardtanh_kernel(const Call& call) {
  const Arg bounds[] = {call[0], call[1], call[2]};
  const double low = call.real(1), high = call.real(2);
  if (is_floating(call.compute) && low == low && high == high) {
    return run_pointwise(call, Opcode::clamp_to, {bounds, 1}, {.values = {low, high}});
  }
  run_pointwise(call, Opcode::clamp, bounds);
}

void infer_hardtanh(Infer& infer) {
  infer_pointwise(infer, Types::same);
  WISP_CHECK(infer.compute != DType::bool_, "Bool inputs not supported for hardtanh");
  check_compute(infer, dtypes::integral | dtypes::real_math);
  infer.out().dtype = infer.tensor(0).dtype();
  infer.compute = math_dtype(infer.out().dtype);
}

void infer_threshold(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::integral | dtypes::real_math);
}

void register_bounded_kernels(Registry& r) {
  r.add(pointwise(Types::same,
                  {.schema = "_hardtanh(Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
                   .doc = "The kernel of hardtanh.",
                   .infer = infer_hardtanh,
                   .kernel = hardtanh_kernel,
                   .vjp = {{"self", "self min_val max_val", by_self<"_hardtanh_grad", 2>}},
                   .onnx = "Clip",
                   .homes = home::internal,
                   .node = "HardtanhBackward0"}));
  r.add(pointwise(
      Types::same,
      {.schema =
           "_hardtanh_grad(Tensor grad, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
       .doc = "Derivative of hardtanh: `grad` between the bounds.",
       .infer = infer_activation,
       .kernel = activation_kernel,
       .opcode = code(Opcode::hardtanh_grad),
       .vjp = {{"grad", "self min_val max_val", by_grad<"_hardtanh_grad", 2>}},
       .onnx = "- backward only",
       .homes = home::internal}));
  r.add(pointwise(
      Types::same,
      {.schema = "_threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
       .doc = "The kernel of threshold.",
       .infer = infer_threshold,
       .kernel = activation_kernel,
       .opcode = code(Opcode::threshold),
       .vjp = {{"self", "self threshold",
                [](const Backward& b) { return invoke<"_threshold_grad">(b.grad(), b[0], b[1]); }}},
       .onnx = "+ Where of Greater",
       .homes = home::internal,
       .node = "ThresholdBackward0"}));
  r.add(
      pointwise(Types::same,
                {.schema = "_threshold_grad(Tensor grad, Tensor self, Scalar threshold) -> Tensor",
                 .doc = "Derivative of threshold: `grad` above it.",
                 .infer = infer_activation,
                 .kernel = activation_kernel,
                 .opcode = code(Opcode::threshold_grad),
                 .vjp = {{"grad", "self threshold", by_grad<"_threshold_grad", 1>}},
                 .onnx = "- backward only",
                 .homes = home::internal}));
}

void register_prelu_kernel(Registry& r) {
  r.add(
      pointwise(Types::same,
                {.schema = "_prelu(Tensor self, Tensor weight) -> Tensor",
                 .doc = "The kernel of prelu: `self * weight` where self is not positive.",
                 .infer = infer_activation,
                 .opcode = code(Opcode::prelu),
                 .vjp = {{"self", "self weight",
                          [](const Backward& b) {
                            return where(gt(b.tensor(0), 0), b.grad(), mul(b.grad(), b.tensor(1)));
                          }},
                         {"weight", "self",
                          [](const Backward& b) {
                            return where(gt(b.tensor(0), 0), Scalar(0), mul(b.grad(), b.tensor(0)));
                          }}},
                 .onnx = "PRelu",
                 .homes = home::internal,
                 .node = "PreluKernelBackward0"}));
}

}  // namespace

void register_activation_kernels(Registry& r) {
  register_smooth_kernels(r);
  register_piecewise_kernels(r);
  register_bounded_kernels(r);
  register_prelu_kernel(r);
  register_gate(r);
}

}  // namespace wisp::ops
