// Special functions that few programs spend time in: computed in double, one element at a time.
#include "cpu/special_math.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "cpu/bessel.h"
#include "cpu/bessel_tables.h"
#include "cpu/kernels/kernels.h"
#include "cpu/vmath_special.h"

namespace wisp::cpu {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

template <class T, class F>
void unary_tile(void* out, const void* const* in, int64_t n, const Params& params) {
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(F{}(static_cast<double>(x[i]), params));
}

template <class T, class F>
void binary_tile(void* out, const void* const* in, int64_t n, const Params&) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(F{}(static_cast<double>(a[i]), static_cast<double>(b[i])));
}

template <class F>
void unary(Kernels& table, Opcode op, F) {
  table.tile[int(op)][int(DType::float32)] = unary_tile<float, F>;
  table.tile[int(op)][int(DType::float64)] = unary_tile<double, F>;
}

// --- Modified Bessel functions

double bessel_i(double x, double scaled) {
  const double size = std::abs(x);
  if (size == inf) return std::copysign(inf, scaled);
  const double half =
      std::exp(size / 2);  // in two steps, as the whole may overflow before the product does
  return scaled * half * half;
}

// --- The normal distribution

double erfcx(double x) {
  if (x < -26.7) return inf;
  if (x < 0) return 2 * std::exp(x * x) - erfcx(-x);
  if (x < 0.75) return std::exp(x * x) * std::erfc(x);
  if (x == inf) return 0;
  const auto sum = vmath::erfcx(x);
  return sum.hi + sum.lo;
}

double log_ndtr(double x) {
  const double z = x * std::numbers::sqrt2 / 2;
  if (x < -1) return std::log(erfcx(-z) / 2) - z * z;
  return std::log1p(-std::erfc(z) / 2);
}

// Where the lower tail has probability p <= 1/2. In the tail, by w = sqrt(-2 log(p)), which it is
// not far from.
double lower_quantile(double p) {
  if (p > 0.13) return std::numbers::sqrt2 * vmath::erfinv(2 * p - 1);
  const double w = std::sqrt(-2 * std::log(p));
  return -w * (w < 8 ? tables::ndtri_near(w) : tables::ndtri_far(8 / w));
}

}  // namespace

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return nan;
  if (p == 0 || p == 1) return p == 0 ? -inf : inf;
  if (p == 0.5) return 0;
  return p < 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

namespace {

// --- Hurwitz's zeta function: sum (q + k)^-s over k >= 0, by Euler and Maclaurin

// B_2k / (2k)!
constexpr double bernoulli[] = {
    8.3333333333333333e-2,   -1.3888888888888889e-3,  3.3068783068783069e-5,
    -8.2671957671957672e-7,  2.0876756987868099e-8,   -5.2841901386874932e-10,
    1.3382536530684679e-11,  -3.3896802963225829e-13, 8.5860620562778446e-15,
    -2.1748686985580619e-16, 5.5090028283602295e-18,  -1.3954464685812523e-19};

double zeta(double s, double q, bool single = false) {
  if (s != s || q != q) return nan;
  if (s == 1) return inf;
  if (s < 1) return nan;
  if (q <= 0) {
    if (q == std::floor(q)) return inf;
    if (s != std::floor(s)) return nan;  // a negative number to a broken power
  }
  if (q < -1e6) return nan;          // too many terms
  const int plain = single ? 5 : 9;  // so many terms are added one by one
  double sum = 0;
  int k = 0;
  for (; k < plain || q + k < plain; ++k) {
    const double term = std::pow(q + k, -s);
    sum += term;
    if (q + k > 0 && term < sum * epsilon / 16) return sum;
  }
  q += k;
  const double last = std::pow(q, -s);
  sum += last * q / (s - 1) + last / 2;
  double factor = s, power = last / q;
  for (size_t i = 0; i < std::size(bernoulli); ++i) {
    const double term = bernoulli[i] * factor * power, order = 2.0 * static_cast<double>(i);
    sum += term;
    if (std::abs(term) < std::abs(sum) * epsilon / 16) break;
    factor *= (s + order + 1) * (s + order + 2);
    power /= q * q;
  }
  return sum;
}

// zeta(2, x) for positive x: terms up to 9, two at a time as (a^2 + b^2) / (a b)^2, and from there
// on the sum by Euler and Maclaurin.
double trigamma(double x) {
  const double from = x < 9 ? x + 10 : x, inverse = 1 / from, square = inverse * inverse;
  const double rest = vmath::horner(square, 0.16666666666666667, -0.033333333333333333,
                                    0.023809523809523810, -0.033333333333333333,
                                    0.075757575757575758, -0.25311355311355311, 1.1666666666666667,
                                    -7.0921568627450980, 54.971177944862156, -529.12424242424242);
  double terms = 0;
#pragma GCC unroll 5
  for (int k = 8; k >= 0; k -= 2) {
    const double a = (x + k) * (x + k), b = (x + k + 1) * (x + k + 1);
    terms += (a + b) / (a * b);
  }
  const double sum = inverse + square * (0.5 + rest * inverse);
  return x < 9 ? terms + sum : sum;
}

// Of positive numbers whose squares are normal; others are left to zeta.
template <class T>
void trigamma_tile(T* y, const T* x, int64_t n) {
  constexpr double least = 1e-30;
  constexpr int64_t piece = 256;
  for (int64_t at = 0; at < n; at += piece) {
    const int64_t count = std::min(piece, n - at);
    T given[piece];
    std::copy(x + at, x + at + count, given);  // the output may be the input
    int rare = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(given[i]);
      rare |= !(value >= least);
      y[at + i] = static_cast<T>(trigamma(value));
    }
    for (int64_t i = 0; rare && i < count; ++i) {
      const double value = static_cast<double>(given[i]);
      if (!(value >= least)) y[at + i] = static_cast<T>(zeta(2, value, sizeof(T) == 4));
    }
  }
}

