// Functions of two numbers beyond plain arithmetic.
#include <cmath>
#include <numbers>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

OpDef without_in_place(OpDef def) {
  def.traits &= ~static_cast<uint32_t>(trait::in_place);
  return def;
}

template <Types types, DTypeSet allowed>
void infer_among(Infer& infer) {
  infer_pointwise(infer, types);
  check_compute(infer, allowed);
}
constexpr auto infer_float = infer_among<Types::same, dtypes::real_math>;
constexpr auto infer_to_float = infer_among<Types::to_float, dtypes::real_math>;
constexpr auto infer_integers = infer_among<Types::same, dtypes::integral>;

Tensor zero_where(const Tensor& condition, const Tensor& grad) {
  return where(condition, Scalar(0), grad);
}

// --- Angles and lengths

// The angle of the origin is taken to be flat.
Tensor atan2_grad(const Backward& b, int other) {
  const Tensor squared_length = add(square(b.tensor(0)), square(b.tensor(1)));
  const Tensor divisor = where(eq(squared_length, 0), Scalar(1), squared_length);
  return mul(b.grad(), div(b.tensor(other), divisor));
}

void register_geometry(Registry& r) {
  r.add(pointwise(
      Types::to_float,
      {.schema = "atan2(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The angle of the point (other, self), from -pi to pi.\n\n>>> wisp.atan2(wisp.tensor([1., 0.]), wisp.tensor([1., -1.]))\ntensor([0.7854, 3.1416])",
       .infer = infer_to_float,
       .opcode = code(Opcode::atan2),
       .vjp = {{"self", "self other", [](const Backward& b) { return atan2_grad(b, 1); }},
               {"other", "self other", [](const Backward& b) { return neg(atan2_grad(b, 0)); }}},
       .onnx = "+ Atan of Div, by quadrant"}));
  r.alias("arctan2", "atan2");
  r.add(pointwise(
      Types::same,
      {.schema = "hypot(Tensor self, Tensor other) -> Tensor",
       .doc =
           "`sqrt(self**2 + other**2)`, without overflow.\n\n>>> wisp.hypot(wisp.tensor([3.]), wisp.tensor([4.]))\ntensor([5.])",
       .infer = infer_float,
       .opcode = code(Opcode::hypot),
       .vjp = {{"self", "self result",
                [](const Backward& b) { return mul(b.grad(), div(b.tensor(0), b.out())); }},
               {"other", "other result",
                [](const Backward& b) { return mul(b.grad(), div(b.tensor(1), b.out())); }}},
       .onnx = "+ Sqrt of squares"}));
}

// --- Signs and neighbours

// The sign is that of the ratio; next to zero there is none.
Tensor copysign_self_grad(const Backward& b) {
  return zero_where(eq(b.tensor(0), 0), mul(b.grad(), div(b.out(), b.tensor(0))));
}

// 16 bits have neighbours of their own: they are not computed in float32.
void infer_nextafter(Infer& infer) {
  infer_among<Types::same, dtypes::real_math>(infer);
  infer.compute = infer.out().dtype;
}

void infer_heaviside(Infer& infer) {
  infer_pointwise(infer, Types::same);
  WISP_CHECK(!is_complex(infer.compute), "heaviside is not yet implemented for complex tensors.");
  WISP_CHECK(infer.tensor(0).dtype() == infer.tensor(1).dtype(),
             "heaviside is not yet implemented for tensors with different dtypes.");
}

void register_signs(Registry& r) {
  r.add(pointwise(
      Types::to_float,
      {.schema = "copysign(Tensor self, Tensor|Scalar other) -> Tensor",
       .doc =
           "The size of `self` with the sign of `other`.\n\n>>> wisp.copysign(wisp.tensor([1., -2.]), -1)\ntensor([-1., -2.])",
       .infer = infer_to_float,
       .opcode = code(Opcode::copysign),
       .vjp = {{"self", "self result", copysign_self_grad},
               {"other", "", [](const Backward& b) { return zeros_like(b.grad()); }}},
       .onnx = "+ Abs and Where"}));
  r.add(pointwise(
      Types::same,
      {.schema = "nextafter(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The next number after `self` in the direction of `other`.\n\n>>> wisp.nextafter(wisp.tensor([1.]), wisp.tensor([2.])) - 1\ntensor([1.1921e-07])",
       .infer = infer_nextafter,
       .opcode = code(Opcode::nextafter),
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"other", "", [](const Backward& b) { return zeros_like(b.grad()); }}},
       .onnx = "+ several nodes"}));
  r.add(pointwise(
      Types::same,
      {.schema = "heaviside(Tensor self, Tensor values) -> Tensor",
       .doc =
           "0 for negative elements, 1 for positive ones, and `values` for zeros.\n\n>>> wisp.heaviside(wisp.tensor([-1., 0., 2.]), wisp.tensor([0.5]))\ntensor([0.0000, 0.5000, 1.0000])",
       .infer = infer_heaviside,
       .opcode = code(Opcode::heaviside),
       .jvp = Jvp::none,
       .onnx = "+ Where of comparisons"}));
}

