// Functions of one number.
#include <cmath>
#include <numbers>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

// One line of a family: name, text, kernel, what the derivative reads and how it goes.
struct UnaryFunction {
  const char* schema;
  const char* doc;
  Opcode opcode;
  const char* onnx;
  const char* saves = nullptr;  // null: not differentiable
  VjpFn rule = nullptr;
  Types types = Types::to_float;
};

void add(Registry& r, const UnaryFunction& e) {
  OpDef def{.schema = e.schema, .doc = e.doc, .opcode = code(e.opcode), .onnx = e.onnx};
  if (e.saves) def.vjp = {{"self", e.saves, e.rule}};
  r.add(pointwise(e.types, std::move(def)));
}

Tensor flat(const Backward& b) { return zeros_like(b.grad()); }

// Integers are whole already: rounding them is copying.
void infer_rounding(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::integral | dtypes::real_math);
}

void rounding_kernel(const Call& call) {
  if (is_differentiable(call.compute)) return pointwise_kernel(call);
  const Arg one[] = {call[0], Arg(1)};
  run_pointwise(call, Opcode::mul, one);
}

// As a power: next to the exponent, bools count as integers.
void infer_square(Infer& infer) {
  infer_pointwise(infer, Types::same);
  if (infer.compute == DType::bool_) infer.compute = infer.out().dtype = DType::int64;
}

void infer_real(Infer& infer) {
  infer_pointwise(infer, Types::same);
  WISP_CHECK(!is_complex(infer.compute), infer.name(), "(): not supported for complex tensors");
}

Tensor abs_grad(const Backward& b) { return mul(b.grad(), sgn(b.tensor(0))); }

void sgn_kernel(const Call& call) {
  run_pointwise(call, is_complex(call.compute) ? Opcode::sgn : Opcode::sign);
}

// d sgn(z) = (dz - sgn(z) Re(conj(sgn(z)) dz)) / |z|
Tensor sgn_grad(const Backward& b) {
  if (!is_complex(b.out().dtype())) return zeros_like(b.grad());
  const Tensor& direction = b.out();
  const Tensor size = abs(b.tensor(0));
  const Tensor radial = mul(direction, real(mul(conj(direction), b.grad())));
  return where(eq(size, 0), Scalar(0), div(sub(b.grad(), radial), size));
}

void register_sign(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema = "neg(Tensor self) -> Tensor",
       .doc = "`-self`.\n\n>>> wisp.neg(wisp.tensor([1., -2.]))\ntensor([-1.,  2.])",
       .infer =
           [](Infer& infer) {
             infer_pointwise(infer, Types::same);
             WISP_CHECK(
                 infer.compute != DType::bool_,
                 "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to ",
                 "invert a mask, use the `~` or `logical_not()` operator instead.");
           },
       .opcode = code(Opcode::neg),
       .vjp = {{"self", "", [](const Backward& b) { return neg(b.grad()); }}},
       .jvp = Jvp::linear,
       .onnx = "Neg"}));
  r.alias("negative", "neg");
  r.add(pointwise(
      Types::real_part,
      {.schema = "abs(Tensor self) -> Tensor",
       .doc =
           "The size of every element, without its sign.\n\n>>> wisp.abs(wisp.tensor([-1., 2.]))\ntensor([1., 2.])",
       .opcode = code(Opcode::abs),
       .vjp = {{"self", "self", abs_grad}},
       .onnx = "Abs"}));
  r.alias("absolute", "abs");
  r.add(pointwise(
      Types::same,
      {.schema = "sign(Tensor self) -> Tensor",
       .doc =
           "-1, 0 or 1: the sign of every element.\n\n>>> wisp.sign(wisp.tensor([-3., 0., 2.]))\ntensor([-1.,  0.,  1.])",
       .infer = infer_real,
       .opcode = code(Opcode::sign),
       .vjp = {{"self", "", flat}},
       .onnx = "Sign"}));
  r.add(pointwise(
      Types::same,
      {.schema = "sgn(Tensor self) -> Tensor",
       .doc =
           "The sign of real numbers, the direction `z / |z|` of complex ones.\n\n>>> wisp.sgn(wisp.tensor([3+4j]))\ntensor([0.6000+0.8000j])",
       .kernel = sgn_kernel,
       .vjp = {{"self", "self result", sgn_grad}},
       .onnx = "Sign"}));
  r.add(pointwise(
      Types::same,
      {.schema = "square(Tensor self) -> Tensor",
       .doc = "`self * self`.\n\n>>> wisp.square(wisp.tensor([2., -3.]))\ntensor([4., 9.])",
       .infer = infer_square,
       .opcode = code(Opcode::square),
       .vjp = {{"self", "self",
                [](const Backward& b) { return mul(b.grad(), conj(mul(b.tensor(0), 2))); }}},
       .onnx = "Mul",
       .node = "PowBackward0"}));
  r.add(pointwise(
      Types::same,
      {.schema = "relu(Tensor self) -> Tensor",
       .doc =
           "Negative elements become 0.\n\n>>> wisp.relu(wisp.tensor([-1., 2.]))\ntensor([0., 2.])",
       .infer =
           [](Infer& infer) {
             infer_real(infer);
             WISP_CHECK(infer.compute != DType::bool_,
                        "relu(): Boolean inputs not supported for relu");
           },
       .opcode = code(Opcode::relu),
       .vjp = {{"self", "result", [](const Backward& b) { return relu_grad(b.grad(), b.out()); }}},
       .onnx = "Relu",
       .traits = trait::awaited,
       .homes = home::function | home::method}));
}

