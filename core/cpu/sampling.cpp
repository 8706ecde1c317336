#include "cpu/sampling.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace wisp::cpu {

double ElementStream::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

namespace {

// How many events of a Poisson process fall into one unit of time.
double poisson_by_product(double rate, ElementStream& stream) {
  const double limit = std::exp(-rate);
  double product = stream.uniform(), count = 0;
  for (; product > limit; ++count) product *= stream.uniform();
  return count;
}

// Hörmann's transformed rejection (1993): a table mountain over the distribution, most of which is
// accepted without looking at it. `log_ratio(k)` is the logarithm of the wanted probability,
// relative to the mode.
template <class F>
double transformed_rejection(double centre, double a, double b, double inverse_alpha,
                             double accept_v, double most, ElementStream& stream, F log_ratio) {
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform();
    const double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= accept_v) return k;
    if (k < 0 || k > most) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= log_ratio(k)) return k;
  }
}

double poisson_by_rejection(double rate, ElementStream& stream) {
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double log_rate = std::log(rate);
  return transformed_rejection(rate + 0.43, a, b, 1.1239 + 1.1328 / (b - 3.4),
                               0.9277 - 3.6224 / (b - 2), std::numeric_limits<double>::infinity(),
                               stream,
                               [&](double k) { return k * log_rate - rate - std::lgamma(k + 1); });
}

// Waiting times: geometric gaps between successes, for few expected successes (p <= 1/2).
double binomial_by_gaps(double count, double p, ElementStream& stream) {
  const double scale = 1 / std::log1p(-p);
  double successes = 0, trials = 0;
  for (;;) {
    trials += std::ceil(std::log(stream.uniform()) * scale);
    if (trials > count) return successes;
    ++successes;
  }
}

double binomial_by_rejection(double n, double p, ElementStream& stream) {
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, centre = n * p + 0.5;
  const double mode = std::floor((n + 1) * p), log_odds = std::log(p / (1 - p));
  auto ways = [&](double k) { return std::lgamma(k + 1) + std::lgamma(n - k + 1); };
  const double at_mode = ways(mode);
  return transformed_rejection(centre, a, b, (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b, n,
                               stream,
                               [&](double k) { return at_mode - ways(k) + (k - mode) * log_odds; });
}

}  // namespace

double sample_poisson(double rate, ElementStream& stream) {
  if (rate == 0 || std::isinf(rate)) return rate;
  return rate < 10 ? poisson_by_product(rate, stream) : poisson_by_rejection(rate, stream);
}

double sample_binomial(double count, double probability, ElementStream& stream) {
  if (std::isnan(count) || std::isnan(probability)) return std::numeric_limits<double>::quiet_NaN();
  const double n = std::floor(count);
  if (n <= 0 || probability <= 0) return 0;
  if (probability >= 1) return n;
  if (probability > 0.5) return n - sample_binomial(n, 1 - probability, stream);
  return n * probability < 10 ? binomial_by_gaps(n, probability, stream)
                              : binomial_by_rejection(n, probability, stream);
}

// Marsaglia and Tsang (2000): the cube of a nearly normal number. Shapes below 1 are raised by 1,
// which a power of a uniform number makes up for.
double sample_gamma(double shape, ElementStream& stream) {
  if (std::isinf(shape) && shape > 0) return shape;
  if (!(shape > 0)) return shape == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  if (shape < 1) {
    const double power = std::pow(stream.uniform(), 1 / shape);
    return sample_gamma(shape + 1, stream) * power;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = stream.uniform();
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

}  // namespace wisp::cpu
