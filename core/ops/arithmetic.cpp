// Two-operand arithmetic.
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

// grad * conj(x) for a saved tensor or number.
Tensor times_conj(const Tensor& grad, const Arg& x) {
  if (!x.is_tensor()) return mul(grad, x.scalar().conj());
  return mul(grad, conj(x.tensor()));
}

Tensor over_conj(const Tensor& grad, const Arg& x) {
  if (!x.is_tensor()) return div(grad, x.scalar().conj());
  return div(grad, conj(x.tensor()));
}

// alpha may be of a higher kind than the result only if the result can hold it.
void check_alpha(Infer& infer) {
  const DType common = infer.out().dtype;
  const Scalar alpha = infer.scalar(2);
  WISP_CHECK(common == DType::bool_ || alpha.category() != Category::boolean, infer.name(),
             "(): Boolean alpha only supported for Boolean results.");
  WISP_CHECK(is_differentiable(common) || alpha.is_integer(), infer.name(),
             "(): For integral input tensors, argument alpha must not be a floating point number.");
  WISP_CHECK(is_complex(common) || !alpha.is_complex(), infer.name(),
             "(): For non-complex input tensors, argument alpha must not be a complex number.");
}

bool is_plain_one(const Arg& alpha) {
  return alpha.kind == ArgKind::integer && alpha.as.integer == 1;
}

void infer_add(Infer& infer) {
  infer_pointwise(infer, Types::same);
  if (WISP_UNLIKELY(!is_plain_one(infer[2]))) check_alpha(infer);
}

bool is_bool(const Arg& operand) {
  return operand.is_tensor() ? operand.as.tensor->dtype() == DType::bool_
                             : operand.kind == ArgKind::boolean;
}

void infer_sub(Infer& infer) {
  infer_add(infer);
  WISP_CHECK(
      !is_bool(infer[0]) && !is_bool(infer[1]),
      "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to ",
      "invert a mask, use the `~` or `logical_not()` operator instead.");
}

void add_kernel(const Call& call) {
  const Scalar alpha = call.scalar(2);
  if (WISP_LIKELY(alpha.equals(1))) return run_pointwise(call, Opcode::add);
  cpu::Params params;
  set_param(params, 0, alpha);
  run_pointwise(call, Opcode::add_scaled, params);
}

void sub_kernel(const Call& call) {
  const Scalar alpha = call.scalar(2);
  if (WISP_LIKELY(alpha.equals(1))) return run_pointwise(call, Opcode::sub);
  cpu::Params params;
  set_param(params, 0, -alpha);
  run_pointwise(call, Opcode::add_scaled, params);
}

// "floor" and "trunc" keep integers, true division gives floats.
Opcode rounding_opcode(const Args& args) {
  if (!args.has(2)) return Opcode::div;
  const std::string_view mode = args.string(2);
  if (mode == "floor") return Opcode::div_floor;
  WISP_CHECK(mode == "trunc",
             "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", mode,
             "'");
  return Opcode::div_trunc;
}

void infer_div_mode(Infer& infer) {
  const bool rounded = rounding_opcode(infer) != Opcode::div;
  infer_pointwise(infer, rounded ? Types::same : Types::to_float);
  if (rounded) check_compute(infer, dtypes::integral | dtypes::real_math);
}

Tensor div_other_grad(const Backward& b) {
  const Tensor ratio = b[1].is_tensor() ? div(b.out(), b.tensor(1)) : div(b.out(), b.scalar(1));
  return neg(mul(b.grad(), conj(ratio)));
}

// Rounded quotients are flat almost everywhere.
Tensor div_mode_self_grad(const Backward& b) {
  if (!b.has(2)) return over_conj(b.grad(), b[1]);
  return zeros_like(b.grad());
}

Tensor div_mode_other_grad(const Backward& b) {
  return b.has(2) ? zeros_like(b.grad()) : div_other_grad(b);
}

Tensor pow_self_grad(const Backward& b) {
  const Tensor& self = b.tensor(0);
  if (!b[1].is_tensor()) {
    const Scalar exponent = b.scalar(1);
    if (exponent.equals(0)) return zeros_like(b.grad());
    const Scalar lower = exponent.is_complex()   ? Scalar(exponent.complex() - 1.0)
                         : exponent.is_integer() ? Scalar(exponent.integer() - 1)
                                                 : Scalar(exponent.real() - 1);
    const Tensor slope = exponent.equals(2) ? mul(self, 2) : mul(pow(self, lower), exponent);
    return mul(b.grad(), conj(slope));
  }
  const Tensor& exponent = b.tensor(1);
  const Tensor slope = conj(mul(exponent, pow(self, sub(exponent, 1))));
  return where(eq(exponent, 0), Scalar(0), mul(b.grad(), slope));
}

