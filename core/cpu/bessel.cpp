#include "cpu/bessel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace wisp::cpu {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double epsilon = std::numeric_limits<double>::epsilon();

}  // namespace

// The C library's are exact to the last digits; at infinity there is no limit to speak of.
double bessel_j0(double x) { return std::isinf(x) ? nan : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? nan : ::j1(x); }
double bessel_y0(double x) { return x == 0 ? -inf : x > 0 && x < inf ? ::y0(x) : nan; }
double bessel_y1(double x) { return x == 0 ? -inf : x > 0 && x < inf ? ::y1(x) : nan; }

namespace {

// K of any order times e^x, for x from 1 to 20: the integral of e^(-x (cosh(t) - 1)) cosh(order t)
// over t > 0. The trapezoidal rule is exact to rounding errors with steps that are small compared
// to the peak.
double scaled_k_integral(double order, double x) {
  const double step = std::min(0.2, 0.55 / std::sqrt(x));
  const double growth = std::exp(step / 2), order_growth = std::exp(order * step);
  double power = 1, order_power = 1, sum = 0.5;  // e^(t / 2) and e^(order t)
  for (;;) {
    power *= growth;
    order_power *= order_growth;
    const double half = (power - 1 / power) / 2, fall = 2 * x * half * half;
    if (fall > 40) return step * sum;
    sum += std::exp(-fall) * (order_power + 1 / order_power) / 2;
  }
}

// Beyond: the asymptotic series, whose terms shrink until about the 2x-th.
double scaled_k_asymptotic(double order, double x) {
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 40 && std::abs(term) > epsilon / 4; ++k) {
    const double odd = 2.0 * k - 1;
    term *= (mu - odd * odd) / (8 * x * k);
    sum += term;
  }
  return sum * std::sqrt(std::numbers::pi / (2 * x));
}

double scaled_k_large(double order, double x) {
  return x < 20 ? scaled_k_integral(order, x) : scaled_k_asymptotic(order, x);
}

// The power series of K0 and K1, for x < 1.
double k0_series(double x) {
  const double square = x * x / 4, shift = -std::log(x / 2) - std::numbers::egamma;
  double factor = 1, harmonic = 0, sum = shift;
  for (int k = 1; factor > epsilon / 16; ++k) {
    factor *= square / (k * k);
    harmonic += 1.0 / k;
    sum += factor * (shift + harmonic);
  }
  return sum;
}

double k1_series(double x) {
  const double square = x * x / 4, shift = -std::log(x / 2) - std::numbers::egamma;
  double factor = x / 2, harmonic = 0, sum = 1 / x;
  for (int k = 0; factor > x * epsilon / 16; ++k) {
    sum -= factor * (shift + harmonic + 0.5 / (k + 1));
    harmonic += 1.0 / (k + 1);
    factor *= square / ((k + 1.0) * (k + 2.0));
  }
  return sum;
}

double scaled_k(int order, double x) {
  if (!(x >= 0)) return nan;
  if (x == 0) return inf;
  if (x == inf) return 0;
  if (x >= 1) return scaled_k_large(order, x);
  return (order ? k1_series(x) : k0_series(x)) * std::exp(x);
}

double plain_k(int order, double x) {
  if (x > 0 && x < 1) return order ? k1_series(x) : k0_series(x);
  return x == inf ? 0 : scaled_k(order, x) * std::exp(-x);
}

}  // namespace

double scaled_bessel_k0(double x) { return scaled_k(0, x); }
double scaled_bessel_k1(double x) { return scaled_k(1, x); }
double bessel_k0(double x) { return plain_k(0, x); }
double bessel_k1(double x) { return plain_k(1, x); }

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

namespace {

constexpr int airy_first = -9, airy_last = 2;

// The Taylor series around the nearest integer, whose coefficients follow from y'' = x y.
double airy_near(double x) {
  constexpr double known[][2] = {
      // value and derivative
      {-0.022133721547341404, -0.97566398092633159}, {-0.052705050356386203, 0.93556093819830655},
      {0.18428083525050564, -0.77100816841012655},   {-0.32914517362982311, 0.34593548728134289},
      {0.35076100902411432, 0.32719281855444314},    {-0.070265532949289515, -0.79062857536858138},
      {-0.37881429367765807, 0.31458376921659881},   {0.22740742820168558, 0.61825902074169104},
      {0.53556088329235212, -0.010160567116645209},  {0.35502805388781724, -0.2588194037928068},
      {0.13529241631288142, -0.15914744129679321},   {0.034924130423274379, -0.053090384433653632}};
  const double centre = std::clamp<double>(std::round(x), airy_first, airy_last), t = x - centre;
  const auto& start = known[static_cast<int>(centre) - airy_first];
  double before = 0, a = start[0], b = start[1];  // coefficients n - 1, n, n + 1
  double sum = a + b * t, power = t;
  for (int n = 0; n < 28; ++n) {
    const double next = (centre * a + before) / ((n + 1.0) * (n + 2.0));
    power *= t;
    sum += next * power;
    before = a;
    a = b;
    b = next;
  }
  return sum;
}

// Far to the left: a wave whose amplitude and phase are asymptotic series in 1 / zeta.
double airy_wave(double x) {
  const double size = -x, root = std::sqrt(size), zeta = 2 * size * root / 3;
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40; ++k) {
    const double next = term * (6.0 * k - 5) * (6.0 * k - 1) / (72.0 * k * zeta);
    if (next < epsilon / 16 || next > term) break;
    term = next;
    const double sign = (k / 2) % 2 ? -1 : 1;
    (k % 2 ? odd : even) += sign * term;
  }
  const double angle = zeta - std::numbers::pi / 4;
  return (std::cos(angle) * even + std::sin(angle) * odd) / std::sqrt(std::numbers::pi * root);
}

}  // namespace

double airy_ai(double x) {
  if (!std::isfinite(x)) return nan;
  if (x > 106) return 0;
  if (x < airy_first - 0.5) return airy_wave(x);
  if (x <= airy_last + 0.5) return airy_near(x);
  const double zeta = 2 * x * std::sqrt(x) / 3;
  return std::sqrt(x / 3) / std::numbers::pi * scaled_k_large(1.0 / 3, zeta) * std::exp(-zeta);
}

}  // namespace wisp::cpu
