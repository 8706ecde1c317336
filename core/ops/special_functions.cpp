// Special functions that are called once per element: Bessel and Airy functions, incomplete gamma
// functions and orthogonal polynomials.
#include "cpu/bessel.h"
#include "cpu/gamma.h"
#include "cpu/polynomials.h"
#include "ops/families.h"
#include "ops/map_elements.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

void infer_function(Infer& infer) {
  infer_pointwise(infer, Types::to_float);
  check_compute(infer, dtypes::real_math);
}

OpDef function(OpDef def) {
  if (!def.infer) def.infer = infer_function;
  if (!def.onnx[0]) def.onnx = "+ several nodes";
  def = pointwise(Types::to_float, std::move(def));
  if (!(def.homes & home::method)) def.traits &= ~static_cast<uint32_t>(trait::in_place);
  return def;
}

// --- Functions of one number, without derivatives

template <double (*F)(double)>
void unary_kernel(const Call& call) {
  map_one(call, [](auto x) { return F(static_cast<double>(x)); });
}

struct Unary {
  const char *schema, *doc;
  KernelFn kernel;
};

constexpr Unary unaries[] = {
    {"special_airy_ai(Tensor self) -> Tensor",
     "Airy's function Ai.\n\n>>> wisp.special.airy_ai(wisp.tensor([0., 1.]))\n"
     "tensor([0.3550, 0.1353])",
     unary_kernel<cpu::airy_ai>},
    {"special_bessel_j0(Tensor self) -> Tensor",
     "The Bessel function of the first kind of order 0.\n\n"
     ">>> wisp.special.bessel_j0(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.7652])",
     unary_kernel<cpu::bessel_j0>},
    {"special_bessel_j1(Tensor self) -> Tensor",
     "The Bessel function of the first kind of order 1.\n\n"
     ">>> wisp.special.bessel_j1(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.4401])",
     unary_kernel<cpu::bessel_j1>},
    {"special_bessel_y0(Tensor self) -> Tensor",
     "The Bessel function of the second kind of order 0.\n\n"
     ">>> wisp.special.bessel_y0(wisp.tensor([1., 2.]))\ntensor([0.0883, 0.5104])",
     unary_kernel<cpu::bessel_y0>},
    {"special_bessel_y1(Tensor self) -> Tensor",
     "The Bessel function of the second kind of order 1.\n\n"
     ">>> wisp.special.bessel_y1(wisp.tensor([1., 2.]))\ntensor([-0.7812, -0.1070])",
     unary_kernel<cpu::bessel_y1>},
    {"special_modified_bessel_k0(Tensor self) -> Tensor",
     "The modified Bessel function of the second kind of order 0.\n\n"
     ">>> wisp.special.modified_bessel_k0(wisp.tensor([1., 2.]))\ntensor([0.4210, 0.1139])",
     unary_kernel<cpu::bessel_k0>},
    {"special_modified_bessel_k1(Tensor self) -> Tensor",
     "The modified Bessel function of the second kind of order 1.\n\n"
     ">>> wisp.special.modified_bessel_k1(wisp.tensor([1., 2.]))\ntensor([0.6019, 0.1399])",
     unary_kernel<cpu::bessel_k1>},
    {"special_scaled_modified_bessel_k0(Tensor self) -> Tensor",
     "`exp(self) * modified_bessel_k0(self)`.\n\n"
     ">>> wisp.special.scaled_modified_bessel_k0(wisp.tensor([1., 2.]))\ntensor([1.1445, 0.8416])",
     unary_kernel<cpu::scaled_bessel_k0>},
    {"special_scaled_modified_bessel_k1(Tensor self) -> Tensor",
     "`exp(self) * modified_bessel_k1(self)`.\n\n"
     ">>> wisp.special.scaled_modified_bessel_k1(wisp.tensor([1., 2.]))\ntensor([1.6362, 1.0335])",
     unary_kernel<cpu::scaled_bessel_k1>},
    {"special_spherical_bessel_j0(Tensor self) -> Tensor",
     "`sin(self) / self`, and 1 at 0.\n\n"
     ">>> wisp.special.spherical_bessel_j0(wisp.tensor([0., 1.]))\ntensor([1.0000, 0.8415])",
     unary_kernel<cpu::spherical_bessel_j0>},
};

