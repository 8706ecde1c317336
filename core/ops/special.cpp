// Special functions of one number, and the names that the module `special` has for common ones.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/map_elements.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

using cpu::Opcode;

constexpr uint32_t everywhere = home::function | home::method;

OpDef without_in_place(OpDef def) {
  def.traits &= ~static_cast<uint32_t>(trait::in_place);
  return def;
}

// One line of a family. Its inputs are real numbers; integers become floats.
struct SpecialFunction {
  const char *schema, *doc;
  Opcode opcode;
  const char* saves;
  VjpFn rule;
  uint32_t homes = everywhere;
  const char* node = nullptr;
};

void infer_real(Infer& infer) {
  infer_pointwise(infer, Types::to_float);
  check_compute(infer, dtypes::real_math);
}

void add(Registry& r, const SpecialFunction& e) {
  OpDef def = pointwise(Types::to_float, {.schema = e.schema,
                                          .doc = e.doc,
                                          .infer = infer_real,
                                          .opcode = code(e.opcode),
                                          .vjp = {{"self", e.saves, e.rule}},
                                          .onnx = "+ several nodes",
                                          .homes = e.homes,
                                          .node = e.node});
  if (!(e.homes & home::method)) def = without_in_place(std::move(def));
  r.add(std::move(def));
}

// --- Degrees, angles and parts

void infer_degrees(Infer& infer) {
  infer_pointwise(infer, Types::to_float);
  WISP_CHECK(!is_complex(infer.compute), infer.name(), " is not supported for complex tensors.");
}

constexpr double degree = std::numbers::pi / 180;

void scale_kernel(const Call& call, double factor) {
  const Arg operands[] = {call[0], Arg(factor)};
  run_pointwise(call, Opcode::mul, operands);
}

void infer_angle(Infer& infer) {
  infer_pointwise(infer, is_complex(infer.tensor(0).dtype()) ? Types::real_part : Types::to_float);
}

// d angle = Im(dz / z); real numbers do not turn.
Tensor angle_grad(const Backward& b) {
  const Tensor& z = b.tensor(0);
  if (!is_complex(z.dtype())) return zeros_like(b.grad());
  const Tensor turned = mul(mul(z, b.grad()), Scalar(std::complex<double>(0, 1)));
  return where(eq(z, 0), Scalar(0), div(turned, square(abs(z))));
}

void register_angles(Registry& r) {
  r.add(pointwise(
      Types::to_float,
      {.schema = "deg2rad(Tensor self) -> Tensor",
       .doc = "Degrees to radians.\n\n>>> wisp.deg2rad(wisp.tensor([180.]))\ntensor([3.1416])",
       .infer = infer_degrees,
       .kernel = [](const Call& c) { scale_kernel(c, degree); },
       .vjp = {{"self", "", [](const Backward& b) { return mul(b.grad(), degree); }}},
       .onnx = "Mul",
       .node = "Deg2RadBackward0"}));
  r.add(pointwise(
      Types::to_float,
      {.schema = "rad2deg(Tensor self) -> Tensor",
       .doc = "Radians to degrees.\n\n>>> wisp.rad2deg(wisp.tensor([3.1416]))\ntensor([180.0004])",
       .infer = infer_degrees,
       .kernel = [](const Call& c) { scale_kernel(c, 1 / degree); },
       .vjp = {{"self", "", [](const Backward& b) { return mul(b.grad(), 1 / degree); }}},
       .onnx = "Mul",
       .node = "Rad2DegBackward0"}));
  r.add(without_in_place(pointwise(
      Types::real_part,
      {.schema = "angle(Tensor self) -> Tensor",
       .doc =
           "The angle of complex numbers; pi for negative real numbers, 0 for others.\n\n>>> wisp.angle(wisp.tensor([-1., 1.]))\ntensor([3.1416, 0.0000])",
       .infer = infer_angle,
       .kernel =
           [](const Call& c) {
             run_pointwise(c, is_complex(c.compute) ? Opcode::angle : Opcode::angle_real);
           },
       .vjp = {{"self", "self", angle_grad}},
       .jvp = Jvp::transposed,
       .onnx = "+ pairs of real numbers"})));
  r.add(
      {.schema = "positive(Tensor self) -> Tensor",
       .doc =
           "`+self`: the tensor itself.\n\n>>> wisp.positive(wisp.tensor([-1., 2.]))\ntensor([-1.,  2.])",
       .body =
           [](const Args& args, TensorList& outs) {
             WISP_CHECK(args.tensor(0).dtype() != DType::bool_,
                        "The `+` operator, on a bool tensor is not supported.");
             outs.push(args.tensor(0));
           },
       .onnx = "Identity"});
  r.add(
      {.schema = "isreal(Tensor self) -> Tensor",
       .doc =
           "Which elements have no imaginary part.\n\n>>> wisp.isreal(wisp.tensor([1+0j, 1j]))\ntensor([ True, False])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             outs.push(is_complex(self.dtype()) ? eq(imag(self), 0)
                                                : ones_like(self, DType::bool_));
           },
       .onnx = "+ pairs of real numbers"});
}