// d/dy x^y = x^y log x; 0 to any power of non-negative real part stays flat.
Tensor pow_other_grad(const Backward& b) {
  const Arg& base = b[0];
  const Tensor& exponent = b.tensor(1);
  const Tensor result = conj(b.out());
  if (!base.is_tensor()) {
    const Scalar x = base.scalar();
    if (x.equals(0)) {
      return where(ge(real(exponent), 0), Scalar(0), mul(b.grad(), mul(result, -INFINITY)));
    }
    const Scalar log_x = x.is_complex() || (x.real() < 0 && is_complex(exponent.dtype()))
                             ? Scalar(std::conj(std::log(x.complex())))
                             : Scalar(std::log(x.real()));
    return mul(b.grad(), mul(result, log_x));
  }
  const bool widens = is_complex(exponent.dtype()) && !is_complex(base.tensor().dtype());
  const Tensor x = widens ? to(base.tensor(), exponent.dtype()) : base.tensor();
  const Tensor zero_base = logical_and(eq(x, 0), ge(real(exponent), 0));
  return where(zero_base, Scalar(0), mul(b.grad(), mul(result, conj(log(x)))));
}

void infer_pow(Infer& infer) {
  infer_pointwise(infer, Types::same);
  const DType dtype = infer.out().dtype;
  if (dtype == DType::bool_ && infer[1].is_scalar()) return;
  check_compute(infer, dtypes::integral | dtypes::math);
  WISP_CHECK(!(is_integral(dtype) && infer[1].is_scalar() && infer.scalar(1).integer() < 0),
             "Integers to negative integer powers are not allowed.");
}

// Small whole exponents need no logarithm.
void pow_kernel(const Call& call) {
  if (call.compute == DType::bool_) {  // x ** True is x, x ** False is True
    const Opcode opcode = call.scalar(1).truth() ? Opcode::logical_and : Opcode::logical_or;
    return run_pointwise(call, opcode, std::array{call[0], Arg(true)});
  }
  if (call[1].is_scalar() && call[0].is_tensor() && is_differentiable(call.compute)) {
    const Scalar exponent = call.scalar(1);
    const Arg& x = call[0];
    if (exponent.equals(2)) return run_pointwise(call, Opcode::square, {&x, 1});
    if (exponent.equals(3)) return run_pointwise(call, Opcode::cube, {&x, 1});
    if (exponent.equals(1)) return run_pointwise(call, Opcode::mul, std::array{x, Arg(1)});
    if (exponent.equals(0.5)) return run_pointwise(call, Opcode::sqrt, {&x, 1});
    if (exponent.equals(-1)) return run_pointwise(call, Opcode::reciprocal, {&x, 1});
    if (exponent.equals(-0.5)) return run_pointwise(call, Opcode::rsqrt, {&x, 1});
  }
  run_pointwise(call, Opcode::pow);
}

// Ties share the gradient between both sides.
Tensor larger_grad(const Backward& b, const Tensor& wins, const Tensor& loses) {
  const Tensor half = where(eq(wins, loses), mul(b.grad(), 0.5), b.grad());
  return where(lt(wins, loses), Scalar(0), half);
}

Tensor modulus_other_grad(const Backward& b, const char* rounding) {
  const Tensor self = b[0].is_tensor() ? b.tensor(0) : full_like(b.tensor(1), b.scalar(0));
  return neg(mul(b.grad(), div_mode(self, Operand(b[1]), rounding)));
}

void register_basic(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema = "add(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
       .doc =
           "`self + alpha * other`.\n\n>>> wisp.add(wisp.tensor([1., 2.]), 10)\ntensor([11., 12.])",
       .infer = infer_add,
       .kernel = add_kernel,
       .opcode = code(Opcode::add),
       .direct = pointwise_direct_plain,
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"other", "alpha",
                [](const Backward& b) {
                  return b.scalar(2).equals(1) ? b.grad() : mul(b.grad(), b.scalar(2).conj());
                }}},
       .jvp = Jvp::linear,
       .onnx = "Add",
       .traits = trait::numbers_alone | trait::awaited}));
  r.add(pointwise(
      Types::same,
      {.schema = "sub(Tensor|Scalar self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
       .doc = "`self - alpha * other`.\n\n>>> wisp.sub(wisp.tensor([1., 2.]), 1)\ntensor([0., 1.])",
       .infer = infer_sub,
       .kernel = sub_kernel,
       .opcode = code(Opcode::sub),
       .direct = pointwise_direct_plain,
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"other", "alpha",
                [](const Backward& b) {
                  const Scalar alpha = b.scalar(2);
                  return alpha.equals(1) ? neg(b.grad()) : mul(b.grad(), (-alpha).conj());
                }}},
       .jvp = Jvp::linear,
       .onnx = "Sub",
       .traits = trait::numbers_alone}));
  r.alias("subtract", "sub");
  r.add(pointwise(
      Types::same,
      {.schema = "mul(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc = "`self * other`.\n\n>>> wisp.mul(wisp.tensor([1., 2.]), 3)\ntensor([3., 6.])",
       .opcode = code(Opcode::mul),
       .vjp = {{"self", "other", [](const Backward& b) { return times_conj(b.grad(), b[1]); }},
               {"other", "self", [](const Backward& b) { return times_conj(b.grad(), b[0]); }}},
       .jvp = Jvp::bilinear,
       .onnx = "Mul",
       .traits = trait::numbers_alone}));
  r.alias("multiply", "mul");
  r.add(pointwise(
      Types::to_float,
      {.schema = "div(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self / other`, never rounded: integers give floats.\n\n>>> wisp.div(wisp.tensor([1, 2]), 2)\ntensor([0.5000, 1.0000])",
       .opcode = code(Opcode::div),
       .vjp = {{"self", "other", [](const Backward& b) { return over_conj(b.grad(), b[1]); }},
               {"other", "result other", div_other_grad}},
       .onnx = "Div",
       .traits = trait::numbers_alone}));
  r.add(pointwise(
      Types::same,
      {.schema =
           "div.mode(Tensor|Scalar self, Tensor|Scalar other, *, str? rounding_mode) -> Tensor",
       .doc =
           "`self / other`, rounded down (\"floor\"), towards zero (\"trunc\") or not at all (None).\n\n"
           ">>> wisp.div(wisp.tensor([-7, 7]), 2, rounding_mode='floor')\ntensor([-4,  3])",
       .infer = infer_div_mode,
       .kernel = [](const Call& c) { run_pointwise(c, rounding_opcode(c)); },
       .vjp = {{"self", "other rounding_mode", div_mode_self_grad},
               {"other", "result other rounding_mode", div_mode_other_grad}},
       .onnx = "Div",
       .traits = trait::numbers_alone,
       .node = "DivBackward2"}));
  r.alias("divide", "div");
  r.alias("true_divide", "div");
}

