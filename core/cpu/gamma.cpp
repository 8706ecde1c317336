#include "cpu/gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu/bessel_tables.h"
#include "cpu/vmath_special.h"

namespace wisp::cpu {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr int max_terms = 1 << 20;

// Even and odd powers apart: they do not wait for each other.
template <size_t N>
double polynomial(double x, const double (&coefficients)[N]) {
  const double square = x * x;
  double sums[2] = {0, 0};
  for (size_t i = N; i-- > 0;) sums[i % 2] = sums[i % 2] * square + coefficients[i];
  return sums[0] + x * sums[1];
}

// log(1 + x) - x for |x| <= 1/2, without cancellation: the series of atanh(x / (2 + x)).
double log1p_minus(double x) {
  constexpr double series[] = {1. / 3,  1. / 5,  1. / 7,  1. / 9,  1. / 11, 1. / 13,
                               1. / 15, 1. / 17, 1. / 19, 1. / 21, 1. / 23, 1. / 25,
                               1. / 27, 1. / 29, 1. / 31, 1. / 33, 1. / 35};
  const double r = x / (2 + x), square = r * r;
  return 2 * r * square * polynomial(square, series) - x * r;
}

// log(gamma(1 + a)) for |a| <= 1/2, with a small relative error near 0.
double lgamma1p(double a) {
  constexpr double series[] = {
      // (-1)^k (zeta(k) - 1) / k from k = 2 on
      0.32246703342411322,    -0.067352301053198095,   0.020580808427784548,
      -0.0073855510286739853, 0.0028905103307415233,   -0.001192753911703261,
      0.00050966952474304242, -0.00022315475845357938, 9.9457512781808534e-5,
      -4.4926236738133142e-5, 2.0507212775670692e-5,   -9.4394882752683959e-6,
      4.3748667899074878e-6,  -2.0392157538013662e-6,  9.5514121304074198e-7,
      -4.492469198764566e-7,  2.1207184805554666e-7,   -1.00432248239681e-7,
      4.7698101693639806e-8,  -2.2711094608943165e-8,  1.0838659214896954e-8,
      -5.1834750419700467e-9, 2.4836745438024783e-9,   -1.1921401405860912e-9,
      5.731367241678862e-10,  -2.7595228851242331e-10, 1.3304764374244489e-10,
      -6.4229645638381e-11};
  return a * a * polynomial(a, series) + a * (1 - std::numbers::egamma) - std::log1p(a);
}

// x^a e^-x / gamma(a + 1). For large a by Stirling's formula, in which the large terms cancel. Far
// from overflow the product of the factors is more exact than the exponential of a sum; floats need
// no more than that.
double prefix(double a, double x, bool single) {
  if (a < 12) {
    if (single || !(x > 1e-3 && x < 300)) {
      return std::exp(a * std::log(x) - x) * tables::inverse_gamma1p(a);
    }
    return std::pow(x, a) * std::exp(-x) * tables::inverse_gamma1p(a);
  }
  constexpr double stirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  const double correction = polynomial(1 / (a * a), stirling) / a, mu = (x - a) / a;
  // Far from a the logarithm takes no harm, but next to a small x would be lost in mu.
  const double exponent = std::abs(mu) > 0.5 ? std::log(x / a) - mu : log1p_minus(mu);
  return std::exp(a * exponent - correction) / std::sqrt(2 * std::numbers::pi * a);
}

// P by its power series, for x not much above a: the sum of x^n / ((a + 1) ... (a + n)). Of every
// four terms the common denominator is divided by once.
double p_series(double a, double x, bool single) {
  const double enough = single ? 0x1p-32 : epsilon / 4, square = x * x;
  double term = 1, sum = 1;
  for (int n = 1; n < max_terms && term > sum * enough; n += 4) {
    const double r1 = a + n, r2 = r1 + 1, r3 = r1 + 2, r4 = r1 + 3;
    const double r34 = r3 * r4, common = term * x / (r1 * r2 * r34);
    sum += common * (r2 * r34 + x * r34 + square * r4 + square * x);
    term = common * (square * x);
  }
  return prefix(a, x, single) * sum;
}

// A number and its derivative.
struct Dual {
  double value, slope;
  Dual(double v, double s = 0) : value(v), slope(s) {}
  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend Dual operator/(Dual a, Dual b) {
    const double quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
  }
};
double abs_of(Dual x) { return std::max(std::abs(x.value), std::abs(x.slope)); }

// Q by its continued fraction, for x above a, times gamma(a) e^x x^-a, with its derivative by a.
Dual q_fraction(Dual a, double x) {
  using T = Dual;
  T b = x + 1 - a, c = 1 / epsilon / epsilon, d = 1 / b, h = d;
  for (int n = 1; n < max_terms; ++n) {
    const T factor = n * (a - n);
    b = b + 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    const T step = c * d;
    h = h * step;
    if (abs_of(step - 1) <= epsilon / 2) break;
  }
  return h;
}
// The same for numbers: the quotients of the fraction as fractions themselves, of which every other
// one is looked at.
double q_fraction(double a, double x, bool single) {
  const double enough = single ? 0x1p-32 : epsilon / 2;
  double b = x + 1 - a, p0 = 0, q0 = 1, p1 = 1, q1 = b, value = 1 / b;
  for (int n = 1; n < max_terms; n += 2) {
    const double factor = n * (a - n), next = (n + 1) * (a - n - 1);
    const double p2 = (b + 2) * p1 + factor * p0, q2 = (b + 2) * q1 + factor * q0;
    b += 4;
    p1 = b * p2 + next * p1;
    q1 = b * q2 + next * q1;
    p0 = p2;
    q0 = q2;
    const double before = value;
    value = p1 / q1;
    if (std::abs(value - before) <= enough * std::abs(value)) break;
    if (std::abs(q1) > 1e100) {
      p0 *= 1e-100, q0 *= 1e-100, p1 *= 1e-100, q1 *= 1e-100;
    }
  }
  return value;
}
// Q for small a and x, where it is a small difference of 1 and P.
double q_small(double a, double x) {
  double factor = 1, sum = 0;
  for (int n = 1; n < max_terms; ++n) {
    factor *= -x / n;
    const double term = factor / (a + n);
    sum += term;
    if (std::abs(term) <= std::abs(sum) * epsilon / 4) break;
  }
  const double power = a * std::log(x) - lgamma1p(a);
  return -std::expm1(power) - a * std::exp(power) * sum;
}

// Temme's expansion for large a and x near a. The coefficients are those of eta / (x / a - 1) in
// powers of eta, where eta^2 / 2 = x / a - 1 - log(x / a). Returns P if `lower`, else Q.
double uniform(double a, double x, bool lower) {
  constexpr double series[] = {1.0,
                               -0.3333333333333333,
                               0.08333333333333333,
                               -0.014814814814814815,
                               0.0011574074074074073,
                               0.0003527336860670194,
                               -0.0001787551440329218,
                               3.919263178522438e-05,
                               -2.185448510679992e-06,
                               -1.85406221071516e-06,
                               8.296711340953087e-07,
                               -1.7665952736826078e-07,
                               6.707853543401498e-09,
                               1.0261809784240309e-08,
                               -4.382036018453353e-09,
                               9.14769958223679e-10,
                               -2.5514193994946248e-11,
                               -5.830772132550426e-11,
                               2.4361948020667415e-11,
                               -5.0276692801141755e-12,
                               1.1004392031956135e-13,
                               3.371763262400985e-13,
                               -1.392388722418162e-13,
                               2.8534893807047445e-14,
                               -5.139111834242572e-16,
                               -1.9752288294349442e-15,
                               8.099521156704561e-16};
  const double mu = (x - a) / a, half_square = -log1p_minus(mu);
  const double eta = std::copysign(std::sqrt(2 * half_square), mu);
  double beta[26];
  beta[25] = series[26];
  beta[24] = series[25];
  const double inverse = 1 / a;
  for (int m = 24; m >= 1; --m) beta[m - 1] = series[m] + (m + 1) * inverse * beta[m + 1];
  const double rest = polynomial(eta, beta) / (1 + beta[1] / a) * std::exp(-a * half_square) /
                      std::sqrt(2 * std::numbers::pi * a);
  const double z = std::copysign(std::sqrt(a * half_square), mu);
  return lower ? std::erfc(-z) / 2 - rest : std::erfc(z) / 2 + rest;
}

bool is_central(double a, double x) { return a > 25 && std::abs(x - a) < 0.3 * a; }

}  // namespace