// --- nan_to_num(self, nan, posinf, neginf)

void nan_to_num_kernel(const Call& call) {
  const DType dtype = to_real(call.out().dtype());
  if (!is_floating(dtype)) return scale_kernel(call, 1);
  const double largest = visit<dtypes::floating>(dtype, "nan_to_num", [&]<class T>() -> double {
    if constexpr (std::is_same_v<T, Half>) return 65504;
    if constexpr (std::is_same_v<T, BFloat16>) return 0x1.fep127;
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::max();
  });
  cpu::Params params;
  params.values[0] = call.has(1) ? call.real(1) : 0;
  params.values[1] = call.has(2) ? call.real(2) : largest;
  params.values[2] = call.has(3) ? call.real(3) : -largest;
  const Arg self[] = {call[0]};
  run_pointwise(call, Opcode::nan_to_num, self, params);
}

// --- sinc and logit

// sin(z) / z with z = pi x; flat at 0, and so near to it that z x is 0.
Tensor sinc_grad(const Backward& b) {
  const Tensor& x = b.tensor(0);
  const Tensor z = mul(x, std::numbers::pi);
  const Tensor square = mul(z, x);
  const Tensor slope = div(sub(mul(z, cos(z)), sin(z)), square);
  return where(eq(square, 0), Scalar(0), mul(b.grad(), conj(slope)));
}

void logit_kernel(const Call& call) {
  cpu::Params params;
  params.values[0] = call.has(1) ? call.real(1) : -1;  // none
  const Arg self[] = {call[0]};
  run_pointwise(call, Opcode::logit, self, params);
}

// Flat where the input was pulled inside by eps; without eps there is no value outside [0, 1].
Tensor logit_grad(const Backward& b) {
  const Tensor& x = b.tensor(0);
  const double low = b.has(1) ? b.real(1) : 0;
  const Tensor inside = logical_and(ge(x, low), le(x, 1 - low));
  const Tensor slope = div(b.grad(), mul(x, sub(Scalar(1), x)));
  return where(inside, slope, Scalar(b.has(1) ? 0 : std::numeric_limits<double>::quiet_NaN()));
}

void register_common(Registry& r) {
  r.add(pointwise(
      Types::same,
      {.schema =
           "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
       .doc =
           "Replaces NaN by `nan` (0) and infinities by the given or the outermost finite numbers.\n\n"
           ">>> wisp.nan_to_num(wisp.tensor([float('nan'), float('inf'), 2.]), posinf=9)\ntensor([0., 9., 2.])",
       .kernel = nan_to_num_kernel,
       .vjp = {{"self", "self",
                [](const Backward& b) {
                  return where(isfinite(b.tensor(0)), b.grad(), Scalar(0));
                }}},
       .onnx = "+ Where of IsNaN and IsInf"}));
  r.add(pointwise(
      Types::to_float,
      {.schema = "sinc(Tensor self) -> Tensor",
       .doc =
           "`sin(pi * self) / (pi * self)`, and 1 at 0.\n\n>>> wisp.sinc(wisp.tensor([0., 0.5]))\ntensor([1.0000, 0.6366])",
       .opcode = code(Opcode::sinc),
       .vjp = {{"self", "self", sinc_grad}},
       .onnx = "+ Div of Sin",
       .homes = everywhere | home::special}));
  r.add(pointwise(
      Types::to_float,
      {.schema = "logit(Tensor self, float? eps=None) -> Tensor",
       .doc =
           "`log(self / (1 - self))`, of `self` held within eps and 1 - eps.\n\n>>> wisp.logit(wisp.tensor([0.5, 0.75]))\ntensor([0.0000, 1.0986])",
       .infer = infer_real,
       .kernel = logit_kernel,
       .vjp = {{"self", "self eps", logit_grad}},
       .onnx = "+ Log of Div",
       .homes = everywhere | home::special}));
}

