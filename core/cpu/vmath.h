// Elementary functions of float and double that the compiler turns into vector code. The error and
// gamma functions are in vmath_special.h, the trigonometric ones in vmath_trig.h.
//
// A kernel calls them in a plain loop. There are no branches, tables, library calls or intrinsics
// in here, only arithmetic, selects and bit operations that every x86-64 level has in vector form:
// no conversions between double and 64-bit integers, no 64-bit integer comparisons, no rounding
// instructions. Each function is right over the whole range of its type, infinities, NaNs, signed
// zeros and denormals included, unless a predicate needs_slow_<fn>(x) stands beside it: where that
// is true the result means nothing, and the kernel has to call the library's function.
//
// Compile with -fno-math-errno -fno-trapping-math, without which the selects become branches, and
// with -ffp-contract=off, never -ffast-math: rounding errors are computed, and must not be
// optimised away. The numbers at the end of a function's comment are the largest errors that
// tests/vmath_test.cpp has found, in units in the last place: for float over every float there is,
// for double over random arguments; in each case the worse of the builds with and without fused
// multiply-add. Coefficients are minimax fits, made with the leading ones rounded first.
#pragma once

#include <cstdint>

#include "base/compiler.h"

namespace wisp::cpu::vmath {

// ---- Building blocks ----------------------------------------------------------------------------

template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr float kMin = 0x1p-126f, kInf = __builtin_inff(), kNan = __builtin_nanf("");
  // The unit in the last place of kUnit is 1. Added to kRound, a number is rounded to an integer,
  // which then stands in the low bits of the sum, in two's complement.
  static constexpr float kUnit = 0x1p23f, kRound = 0x1.8p23f;
  // Any exponent times the high part is exact.
  static constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
  static constexpr float kHalfPi = 0x1.921fb6p0f, kHalfPiLo = -0x1.777a5cp-25f;
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr double kMin = 0x1p-1022, kInf = __builtin_inf(), kNan = __builtin_nan("");
  static constexpr double kUnit = 0x1p52, kRound = 0x1.8p52;
  static constexpr double kLn2Hi = 0x1.62e42fefa38p-1, kLn2Lo = 0x1.ef35793c7673p-45;
  static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLo = 0x1.1a62633145c07p-54;
};

template <class T>
using Bits = typename Format<T>::Bits;

template <class T>
constexpr Bits<T> kSignBit = Bits<T>(1) << (8 * sizeof(T) - 1);
template <class T>
constexpr Bits<T> kMantissaMask = (Bits<T>(1) << Format<T>::kMantissa) - 1;
template <class T>
constexpr T kLn2 = 0.69314718055994531;
template <class T>
constexpr T kLog2E = 1.4426950408889634;

// An unevaluated sum: lo is small beside hi.
template <class T>
struct Sum {
  T hi, lo;
};

WISP_INLINE constexpr uint32_t to_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
WISP_INLINE constexpr uint64_t to_bits(double x) { return __builtin_bit_cast(uint64_t, x); }
WISP_INLINE constexpr float from_bits(uint32_t i) { return __builtin_bit_cast(float, i); }
WISP_INLINE constexpr double from_bits(uint64_t i) { return __builtin_bit_cast(double, i); }

WISP_INLINE float fabs(float x) { return __builtin_fabsf(x); }
WISP_INLINE double fabs(double x) { return __builtin_fabs(x); }
WISP_INLINE float copysign(float x, float s) { return __builtin_copysignf(x, s); }
WISP_INLINE double copysign(double x, double s) { return __builtin_copysign(x, s); }
WISP_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
WISP_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

// a b + c, rounded once where there is an instruction for it and twice where there is not. Only
// code under #ifdef __FMA__ may depend on the single rounding.
#ifdef __FMA__
WISP_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WISP_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
WISP_INLINE float fma(float a, float b, float c) { return a * b + c; }
WISP_INLINE double fma(double a, double b, double c) { return a * b + c; }
#endif

