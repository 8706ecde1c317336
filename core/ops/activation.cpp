// Activation functions of nn.functional. Each is a kernel with a derivative of its own (the entries with
// an underscore), and the public function that adds `inplace`.
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
  if (!contains(dtypes::real_math, infer.compute)) fail_not_implemented(infer.name() + 1, infer.compute);
}

// Passes all numbers on to the kernel, in order.
void activation_kernel(const Call& call) {
  const OpDef& op = call.op();
  cpu::Params params;
  int count = 0;
  for (size_t i = op.operand_count; i < op.sig.params.size(); ++i) params.values[count++] = call.real(static_cast<int>(i));
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
  const Tensor density = mul(exp(mul(squared, -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
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
  return where(gt(z, b.scalar(3)), Scalar(0), mul(both_grads(b), mul(sigmoid_slope(s), b.scalar(2))));
}

Tensor elu_second(const Backward& b) {
  const double alpha = b.real(2), scale = b.real(3), input_scale = b.real(4);
  const Tensor bend = mul(exp(mul(b.tensor(1), input_scale)), alpha * scale * input_scale * input_scale);
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
  add_kernel(r, {"_gelu(Tensor self) -> Tensor", "_gelu_grad(Tensor grad, Tensor self) -> Tensor", Opcode::gelu, Opcode::gelu_grad, "self", by_self<"_gelu_grad", 0>,
          by_grad<"_gelu_grad", 0>, "grad self", gelu_second, "Gelu", "GeluBackward0"});
  add_kernel(r, {"_gelu_tanh(Tensor self) -> Tensor", "_gelu_tanh_grad(Tensor grad, Tensor self) -> Tensor", Opcode::gelu_tanh,
          Opcode::gelu_tanh_grad, "self", by_self<"_gelu_tanh_grad", 0>,
          by_grad<"_gelu_tanh_grad", 0>, "grad self", gelu_tanh_second, "Gelu", "GeluBackward0"});
  add_kernel(r, {"_silu(Tensor self) -> Tensor", "_silu_grad(Tensor grad, Tensor self) -> Tensor", Opcode::silu, Opcode::silu_grad, "self", by_self<"_silu_grad", 0>,
          by_grad<"_silu_grad", 0>, "grad self", silu_second, "- Mul of Sigmoid", "SiluBackward0"});
  add_kernel(r, {"_mish(Tensor self) -> Tensor", "_mish_grad(Tensor grad, Tensor self) -> Tensor", Opcode::mish, Opcode::mish_grad, "self", by_self<"_mish_grad", 0>,
          by_grad<"_mish_grad", 0>, "grad self", mish_second, "Mish", "MishBackward0"});
  add_kernel(r, {"_log_sigmoid(Tensor self) -> Tensor", "_log_sigmoid_grad(Tensor grad, Tensor self) -> Tensor", Opcode::log_sigmoid,
          Opcode::log_sigmoid_grad, "self", by_self<"_log_sigmoid_grad", 0>,
          by_grad<"_log_sigmoid_grad", 0>, "grad self", log_sigmoid_second, "- Log of Sigmoid", "LogSigmoidBackward0"});
  add_kernel(r, {"_softplus(Tensor self, Scalar beta, Scalar threshold) -> Tensor",
          "_softplus_grad(Tensor grad, Tensor self, Scalar beta, Scalar threshold) -> Tensor", Opcode::softplus,
          Opcode::softplus_grad, "self beta threshold", by_self<"_softplus_grad", 2>,
          by_grad<"_softplus_grad", 2>, "grad self beta threshold", softplus_second, "Softplus", "SoftplusBackward0"});
  add_kernel(r, {"_elu(Tensor self, Scalar alpha, Scalar scale=1, Scalar input_scale=1) -> Tensor",
          "_elu_grad(Tensor grad, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) -> Tensor", Opcode::elu,
          Opcode::elu_grad, "self alpha scale input_scale", by_self<"_elu_grad", 3>,
          by_grad<"_elu_grad", 3>, "grad self alpha scale input_scale", elu_second, "Elu", "EluBackward0"});
}

// Flat from the second derivative on, but for hardswish.
void register_piecewise_kernels(Registry& r) {
  add_kernel(r, {"_leaky_relu(Tensor self, Scalar slope) -> Tensor", "_leaky_relu_grad(Tensor grad, Tensor self, Scalar slope) -> Tensor",
          Opcode::leaky_relu, Opcode::leaky_relu_grad, "self slope", by_self<"_leaky_relu_grad", 1>,
          by_grad<"_leaky_relu_grad", 1>, nullptr, nullptr, "LeakyRelu", "LeakyReluBackward0"});
  add_kernel(r, {"_hardsigmoid(Tensor self) -> Tensor", "_hardsigmoid_grad(Tensor grad, Tensor self) -> Tensor", Opcode::hardsigmoid,
          Opcode::hardsigmoid_grad, "self", by_self<"_hardsigmoid_grad", 0>,
          by_grad<"_hardsigmoid_grad", 0>, nullptr, nullptr,
          "HardSigmoid", "HardsigmoidBackward0"});
  add_kernel(r, {"_hardswish(Tensor self) -> Tensor", "_hardswish_grad(Tensor grad, Tensor self) -> Tensor", Opcode::hardswish,
          Opcode::hardswish_grad, "self", by_self<"_hardswish_grad", 0>,
          by_grad<"_hardswish_grad", 0>, "grad self", hardswish_second, "HardSwish", "HardswishBackward0"});
  add_kernel(r, {"_hardshrink(Tensor self, Scalar lambd) -> Tensor", "_shrink_grad(Tensor grad, Tensor self, Scalar lambd) -> Tensor",
          Opcode::hardshrink, Opcode::shrink_grad, "self lambd", by_self<"_shrink_grad", 1>,
          by_grad<"_shrink_grad", 1>, nullptr, nullptr, "Shrink", "HardshrinkBackward0"});
  r.add(pointwise(Types::same, {.schema = "_softshrink(Tensor self, Scalar lambd) -> Tensor",
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
  r.add(pointwise(Types::same, {.schema = "_hardtanh(Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
                                .doc = "The kernel of hardtanh.",
                                .infer = infer_hardtanh,
                                .kernel = hardtanh_kernel,
                                .vjp = {{"self", "self min_val max_val", by_self<"_hardtanh_grad", 2>}},
                                .onnx = "Clip",
                                .homes = home::internal,
                                .node = "HardtanhBackward0"}));
  r.add(pointwise(Types::same, {.schema = "_hardtanh_grad(Tensor grad, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
                                .doc = "Derivative of hardtanh: `grad` between the bounds.",
                                .infer = infer_activation,
                                .kernel = activation_kernel,
                                .opcode = code(Opcode::hardtanh_grad),
                                .vjp = {{"grad", "self min_val max_val", by_grad<"_hardtanh_grad", 2>}},
                                .onnx = "- backward only",
                                .homes = home::internal}));
  r.add(pointwise(Types::same, {.schema = "_threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                                .doc = "The kernel of threshold.",
                                .infer = infer_threshold,
                                .kernel = activation_kernel,
                                .opcode = code(Opcode::threshold),
                                .vjp = {{"self", "self threshold", [](const Backward& b) { return invoke<"_threshold_grad">(b.grad(), b[0], b[1]); }}},
                                .onnx = "- Where of Greater",
                                .homes = home::internal,
                                .node = "ThresholdBackward0"}));
  r.add(pointwise(Types::same, {.schema = "_threshold_grad(Tensor grad, Tensor self, Scalar threshold) -> Tensor",
                                .doc = "Derivative of threshold: `grad` above it.",
                                .infer = infer_activation,
                                .kernel = activation_kernel,
                                .opcode = code(Opcode::threshold_grad),
                                .vjp = {{"grad", "self threshold", by_grad<"_threshold_grad", 1>}},
                                .onnx = "- backward only",
                                .homes = home::internal}));
}

// --- The public functions

// Runs a kernel on a new tensor, or on self's own memory.
template <OpName Name, class... A>
void activate(TensorList& outs, const Tensor& self, bool in_place, const A&... numbers) {
  outs.push(in_place ? Tensor(invoke_in_place<Name>(self, numbers...)) : invoke<Name>(self, numbers...));
}

struct Function {
  const char *schema, *doc;
  BodyFn body;
  const char* onnx;
  uint32_t homes = home::functional;
};

void add_function(Registry& r, const Function& f) {
  r.add({.schema = f.schema, .doc = f.doc, .body = f.body, .onnx = f.onnx, .homes = f.homes});
}

constexpr double selu_alpha = 1.6732632423543772848170429916717;
constexpr double selu_scale = 1.0507009873554804934193349852946;
constexpr uint32_t both = home::function | home::functional;

void celu(const Args& args, TensorList& outs, bool in_place) {
  const double alpha = args.real(1);
  WISP_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  activate<"_elu">(outs, args.tensor(0), in_place, alpha, 1.0, 1 / alpha);
}

void gelu_body(const Args& args, TensorList& outs) {
  const std::string_view way = args.string(1);
  WISP_CHECK(way == "none" || way == "tanh", "approximate argument must be either none or tanh.");
  way == "none" ? activate<"_gelu">(outs, args.tensor(0), false) : activate<"_gelu_tanh">(outs, args.tensor(0), false);
}

void softshrink_body(const Args& args, TensorList& outs) {
  WISP_CHECK(args.real(1) >= 0, "lambda must be greater or equal to 0, but found to be ", args.real(1), ".");
  activate<"_softshrink">(outs, args.tensor(0), false, args[1]);
}

void hardtanh(const Args& args, TensorList& outs, bool in_place) {
  WISP_CHECK_VALUE(args.real(1) <= args.real(2), "min_val cannot be greater than max_val");
  activate<"_hardtanh">(outs, args.tensor(0), in_place, args[1], args[2]);
}

// a * sigmoid(b) of the halves a and b along a dimension.
void glu_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), "glu"), size = self->size(dim);
  WISP_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  outs.push(mul(narrow(self, dim, 0, size / 2), sigmoid(narrow(self, dim, size / 2, size / 2))));
}

// A slope per channel (dimension 1), or one for all.
void prelu_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &weight = args.tensor(1);
  WISP_CHECK(weight.ndim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.ndim());
  WISP_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ", name(self.dtype()), " and ", name(weight.dtype()));
  Tensor slope = weight;
  if (weight.numel() != 1) {
    WISP_CHECK(self.ndim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = self.ndim() > 1 ? self->size(1) : 1;
    WISP_CHECK(channels == weight.numel(), "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
               weight.numel(), " and channel size = ", channels, ".");
    Dims shape(static_cast<size_t>(self.ndim()), 1);
    shape[1] = channels;
    slope = view(weight, shape);
  } else if (weight.ndim() == 1) {
    slope = reshape(weight, IntSpan());
  }
  outs.push(invoke<"_prelu">(self, slope));
}

// Slopes drawn per negative element in training, their mean otherwise.
void rrelu(const Args& args, TensorList& outs, bool in_place) {
  const Tensor& self = args.tensor(0);
  const double lower = args.real(1), upper = args.real(2);
  WISP_CHECK(lower <= upper, "Lower bound should be less than or equal to the upper bound");
  if (!args.boolean(3)) return activate<"_leaky_relu">(outs, self, in_place, (lower + upper) / 2);
  Tensor slope;
  {
    GradMode no_grad(false);
    slope = add(mul(invoke<"rand_like">(self), upper - lower), lower);
  }
  const Tensor result = invoke<"_prelu">(self, slope);
  outs.push(in_place ? Tensor(copy_(self, result)) : result);
}

void register_plain(Registry& r) {
  add_function(r, {"relu.functional(Tensor self, bool inplace=False) -> Tensor",
          "Negative elements become 0.\n\n>>> wisp.nn.functional.relu(wisp.tensor([-1., 2.]))\ntensor([0., 2.])",
          [](const Args& args, TensorList& outs) { activate<"relu">(outs, args.tensor(0), args.boolean(1)); }, "Relu"});
  add_function(r, {"gelu(Tensor self, *, str approximate='none') -> Tensor",
          "`self` times the normal distribution function of `self`, or an approximation of it by \"tanh\".\n\n>>> wisp.nn.functional.gelu(wisp.tensor([-1., 1.]))\ntensor([-0.1587,  0.8413])",
          gelu_body, "Gelu"});
  add_function(r, {"silu(Tensor self, bool inplace=False) -> Tensor",
          "`self * sigmoid(self)`.\n\n>>> wisp.nn.functional.silu(wisp.tensor([-1., 1.]))\ntensor([-0.2689,  0.7311])",
          [](const Args& args, TensorList& outs) { activate<"_silu">(outs, args.tensor(0), args.boolean(1)); }, "- Mul of Sigmoid"});
  add_function(r, {"mish(Tensor self, bool inplace=False) -> Tensor",
          "`self * tanh(softplus(self))`.\n\n>>> wisp.nn.functional.mish(wisp.tensor([-1., 1.]))\ntensor([-0.3034,  0.8651])",
          [](const Args& args, TensorList& outs) { activate<"_mish">(outs, args.tensor(0), args.boolean(1)); }, "Mish"});
  add_function(r, {"softplus(Tensor self, float beta=1.0, float threshold=20.0) -> Tensor",
          "`log(1 + exp(beta * self)) / beta`, and `self` where `beta * self` is above the threshold.\n\n>>> wisp.nn.functional.softplus(wisp.tensor([0., 30.]))\ntensor([ 0.6931, 30.0000])",
          [](const Args& args, TensorList& outs) { activate<"_softplus">(outs, args.tensor(0), false, args[1], args[2]); }, "Softplus"});
  add_function(r, {"logsigmoid(Tensor self) -> Tensor",
          "`log(sigmoid(self))`, accurate where that is tiny.\n\n>>> wisp.nn.functional.logsigmoid(wisp.tensor([0., -100.]))\ntensor([  -0.6931, -100.0000])",
          [](const Args& args, TensorList& outs) { activate<"_log_sigmoid">(outs, args.tensor(0), false); }, "- Log of Sigmoid"});
  add_function(r, {"hardsigmoid(Tensor self, bool inplace=False) -> Tensor",
          "`clamp(self + 3, 0, 6) / 6`.\n\n>>> wisp.nn.functional.hardsigmoid(wisp.tensor([-4., 0., 4.]))\ntensor([0.0000, 0.5000, 1.0000])",
          [](const Args& args, TensorList& outs) { activate<"_hardsigmoid">(outs, args.tensor(0), args.boolean(1)); }, "HardSigmoid"});
  add_function(r, {"hardswish(Tensor self, bool inplace=False) -> Tensor",
          "`self * hardsigmoid(self)`.\n\n>>> wisp.nn.functional.hardswish(wisp.tensor([-4., 1., 4.]))\ntensor([-0.0000, 0.6667, 4.0000])",
          [](const Args& args, TensorList& outs) { activate<"_hardswish">(outs, args.tensor(0), args.boolean(1)); }, "HardSwish"});
  add_function(r, {"softsign(Tensor self) -> Tensor",
          "`self / (1 + |self|)`.\n\n>>> wisp.nn.functional.softsign(wisp.tensor([-1., 3.]))\ntensor([-0.5000,  0.7500])",
          [](const Args& args, TensorList& outs) { outs.push(div(args.tensor(0), add(abs(args.tensor(0)), 1))); }, "Softsign"});
  add_function(r, {"tanhshrink(Tensor self) -> Tensor",
          "`self - tanh(self)`.\n\n>>> wisp.nn.functional.tanhshrink(wisp.tensor([1.]))\ntensor([0.2384])",
          [](const Args& args, TensorList& outs) { outs.push(sub(args.tensor(0), tanh(args.tensor(0)))); }, "- Sub of Tanh"});
  add_function(r, {"hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
          "Elements between -lambd and lambd become 0.\n\n>>> wisp.hardshrink(wisp.tensor([-1., 0.25]))\ntensor([-1.,  0.])",
          [](const Args& args, TensorList& outs) { activate<"_hardshrink">(outs, args.tensor(0), false, args[1]); }, "Shrink",
          both | home::method});
  add_function(r, {"softshrink(Tensor self, float lambd=0.5) -> Tensor",
          "Elements move towards 0 by lambd.\n\n>>> wisp.nn.functional.softshrink(wisp.tensor([-1., 0.25]))\ntensor([-0.5000,  0.0000])",
          softshrink_body, "Shrink"});
}

// Those with a form "name_".
void register_with_in_place(Registry& r) {
  add_function(r, {"elu(Tensor self, float alpha=1.0, bool inplace=False) -> Tensor",
          "`alpha * (exp(self) - 1)` below 0.\n\n>>> wisp.nn.functional.elu(wisp.tensor([-1., 1.]))\ntensor([-0.6321,  1.0000])",
          [](const Args& args, TensorList& outs) { activate<"_elu">(outs, args.tensor(0), args.boolean(2), args[1]); }, "Elu"});
  add_function(r, {"elu_(Tensor self, float alpha=1.0) -> Tensor", "elu in place.\n\n>>> wisp.nn.functional.elu_(wisp.tensor([1.]))\ntensor([1.])",
          [](const Args& args, TensorList& outs) { activate<"_elu">(outs, args.tensor(0), true, args[1]); }, "Elu"});
  add_function(r, {"selu(Tensor self, bool inplace=False) -> Tensor",
          "elu with the scales that keep mean 0 and variance 1.\n\n>>> wisp.selu(wisp.tensor([-1., 1.]))\ntensor([-1.1113,  1.0507])",
          [](const Args& args, TensorList& outs) { activate<"_elu">(outs, args.tensor(0), args.boolean(1), selu_alpha, selu_scale); }, "Selu", both});
  add_function(r, {"selu_(Tensor self) -> Tensor", "selu in place.\n\n>>> wisp.selu_(wisp.tensor([1.]))\ntensor([1.0507])",
          [](const Args& args, TensorList& outs) { activate<"_elu">(outs, args.tensor(0), true, selu_alpha, selu_scale); }, "Selu", both});
  add_function(r, {"celu(Tensor self, float alpha=1.0, bool inplace=False) -> Tensor",
          "`alpha * (exp(self / alpha) - 1)` below 0.\n\n>>> wisp.celu(wisp.tensor([-1., 1.]), 2)\ntensor([-0.7869,  1.0000])",
          [](const Args& args, TensorList& outs) { celu(args, outs, args.boolean(2)); }, "Celu", both});
  add_function(r, {"celu_(Tensor self, float alpha=1.0) -> Tensor", "celu in place.\n\n>>> wisp.celu_(wisp.tensor([1.]))\ntensor([1.])",
          [](const Args& args, TensorList& outs) { celu(args, outs, true); }, "Celu", both});
  add_function(r, {"relu_.functional(Tensor self) -> Tensor", "relu in place.\n\n>>> wisp.nn.functional.relu_(wisp.tensor([-1.]))\ntensor([0.])",
          [](const Args& args, TensorList& outs) { activate<"relu">(outs, args.tensor(0), true); }, "Relu"});
  add_function(r, {"relu6(Tensor self, bool inplace=False) -> Tensor",
          "Elements held between 0 and 6.\n\n>>> wisp.nn.functional.relu6(wisp.tensor([-1., 2., 8.]))\ntensor([0., 2., 6.])",
          [](const Args& args, TensorList& outs) { activate<"_hardtanh">(outs, args.tensor(0), args.boolean(1), 0, 6); }, "Clip"});
  add_function(r, {"leaky_relu(Tensor self, float negative_slope=0.01, bool inplace=False) -> Tensor",
          "Negative elements are multiplied by a small slope.\n\n>>> wisp.nn.functional.leaky_relu(wisp.tensor([-1., 2.]))\ntensor([-0.0100,  2.0000])",
          [](const Args& args, TensorList& outs) { activate<"_leaky_relu">(outs, args.tensor(0), args.boolean(2), args[1]); }, "LeakyRelu"});
  add_function(r, {"leaky_relu_(Tensor self, float negative_slope=0.01) -> Tensor", "leaky_relu in place.\n\n>>> wisp.nn.functional.leaky_relu_(wisp.tensor([1.]))\ntensor([1.])",
          [](const Args& args, TensorList& outs) { activate<"_leaky_relu">(outs, args.tensor(0), true, args[1]); }, "LeakyRelu"});
  add_function(r, {"hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1, bool inplace=False) -> Tensor",
          "Elements held between two bounds.\n\n>>> wisp.nn.functional.hardtanh(wisp.tensor([-2., 0.5, 2.]))\ntensor([-1.0000,  0.5000,  1.0000])",
          [](const Args& args, TensorList& outs) { hardtanh(args, outs, args.boolean(3)); }, "Clip"});
  add_function(r, {"hardtanh_(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", "hardtanh in place.\n\n>>> wisp.nn.functional.hardtanh_(wisp.tensor([2.]))\ntensor([1.])",
          [](const Args& args, TensorList& outs) { hardtanh(args, outs, true); }, "Clip"});
  add_function(r, {"threshold(Tensor self, Scalar threshold, Scalar value, bool inplace=False) -> Tensor",
          "Elements that are not above the threshold become `value`.\n\n>>> wisp.threshold(wisp.tensor([0.5, 2.]), 1, 9)\ntensor([9., 2.])",
          [](const Args& args, TensorList& outs) { activate<"_threshold">(outs, args.tensor(0), args.boolean(3), args[1], args[2]); },
          "- Where of Greater", both});
  add_function(r, {"threshold_(Tensor self, Scalar threshold, Scalar value) -> Tensor", "threshold in place.\n\n>>> wisp.threshold_(wisp.tensor([0.5, 2.]), 1, 9)\ntensor([9., 2.])",
          [](const Args& args, TensorList& outs) { activate<"_threshold">(outs, args.tensor(0), true, args[1], args[2]); }, "- Where of Greater", both});
}

void register_gated(Registry& r) {
  add_function(r, {"glu(Tensor self, int dim=-1) -> Tensor",
          "The first half along a dimension times the sigmoid of the second.\n\n>>> wisp.nn.functional.glu(wisp.tensor([1., 0.]))\ntensor([0.5000])",
          glu_body, "- Mul of Sigmoid"});
  r.add(pointwise(Types::same,
                  {.schema = "_prelu(Tensor self, Tensor weight) -> Tensor",
                   .doc = "The kernel of prelu: `self * weight` where self is not positive.",
                   .infer = infer_activation,
                   .opcode = code(Opcode::prelu),
                   .vjp = {{"self", "self weight", [](const Backward& b) { return where(gt(b.tensor(0), 0), b.grad(), mul(b.grad(), b.tensor(1))); }},
                           {"weight", "self", [](const Backward& b) { return where(gt(b.tensor(0), 0), Scalar(0), mul(b.grad(), b.tensor(0))); }}},
                   .onnx = "PRelu",
                   .homes = home::internal,
                   .node = "PreluKernelBackward0"}));
  add_function(r, {"prelu(Tensor self, Tensor weight) -> Tensor",
          "Negative elements are multiplied by a weight, one for all or one per channel.\n\n>>> wisp.prelu(wisp.tensor([-1., 2.]), wisp.tensor([0.25]))\ntensor([-0.2500,  2.0000])",
          prelu_body, "PRelu", both | home::method});
  add_function(r, {"rrelu(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False) -> Tensor",
          "leaky_relu with slopes drawn between two bounds in training, and their mean otherwise.\n\n>>> wisp.rrelu(wisp.tensor([-8., 2.]), 0.125, 0.375)\ntensor([-2.,  2.])",
          [](const Args& args, TensorList& outs) { rrelu(args, outs, args.boolean(4)); }, "- random", both});
  add_function(r, {"rrelu_(Tensor self, float lower=0.125, float upper=0.3333333333333333, bool training=False) -> Tensor",
          "rrelu in place.\n\n>>> wisp.rrelu_(wisp.tensor([-8., 2.]), 0.125, 0.375)\ntensor([-2.,  2.])",
          [](const Args& args, TensorList& outs) { rrelu(args, outs, true); }, "- random", both});
}

}  // namespace

void register_activation(Registry& r) {
  register_smooth_kernels(r);
  register_piecewise_kernels(r);
  register_bounded_kernels(r);
  register_plain(r);
  register_with_in_place(r);
  register_gated(r);
}

}  // namespace wisp::ops