// --- Gamma functions

void polygamma_kernel(const Call& call) {
  cpu::Params params;
  params.values[0] = static_cast<double>(call.integer(0));
  const Arg self[] = {call[1]};
  run_pointwise(call, call.integer(0) == 0 ? Opcode::digamma : Opcode::polygamma, self, params);
}

void infer_polygamma(Infer& infer) {
  infer_real(infer);
  WISP_CHECK(infer.integer(0) >= 0, "polygamma(n, x) does not support negative n.");
}

// log(Gamma_p(x)), the sum of lgamma(x - j/2) for j < p and a constant.
void mvlgamma_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t p = args.integer(1);
  WISP_CHECK(p >= 1, "p has to be greater than or equal to 1");
  constexpr int64_t most = 1 << 20;  // nobody waits for the end of more
  WISP_CHECK(p <= most, "mvlgamma(): expected p of at most ", most, ", got ", p);
  Tensor sum;
  for (int64_t j = 0; j < p; ++j) {
    const Tensor term = lgamma(sub(self, static_cast<double>(j) / 2));
    sum = sum.defined() ? wisp::ops::add(sum, term) : term;
  }
  outs.push(wisp::ops::add(sum, static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi) / 4));
}

void register_gamma(Registry& r) {
  add(r,
      {"lgamma(Tensor self) -> Tensor",
       "The logarithm of the absolute value of the gamma function.\n\n>>> wisp.lgamma(wisp.tensor([1., 5.]))\ntensor([0.0000, 3.1781])",
       Opcode::lgamma, "self",
       [](const Backward& b) { return mul(b.grad(), digamma(b.tensor(0))); }});
  add(r,
      {"digamma(Tensor self) -> Tensor",
       "The derivative of lgamma.\n\n>>> wisp.digamma(wisp.tensor([1., 0.5]))\ntensor([-0.5772, -1.9635])",
       Opcode::digamma, "self",
       [](const Backward& b) { return mul(b.grad(), polygamma(1, b.tensor(0))); },
       everywhere | home::special});
  r.add(without_in_place(pointwise(
      Types::to_float,
      {.schema = "polygamma(int n, Tensor self) -> Tensor",
       .doc =
           "The n-th derivative of digamma.\n\n>>> wisp.polygamma(1, wisp.tensor([1., 0.5]))\ntensor([1.6449, 4.9348])",
       .infer = infer_polygamma,
       .kernel = polygamma_kernel,
       .vjp = {{"self", "n self",
                [](const Backward& b) {
                  return mul(b.grad(), polygamma(b.integer(0) + 1, b.tensor(1)));
                }}},
       .onnx = "+ several nodes",
       .homes = everywhere | home::special})));
  r.add(
      {.schema = "mvlgamma(Tensor self, int p) -> Tensor",
       .doc =
           "The logarithm of the multivariate gamma function of dimension p.\n\n>>> wisp.mvlgamma(wisp.tensor([3.]), 2)\ntensor([1.5502])",
       .body = mvlgamma_body,
       .onnx = "+ several nodes",
       .traits = trait::in_place | trait::out});
}

// --- Bessel functions

// Derivatives with x in the denominator have this limit at 0. They divide by 1 there instead, so
// that their own derivatives come out finite.
Tensor half_at_zero(const Tensor& x, const Tensor& slope) {
  return where(eq(x, 0), Scalar(0.5), slope);
}
Tensor one_at_zero(const Tensor& x) { return where(eq(x, 0), Scalar(1), x); }