// c0 + c1 x + c2 x^2 + ...
template <class T>
WISP_INLINE T horner(T, T c0) {
  return c0;
}
template <class T, class... C>
WISP_INLINE T horner(T x, T c0, C... c) {
  return fma(x, horner(x, c...), c0);
}

// The same, but from c2 on in two chains, of the even and of the odd powers. A function with a long
// polynomial has so many instructions that few elements are in flight at a time: it waits for the
// chain. The first two coefficients stay outside for accuracy.
template <class T>
WISP_INLINE T every_other(T, T c0) {
  return c0;
}
template <class T>
WISP_INLINE T every_other(T, T c0, T) {
  return c0;
}
template <class T, class... C>
WISP_INLINE T every_other(T z, T c0, T, C... c) {
  return fma(z, every_other(z, c...), c0);
}
template <class T, class... C>
WISP_INLINE T horner2(T x, T c0, T c1, T c2, C... c) {
  const T z = x * x, p = fma(x, every_other(z, c...), every_other(z, c2, c...));
  return fma(x, fma(x, p, c1), c0);
}

// a + b + tail, without losing the rounding error of a + b. |a| >= |b|, or a = 0; tail is small.
template <class T>
WISP_INLINE T add_tail(T a, T b, T tail) {
  const T h = a + b;
  return h + (tail + ((a - h) + b));
}

// a b, exactly.
WISP_INLINE Sum<double> two_prod(double a, double b) {
  const double hi = a * b;
#ifdef __FMA__
  return {hi, fma(a, b, -hi)};
#else
  constexpr uint64_t kHigh = ~uint64_t(0) << 27;
  const double ah = from_bits(to_bits(a) & kHigh), al = a - ah;
  const double bh = from_bits(to_bits(b) & kHigh), bl = b - bh;
  return {hi, ((ah * bh - hi) + (ah * bl + al * bh)) + al * bl};
#endif
}

template <class T>
WISP_INLINE T clamp_abs(T x, T bound) {
  return fabs(x) > bound ? copysign(bound, x) : x;
}

// The lowest bit of n ? b : a.
template <class T>
WISP_INLINE T select_odd(Bits<T> n, T a, T b) {
  const Bits<T> mask = -(n & 1);
  return from_bits((to_bits(a) & ~mask) | (to_bits(b) & mask));
}

// The integer nearest to a >= 0.
template <class T>
WISP_INLINE T rint_positive(T a) {
  constexpr T kUnit = Format<T>::kUnit;
  const T r = (a + kUnit) - kUnit;
  return a < kUnit ? r : a;
}

// ---- Exponentials -------------------------------------------------------------------------------

// 2^n, given t = kRound + n.
template <class T>
WISP_INLINE T pow2(T t) {
  using F = Format<T>;
  return from_bits((to_bits(t) + F::kBias) << F::kMantissa);
}

// p 2^n, given t = kRound + n. The power is applied in two halves: the result may be a denormal,
// rounded once, or overflow to infinity.
template <class T>
WISP_INLINE T scale(T p, T t) {
  using F = Format<T>;
  const Bits<T> n = to_bits(t) - (to_bits(F::kRound) - 2 * F::kBias), half = n >> 1;
  return p * from_bits(half << F::kMantissa) * from_bits((n - half) << F::kMantissa);
}

// (cosh(r) - 1) / z and (sinh(r) / r - 1) / z, where z = r^2 and |r| <= ln(2) / 2.
WISP_INLINE float cosh_tail(float z) { return horner(z, 0.5f, 0.0416664518f, 0.00139362703f); }
WISP_INLINE double cosh_tail(double z) {
  return horner(z, 0.5, 0.041666666666666685, 0.0013888888888873041, 2.4801587350111536e-5,
                2.7557250734156674e-7, 2.0922186596831756e-9);
}
WISP_INLINE float sinh_tail(float z) {
  return horner(z, 0.166666672f, 0.0083332872f, 1.99062299e-4f);
}
WISP_INLINE double sinh_tail(double z) {
  return horner(z, 0.16666666666666677, 0.0083333333333211503, 1.984126988783556e-4,
                2.7557242093252375e-6, 2.5109889823211796e-8);
}