// --- Extremes

Tensor fmax_self_wins(const Backward& b) {
  return logical_or(ge(b.tensor(0), b.tensor(1)), isnan(b.tensor(1)));
}
Tensor fmin_self_wins(const Backward& b) {
  return logical_or(le(b.tensor(0), b.tensor(1)), isnan(b.tensor(1)));
}

template <Tensor (*self_wins)(const Backward&)>
std::vector<Vjp> winner_takes_all() {
  return {{"self", "self other",
           [](const Backward& b) { return where(self_wins(b), b.grad(), Scalar(0)); }},
          {"other", "self other",
           [](const Backward& b) { return where(self_wins(b), Scalar(0), b.grad()); }}};
}

// Elements at the bound count as inside it.
void register_bounds(Registry& r) {
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "fmax(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The larger of both, element by element; a number rather than NaN.\n\n>>> wisp.fmax(wisp.tensor([1., float('nan')]), wisp.tensor([3., 2.]))\ntensor([3., 2.])",
       .infer = infer_among<Types::same, dtypes::bits | dtypes::real_math>,
       .opcode = code(Opcode::fmax),
       .vjp = winner_takes_all<fmax_self_wins>(),
       .onnx = "+ Max, but for NaN"})));
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "fmin(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The smaller of both, element by element; a number rather than NaN.\n\n>>> wisp.fmin(wisp.tensor([1., float('nan')]), wisp.tensor([3., 2.]))\ntensor([1., 2.])",
       .infer = infer_among<Types::same, dtypes::bits | dtypes::real_math>,
       .opcode = code(Opcode::fmin),
       .vjp = winner_takes_all<fmin_self_wins>(),
       .onnx = "+ Min, but for NaN"})));
  r.add(pointwise(
      Types::same,
      {.schema = "clamp_min(Tensor self, Tensor|Scalar min) -> Tensor",
       .doc =
           "Elements below `min` become `min`.\n\n>>> wisp.clamp_min(wisp.tensor([-1., 2.]), 0)\ntensor([0., 2.])",
       .infer = infer_among<Types::same, dtypes::bits | dtypes::real_math>,
       .opcode = code(Opcode::maximum),
       .vjp = {{"self", "self min",
                [](const Backward& b) {
                  return where(ge(b.tensor(0), b.operand(1)), b.grad(), Scalar(0));
                }},
               {"min", "self min",
                [](const Backward& b) {
                  return where(lt(b.tensor(0), b.operand(1)), b.grad(), Scalar(0));
                }}},
       .onnx = "Clip"}));
  r.add(pointwise(
      Types::same,
      {.schema = "clamp_max(Tensor self, Tensor|Scalar max) -> Tensor",
       .doc =
           "Elements above `max` become `max`.\n\n>>> wisp.clamp_max(wisp.tensor([-1., 2.]), 0)\ntensor([-1.,  0.])",
       .infer = infer_among<Types::same, dtypes::bits | dtypes::real_math>,
       .opcode = code(Opcode::minimum),
       .vjp = {{"self", "self max",
                [](const Backward& b) {
                  return where(le(b.tensor(0), b.operand(1)), b.grad(), Scalar(0));
                }},
               {"max", "self max",
                [](const Backward& b) {
                  return where(gt(b.tensor(0), b.operand(1)), b.grad(), Scalar(0));
                }}},
       .onnx = "Clip"}));
}

// --- Whole numbers

void register_divisors(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema = "gcd(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The greatest common divisor of integers.\n\n>>> wisp.gcd(wisp.tensor([12, 7]), wisp.tensor([18, 5]))\ntensor([6, 1])",
       .infer = infer_integers,
       .opcode = code(Opcode::gcd),
       .jvp = Jvp::none,
       .onnx = "+ several nodes"}));
  r.add(pointwise(
      Types::same,
      {.schema = "lcm(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The least common multiple of integers.\n\n>>> wisp.lcm(wisp.tensor([4, 7]), wisp.tensor([6, 5]))\ntensor([12, 35])",
       .infer = infer_integers,
       .opcode = code(Opcode::lcm),
       .jvp = Jvp::none,
       .onnx = "+ several nodes"}));
}

// --- Logarithms

// e^a / (e^a + e^b), to base 2 likewise.
Tensor share(const Backward& b, int a, int other, double scale) {
  return mul(b.grad(), conj(sigmoid(mul(sub(b.tensor(a), b.tensor(other)), scale))));
}