void register_bessel(Registry& r) {
  add(r,
      {"i0(Tensor self) -> Tensor",
       "The modified Bessel function of order 0.\n\n>>> wisp.i0(wisp.tensor([0., 1.]))\ntensor([1.0000, 1.2661])",
       Opcode::i0, "self",
       [](const Backward& b) { return mul(b.grad(), invoke<"i1">(b.tensor(0))); },
       everywhere | home::special});
  add(r,
      {"i0e(Tensor self) -> Tensor",
       "`exp(-|self|) * i0(self)`.\n\n>>> wisp.special.i0e(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.4658])",
       Opcode::i0e, "self result",
       [](const Backward& b) {
         const Tensor& x = b.tensor(0);
         return mul(b.grad(), sub(invoke<"i1e">(x), mul(sgn(x), b.out())));
       },
       home::special, "SpecialI0EBackward0"});
  add(r,
      {"i1(Tensor self) -> Tensor",
       "The modified Bessel function of order 1.\n\n>>> wisp.special.i1(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.5652])",
       Opcode::i1, "self result",
       [](const Backward& b) {
         const Tensor& x = b.tensor(0);
         return mul(b.grad(), half_at_zero(x, sub(invoke<"i0">(x), div(b.out(), one_at_zero(x)))));
       },
       home::special, "SpecialI1Backward0"});
  add(r,
      {"i1e(Tensor self) -> Tensor",
       "`exp(-|self|) * i1(self)`.\n\n>>> wisp.special.i1e(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.2079])",
       Opcode::i1e, "self result",
       [](const Backward& b) {
         const Tensor& x = b.tensor(0);
         const Tensor rest = mul(b.out(), wisp::ops::add(sgn(x), reciprocal(one_at_zero(x))));
         return mul(b.grad(), half_at_zero(x, sub(invoke<"i0e">(x), rest)));
       },
       home::special, "SpecialI1EBackward0"});
}

// --- The normal distribution and entropy

constexpr double sqrt_half = std::numbers::sqrt2 / 2;
const double sqrt_2pi = std::sqrt(2 * std::numbers::pi);

void register_normal(Registry& r) {
  add(r,
      {"erfcx(Tensor self) -> Tensor",
       "`exp(self**2) * erfc(self)`, without overflow.\n\n>>> wisp.special.erfcx(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.4276])",
       Opcode::erfcx, "self result",
       [](const Backward& b) {
         return mul(b.grad(), mul(sub(mul(b.tensor(0), b.out()), std::numbers::inv_sqrtpi), 2));
       },
       home::special, "SpecialErfcxBackward0"});
  add(r,
      {"log_ndtr(Tensor self) -> Tensor",
       "The logarithm of the normal distribution function.\n\n>>> wisp.special.log_ndtr(wisp.tensor([0., -10.]))\ntensor([ -0.6931, -53.2313])",
       Opcode::log_ndtr, "self",
       [](const Backward& b) {
         return mul(div(b.grad(), invoke<"erfcx">(mul(b.tensor(0), -sqrt_half))), 2 / sqrt_2pi);
       },
       home::special, "SpecialLogNdtrBackward0"});
  add(r,
      {"ndtri(Tensor self) -> Tensor",
       "Quantiles of the normal distribution.\n\n>>> wisp.special.ndtri(wisp.tensor([0.5, 0.975]))\ntensor([0.0000, 1.9600])",
       Opcode::ndtri, "result",
       [](const Backward& b) { return mul(b.grad(), mul(exp(div(square(b.out()), 2)), sqrt_2pi)); },
       home::special, "SpecialNdtriBackward0"});
  add(r,
      {"entr(Tensor self) -> Tensor",
       "`-self * log(self)`; 0 at 0 and -inf below.\n\n>>> wisp.special.entr(wisp.tensor([0., 0.5]))\ntensor([0.0000, 0.3466])",
       Opcode::entr, "self",
       [](const Backward& b) { return mul(b.grad(), sub(neg(log(b.tensor(0))), 1)); },
       home::special, "SpecialEntrBackward0"});
  r.add(
      {.schema = "ndtr(Tensor self) -> Tensor",
       .doc =
           "The normal distribution function.\n\n>>> wisp.special.ndtr(wisp.tensor([0., 1.]))\ntensor([0.5000, 0.8413])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(mul(erfc(mul(args.tensor(0), -sqrt_half)), 0.5)); },
       .onnx = "+ Erf",
       .traits = trait::out,
       .homes = home::special});
  r.add(without_in_place(pointwise(
      Types::to_float,
      {.schema = "zeta(Tensor|Scalar self, Tensor|Scalar other) -> Tensor",
       .doc =
           "Hurwitz's zeta function: the sum of `(other + k) ** -self` over k >= 0.\n\n>>> wisp.special.zeta(wisp.tensor([2.]), 1)\ntensor([1.6449])",
       .infer = infer_real,
       .opcode = code(Opcode::zeta),
       .vjp = {{"self", "", [](const Backward&) -> Tensor { no_derivative("zeta"); }},
               {"other", "self other",
                [](const Backward& b) {
                  const Tensor s = b[0].is_tensor()
                                       ? b.tensor(0)
                                       : full(IntSpan(), b.scalar(0), b.tensor(1).dtype());
                  return neg(
                      mul(b.grad(), mul(s, invoke<"zeta">(wisp::ops::add(s, 1), b.tensor(1)))));
                }}},
       .onnx = "+ several nodes",
       .homes = home::special,
       .node = "SpecialZetaBackward0"})));
}