// x = n ln(2) + r - lo with |r - lo| <= ln(2) / 2. r is exact; t = kRound + n.
template <class T>
struct ReducedByLn2 {
  T t, r, lo;
};

template <class T>
WISP_INLINE ReducedByLn2<T> reduce_ln2(T x) {
  using F = Format<T>;
  const T t = fma(x, kLog2E<T>, F::kRound), n = t - F::kRound;
  return {t, fma(n, -F::kLn2Hi, x), n * F::kLn2Lo};
}

// e^(r - lo) - 1 - r.
template <class T>
WISP_INLINE T expm1_tail(T r, T lo) {
  const T x = r - lo, z = x * x;
  return fma(z, fma(x, sinh_tail(z), cosh_tail(z)), -lo);
}

template <class T>
constexpr T kExpBound = sizeof(T) == 4 ? 105 : 746;  // e^-kExpBound rounds to 0

// 2^n e^r. Error: float 0.92, double 0.90.
template <class T>
WISP_INLINE T exp(T x) {
  const ReducedByLn2<T> a = reduce_ln2(clamp_abs(x, kExpBound<T>));
  return scale(T(1) + (a.r + expm1_tail(a.r, a.lo)), a.t);
}

// The same, bit for bit, where x <= 0 or NaN. Nothing can overflow: the power may be applied as a
// whole, far from the denormals, and the product be brought down at the end.
template <class T>
WISP_INLINE T exp_below(T x) {
  using F = Format<T>;
  constexpr Bits<T> kLift = sizeof(T) == 4 ? 64 : 512;
  constexpr T kDrop = from_bits((F::kBias - kLift) << F::kMantissa);
  const ReducedByLn2<T> a = reduce_ln2(-kExpBound<T> > x ? -kExpBound<T> : x);
  const T p = T(1) + (a.r + expm1_tail(a.r, a.lo));
  return p * from_bits((to_bits(a.t) + (F::kBias + kLift)) << F::kMantissa) * kDrop;
}

// 2^n e^r, too, with r = (x - n) ln(2). Error: float 1.00, double 1.05.
template <class T>
WISP_INLINE T exp2(T x) {
  constexpr T kBound = sizeof(T) == 4 ? 151 : 1076, kRound = Format<T>::kRound;
  const T a = clamp_abs(x, kBound), t = a + kRound, r = (a - (t - kRound)) * kLn2<T>;
  return scale(T(1) + (r + expm1_tail(r, T(0))), t);
}

// (e^x - 1) 2^k as a sum, where 2^n times 2^k must be a normal number: (2^n - 1) + 2^n r comes
// first, added without error, then 2^n (e^r - 1 - r).
template <int k, class T>
WISP_INLINE Sum<T> expm1_scaled(T x) {
  constexpr T kOne = k == 0 ? 1 : 0.5;
  const ReducedByLn2<T> a = reduce_ln2(x);
  const T s = pow2(a.t + T(k)), m = s - kOne, b = s * a.r, h = m + b;
  return {h, fma(s, expm1_tail(a.r, a.lo), b - (h - m))};
}

// Below, e^x - 1 and sinh(x) round to x.
template <class T>
constexpr T kTiny = sizeof(T) == 4 ? 0x1p-26 : 0x1p-55;

// Halved until the end, lest 2^n overflow. Error: float 1.21, double 1.20.
template <class T>
WISP_INLINE T expm1(T x) {
  constexpr T kMax = sizeof(T) == 4 ? 89 : 709.9, kMin = sizeof(T) == 4 ? -20 : -40;
  const T a = clamp_abs(x, kMax);
  const Sum<T> y = expm1_scaled<-1>(a < kMin ? kMin : a);
  return fabs(x) < kTiny<T> ? x : T(2) * (y.hi + y.lo);
}