// 0 log(0) is 0, and so is its derivative by the 0. `log_1` is where the logarithm has its zero.
Tensor xlogy_self_grad(const Backward& b, const Tensor& grad, double pole) {
  const Arg &self = b[0], &other = b[1];
  const Tensor none =
      logical_and(eq(self.tensor(), 0),
                  other.is_tensor() ? le(other.tensor(), pole)
                                    : full(IntSpan(), other.scalar().real() <= pole, DType::bool_));
  return zero_where(none, grad);
}

void infer_float_or_complex(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::math);
}

void register_logarithms(Registry& r) {
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "logaddexp(Tensor self, Tensor other) -> Tensor",
       .doc =
           "`log(exp(self) + exp(other))`, without overflow.\n\n>>> wisp.logaddexp(wisp.tensor([0., 1000.]), wisp.tensor([0., 1000.]))\ntensor([6.9315e-01, 1.0007e+03])",
       .infer = infer_float_or_complex,
       .opcode = code(Opcode::logaddexp),
       .vjp = {{"self", "self other", [](const Backward& b) { return share(b, 0, 1, 1); }},
               {"other", "self other", [](const Backward& b) { return share(b, 1, 0, 1); }}},
       .onnx = "+ Log of Exp"})));
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "logaddexp2(Tensor self, Tensor other) -> Tensor",
       .doc =
           "`log2(2**self + 2**other)`, without overflow.\n\n>>> wisp.logaddexp2(wisp.tensor([3.]), wisp.tensor([3.]))\ntensor([4.])",
       .infer = infer_float,
       .opcode = code(Opcode::logaddexp2),
       .vjp = {{"self", "self other",
                [](const Backward& b) { return share(b, 0, 1, std::numbers::ln2); }},
               {"other", "self other",
                [](const Backward& b) { return share(b, 1, 0, std::numbers::ln2); }}},
       .onnx = "+ Log of Pow"})));
  r.add(pointwise(
      Types::to_float,
      {.schema = "xlogy(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self * log(other)`, and 0 where `self` is 0.\n\n>>> wisp.xlogy(wisp.tensor([0., 2.]), wisp.tensor([0., 1.]))\ntensor([0., 0.])",
       .infer = infer_to_float,
       .opcode = code(Opcode::xlogy),
       .vjp = {{"self", "self other",
                [](const Backward& b) {
                  return xlogy_self_grad(b, xlogy(b.grad(), b.operand(1)), 0);
                }},
               {"other", "self other",
                [](const Backward& b) { return mul(b.grad(), div(b.operand(0), b.tensor(1))); }}},
       .onnx = "+ Mul of Log",
       .homes = home::function | home::method | home::special}));
  r.add(without_in_place(pointwise(
      Types::to_float,
      {.schema = "xlog1py(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "`self * log1p(other)`, and 0 where `self` is 0.\n\n>>> wisp.special.xlog1py(wisp.tensor([0., 2.]), wisp.tensor([-1., 0.]))\ntensor([0., 0.])",
       .infer = infer_to_float,
       .opcode = code(Opcode::xlog1py),
       .vjp = {{"self", "self other",
                [](const Backward& b) {
                  return xlogy_self_grad(b, invoke<"xlog1py">(b.grad(), b[1]), -1);
                }},
               {"other", "self other",
                [](const Backward& b) {
                  return mul(b.grad(), div(b.operand(0), add(b.tensor(1), 1)));
                }}},
       .onnx = "+ Mul of Log",
       .homes = home::special,
       .node = "SpecialXlog1PyBackward0"})));
}

// --- Complex numbers from parts

void infer_parts(Infer& infer) {
  const DType first = infer.tensor(0).dtype(), second = infer.tensor(1).dtype();
  WISP_CHECK(contains(dtypes::real_math, first) && contains(dtypes::real_math, second),
             "Expected both inputs to be Float or Double tensors but got ", legacy_name(first),
             " and ", legacy_name(second));
  WISP_CHECK(first == second, "Expected object of scalar type ", legacy_name(first),
             " but got scalar type ", legacy_name(second), " for second argument");
  infer_pointwise(infer, Types::same);
  infer.compute = infer.out().dtype = to_complex(first);
}

Tensor real_product(const Tensor& a, const Tensor& b) { return real(mul(conj(a), b)); }