double gamma_p(double a, double x, bool single) {
  if (!(a >= 0 && x >= 0)) return nan;
  if (a == 0) return x > 0 ? 1 : nan;
  if (x == 0) return 0;
  if (a == inf) return x == inf ? nan : 0;
  if (x == inf) return 1;
  if (is_central(a, x)) return uniform(a, x, true);
  return x <= 1 || x <= a ? p_series(a, x, single) : 1 - gamma_q(a, x, single);
}

double gamma_q(double a, double x, bool single) {
  if (!(a >= 0 && x >= 0)) return nan;
  if (a == 0) return x > 0 ? 0 : nan;
  if (x == 0) return 1;
  if (a == inf) return x == inf ? nan : 1;
  if (x == inf) return 0;
  if (is_central(a, x)) return uniform(a, x, false);
  if (x <= 1.1 && a <= 0.5) return q_small(a, x);
  return x <= 1.1 || x < a ? 1 - p_series(a, x, single)
                           : prefix(a, x, single) * a * q_fraction(a, x, single);
}

// Both forms divide the derivative of P (or -Q) by a through its derivative by x; x^a e^-x cancels.
double gamma_sample_slope(double a, double x) {
  if (!(a > 0 && x > 0) || a == inf || x == inf) return x == 0 ? 0 : nan;
  if (x > a + 1 && x > 1.5) {
    const Dual fraction = q_fraction(Dual(a, 1), x);
    return x * ((std::log(x) - vmath::digamma(a)) * fraction.value + fraction.slope);
  }
  double term = 1, sum = 1, harmonic = 0, slope = 0;
  for (int n = 1; n < max_terms && term > sum * epsilon / 4; ++n) {
    term *= x / (a + n);
    harmonic += 1 / (a + n);
    sum += term;
    slope += term * harmonic;
  }
  return x / a * (slope - (std::log(x) - vmath::digamma(a + 1)) * sum);
}

}  // namespace wisp::cpu