void register_rounding(Registry& r) {
  const struct {
    const char *schema, *doc, *onnx;
    Opcode opcode;
  } rows[] = {
      {"floor(Tensor self) -> Tensor",
       "Rounds down to whole numbers.\n\n>>> wisp.floor(wisp.tensor([-1.5, 1.5]))\ntensor([-2.,  1.])",
       "Floor", Opcode::floor},
      {"ceil(Tensor self) -> Tensor",
       "Rounds up to whole numbers.\n\n>>> wisp.ceil(wisp.tensor([-1.5, 1.5]))\ntensor([-1.,  2.])",
       "Ceil", Opcode::ceil},
      {"trunc(Tensor self) -> Tensor",
       "Rounds towards zero.\n\n>>> wisp.trunc(wisp.tensor([-1.5, 1.5]))\ntensor([-1.,  1.])",
       "+ Floor and Ceil by sign", Opcode::trunc},
  };
  for (const auto& row : rows) {
    r.add(pointwise(Types::same, {.schema = row.schema,
                                  .doc = row.doc,
                                  .infer = infer_rounding,
                                  .kernel = rounding_kernel,
                                  .opcode = code(row.opcode),
                                  .vjp = {{"self", "", flat}},
                                  .onnx = row.onnx}));
  }
  r.alias("fix", "trunc");
  r.add(pointwise(
      Types::same,
      {.schema = "round(Tensor self) -> Tensor",
       .doc =
           "Rounds to the nearest whole number, halves to even.\n\n>>> wisp.round(wisp.tensor([0.5, 1.5, 2.6]))\ntensor([0., 2., 3.])",
       .infer = infer_rounding,
       .kernel = rounding_kernel,
       .opcode = code(Opcode::round),
       .vjp = {{"self", "", flat}},
       .onnx = "Round"}));
  r.add(
      {.schema = "round.decimals(Tensor self, *, int decimals=0) -> Tensor",
       .doc =
           "Rounds to the given number of decimals.\n\n>>> wisp.round(wisp.tensor([1.2345]), decimals=2)\ntensor([1.2300])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             const int64_t decimals = args.integer(1);
             WISP_CHECK(is_differentiable(self.dtype()) || decimals == 0,
                        "round(): not implemented for integers with decimals");
             const double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
             if (decimals == 0) {
               outs.push(round(self));
             } else if (decimals > 0) {
               outs.push(div(round(mul(self, scale)), scale));
             } else {
               outs.push(mul(round(div(self, scale)), scale));
             }
           },
       .onnx = "Round",
       .traits = trait::in_place | trait::out});
  r.add(pointwise(
      Types::same,
      {.schema = "frac(Tensor self) -> Tensor",
       .doc =
           "The part behind the point: `self - trunc(self)`.\n\n>>> wisp.frac(wisp.tensor([1.5, -2.25]))\ntensor([ 0.5000, -0.2500])",
       .infer = infer_real,
       .opcode = code(Opcode::frac),
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
       .onnx = "+ Sub of itself rounded"}));
}

