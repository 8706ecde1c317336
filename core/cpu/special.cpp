// Special functions that branch too much to vectorise.
#include <cmath>
#include <limits>
#include <numbers>

#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

template <class T, class F>
void unary_tile(void* out, const void* const* in, int64_t n, const Params&) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in[0]);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(F{}(static_cast<double>(x[i])));
}

template <class F>
void unary(Kernels& table, Opcode op, F) {
  table.tile[int(op)][int(DType::float32)] = unary_tile<float, F>;
  table.tile[int(op)][int(DType::float64)] = unary_tile<double, F>;
}

double lgamma_of(double x) {
  int sign;  // the plain lgamma writes a global
  return lgamma_r(x, &sign);
}

// The logarithmic derivative of gamma: reflection for negative x, recurrence up to 10, then the
// asymptotic series with Bernoulli numbers.
double digamma_of(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double whole;
    const double fraction = std::modf(x, &whole);  // tan(pi x) loses its digits for large |x|
    return digamma_of(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double shift = 0;
  while (x < 10) {
    shift -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double series =
      z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return shift + std::log(x) - 0.5 / x - series;
}

}  // namespace

void fill_special(Kernels& t) {
  unary(t, Opcode::lgamma, [](double x) { return lgamma_of(x); });
  unary(t, Opcode::digamma, [](double x) { return digamma_of(x); });
}

}  // namespace wisp::cpu