// z / (1 + z) or 1 / (1 + z), with z = e^-|x|. Error: float 2.41, double 2.24.
template <class T>
WISP_INLINE T sigmoid(T x) {
  const T z = exp_below(-fabs(x));
  return (x < 0 ? z : T(1)) / (T(1) + z);
}

// -m / (2 + m) with m = e^(-2|x|) - 1, the rounding errors of m and 2 + m put right as above:
// 1 / (2 + m) is (1 - q) / 2. Error: float 1.42, double 1.42.
template <class T>
WISP_INLINE T tanh(T x) {
  constexpr T kBound = sizeof(T) == 4 ? 10 : 20;
  const T a = fabs(x);
  const Sum<T> p = expm1_scaled<0>(T(-2) * (a > kBound ? kBound : a));
  const T m = p.hi + p.lo, ml = p.lo - (m - p.hi);
  const T d = T(2) + m, dl = (p.hi - (d - T(2))) + p.lo, q = m / d;
  return copysign(fma(fma(-q, dl, ml), fma(q, T(-0.5), T(0.5)), q), x);
}

// 2^n and 2^-n over 4, lest the larger overflow, given t = kRound + n.
template <class T>
struct PowersOf2 {
  T plus, minus;
};

template <class T>
WISP_INLINE PowersOf2<T> quarter_powers(T t) {
  const T p = pow2(t - T(2)), inverse = from_bits(2 * to_bits(T(1)) - to_bits(p));
  return {p, T(0.0625) * inverse};
}

template <class T>
constexpr T kSinhBound = sizeof(T) == 4 ? 89.5 : 710.6;  // sinh(kSinhBound) overflows

// sinh(n ln(2)) cosh(r) + cosh(n ln(2)) sinh(r). Error: float 1.28, double 1.27.
template <class T>
WISP_INLINE T sinh(T x) {
  const T a = fabs(x);
  const ReducedByLn2<T> p = reduce_ln2(a > kSinhBound<T> ? kSinhBound<T> : a);
  const PowersOf2<T> n = quarter_powers(p.t);
  const T sn = n.plus - n.minus, cn = n.plus + n.minus, r = p.r - p.lo, z = r * r;
  const T s = fma(r * z, sinh_tail(z), -p.lo), c = z * cosh_tail(z);
  const T y = T(2) * add_tail(sn, cn * p.r, fma(cn, s, sn * c));
  return a < kTiny<T> ? x : copysign(y, x);
}

// (2^n e^r + 2^-n e^-r) / 2. Error: float 1.46, double 1.37.
template <class T>
WISP_INLINE T cosh(T x) {
  const T a = fabs(x);
  const ReducedByLn2<T> p = reduce_ln2(a > kSinhBound<T> ? kSinhBound<T> : a);
  const PowersOf2<T> n = quarter_powers(p.t);
  const T r = p.r - p.lo, z = r * r, s = fma(r * z, sinh_tail(z), r), c = z * cosh_tail(z);
  return T(2) * (n.plus + fma(n.plus, c + s, fma(n.minus, c - s, n.minus)));
}

// ---- Logarithms ---------------------------------------------------------------------------------

// x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
template <class T>
struct LogParts {
  T e, f;
  Bits<T> biased;  // e + kBias
};

// For a positive normal number x; bias is kBias, or more if x has been scaled.
template <class T>
WISP_INLINE LogParts<T> split_normal(T x, T bias = Format<T>::kBias) {
  using F = Format<T>;
  constexpr T kSqrtHalf = 0.70710678118654752;
  const Bits<T> i = to_bits(x) + (to_bits(T(1)) - to_bits(kSqrtHalf)), biased = i >> F::kMantissa;
  const T e = from_bits(biased | to_bits(F::kUnit)) - (F::kUnit + bias);
  return {e, from_bits((i & kMantissaMask<T>)+to_bits(kSqrtHalf)) - T(1), biased};
}

template <class T>
WISP_INLINE LogParts<T> split(T x) {
  using F = Format<T>;
  const bool tiny = x < F::kMin;
  return split_normal(tiny ? x * (4 * F::kUnit) : x,
                      T(tiny ? F::kBias + F::kMantissa + 2 : F::kBias));
}

