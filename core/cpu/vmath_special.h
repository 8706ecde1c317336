// Error and gamma functions of float and double that the compiler turns into vector code: see
// vmath.h.
#pragma once

#include "cpu/vmath.h"

namespace wisp::cpu::vmath {

// ---- Error functions ----------------------------------------------------------------------------

// erf(x) / x - 1, where z = x^2: the first for float functions and |x| <= 1, the second for
// |x| <= 3/4.
template <class T>
WISP_INLINE T erf_tail_short(T z) {
  return horner(z, T(0.128379166f), T(-0.376126289f), T(0.112836182f), T(-0.026855126f),
                T(0.00519073335f), T(-8.03075032e-4f), T(7.92030405e-5f));
}
WISP_INLINE double erf_tail(double z) {
  return horner(z, 0.12837916709551259, -0.37612638903183715, 0.11283791670952632,
                -0.026866170644436818, 0.0052239776155163717, -8.5483261950988407e-4,
                1.2055289823090542e-4, -1.4924202686123974e-5, 1.6430780496040892e-6,
                -1.5940872045220253e-7, 1.1475361080288421e-8);
}

// For |x| >= 1, 1 - 2^-l with a polynomial l for -log2(erfc(|x|)). Error: float 1.43.
WISP_INLINE float erf(float x) {
  constexpr float kRound = Format<float>::kRound;
  const float a = fabs(x), small = fma(a, erf_tail_short(a * a), a);
  const float b = a > 4 ? 4 : a;
  const float l = horner(b, 5.10363665e-4f, 1.62597489f, 0.920765221f, 0.148651421f, -0.0314584374f,
                         0.00424097432f, -2.67730211e-4f);
  const float t = kRound - l, r = ((kRound - t) - l) * kLn2<float>, s = pow2(t);
  return copysign(a < 1 ? small : 1 - fma(s, r + expm1_tail(r, 0.0f), s), x);
}

// The normal distribution function. On the left of 0 it is 2^-(l + 1), with a polynomial l; what
// matters is the absolute error, which is below 2^-24. Polynomials are added up in two parts, which
// do not wait for each other.
WISP_INLINE float normal_cdf(float x) {
  using F = Format<float>;
  const float a = fabs(x), b = a > 9.9f ? 9.9f : a, z = b * b;
  const float even = horner(z, 1.1511052f, 0.052496181f, 0.000136937025f, -3.93776714e-05f);
  const float odd = horner(z, 0.45920819f, -0.00706342096f, 0.000186180056f, 2.8349134e-06f);
  const float l = b * fma(b, odd, even), t = F::kRound - l, r = (F::kRound - t) - l;
  const float half = from_bits((to_bits(t) + (F::kBias - 1)) << F::kMantissa);  // 2^(t - 1)
  const float slope = horner(r, 0.693147188f, 0.240226509f, 0.055503571f, 0.00961805667f,
                             0.00133908674f, 0.000154614475f);  // (2^r - 1) / r
  const float left = a > 9.9f ? 0.0f : fma(half * r, slope, half);
  return x < 0 ? left : 1 - left;
}

// erfc(a) e^(a^2) for a >= 1, or 3/4: a + c times that is a polynomial in t = (a - c) / (a + c).
// The first serves float functions.
WISP_INLINE double erfcx_short(double a) {
  constexpr double kCentre = 2.5;
  const double inverse = 1 / (a + kCentre), t = (a - kCentre) * inverse;
  return inverse * horner(t, 1.0540318200405103, -0.8046518889714398, 0.45391418767043146,
                          -0.17124939741962553, 0.028358828599914947, 0.0083732208867771264,
                          -0.0047867312766798351, -3.6630580110038973e-4, 5.7526831516000105e-4);
}
WISP_INLINE Sum<double> erfcx(double a) {
  constexpr double kCentre = 3.828125, kFirst = 1.0932725406451944;
  const double d = a + kCentre, t = (a - kCentre) / d;
  const double p = horner2(
      t, 0.035386551699542475, 0.74838045435195377, -0.50672605079595545, 0.29545160867367715,
      -0.14490421519237795, 0.057186273764335972, -0.016385111269090053, 0.0022582528222006844,
      6.1414367160483364e-4, -4.224831297728881e-4, 5.9263016051497606e-5, 3.2045831437344749e-5,
      -1.4101330132463516e-5, -1.3461631898088723e-6, 2.058185534866745e-6, -8.6777649656364092e-8,
      -2.7591679787137866e-7, 3.9493439370462233e-8, 2.9962260701645397e-8, -7.9817848345660903e-9);
  const double h = kFirst - t, lo = fma(t, p, (kFirst - h) - t), s = h + lo;
  return {s / d, (lo - (s - h)) * (1 - t) * (0.5 / kCentre)};  // 1 / d is (1 - t) / (2 c)
}

// erfc(x) for x >= 3/4; it is 0 beyond 28. The last bits of x are dropped first, to make the sums
// in erfcx exact, and then made up for by the derivative, -2 / sqrt(pi) e^(-a^2).
WISP_INLINE double erfc_large(double x) {
  const double b = x > 28 ? 28 : x, a = from_bits(to_bits(b) & ~uint64_t(15));
  const Sum<double> p = erfcx(a);
  const double pl = fma(a - b, 1.1283791670955126, p.lo);
  const Sum<double> z = two_prod(a, a);
  const ReducedByLn2<double> r = reduce_ln2(-z.hi);
  return scale(p.hi + fma(r.r + expm1_tail(r.r, r.lo + z.lo), p.hi + pl, pl), r.t);
}

// For |x| >= 3/4, 1 - erfc(|x|), where an absolute error of 2^-56 will do: as above, but shorter.
// Error: double 1.81.
WISP_INLINE double erf(double x) {
  constexpr double kCentre = 2.75;
  const double a = fabs(x), small = fma(a, erf_tail(a * a), a);
  const double b = a > 6 ? 6 : a, inverse = 1 / (b + kCentre), t = (b - kCentre) * inverse;
  const double p =
      inverse * horner(t, 1.0651415295348754, -0.84779700667354552, 0.52660036540934052,
                       -0.2419564259165442, 0.070629489735055478, -0.0046269656480346167,
                       -0.0056823335670317344, 0.0017129467302399975, 4.4365296672342592e-4,
                       -2.8983489115653885e-4, -6.8306191889497815e-5, 3.4263242215964679e-5,
                       1.2599497543027253e-5);
  const ReducedByLn2<double> r = reduce_ln2(-b * b);
  const double large = 1 - fma(p, r.r + expm1_tail(r.r, r.lo), p) * pow2(r.t);
  return copysign(a < 0.75 ? small : large, x);
}

WISP_INLINE double normal_cdf(double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  return 0.5 * (1 + erf(kSqrtHalf * x));
}

// Error: double 2.85.
WISP_INLINE double erfc(double x) {
  const double a = fabs(x), small = add_tail(1.0, -x, -x * erf_tail(a * a));
  const double y = erfc_large(a), large = x < 0 ? 2 - y : y;
  return a < 0.75 ? small : large;
}

// In double. Error: float 0.59.
WISP_INLINE float erfc(float f) {
  const double x = f, a = fabs(x), b = a > 12 ? 12 : a, z = b * b;
  const double small = (1 - x) - x * erf_tail_short(z);
  const double y = erfcx_short(b) * exp2_short(-kLog2E<double> * z), large = x < 0 ? 2 - y : y;
  return static_cast<float>(a < 1 ? small : large);
}

// erfinv(x) / x - 1 as a function of w = -log(1 - x^2): polynomials in w, then in sqrt(w).
WISP_INLINE float erfinv_tail(float w) {
  const float p = horner(w - 1, 0.127374396f, 0.247832894f, 0.00425068801f, -0.00237646629f,
                         1.0017935e-4f, 3.83116567e-5f, -4.36591154e-6f, -5.87235661e-7f,
                         1.69132534e-7f, -1.39114569e-8f, 3.61588287e-10f);
  const float q =
      horner(sqrt(w) - 3, 1.83297682f, 1.00167501f, 0.00944427494f, -0.00763819367f, 0.00569615467f,
             -0.00359506765f, 0.00145794731f, -5.1023253e-5f, -2.83555943e-4f, 1.01395475e-4f);
  return w < 5.25f ? p : q;
}
WISP_INLINE double erfinv_tail(double w) {
  const double p = horner2(w - 4, 0.85877911242697347, 0.22835468533769024, -0.0072210599518378916,
                           -2.0397201750289349e-4, 1.1887778912811167e-4, -1.5515141179723893e-5,
                           4.8654244136932587e-7, 1.7724372458529635e-7, -3.3436458648883734e-8,
                           1.8500520914115184e-9, 2.909948364518588e-10, -7.1763647029903909e-11,
                           5.241841116939604e-12, 4.6597135358196605e-13, -1.5381204132912293e-13,
                           1.3769865614233136e-14, 6.6747642033705098e-16, -3.2717168919714282e-16,
                           3.4978524886985979e-17, 5.3159116951671426e-19, -6.96772186045619e-19,
                           9.86529030494297e-20, -3.578002425149655e-22, -2.1150126075437281e-21,
                           2.2453189078664641e-22, 1.9994069280881401e-23, -4.0202266725025332e-24,
                           -7.1658491216604128e-26, 2.68337087690477e-26);
  const double q = horner2(
      sqrt(w) - 4.375, 3.2184807076529158, 1.0101295523879747, 5.034976081924067e-4,
      -5.1109082040900122e-4, 1.7645686894106306e-4, -5.0733784891842083e-5, 1.5140506393903854e-5,
      -5.8865287525770831e-6, 3.0884508017922561e-6, -1.7482651871875751e-6, 8.8597537583932971e-7,
      -3.6145440602021369e-7, 1.0262351660938038e-7, -8.4792846197858963e-9, -1.0665645400390785e-8,
      7.5033446189522812e-9, -2.6771544806266337e-9, 4.1016157665840396e-10, 1.2057351047841979e-10,
      -9.4203408089573551e-11, 3.0211972859505505e-11, -6.4260612902575363e-12,
      -5.6325056525928264e-13, 1.333159053042694e-12, -3.3418861112061415e-13,
      -4.5048012313030994e-14, 1.9725087731729244e-14);
  return w < 8 ? p : q;
}

// Error: float 2.00, double 2.89.
template <class T>
WISP_INLINE T erfinv(T x) {
  using F = Format<T>;
  const T a = fabs(x), w = -log_normal(split_normal((T(1) - a) * (T(1) + a)));
  const T y = fma(a, erfinv_tail(w), a), edge = a == 1 ? F::kInf : F::kNan;
  return copysign(a < 1 ? y : edge, x);
}

// ---- Gamma functions ----------------------------------------------------------------------------

// For x >= 0. Between 1 and 2.4, (x - 1) (x - 2) times a polynomial, so that the zeros come out
// right; one step of the recurrence leads there from [0, 1) and from (2.4, 3.4). Beyond, Stirling's
// series. Error: double 2.55.
WISP_INLINE double lgamma(double x) {
  constexpr double kInf = Format<double>::kInf;
  const bool low = x < 1, high = x > 2.4, large = x > 3.4;
  const double arg = low ? x : high ? x - 1 : 1;
  const Sum<double> log = log_unrounded(split(large ? x : arg));
  const double u = low ? x : high ? x - 2 : x - 1, v = low ? x - 1 : high ? x - 3 : x - 2;
  const double p = horner2(
      u - 0.75, 0.45013931210925628, -0.11948158662524262, 0.044520447198508908,
      -0.019053957830270633, 0.0087763704253262919, -0.0042261941245784274, 0.0020955338774842867,
      -0.0010605661113760793, 5.4489703348817677e-4, -2.8319007960630549e-4, 1.4851634485609969e-4,
      -7.8466788029701867e-5, 4.1707788283907109e-5, -2.2251088360416827e-5, 1.1942571365965112e-5,
      -6.5580202499780535e-6, 3.5108193328135266e-6, -1.5804214369754766e-6, 9.9856574382536393e-7,
      -1.0696869521529595e-6, 2.8562649373133987e-7, 3.3288705510982187e-7, 1.5143889562167875e-7,
      -2.8157017148372314e-7);
  const double l = log.hi + log.lo, small = fma(u * v, p, low ? -l : l);
  const double i = 1 / x;
  const double q =
      horner(i * i, 0.083333333333320103, -0.0027777777725429757, 7.9365003429715834e-4,
             -5.9518159859189553e-4, 8.3927051123381476e-4, -0.0018483336322330916,
             0.0051257260053122373, -0.012975646430028225, 0.018738119919814139);
  const double rest = fma(i, q, 0.41893853320467274);
  const double series = fma(x - 0.5, log.hi - 1, fma(x - 0.5, log.lo, rest));
  const double y = large ? series : small, edge = x == 0 ? kInf : x;
  return (x > 0) & (x < kInf) ? y : edge;
}

// In double. Error: float 0.50.
WISP_INLINE float lgamma(float x) { return static_cast<float>(lgamma(double(x))); }

template <class T>
WISP_INLINE bool needs_slow_lgamma(T x) {
  return x < 0;
}

// digamma(x) for x >= 0. Between 1 and 2.25, a polynomial times the distance from the zero; one
// step of the recurrence leads there from [0, 1) and from (2.25, 3). Beyond, the asymptotic series.
WISP_INLINE double digamma_positive(double x) {
  const bool low = x < 1, high = x > 2.25, large = x >= 3;
  const double arg = low ? x : x - 1, i = 1 / (large ? x : arg);
  const double s = low ? x + 1 : high ? x - 1 : x, step = low ? -i : high ? i : 0;
  const double zero_distance = (s - 0x1.762d86356be3fp0) - 0x1.b86a722197829p-54;
  const double p = horner2(
      s - 1.625, 0.90159251582821576, -0.36977496445741082, 0.19272012460147311,
      -0.10919698588598357, 0.064262517432287919, -0.038557826794183014, 0.023380439998025606,
      -0.014262521409240956, 0.0087308661971544164, -0.0053557293645262374, 0.003289451938475759,
      -0.0020218745229000396, 0.0012431133766728788, -7.6460980088560759e-4, 4.7165796599220078e-4,
      -2.9037103418668516e-4, 1.735671752609609e-4, -1.0631821383738753e-4, 7.9084577120184206e-5,
      -4.9538036382548537e-5, 7.2974143327422979e-6, -3.5979906183141905e-6, 2.4823150248460631e-5,
      -1.567315739075719e-5);
  const double q = horner(i * i, 0.083333333333311707, -0.0083333333228594406,
                          0.0039682521258934114, -0.0041664995969472266, 0.0075666618012797636,
                          -0.020768745660089127, 0.075327202850573399, -0.29906859143131836,
                          1.0419237433936741, -2.5270983538803202, 3.0013800831562341);
  const double series = log_normal(split_normal(x)) - fma(i * i, q, 0.5 * i);
  const double y = large ? series : fma(zero_distance, p, step);
  return x < Format<double>::kInf ? y : x;
}

// For x < 0, digamma(1 - x) - pi / tan(pi x). The latter is -1 / f minus f times a polynomial in
// the square of f, |x| minus the nearest integer. Error: double 2.70, left of 0 in units of
// the largest of the terms.
WISP_INLINE double digamma(double x) {
  const double a = fabs(x), f = a - rint_positive(a);
  const double c =
      horner(f * f, -3.2898681336964151, -2.1646464674357482, -2.0346861222878596,
             -2.0081548183078919, -2.0019852005940133, -2.0005872682202006, -1.9985661335654077,
             -2.0178753328287402, -1.8545531967435671, -2.8436352932368076, 1.4313338494752295,
             -11.43052548942325, 14.158691381606989, -16.099893798160998);
  const double y = digamma_positive(x < 0 ? 1 - x : x);
  const double reflected = f == 0 ? Format<double>::kNan : fma(f, c, y) + 1 / f;
  return x < 0 ? reflected : y;
}

// In double. Error: float 0.50.
WISP_INLINE float digamma(float x) { return static_cast<float>(digamma(double(x))); }

}  // namespace wisp::cpu::vmath