void register_powers(Registry& r) {
  add(r,
      {"sqrt(Tensor self) -> Tensor",
       "Square root.\n\n>>> wisp.sqrt(wisp.tensor([4., 9.]))\ntensor([2., 3.])", Opcode::sqrt,
       "Sqrt", "result", [](const Backward& b) { return div(b.grad(), conj(mul(b.out(), 2))); }});
  add(r, {"rsqrt(Tensor self) -> Tensor",
          "`1 / sqrt(self)`.\n\n>>> wisp.rsqrt(wisp.tensor([4.]))\ntensor([0.5000])", Opcode::rsqrt,
          "Reciprocal", "result",
          [](const Backward& b) { return mul(mul(b.grad(), -0.5), conj(pow(b.out(), 3))); }});
  add(r, {"reciprocal(Tensor self) -> Tensor",
          "`1 / self`.\n\n>>> wisp.reciprocal(wisp.tensor([4.]))\ntensor([0.2500])",
          Opcode::reciprocal, "Reciprocal", "result",
          [](const Backward& b) { return neg(mul(b.grad(), conj(mul(b.out(), b.out())))); }});
}

void register_exponential(Registry& r) {
  add(r,
      {"exp(Tensor self) -> Tensor",
       "e to the power of every element.\n\n>>> wisp.exp(wisp.tensor([0., 1.]))\ntensor([1.0000, 2.7183])",
       Opcode::exp, "Exp", "result",
       [](const Backward& b) { return mul(b.grad(), conj(b.out())); }});
  add(r,
      {"exp2(Tensor self) -> Tensor",
       "2 to the power of every element.\n\n>>> wisp.exp2(wisp.tensor([0., 3.]))\ntensor([1., 8.])",
       Opcode::exp2, "Pow", "result",
       [](const Backward& b) { return mul(mul(b.grad(), conj(b.out())), std::numbers::ln2); }});
  add(r,
      {"expm1(Tensor self) -> Tensor",
       "`exp(self) - 1`, accurate near zero.\n\n>>> wisp.expm1(wisp.tensor([0., 1.]))\ntensor([0.0000, 1.7183])",
       Opcode::expm1, "+ Sub of Exp", "result",
       [](const Backward& b) { return mul(b.grad(), conj(wisp::ops::add(b.out(), 1))); }});
  add(r, {"log(Tensor self) -> Tensor",
          "Natural logarithm.\n\n>>> wisp.log(wisp.tensor([1., 10.]))\ntensor([0.0000, 2.3026])",
          Opcode::log, "Log", "self",
          [](const Backward& b) { return div(b.grad(), conj(b.tensor(0))); }});
  add(r, {"log2(Tensor self) -> Tensor",
          "Logarithm to base 2.\n\n>>> wisp.log2(wisp.tensor([1., 8.]))\ntensor([0., 3.])",
          Opcode::log2, "+ Div of Log", "self", [](const Backward& b) {
            return div(b.grad(), conj(mul(b.tensor(0), std::numbers::ln2)));
          }});
  add(r, {"log10(Tensor self) -> Tensor",
          "Logarithm to base 10.\n\n>>> wisp.log10(wisp.tensor([1., 1000.]))\ntensor([0., 3.])",
          Opcode::log10, "+ Div of Log", "self", [](const Backward& b) {
            return div(b.grad(), conj(mul(b.tensor(0), std::numbers::ln10)));
          }});
  add(r,
      {"log1p(Tensor self) -> Tensor",
       "`log(1 + self)`, accurate near zero.\n\n>>> wisp.log1p(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.6931])",
       Opcode::log1p, "+ Log of Add", "self",
       [](const Backward& b) { return div(b.grad(), conj(wisp::ops::add(b.tensor(0), 1))); }});
  add(r,
      {"sigmoid(Tensor self) -> Tensor",
       "`1 / (1 + exp(-self))`.\n\n>>> wisp.sigmoid(wisp.tensor([0., 2.]))\ntensor([0.5000, 0.8808])",
       Opcode::sigmoid, "Sigmoid", "result",
       [](const Backward& b) { return sigmoid_grad(b.grad(), b.out()); }});
}