void register_modulus(Registry& r) {
  auto infer_real = [](Infer& infer) {
    infer_pointwise(infer, Types::same);
    check_compute(infer, dtypes::integral | dtypes::real_math);
  };
  r.add(pointwise(
      Types::same,
      {.schema = "floor_divide(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self // other`: the quotient rounded towards minus infinity.\n\n>>> wisp.floor_divide(wisp.tensor([-7, 7]), 2)\ntensor([-4,  3])",
       .infer = infer_real,
       .opcode = code(Opcode::div_floor),
       .jvp = Jvp::none,
       .onnx = "Floor",
       .traits = trait::numbers_alone}));
  r.add(pointwise(
      Types::same,
      {.schema = "remainder(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self % other` with the sign of the divisor, as in Python.\n\n>>> wisp.remainder(wisp.tensor([-3., 3.]), 2)\ntensor([1., 1.])",
       .infer = infer_real,
       .opcode = code(Opcode::remainder),
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"other", "self other",
                [](const Backward& b) { return modulus_other_grad(b, "floor"); }}},
       .onnx = "Mod"}));
  r.add(pointwise(
      Types::same,
      {.schema = "fmod(Tensor self, Tensor|Scalar other) -> Tensor",
       .doc =
           "The remainder of the division with the sign of the dividend, as in C.\n\n>>> wisp.fmod(wisp.tensor([-3., 3.]), 2)\ntensor([-1.,  1.])",
       .infer = infer_real,
       .opcode = code(Opcode::fmod),
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"other", "self other",
                [](const Backward& b) { return modulus_other_grad(b, "trunc"); }}},
       .onnx = "Mod"}));
  r.add(pointwise(
      Types::same,
      {.schema = "pow(Tensor|Scalar self, Tensor|Scalar exponent) -> Tensor",
       .doc =
           "`self ** exponent`.\n\n>>> wisp.pow(wisp.tensor([1., 2., 3.]), 2)\ntensor([1., 4., 9.])",
       .infer = infer_pow,
       .kernel = pow_kernel,
       .vjp = {{"self", "self exponent", pow_self_grad},
               {"exponent", "self exponent result", pow_other_grad}},
       .onnx = "Pow"}));
}

void register_extremes(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema = "maximum(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The larger of both, element by element; NaN if either is.\n\n>>> wisp.maximum(wisp.tensor([1, 5]), wisp.tensor([3, 2]))\ntensor([3, 5])",
       .opcode = code(Opcode::maximum),
       .vjp = {{"self", "self other",
                [](const Backward& b) { return larger_grad(b, b.tensor(0), b.tensor(1)); }},
               {"other", "self other",
                [](const Backward& b) { return larger_grad(b, b.tensor(1), b.tensor(0)); }}},
       .onnx = "Max"}));
  r.add(pointwise(
      Types::same,
      {.schema = "minimum(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The smaller of both, element by element; NaN if either is.\n\n>>> wisp.minimum(wisp.tensor([1, 5]), wisp.tensor([3, 2]))\ntensor([1, 2])",
       .opcode = code(Opcode::minimum),
       .vjp =
           {{"self", "self other",
             [](const Backward& b) { return larger_grad(b, neg(b.tensor(0)), neg(b.tensor(1))); }},
            {"other", "self other",
             [](const Backward& b) { return larger_grad(b, neg(b.tensor(1)), neg(b.tensor(0))); }}},
       .onnx = "Min"}));
}

}  // namespace

void register_arithmetic(Registry& r) {
  register_basic(r);
  register_modulus(r);
  register_extremes(r);
}

}  // namespace wisp::ops