void register_parts(Registry& r) {
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "complex(Tensor real, Tensor imag) -> Tensor",
       .doc =
           "Complex numbers of given real and imaginary parts.\n\n>>> wisp.complex(wisp.tensor([1.]), wisp.tensor([2.]))\ntensor([1.+2.j])",
       .infer = infer_parts,
       .opcode = code(Opcode::make_complex),
       .vjp = {{"real", "", [](const Backward& b) { return real(b.grad()); }},
               {"imag", "", [](const Backward& b) { return imag(b.grad()); }}},
       .jvp = Jvp::transposed,
       .onnx = "+ pairs of real numbers",
       .homes = home::function})));
  r.add(without_in_place(pointwise(
      Types::same,
      {.schema = "polar(Tensor abs, Tensor angle) -> Tensor",
       .doc =
           "Complex numbers of given sizes and angles.\n\n>>> wisp.polar(wisp.tensor([2.]), wisp.tensor([0.]))\ntensor([2.+0.j])",
       .infer = infer_parts,
       .opcode = code(Opcode::polar),
       .vjp = {{"abs", "angle",
                [](const Backward& b) {
                  const Tensor& angle = b.tensor(1);
                  return real_product(b.grad(), invoke<"complex">(cos(angle), sin(angle)));
                }},
               {"angle", "result",
                [](const Backward& b) {
                  return real_product(b.grad(), mul(b.out(), Scalar(std::complex<double>(0, 1))));
                }}},
       .jvp = Jvp::transposed,
       .onnx = "+ pairs of real numbers",
       .homes = home::function})));
}

// --- Composites

Tensor widest(const Arg& x) {
  const bool complex = is_complex(x.tensor().dtype());
  return to(x.tensor(), complex ? DType::complex128 : DType::float64);
}

// `self` to a power in double precision, whatever the dtypes.
void float_power_body(const Args& args, TensorList& outs) {
  const Arg &base = args[0], &exponent = args[1];
  const bool complex = is_complex(result_type(base, exponent));
  WISP_CHECK_TYPE(base.is_tensor() || exponent.is_tensor(),
                  "float_power(): at least one argument must be a Tensor");
  auto wide = [&](const Arg& x) {
    return x.is_tensor()
               ? widest(x)
               : full(IntSpan(), x.scalar(), complex ? DType::complex128 : DType::float64);
  };
  if (!exponent.is_tensor()) return outs.push(pow(wide(base), args.operand(1)));
  outs.push(base.is_tensor() ? pow(wide(base), wide(exponent))
                             : pow(args.operand(0), wide(exponent)));
}

// self * 2^exponent in three steps: 2^exponent alone may be out of range where the product is not.
Tensor times_powers_of_two(const Tensor& self, const Tensor& exponent) {
  const DType dtype = exponent.dtype();
  const double most = 3 * (dtype == DType::float64 ? 1022 : dtype == DType::float16 ? 14 : 126);
  const Tensor all = invoke<"clamp">(exponent, Scalar(-most), Scalar(most));
  const Tensor third = invoke<"trunc">(div(all, 3));
  const Tensor step = pow(Scalar(2.0), third);
  const Tensor rest = pow(Scalar(2.0), sub(all, mul(third, 2)));
  return mul(mul(mul(self, step), step), rest);
}

void register_composites(Registry& r) {
  r.add(
      {.schema = "float_power(Tensor|Scalar self, Tensor|Scalar exponent) -> Tensor",
       .doc =
           "`self ** exponent` in double precision.\n\n>>> wisp.float_power(wisp.tensor([2, 3]), 2)\ntensor([4., 9.], dtype=wisp.float64)",
       .body = float_power_body,
       .onnx = "Pow",
       .traits = trait::in_place | trait::out});
  r.add(
      {.schema = "ldexp(Tensor self, Tensor other) -> Tensor",
       .doc =
           "`self * 2**other`.\n\n>>> wisp.ldexp(wisp.tensor([1.]), wisp.tensor([3]))\ntensor([8.])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor &self = args.tensor(0), &other = args.tensor(1);
             const DType dtype =
                 is_differentiable(self.dtype()) && !is_differentiable(other.dtype()) ? self.dtype()
                 : is_differentiable(other.dtype()) ? other.dtype()
                                                    : default_dtype();
             outs.push(is_differentiable(other.dtype())
                           ? mul(self, pow(Scalar(2.0), other))
                           : times_powers_of_two(self, to(other, to_real(dtype))));
           },
       .onnx = "+ Mul of Pow",
       .traits = trait::in_place | trait::out});
  r.add(
      {.schema = "rsub(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
       .doc =
           "`other - alpha * self`.\n\n>>> wisp.rsub(wisp.tensor([1., 2.]), 10)\ntensor([9., 8.])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(sub(args.operand(1), args.tensor(0), args.scalar(2)));
           },
       .onnx = "Sub",
       .homes = home::function});
}

}  // namespace

void register_binary_math(Registry& r) {
  register_geometry(r);
  register_signs(r);
  register_bounds(r);
  register_divisors(r);
  register_logarithms(r);
  register_parts(r);
  register_composites(r);
}

}  // namespace wisp::ops