void register_trigonometric(Registry& r) {
  add(r,
      {"sin(Tensor self) -> Tensor",
       "Sine of every element, in radians.\n\n>>> wisp.sin(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.8415])",
       Opcode::sin, "Sin", "self",
       [](const Backward& b) { return mul(b.grad(), conj(cos(b.tensor(0)))); }});
  add(r,
      {"cos(Tensor self) -> Tensor",
       "Cosine of every element, in radians.\n\n>>> wisp.cos(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.5403])",
       Opcode::cos, "Cos", "self",
       [](const Backward& b) { return neg(mul(b.grad(), conj(sin(b.tensor(0))))); }});
  add(r,
      {"tan(Tensor self) -> Tensor",
       "Tangent of every element, in radians.\n\n>>> wisp.tan(wisp.tensor([0., 1.]))\ntensor([0.0000, 1.5574])",
       Opcode::tan, "Tan", "result",
       [](const Backward& b) { return mul(b.grad(), conj(wisp::ops::add(square(b.out()), 1))); }});
  add(r, {"asin(Tensor self) -> Tensor",
          "Inverse sine.\n\n>>> wisp.asin(wisp.tensor([0., 1.]))\ntensor([0.0000, 1.5708])",
          Opcode::asin, "Asin", "self", [](const Backward& b) {
            return mul(b.grad(), conj(rsqrt(sub(Scalar(1), square(b.tensor(0))))));
          }});
  r.alias("arcsin", "asin");
  add(r, {"acos(Tensor self) -> Tensor",
          "Inverse cosine.\n\n>>> wisp.acos(wisp.tensor([0., 1.]))\ntensor([1.5708, 0.0000])",
          Opcode::acos, "Acos", "self", [](const Backward& b) {
            return neg(mul(b.grad(), conj(rsqrt(sub(Scalar(1), square(b.tensor(0)))))));
          }});
  r.alias("arccos", "acos");
  add(r, {"atan(Tensor self) -> Tensor",
          "Inverse tangent.\n\n>>> wisp.atan(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.7854])",
          Opcode::atan, "Atan", "self", [](const Backward& b) {
            return div(b.grad(), conj(wisp::ops::add(square(b.tensor(0)), 1)));
          }});
  r.alias("arctan", "atan");
}

void register_hyperbolic(Registry& r) {
  add(r, {"sinh(Tensor self) -> Tensor",
          "Hyperbolic sine.\n\n>>> wisp.sinh(wisp.tensor([0., 1.]))\ntensor([0.0000, 1.1752])",
          Opcode::sinh, "Sinh", "self",
          [](const Backward& b) { return mul(b.grad(), conj(cosh(b.tensor(0)))); }});
  add(r, {"cosh(Tensor self) -> Tensor",
          "Hyperbolic cosine.\n\n>>> wisp.cosh(wisp.tensor([0., 1.]))\ntensor([1.0000, 1.5431])",
          Opcode::cosh, "Cosh", "self",
          [](const Backward& b) { return mul(b.grad(), conj(sinh(b.tensor(0)))); }});
  add(r, {"tanh(Tensor self) -> Tensor",
          "Hyperbolic tangent.\n\n>>> wisp.tanh(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.7616])",
          Opcode::tanh, "Tanh", "result",
          [](const Backward& b) { return tanh_grad(b.grad(), b.out()); }});
  add(r,
      {"asinh(Tensor self) -> Tensor",
       "Inverse hyperbolic sine.\n\n>>> wisp.asinh(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.8814])",
       Opcode::asinh, "Asinh", "self", [](const Backward& b) {
         return mul(b.grad(), conj(rsqrt(wisp::ops::add(square(b.tensor(0)), 1))));
       }});
  r.alias("arcsinh", "asinh");
  add(r,
      {"acosh(Tensor self) -> Tensor",
       "Inverse hyperbolic cosine.\n\n>>> wisp.acosh(wisp.tensor([1., 2.]))\ntensor([0.0000, 1.3170])",
       Opcode::acosh, "Acosh", "self", [](const Backward& b) {
         const Tensor& x = b.tensor(0);  // two roots, not one: right for complex numbers too
         return mul(b.grad(), conj(mul(rsqrt(sub(x, 1)), rsqrt(wisp::ops::add(x, 1)))));
       }});
  r.alias("arccosh", "acosh");
  add(r,
      {"atanh(Tensor self) -> Tensor",
       "Inverse hyperbolic tangent.\n\n>>> wisp.atanh(wisp.tensor([0., 0.5]))\ntensor([0.0000, 0.5493])",
       Opcode::atanh, "Atanh", "self",
       [](const Backward& b) { return div(b.grad(), conj(sub(Scalar(1), square(b.tensor(0))))); }});
  r.alias("arctanh", "atanh");
}