// log(1 + f) - f: a polynomial for float; for double a series in s = f / (2 + f), in which
// log(1 + f) = 2 atanh(s).
WISP_INLINE float log_tail(float f) {
  const float p = horner(f, -0.5f, 0.333333105f, -0.249999866f, 0.200022236f, -0.166692495f,
                         0.142187148f, -0.12384399f, 0.118726358f, -0.117894016f, 0.0691559836f);
  return f * f * p;
}
WISP_INLINE double log_tail(double f) {
  const double s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  const double p =
      horner(z, 0.6666666666666734, 0.3999999999941663, 0.28571428742030724, 0.22222198604800239,
             0.18183562864925079, 0.15314084463128841, 0.14795637677607007);
  return fma(s, fma(z, p, h), -h);
}

// log(x) before the last rounding: lo is no more than a tenth.
template <class T>
WISP_INLINE Sum<T> log_unrounded(LogParts<T> p) {
  using F = Format<T>;
  const T a = p.e * F::kLn2Hi, h = a + p.f;
  return {h, fma(p.e, F::kLn2Lo, log_tail(p.f)) + ((a - h) + p.f)};
}

template <class T>
WISP_INLINE T log_normal(LogParts<T> p) {
  const Sum<T> y = log_unrounded(p);
  return y.hi + y.lo;
}

// The logarithm y of x, or what it is where x is not a positive number.
template <class T>
WISP_INLINE T log_special(T x, T y) {
  using F = Format<T>;
  const T r = x < F::kInf ? y : x, edge = x == 0 ? -F::kInf : F::kNan;
  return x > 0 ? r : edge;
}

// e ln(2) + log(1 + f). Error: float 0.90, double 0.86.
template <class T>
WISP_INLINE T log(T x) {
  return log_special(x, log_normal(split(x)));
}

// log(1 + f) / ln(2) = f + (1 / ln(2) - 1) f + (log(1 + f) - f) / ln(2), to keep f exact.
// Error: float 1.41, double 1.22.
template <class T>
WISP_INLINE T log2(T x) {
  const LogParts<T> p = split(x);
  const T tail = fma(p.f, T(0.44269504088896341), kLog2E<T> * log_tail(p.f));
  return log_special(x, add_tail(p.e, p.f, tail));
}

// Likewise with f / 2. Error: float 1.17, double 1.17.
template <class T>
WISP_INLINE T log10(T x) {
  constexpr T kHi = sizeof(T) == 4 ? 0x1.344p-2 : 0x1.34413509f78p-2;  // log10(2)
  constexpr T kLo = sizeof(T) == 4 ? 0x1.3509f8p-18 : 0x1.fef311f12b358p-46;
  const LogParts<T> p = split(x);
  const T tail = fma(p.f, T(-0.065705518096748172), T(0.43429448190325183) * log_tail(p.f));
  return log_special(x, add_tail(p.e * kHi, T(0.5) * p.f, fma(p.e, kLo, tail)));
}

// log(1 + x + lo) for finite x > -1 and a much smaller lo. 1 + x = u + c, without error.
template <class T>
WISP_INLINE T log1p_finite(T x, T lo = 0) {
  using F = Format<T>;
  const T u = T(1) + x, v = u - x, c = (T(1) - v) + (x - (u - v)) + lo;
  const LogParts<T> p = split_normal(u);
  const T scaled = c * from_bits((2 * F::kBias - p.biased) << F::kMantissa);  // c 2^-e
  const T cs = x > F::kUnit ? T(0) : scaled;
  const T f = p.f + cs, fl = cs - (f - p.f);
  return add_tail(p.e * F::kLn2Hi, f, fma(p.e, F::kLn2Lo, log_tail(f)) + fl);
}

// Error: float 1.00, double 0.89.
template <class T>
WISP_INLINE T log1p(T x) {
  using F = Format<T>;
  const T y = copysign(log1p_finite(x), x), r = x < F::kInf ? y : x;
  const T edge = x == -1 ? -F::kInf : F::kNan;
  return x > -1 ? r : edge;
}