// (-1)^(n+1) n! zeta(n + 1, x); n is the parameter.
template <class T>
void polygamma_tile(void* out, const void* const* in, int64_t n, const Params& params) {
  const double order = params.values[0];
  if (order == 1) return trigamma_tile(static_cast<T*>(out), static_cast<const T*>(in[0]), n);
  const double factorial = std::exp(std::lgamma(order + 1)),
               factor = std::fmod(order, 2) == 0 ? -factorial : factorial;
  const T* x = static_cast<const T*>(in[0]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(factor * zeta(order + 1, static_cast<double>(x[i]), sizeof(T) == 4));
}

// --- sinc

template <class T>
void complex_sinc_tile(void* out, const void* const* in, int64_t n, const Params&) {
  const auto* x = static_cast<const Complex<T>*>(in[0]);
  auto* y = static_cast<Complex<T>*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const std::complex<T> angle = x[i].std() * std::numbers::pi_v<T>;
    y[i] = angle == std::complex<T>(0) ? Complex<T>(1) : Complex<T>::from(std::sin(angle) / angle);
  }
}

// --- The next number of 16 bits

// Bit patterns as integers that are ordered as the numbers are.
int32_t ordinal(uint16_t bits) {
  return bits & 0x8000 ? -static_cast<int32_t>(bits & 0x7fff) : bits;
}

template <class T>
T next_after(T from, T to) {
  const float a = from, b = to;
  if (a != a || b != b) return T(std::numeric_limits<float>::quiet_NaN());
  if (a == b) return to;
  const int32_t next = ordinal(from.bits) + (a < b ? 1 : -1);
  T result;
  result.bits = static_cast<uint16_t>(next < 0 || (next == 0 && a < 0) ? 0x8000 | -next : next);
  return result;
}

template <class T>
void nextafter_tile(void* out, const void* const* in, int64_t n, const Params&) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = next_after(a[i], b[i]);
}

}  // namespace

void fill_special_math(Kernels& t) {
  unary(t, Opcode::i0, [](double x, const Params&) { return bessel_i(x, scaled_bessel_i0(x)); });
  unary(t, Opcode::i0e, [](double x, const Params&) { return scaled_bessel_i0(x); });
  unary(t, Opcode::i1, [](double x, const Params&) { return bessel_i(x, scaled_bessel_i1(x)); });
  unary(t, Opcode::i1e, [](double x, const Params&) { return scaled_bessel_i1(x); });
  unary(t, Opcode::erfcx, [](double x, const Params&) { return erfcx(x); });
  unary(t, Opcode::log_ndtr, [](double x, const Params&) { return log_ndtr(x); });
  t.tile[int(Opcode::polygamma)][int(DType::float32)] = polygamma_tile<float>;
  t.tile[int(Opcode::polygamma)][int(DType::float64)] = polygamma_tile<double>;
  const auto zeta_single = [](double s, double q) { return zeta(s, q, true); };
  const auto zeta_double = [](double s, double q) { return zeta(s, q); };
  t.tile[int(Opcode::zeta)][int(DType::float32)] = binary_tile<float, decltype(zeta_single)>;
  t.tile[int(Opcode::zeta)][int(DType::float64)] = binary_tile<double, decltype(zeta_double)>;
  t.tile[int(Opcode::sinc)][int(DType::complex64)] = complex_sinc_tile<float>;
  t.tile[int(Opcode::sinc)][int(DType::complex128)] = complex_sinc_tile<double>;
  t.tile[int(Opcode::nextafter)][int(DType::float16)] = nextafter_tile<Half>;
  t.tile[int(Opcode::nextafter)][int(DType::bfloat16)] = nextafter_tile<BFloat16>;
}

}  // namespace wisp::cpu