void register_error_functions(Registry& r) {
  static constexpr double two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi;
  add(r, {"erf(Tensor self) -> Tensor",
          "The error function.\n\n>>> wisp.erf(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.8427])",
          Opcode::erf, "Erf", "self", [](const Backward& b) {
            return mul(b.grad(), mul(exp(neg(square(b.tensor(0)))), two_over_sqrt_pi));
          }});
  add(r,
      {"erfc(Tensor self) -> Tensor",
       "`1 - erf(self)`, accurate where that is tiny.\n\n>>> wisp.erfc(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.1573])",
       Opcode::erfc, "+ Sub of Erf", "self", [](const Backward& b) {
         return mul(b.grad(), mul(exp(neg(square(b.tensor(0)))), -two_over_sqrt_pi));
       }});
  add(r,
      {"erfinv(Tensor self) -> Tensor",
       "The inverse of the error function.\n\n>>> wisp.erfinv(wisp.tensor([0., 0.5]))\ntensor([0.0000, 0.4769])",
       Opcode::erfinv, "+ several nodes", "result", [](const Backward& b) {
         return mul(b.grad(), mul(exp(square(b.out())), 1 / two_over_sqrt_pi));
       }});
}

void register_complex(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema = "conj_physical(Tensor self) -> Tensor",
       .doc =
           "The complex conjugate, computed.\n\n>>> wisp.conj_physical(wisp.tensor([1+2j]))\ntensor([1.-2.j])",
       .kernel =
           [](const Call& c) {
             const Arg one[] = {c[0], Arg(1)};
             if (is_complex(c.compute)) return run_pointwise(c, Opcode::conj);
             run_pointwise(c, Opcode::mul, one);
           },
       .vjp = {{"self", "", [](const Backward& b) { return conj(b.grad()); }}},
       .onnx = "+ pairs of real numbers"}));
}

void register_grad_kernels(Registry& r) {
  // Differentiated again, they are written out in plain arithmetic.
  r.add(pointwise(
      Types::same,
      {.schema = "tanh_grad(Tensor grad, Tensor output) -> Tensor",
       .doc = "Derivative of tanh: `grad * (1 - output**2)`.",
       .opcode = code(Opcode::tanh_grad),
       .vjp = {{"grad", "output",
                [](const Backward& b) { return tanh_grad(b.grad(), conj(b.tensor(1))); }},
               {"output", "grad output",
                [](const Backward& b) {
                  return mul(mul(conj(b.grad()), b.tensor(0)), mul(conj(b.tensor(1)), -2));
                }}},
       .onnx = "- backward only",
       .homes = home::internal,
       .node = "TanhBackwardBackward0"}));
  r.add(pointwise(
      Types::same,
      {.schema = "sigmoid_grad(Tensor grad, Tensor output) -> Tensor",
       .doc = "Derivative of sigmoid: `grad * (1 - output) * output`.",
       .opcode = code(Opcode::sigmoid_grad),
       .vjp = {{"grad", "output",
                [](const Backward& b) { return sigmoid_grad(b.grad(), conj(b.tensor(1))); }},
               {"output", "grad output",
                [](const Backward& b) {
                  return mul(mul(conj(b.grad()), b.tensor(0)),
                             sub(Scalar(1), mul(conj(b.tensor(1)), 2)));
                }}},
       .onnx = "- backward only",
       .homes = home::internal,
       .node = "SigmoidBackwardBackward0"}));
  r.add(pointwise(Types::same,
                  {.schema = "relu_grad(Tensor grad, Tensor output) -> Tensor",
                   .doc = "Derivative of relu: `grad` where the output is positive.",
                   .opcode = code(Opcode::relu_grad),
                   .vjp = {{"grad", "output",
                            [](const Backward& b) { return relu_grad(b.grad(), b.tensor(1)); }}},
                   .onnx = "- backward only",
                   .traits = trait::awaited,
                   .homes = home::internal,
                   .node = "ThresholdBackwardBackward0"}));
}

}  // namespace

void register_unary(Registry& r) {
  register_sign(r);
  register_rounding(r);
  register_powers(r);
  register_exponential(r);
  register_trigonometric(r);
  register_hyperbolic(r);
  register_error_functions(r);
  register_complex(r);
  register_grad_kernels(r);
}

}  // namespace wisp::ops