// log(1 + e^x), which is softplus. Error: float 1.65, double 1.61.
template <class T>
WISP_INLINE T log1pexp(T x) {
  return (x > 0 ? x : T(0)) + log1p_finite(exp(-fabs(x)));
}

// log(sigmoid(x)). Error: float 1.65, double 1.56.
template <class T>
WISP_INLINE T log_sigmoid(T x) {
  return (x < 0 ? x : T(0)) - log1p_finite(exp(-fabs(x)));
}

template <class T>
constexpr T kSquareIsAll = sizeof(T) == 4 ? 0x1p14 : 0x1p30;  // beyond, x^2 + 1 rounds to x^2

// log(1 + a + a^2 / (1 + sqrt(1 + a^2))), or log(2 a) if a is large. Error: float 1.29,
// double 1.15.
template <class T>
WISP_INLINE T asinh(T x) {
  const T a = fabs(x), z = a * a, w = z / (T(1) + sqrt(T(1) + z)), s = a + w;
  const bool large = a > kSquareIsAll<T>;
  const T y = log1p_finite(large ? a - T(1) : s, large ? T(0) : w - (s - a));
  const T r = large ? y + kLn2<T> : y;
  return copysign(a < Format<T>::kInf ? r : a, x);
}

// log(1 + t + sqrt(t^2 + 2 t)) with t = x - 1, or log(2 x) if x is large. Error: float 1.82,
// double 1.74.
template <class T>
WISP_INLINE T acosh(T x) {
  const T t = x - T(1), w = sqrt(fma(t, t, t + t)), s = w + t;
  const bool large = x > kSquareIsAll<T>;
  const T y = log1p_finite(large ? t : s, large ? T(0) : t - (s - w));
  const T r = large ? y + kLn2<T> : y, z = x < Format<T>::kInf ? r : x;
  return x < 1 ? Format<T>::kNan : z;
}

// log(1 + 2 a + 2 a^2 / (1 - a)) / 2. Error: float 1.38, double 1.36.
template <class T>
WISP_INLINE T atanh(T x) {
  const T a = fabs(x), b = a + a, w = b * a / (T(1) - a), s = b + w;
  const T y = T(0.5) * log1p_finite(s, w - (s - b));
  const T edge = a == 1 ? Format<T>::kInf : Format<T>::kNan;
  return copysign(a < 1 ? y : edge, x);
}

// ---- Roots and powers ---------------------------------------------------------------------------

// Error: float 1.49, double 1.50.
template <class T>
WISP_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

// In double. Error: float 0.50.
WISP_INLINE float hypot(float x, float y) {
  constexpr double kInf = Format<double>::kInf;
  const double a = fabs(x), b = fabs(y), r = sqrt(a * a + b * b);
  return static_cast<float>((a == kInf) | (b == kInf) ? kInf : r);
}

// Scaled by a power of 2 where the squares would overflow, or lose bits. Error: double 1.19.
WISP_INLINE double hypot(double x, double y) {
  constexpr double kInf = Format<double>::kInf;
  const double a = fabs(x), b = fabs(y), m = a > b ? a : b;
  const bool big = m > 0x1p500, small = m < 0x1p-450;
  const double s = big ? 0x1p-600 : small ? 0x1p600 : 1;
  const double inverse = big ? 0x1p600 : small ? 0x1p-600 : 1;
  const double u = a * s, v = b * s, r = sqrt(fma(u, u, v * v)) * inverse;
  return (a == kInf) | (b == kInf) ? kInf : r;
}

