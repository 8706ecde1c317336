#include "cpu/bessel.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "cpu/bessel_tables.h"

namespace wisp::cpu {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Up to here functions are tabulated as they are; beyond, by u = 8 / x, what their waves or
// exponentials are multiplied with.
constexpr double near = 8, waves = 32;

// --- J and Y. Far from 0, with the angle c = x - pi / 4 (and for order 1 another pi / 2 less),
// J = sqrt(2 / (pi x)) (P cos(c) - Q sin(c)) and Y = sqrt(2 / (pi x)) (P sin(c) + Q cos(c)).

struct Wave {
  double cosine, sine;  // of the angle, times sqrt(2 / (pi x))
  double u;
};

Wave wave_at(double x, int order) {
  const double sine = std::sin(x), cosine = std::cos(x);
  const double scale = 1 / std::sqrt(std::numbers::pi) / std::sqrt(x);
  const double sum = scale * (sine + cosine), difference = scale * (sine - cosine);
  return order == 0 ? Wave{sum, difference, near / x} : Wave{difference, -sum, near / x};
}

template <class P, class Q>
double first_kind(const Wave& wave, const P& p, const Q& q) {
  return p(wave.u) * wave.cosine - wave.u * q(wave.u) * wave.sine;
}
template <class P, class Q>
double second_kind(const Wave& wave, const P& p, const Q& q) {
  return p(wave.u) * wave.sine + wave.u * q(wave.u) * wave.cosine;
}

}  // namespace

// At infinity there is no limit to speak of.
double bessel_j0(double x) {
  const double size = std::abs(x);
  if (size < waves) return tables::j0_near(size);
  if (!(size < inf)) return nan;
  return first_kind(wave_at(size, 0), tables::wave0_p, tables::wave0_q);
}

double bessel_j1(double x) {
  const double size = std::abs(x);
  if (!(size < inf)) return nan;
  const double y = size < waves ? tables::j1_near(size)
                                : first_kind(wave_at(size, 1), tables::wave1_p, tables::wave1_q);
  return std::copysign(1.0, x) * y;
}

// Near 0 there is a logarithm.
double bessel_y0(double x) {
  if (x == 0) return -inf;
  if (!(x > 0 && x < inf)) return nan;
  if (x < 2)
    return 2 / std::numbers::pi * std::log(x) * tables::j0_near(x) + tables::y0_rest(x * x);
  if (x < waves) return tables::y0_near(x);
  return second_kind(wave_at(x, 0), tables::wave0_p, tables::wave0_q);
}

double bessel_y1(double x) {
  if (x == 0) return -inf;
  if (!(x > 0 && x < inf)) return nan;
  if (x < 2) {
    const double log = 2 / std::numbers::pi * std::log(x) * tables::j1_near(x);
    return log + x * tables::y1_rest(x * x) - 2 / std::numbers::pi / x;
  }
  if (x < waves) return tables::y1_near(x);
  return second_kind(wave_at(x, 1), tables::wave1_p, tables::wave1_q);
}

// --- I and K, times e^-|x| or e^x

double scaled_bessel_i0(double x) {
  const double size = std::abs(x);
  if (size < 1) return 1 - tables::i0_below_1(size);
  if (size < near) return tables::i0_near(size);
  return size == size ? tables::i0_far(near / size) / std::sqrt(size) : x;
}

double scaled_bessel_i1(double x) {
  const double size = std::abs(x);
  if (size < near) return std::copysign(tables::i1_near(size), x);
  return size == size ? std::copysign(tables::i1_far(near / size) / std::sqrt(size), x) : x;
}

namespace {

// For 0 < x < 1.
double small_k(int order, double x) {
  const double square = x * x, log = std::log(x);
  if (order == 0) return tables::k0_rest(square) - log * tables::i0_even(square);
  return 1 / x + x * (log * tables::i1_even(square) + tables::k1_rest(square));
}

double large_k(int order, double x) {
  if (x < near) return order ? tables::k1_near(x) : tables::k0_near(x);
  const double u = near / x;
  return (order ? tables::k1_far(u) : tables::k0_far(u)) / std::sqrt(x);
}

double scaled_k(int order, double x) {
  if (!(x >= 0)) return nan;
  if (x == 0) return inf;
  return x < 1 ? small_k(order, x) * std::exp(x) : large_k(order, x);
}

double plain_k(int order, double x) {
  if (!(x >= 0)) return nan;
  if (x == 0) return inf;
  return x < 1 ? small_k(order, x) : large_k(order, x) * std::exp(-x);
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

// --- Airy's function: far to the left a wave, far to the right an exponential of zeta, each times
// what is tabulated by 1 / zeta.

double airy_ai(double x) {
  if (!std::isfinite(x)) return nan;
  if (x > 106) return 0;
  if (x >= -8 && x < 2) return tables::airy_near(x);
  const double size = std::abs(x), root = std::sqrt(size), zeta = 2 * size * root / 3,
               inverse = 1 / zeta;
  const double scale = 1 / std::sqrt(std::numbers::pi * root);
  if (x > 0) return tables::airy_right(inverse) * std::exp(-zeta) * scale / 2;
  const double angle = zeta - std::numbers::pi / 4;
  return scale * (std::cos(angle) * tables::airy_left_p(inverse) +
                  std::sin(angle) * inverse * tables::airy_left_q(inverse));
}

}  // namespace wisp::cpu
