// Trigonometric functions of float and double that the compiler turns into vector code: see
// vmath.h.
#pragma once

#include "cpu/vmath.h"

namespace wisp::cpu::vmath {

// a = n pi/2 + hi + lo with |hi + lo| <= pi/4 and a bit, for a from 0 to the bound; n is in the low
// bits of quadrant.
template <class T>
struct ReducedByHalfPi {
  T hi, lo;
  Bits<T> quadrant;
};

constexpr float kTrigBoundFloat = 0x1p17f;

#ifdef __FMA__
constexpr double kTrigBoundDouble = 0x1p30;

// pi/2 in three parts. a - n kHalfPi is exact, being less than 1 and a multiple of kHalfPi's last
// place.
template <class T>
WISP_INLINE ReducedByHalfPi<T> reduce_half_pi(T a) {
  using F = Format<T>;
  constexpr T kThird = sizeof(T) == 4 ? -0x1.ee59dap-50 : -0x1.f1976b7ed8fbcp-110;
  const T t = fma(a, T(0.63661977236758134), F::kRound), n = t - F::kRound;
  const T r = fma(-n, F::kHalfPi, a), p = n * F::kHalfPiLo, hi = r - p;
  return {hi, fma(-n, kThird, ((r - hi) - p) - fma(n, F::kHalfPiLo, -p)), to_bits(t)};
}
#else
constexpr double kTrigBoundDouble = 0x1p20;

// In double, with pi/2 in two parts.
WISP_INLINE ReducedByHalfPi<float> reduce_half_pi(float a) {
  using F = Format<float>;
  const float t = a * 0.636619772f + F::kRound, n = t - F::kRound;
  const double r = (a - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
  const float hi = static_cast<float>(r);
  return {hi, static_cast<float>(r - hi), to_bits(t)};
}

// pi/2 in three parts of 33 bits, whose products with n are exact, and a rest.
WISP_INLINE ReducedByHalfPi<double> reduce_half_pi(double a) {
  using F = Format<double>;
  const double t = a * 0.63661977236758134 + F::kRound, n = t - F::kRound;
  const double r = a - n * 0x1.921fb544p0;
  const double p = n * 0x1.0b4611a6p-34, s = r - p, sl = (r - s) - p;
  const double q = n * 0x1.3198a2ep-69, hi = s - q;
  return {hi, (((s - hi) - q) + sl) - n * 0x1.b839a252049c1p-104, to_bits(t)};
}
#endif

WISP_INLINE bool needs_slow_sin(float x) { return fabs(x) > kTrigBoundFloat; }
WISP_INLINE bool needs_slow_sin(double x) { return fabs(x) > kTrigBoundDouble; }
template <class T>
WISP_INLINE bool needs_slow_cos(T x) {
  return needs_slow_sin(x);
}
template <class T>
WISP_INLINE bool needs_slow_tan(T x) {
  return needs_slow_sin(x);
}

// (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z^2, where z = r^2.
WISP_INLINE float sin_tail(float z) {
  return horner(z, -0.166666538f, 0.00833210163f, -1.95067798e-4f);
}
WISP_INLINE double sin_tail(double z) {
  return horner(z, -0.16666666666666627, 0.0083333333333210791, -1.9841269828701022e-4,
                2.7557313296306882e-6, -2.5050694570861688e-8, 1.5893029967670293e-10);
}
WISP_INLINE float cos_tail(float z) {
  return horner(z, 0.0416666456f, -0.00138873013f, 2.44306611e-5f);
}
WISP_INLINE double cos_tail(double z) {
  return horner(z, 0.041666666666666588, -0.0013888888888872056, 2.4801587288144733e-5,
                -2.7557313954296827e-7, 2.087566777067786e-9, -1.1356709905360661e-11);
}

template <class T>
struct SinCos {
  T sin, cos;
};

template <class T>
WISP_INLINE SinCos<T> sincos_reduced(T hi, T lo) {
  const T z = hi * hi, h = T(0.5) * z;
  return {hi + fma(hi * z, sin_tail(z), fma(-lo, h, lo)),
          add_tail(T(1), -h, fma(z * z, cos_tail(z), -hi * lo))};
}

// x, negated if bit 1 of the quadrant is set.
template <class T>
WISP_INLINE T quadrant_sign(T x, Bits<T> quadrant) {
  return from_bits(to_bits(x) ^ ((quadrant << (8 * sizeof(T) - 2)) & kSignBit<T>));
}

// x, negated if s has its sign bit set.
template <class T>
WISP_INLINE T multiply_sign(T x, T s) {
  return from_bits(to_bits(x) ^ (to_bits(s) & kSignBit<T>));
}

// Error: float 0.80, double 0.81.
template <class T>
WISP_INLINE T sin(T x) {
  const ReducedByHalfPi<T> r = reduce_half_pi(fabs(x));
  const SinCos<T> y = sincos_reduced(r.hi, r.lo);
  return multiply_sign(quadrant_sign(select_odd(r.quadrant, y.sin, y.cos), r.quadrant), x);
}

// Error: float 0.81, double 0.78.
template <class T>
WISP_INLINE T cos(T x) {
  const ReducedByHalfPi<T> r = reduce_half_pi(fabs(x));
  const SinCos<T> y = sincos_reduced(r.hi, r.lo);
  return quadrant_sign(select_odd(r.quadrant, y.cos, y.sin), r.quadrant + 1);
}

// Sine and cosine of 2 pi u for u from 0 to 1, within 1.5 ulp: what is left of u after whole
// quarters is exact.
template <class T>
WISP_INLINE SinCos<T> sincos_turns(T u) {
  using F = Format<T>;
  const T t = u * T(4) + F::kRound, rest = u * T(4) - (t - F::kRound);
  const Bits<T> quadrant = to_bits(t);
  const SinCos<T> y = sincos_reduced(rest * F::kHalfPi, T(0));
  return {quadrant_sign(select_odd(quadrant, y.sin, y.cos), quadrant),
          quadrant_sign(select_odd(quadrant, y.cos, y.sin), quadrant + 1)};
}

// tan(hi + lo), or its reciprocal if n is odd. For float a polynomial,
// whose rounding error pl is put right in the reciprocal; for double it would be too long.
WISP_INLINE float tan_reduced(float hi, float lo, uint32_t n) {
  const float z = hi * hi;
  const float t = horner(z, 0.333333522f, 0.133325711f, 0.0540709794f, 0.0212226044f, 0.0109955668f,
                         -1.18802796e-4f, 0.00448158383f);
  const float tail = fma(hi * z, t, fma(lo, z, lo)), p = hi + tail, pl = tail - (p - hi);
  const float q = select_odd(n, p, 1.0f) / select_odd(n, 1.0f, p);
  return fma(-q, select_odd(n, 0.0f, q * pl), q);
}
WISP_INLINE double tan_reduced(double hi, double lo, uint64_t n) {
  const SinCos<double> y = sincos_reduced(hi, lo);
  return select_odd(n, y.sin, y.cos) / select_odd(n, y.cos, y.sin);
}

// Negated in odd quadrants. Error: float 1.53, double 2.16.
template <class T>
WISP_INLINE T tan(T x) {
  const ReducedByHalfPi<T> r = reduce_half_pi(fabs(x));
  const T q = tan_reduced(r.hi, r.lo, r.quadrant);
  return multiply_sign(quadrant_sign(q, r.quadrant << 1), x);
}

// c pi/2 + k (1 + tail).
template <class T>
WISP_INLINE T add_half_pi(T c, T k, T tail) {
  using F = Format<T>;
  return add_tail(c * F::kHalfPi, k, fma(k, tail, c * F::kHalfPiLo));
}

// (asin(s) / s - 1) / z, where z = s^2 <= 1/4.
WISP_INLINE float asin_tail(float z) {
  return horner(z, 0.166666597f, 0.0750052109f, 0.0445136353f, 0.0318360403f, 0.0143293869f,
                0.0376725644f);
}
WISP_INLINE double asin_tail(double z) {
  return horner(z, 0.16666666666666763, 0.074999999999701292, 0.044642857175255249,
                0.030381942676814877, 0.022372215861213192, 0.017351596327134594,
                0.01398100835031558, 0.01139737839420126, 0.010788832855213846,
                0.0036740617931825463, 0.021786014921801232, -0.021110087484769037,
                0.032697976706759606);
}

// For |x| > 1/2, pi/2 - 2 asin(s) with s^2 = (1 - |x|) / 2. Error: float 1.12, double 1.10.
template <class T>
WISP_INLINE T asin(T x) {
  const T a = fabs(x);
  const bool large = a > T(0.5);
  const T z = large ? T(0.5) - T(0.5) * a : a * a, k = large ? T(-2) * sqrt(z) : a;
  return copysign(add_half_pi(T(large ? 1 : 0), k, z * asin_tail(z)), x);
}

// For |x| > 1/2, 2 asin(s) or pi minus that. Error: float 1.10, double 1.08.
template <class T>
WISP_INLINE T acos(T x) {
  const T a = fabs(x);
  const bool large = a > T(0.5);
  const T z = large ? T(0.5) - T(0.5) * a : a * a, k = large ? copysign(T(2) * sqrt(z), x) : -x;
  return add_half_pi(large ? T(1) - copysign(T(1), x) : T(1), k, z * asin_tail(z));
}

// (atan(t) / t - 1) / z, where z = t^2 <= 1.
WISP_INLINE float atan_tail(float z) {
  return horner(z, -0.333333015f, 0.199986264f, -0.142650917f, 0.109566562f, -0.0841644704f,
                0.0581776053f, -0.0313937217f, 0.0110284034f, -0.00181854807f);
}
WISP_INLINE double atan_tail(double z) {
  return horner(
      z, -0.33333333333333093, 0.19999999999955451, -0.14285714282801923, 0.11111111013610424,
      -0.090909071180458212, 0.07692281167465552, -0.066664147981325861, 0.058805910935018635,
      -0.052537976028649833, 0.047232605111753583, -0.042216136849196853, 0.036690984734748744,
      -0.029980792688535391, 0.022078277140162656, -0.013987497488949556, 0.0072572938657988707,
      -0.0029158102078618814, 8.4208701793611065e-4, -1.5446080320749892e-4, 1.3452171250694145e-5);
}

// For |x| > 1, pi/2 - atan(1 / |x|). Error: float 1.32, double 1.37.
template <class T>
WISP_INLINE T atan(T x) {
  const T a = fabs(x);
  const bool large = a > T(1);
  const T t = (large ? T(-1) : a) / (large ? a : T(1)), z = t * t;
  return copysign(add_half_pi(T(large ? 1 : 0), t, z * atan_tail(z)), x);
}

// The arctangent of the smaller over the larger, which is at most 1, in the right octant.
// Error: float 1.51, double 1.49.
template <class T>
WISP_INLINE T atan2(T y, T x) {
  const T a = fabs(y), b = fabs(x), side = copysign(T(1), x);
  const bool steep = a > b;
  const T lo = steep ? b : a, hi = steep ? a : b;
  const T q = lo / hi, same = lo > 0 ? T(1) : T(0);  // so that 0/0 is 0 and inf/inf is 1
  const T t = lo == hi ? same : q, z = t * t, k = copysign(t, steep ? -side : side);
  return copysign(add_half_pi(steep ? T(1) : T(1) - side, k, z * atan_tail(z)), y);
}

}  // namespace wisp::cpu::vmath