// For functions of float that compute in double: 2^x and log2(x) with relative errors of 2^-28 and
// 2^-37, for normal numbers x > 0 and results.
WISP_INLINE double exp2_short(double x) {
  constexpr double kRound = Format<double>::kRound;
  const double t = x + kRound, r = x - (t - kRound);
  const double p = horner(r, 1.0, 0.69314720639289951, 0.24022651347451085, 0.055503274574550281,
                          0.0096180036789747132, 0.0013400405670932487, 1.5476367738326841e-4);
  return p * pow2(t);
}
WISP_INLINE double log2_short(double x) {
  const LogParts<double> m = split_normal(x);
  const double s = m.f / (2 + m.f);
  const double p = horner(s * s, 2.8853900817900788, 0.96179667335106744, 0.57708358325147735,
                          0.41167281474100265, 0.34072853129991887);
  return fma(s, p, m.e);
}

// x^y, given the power r of |x| for nonzero finite x: C99's special cases.
template <class T>
WISP_INLINE T pow_special(T x, T y, T r) {
  using F = Format<T>;
  const T a = fabs(x), b = fabs(y), half = T(0.5) * b;
  const bool integer = rint_positive(b) == b, odd = integer & (rint_positive(half) != half);
  const T limit = (a < 1) == (y < 0) ? F::kInf : T(0);
  const T p = (a == 0) | (a == F::kInf) ? limit : r, q = odd ? copysign(p, x) : p;
  const T s = (x < 0) & !integer & (a < F::kInf) ? F::kNan : q;
  const T n = (x != x) | (y != y) ? F::kNan : s;
  return (y == 0) | (x == 1) ? T(1) : n;
}

// 2^(y log2|x|) in double. Error: float 0.54.
WISP_INLINE float pow(float x, float y) {
  const double b = clamp_abs(y, 0x1p100f), p = b * log2_short(fabs(x));
  return pow_special(x, y, static_cast<float>(exp2_short(clamp_abs(p, 200.0))));
}

// log(x) with a relative error of 2^-64: 2 s + s z (2/3 + z v) with s = f / (2 + f) and z = s^2,
// all but v as sums.
WISP_INLINE Sum<double> log_sum(double x) {
  using F = Format<double>;
  constexpr double kTwoThirds = 2.0 / 3, kTwoThirdsLo = 0x1.5555555555555p-55;
  const LogParts<double> m = split(x);
  const double d = 2 + m.f, dl = m.f - (d - 2), inverse = 1 / d, s = m.f * inverse;
  const Sum<double> sd = two_prod(s, d), ss = two_prod(s, s);
  const double sl = (((m.f - sd.hi) - sd.lo) - s * dl) * inverse;
  const double z = ss.hi, zl = fma(2 * s, sl, ss.lo);
  const double v = z * horner(z, 0.4, 0.28571428571429369, 0.22222222221655236, 0.18181818335517694,
                              0.15384594951127573, 0.13334805225080781, 0.11706224115878139,
                              0.11723288463439095);
  const double w = kTwoThirds + v, wl = ((kTwoThirds - w) + v) + kTwoThirdsLo;
  const Sum<double> u = two_prod(s, z), t = two_prod(u.hi, w);
  const double ul = u.lo + fma(s, zl, sl * z), tl = t.lo + fma(u.hi, wl, ul * w);
  const double h = 2 * s + t.hi, hl = ((2 * s - h) + t.hi) + fma(2.0, sl, tl);
  const double e = m.e * F::kLn2Hi, sum = e + h;
  const double lo = fma(m.e, F::kLn2Lo, ((e - sum) + h) + hl), hi = sum + lo;
  return {hi, (sum - hi) + lo};
}

// e^(y log|x|), with a product good to 2^-64. Error: double 1.07.
WISP_INLINE double pow(double x, double y) {
  const Sum<double> l = log_sum(fabs(x));
  const double b = clamp_abs(y, 0x1p70);
  const Sum<double> p = two_prod(b, l.hi);
  const double hi = clamp_abs(p.hi, kExpBound<double>), lo = hi == p.hi ? fma(b, l.lo, p.lo) : 0;
  const ReducedByLn2<double> a = reduce_ln2(hi);
  return pow_special(x, y, scale(1 + (a.r + expm1_tail(a.r, a.lo - lo)), a.t));
}

}  // namespace wisp::cpu::vmath