// --- frexp(self) -> (mantissa, exponent)

void infer_frexp(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(is_floating(self.dtype()), "torch.frexp() only supports floating-point dtypes");
  infer.push(self.sizes(), self.dtype(), self.device());
  infer.push(self.sizes(), DType::int32, self.device());
}

// A normal number is taken apart by its bits; of the others, the library knows.
template <class T>
T split_power(T x, int32_t* power) {
  constexpr bool single = sizeof(T) == 4;
  using Bits = std::conditional_t<single, uint32_t, uint64_t>;
  constexpr int mantissa = single ? 23 : 52, largest = single ? 255 : 2047, half = largest / 2 - 1;
  const Bits bits = std::bit_cast<Bits>(x);
  const int exponent = static_cast<int>(bits >> mantissa) & largest;
  if (exponent == 0 || exponent == largest) {
    *power = 0;
    return std::frexp(x, power);
  }
  *power = exponent - half;
  return std::bit_cast<T>((bits & ~(Bits(largest) << mantissa)) | Bits(half) << mantissa);
}

void frexp_kernel(const Call& call) {
  const Tensor self = consecutive(call.tensor(0));
  visit<dtypes::floating>(self.dtype(), "frexp", [&]<class T>() {
    const T* x = self.data<T>();
    T* mantissa = call.out(0).data<T>();
    int32_t* exponent = call.out(1).data<int32_t>();
    parallel_for(self.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      for (int64_t i = begin; i < end; ++i)
        mantissa[i] = convert<T>(split_power(convert<Wide>(x[i]), exponent + i));
    });
  });
}

void register_frexp(Registry& r) {
  r.add(
      {.schema = "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)",
       .doc =
           "Numbers from 0.5 to 1 and whole exponents with `self == mantissa * 2**exponent`.\n\n>>> wisp.frexp(wisp.tensor([3.])).exponent\ntensor([2], dtype=wisp.int32)",
       .infer = infer_frexp,
       .kernel = frexp_kernel,
       .vjp = {{"self", "result1",
                [](const Backward& b) {
                  return div(b.grad(), invoke<"exp2">(to(b.out(1), b.grad().dtype())));
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ several nodes",
       .traits = trait::out});
}

// --- Other names in the module

void register_names(Registry& r) {
  for (const char* name :
       {"erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "round", "round.decimals"}) {
    r.add_home(name, home::special);
  }
  r.add({.schema = "expit(Tensor self) -> Tensor",
         .doc = "sigmoid.\n\n>>> wisp.special.expit(wisp.tensor([0.]))\ntensor([0.5000])",
         .body = [](const Args& args, TensorList& outs) { outs.push(sigmoid(args.tensor(0))); },
         .onnx = "Sigmoid",
         .traits = trait::out,
         .homes = home::special});
  r.add({.schema = "psi(Tensor self) -> Tensor",
         .doc = "digamma.\n\n>>> wisp.special.psi(wisp.tensor([1.]))\ntensor([-0.5772])",
         .body = [](const Args& args, TensorList& outs) { outs.push(digamma(args.tensor(0))); },
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
  r.add({.schema = "gammaln(Tensor self) -> Tensor",
         .doc = "lgamma.\n\n>>> wisp.special.gammaln(wisp.tensor([5.]))\ntensor([3.1781])",
         .body = [](const Args& args, TensorList& outs) { outs.push(lgamma(args.tensor(0))); },
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
  r.add(
      {.schema = "multigammaln(Tensor self, int p) -> Tensor",
       .doc = "mvlgamma.\n\n>>> wisp.special.multigammaln(wisp.tensor([3.]), 2)\ntensor([1.5502])",
       .body = mvlgamma_body,
       .onnx = "+ several nodes",
       .traits = trait::out,
       .homes = home::special});
}

}  // namespace

void register_special(Registry& r) {
  register_angles(r);
  register_common(r);
  register_gamma(r);
  register_bessel(r);
  register_normal(r);
  register_frexp(r);
  register_names(r);
}

}  // namespace wisp::ops