// i0 and i1 under the names that have no limit at infinity.
template <OpName Name>
void modified_bessel_i(const Args& args, TensorList& outs) {
  const Tensor self = detach(args.tensor(0)), value = invoke<Name>(self);
  outs.push(where(invoke<"isinf">(self), Scalar(std::nan("")), value));
}

void register_bessel_functions(Registry& r) {
  for (const Unary& entry : unaries) {
    r.add(function({.schema = entry.schema,
                    .doc = entry.doc,
                    .kernel = entry.kernel,
                    .homes = home::special}));
  }
  r.add({.schema = "special_modified_bessel_i0(Tensor self) -> Tensor",
         .doc =
             "The modified Bessel function of the first kind of order 0; NaN at infinity.\n\n"
             ">>> wisp.special.modified_bessel_i0(wisp.tensor([0., 1.]))\ntensor([1.0000, 1.2661])",
         .body = modified_bessel_i<"i0">,
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
  r.add({.schema = "special_modified_bessel_i1(Tensor self) -> Tensor",
         .doc =
             "The modified Bessel function of the first kind of order 1; NaN at infinity.\n\n"
             ">>> wisp.special.modified_bessel_i1(wisp.tensor([0., 1.]))\ntensor([0.0000, 0.5652])",
         .body = modified_bessel_i<"i1">,
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
}

// --- Orthogonal polynomials: (x, n) -> value, without derivatives

template <class F>
void polynomial_kernel(const Call& call, F f) {
  map_two(call, [f](auto x, auto n) { return f(x, convert<int64_t>(n)); });
}

struct Polynomial {
  const char *schema, *doc;
  KernelFn kernel;
};

#define WISP_POLYNOMIAL(function, argument)                                                \
  [](const Call& call) {                                                                   \
    polynomial_kernel(call, [](auto x, int64_t n) { return cpu::function(argument, n); }); \
  }

constexpr Polynomial polynomials[] = {
    {"special_chebyshev_polynomial_t(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the first kind.\n\n"
     ">>> wisp.special.chebyshev_polynomial_t(wisp.tensor([0.5, 2.]), 2)\ntensor([-0.5000,  7.0000])",
     WISP_POLYNOMIAL(chebyshev_t, x)},
    {"special_chebyshev_polynomial_u(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the second kind.\n\n"
     ">>> wisp.special.chebyshev_polynomial_u(wisp.tensor([0.5, 2.]), 2)\ntensor([ 0., 15.])",
     WISP_POLYNOMIAL(chebyshev_u, x)},
    {"special_chebyshev_polynomial_v(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the third kind.\n\n"
     ">>> wisp.special.chebyshev_polynomial_v(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 11.])",
     WISP_POLYNOMIAL(chebyshev_v, x)},
    {"special_chebyshev_polynomial_w(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the fourth kind.\n\n"
     ">>> wisp.special.chebyshev_polynomial_w(wisp.tensor([0.5, 2.]), 2)\ntensor([ 1., 19.])",
     WISP_POLYNOMIAL(chebyshev_w, x)},
    {"special_shifted_chebyshev_polynomial_t(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the first kind, of `2 * self - 1`.\n\n"
     ">>> wisp.special.shifted_chebyshev_polynomial_t(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 17.])",
     WISP_POLYNOMIAL(chebyshev_t, x + x - 1)},
    {"special_shifted_chebyshev_polynomial_u(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the second kind, of `2 * self - 1`.\n\n"
     ">>> wisp.special.shifted_chebyshev_polynomial_u(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 35.])",
     WISP_POLYNOMIAL(chebyshev_u, x + x - 1)},
    {"special_shifted_chebyshev_polynomial_v(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the third kind, of `2 * self - 1`.\n\n"
     ">>> wisp.special.shifted_chebyshev_polynomial_v(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 29.])",
     WISP_POLYNOMIAL(chebyshev_v, x + x - 1)},
    {"special_shifted_chebyshev_polynomial_w(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Chebyshev polynomials of the fourth kind, of `2 * self - 1`.\n\n"
     ">>> wisp.special.shifted_chebyshev_polynomial_w(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 41.])",
     WISP_POLYNOMIAL(chebyshev_w, x + x - 1)},
    {"special_hermite_polynomial_h(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Hermite polynomials of the physicists.\n\n"
     ">>> wisp.special.hermite_polynomial_h(wisp.tensor([0.5, 2.]), 2)\ntensor([-1., 14.])",
     WISP_POLYNOMIAL(hermite_h, x)},
    {"special_hermite_polynomial_he(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Hermite polynomials of the probabilists.\n\n"
     ">>> wisp.special.hermite_polynomial_he(wisp.tensor([0.5, 2.]), 2)\ntensor([-0.7500,  3.0000])",
     WISP_POLYNOMIAL(hermite_he, x)},
    {"special_laguerre_polynomial_l(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Laguerre polynomials.\n\n"
     ">>> wisp.special.laguerre_polynomial_l(wisp.tensor([0.5, 2.]), 2)\ntensor([ 0.1250, -1.0000])",
     WISP_POLYNOMIAL(laguerre_l, x)},
    {"special_legendre_polynomial_p(Tensor|Scalar self, Tensor|Scalar n) -> Tensor",
     "Legendre polynomials.\n\n"
     ">>> wisp.special.legendre_polynomial_p(wisp.tensor([0.5, 2.]), 2)\ntensor([-0.1250,  5.5000])",
     WISP_POLYNOMIAL(legendre_p, x)},
};
#undef WISP_POLYNOMIAL

void register_polynomials(Registry& r) {
  for (const Polynomial& entry : polynomials) {
    r.add(function({.schema = entry.schema,
                    .doc = entry.doc,
                    .kernel = entry.kernel,
                    .homes = home::special}));
  }
}

// --- Incomplete gamma functions

void infer_igamma(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::real_math);
}

// The derivative by the second argument, x^(a-1) e^-x / gamma(a). In double precision, since the
// terms of the exponent cancel where a is large.
Tensor density(const Backward& b) {
  const Tensor a = to(b.tensor(0), DType::float64), x = to(b.tensor(1), DType::float64);
  const Tensor value = exp(sub(sub(mul(sub(a, 1), log(x)), x), lgamma(a)));
  return mul(b.grad(), to(value, b.grad().dtype()));
}

void register_igamma(Registry& r) {
  r.add(function(
      {.schema = "igamma(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The regularised lower incomplete gamma function P(self, other).\n\n"
           ">>> wisp.igamma(wisp.tensor([1., 2.]), wisp.tensor([1., 1.]))\ntensor([0.6321, 0.2642])",
       .infer = infer_igamma,
       .kernel =
           [](const Call& c) {
             map_two(c, [](auto a, auto x) { return cpu::gamma_p(a, x, sizeof(a) == 4); });
           },
       .vjp = {{"self", "", [](const Backward&) -> Tensor { no_derivative("igamma: input"); }},
               {"other", "self other", density}}}));
  r.add(function(
      {.schema = "igammac(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The regularised upper incomplete gamma function Q(self, other).\n\n"
           ">>> wisp.igammac(wisp.tensor([1., 2.]), wisp.tensor([1., 1.]))\ntensor([0.3679, 0.7358])",
       .infer = infer_igamma,
       .kernel =
           [](const Call& c) {
             map_two(c, [](auto a, auto x) { return cpu::gamma_q(a, x, sizeof(a) == 4); });
           },
       .vjp = {{"self", "", [](const Backward&) -> Tensor { no_derivative("igammac: input"); }},
               {"other", "self other", [](const Backward& b) { return neg(density(b)); }}}}));
  r.add({.schema = "special_gammainc(Tensor self, Tensor other) -> Tensor",
         .doc = "igamma.\n\n"
                ">>> wisp.special.gammainc(wisp.tensor([1.]), wisp.tensor([1.]))\ntensor([0.6321])",
         .body =
             [](const Args& args, TensorList& outs) {
               outs.push(invoke<"igamma">(args.tensor(0), args.tensor(1)));
             },
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
  r.add({.schema = "special_gammaincc(Tensor self, Tensor other) -> Tensor",
         .doc =
             "igammac.\n\n"
             ">>> wisp.special.gammaincc(wisp.tensor([1.]), wisp.tensor([1.]))\ntensor([0.3679])",
         .body =
             [](const Args& args, TensorList& outs) {
               outs.push(invoke<"igammac">(args.tensor(0), args.tensor(1)));
             },
         .onnx = "+ several nodes",
         .traits = trait::out,
         .homes = home::special});
}

}  // namespace

void register_special_functions(Registry& r) {
  register_bessel_functions(r);
  register_polynomials(r);
  register_igamma(r);
}

}  // namespace wisp::ops
