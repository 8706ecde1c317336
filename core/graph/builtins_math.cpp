// Python's module math, and min, max, sum, round of numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "graph/builtins_parts.h"

namespace wisp::graph {

namespace {

// A result that is not a number although the argument was one is outside of the function's domain.
double in_domain(double result, double argument) {
  WISP_CHECK_VALUE(!std::isnan(result) || std::isnan(argument), "math domain error");
  return result;
}

double finite_or_raise(double result, double argument) {
  if (std::isinf(result) && !std::isinf(argument)) raise("OverflowError", "math range error");
  return in_domain(result, argument);
}

int64_t rounded_to_integer(double value) {
  WISP_CHECK_VALUE(!std::isnan(value), "cannot convert float NaN to integer");
  if (!(std::abs(value) < 9223372036854775808.0))
    raise("OverflowError", "cannot convert float ", value, " to an integer of 64 bits");
  return static_cast<int64_t>(value);
}

// Halves go to the even neighbour, as of Python's round().
double round_half_even(double value) { return std::nearbyint(value); }

double round_digits(double value, int64_t digits) {
  if (digits > 22 || !std::isfinite(value)) return value;
  if (digits < -308) return 0.0;
  char text[400];
  if (digits >= 0) {
    // The decimal text is exact, so halves that only look like halves go the right way.
    std::snprintf(text, sizeof(text), "%.*f", static_cast<int>(digits), value);
    return std::strtod(text, nullptr);
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / scale) * scale;
}

int64_t factorial(int64_t n) {
  WISP_CHECK_VALUE(n >= 0, "factorial() not defined for negative values");
  int64_t product = 1;
  for (int64_t i = 2; i <= n; ++i) product *= i;
  return product;
}

double logarithm(double value) {
  WISP_CHECK_VALUE(value > 0 || std::isnan(value), "math domain error");
  return std::log(value);
}

template <class T>
Datum sum_of(BuiltinArgs args) {
  T total = 0;
  for (const Datum& item : args[0].items()) total += value_of<T>(item);
  return total;
}

template <class T, bool largest>
Datum extreme_of(BuiltinArgs args) {
  const auto& items = args[0].items();
  WISP_CHECK_VALUE(!items.empty(), largest ? "max" : "min", "() arg is an empty sequence");
  T best = value_of<T>(items[0]);
  for (const Datum& item : items) {
    const T value = value_of<T>(item);
    if (largest ? value > best : value < best) best = value;
  }
  return best;
}

void add_functions(std::vector<BuiltinRow>& table) {
#define WISP_FUNCTION(name, expression)             \
  table.push_back({name ".float(float x) -> float", \
                   unary<double, [](double x) -> double { return expression; }>});
  WISP_FUNCTION("sqrt", in_domain(std::sqrt(x), x))
  WISP_FUNCTION("exp", finite_or_raise(std::exp(x), x))
  WISP_FUNCTION("expm1", finite_or_raise(std::expm1(x), x))
  WISP_FUNCTION("exp2", finite_or_raise(std::exp2(x), x))
  WISP_FUNCTION("log", logarithm(x))
  WISP_FUNCTION("log2", (logarithm(x), std::log2(x)))
  WISP_FUNCTION("log10", (logarithm(x), std::log10(x)))
  WISP_FUNCTION("log1p", finite_or_raise(std::log1p(x), x))
  WISP_FUNCTION("sin", in_domain(std::sin(x), x))
  WISP_FUNCTION("cos", in_domain(std::cos(x), x))
  WISP_FUNCTION("tan", in_domain(std::tan(x), x))
  WISP_FUNCTION("asin", in_domain(std::asin(x), x))
  WISP_FUNCTION("acos", in_domain(std::acos(x), x))
  WISP_FUNCTION("atan", std::atan(x))
  WISP_FUNCTION("sinh", finite_or_raise(std::sinh(x), x))
  WISP_FUNCTION("cosh", finite_or_raise(std::cosh(x), x))
  WISP_FUNCTION("tanh", std::tanh(x))
  WISP_FUNCTION("asinh", std::asinh(x))
  WISP_FUNCTION("acosh", in_domain(std::acosh(x), x))
  WISP_FUNCTION("atanh", finite_or_raise(std::atanh(x), x))
  WISP_FUNCTION("erf", std::erf(x))
  WISP_FUNCTION("erfc", std::erfc(x))
  WISP_FUNCTION("gamma", finite_or_raise(std::tgamma(x), x))
  WISP_FUNCTION("lgamma", finite_or_raise(std::lgamma(x), x))
  WISP_FUNCTION("degrees", x * (180.0 / M_PI))
  WISP_FUNCTION("radians", x * (M_PI / 180.0))
  WISP_FUNCTION("fabs", std::abs(x))
  WISP_FUNCTION("round", round_half_even(x))
#undef WISP_FUNCTION
#define WISP_FUNCTION(name, expression)                      \
  table.push_back({name ".float(float x, float y) -> float", \
                   binary<double, [](double x, double y) -> double { return expression; }>});
  WISP_FUNCTION("atan2", std::atan2(x, y))
  WISP_FUNCTION("hypot", std::hypot(x, y))
  WISP_FUNCTION("copysign", std::copysign(x, y))
  WISP_FUNCTION("_nearest_remainder", in_domain(std::remainder(x, y), x))
  WISP_FUNCTION("fmod", in_domain(std::fmod(x, y), x))
  WISP_FUNCTION("log_base", logarithm(x) / logarithm(y))
#undef WISP_FUNCTION
}

void add_integers(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"floor.float(float x) -> int",
       unary<double, [](double x) { return rounded_to_integer(std::floor(x)); }>},
      {"ceil.float(float x) -> int",
       unary<double, [](double x) { return rounded_to_integer(std::ceil(x)); }>},
      {"trunc.float(float x) -> int", unary<double, rounded_to_integer>},
      {"isnan.float(float x) -> bool", unary<double, [](double x) { return std::isnan(x); }>},
      {"isinf.float(float x) -> bool", unary<double, [](double x) { return std::isinf(x); }>},
      {"isfinite.float(float x) -> bool", unary<double, [](double x) { return std::isfinite(x); }>},
      {"gcd.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return std::gcd(a, b); }>},
      {"factorial.int(int n) -> int", unary<int64_t, factorial>},
      {"ldexp.float(float x, int i) -> float",
       [](BuiltinArgs a) -> Datum {
         const int64_t power = std::clamp<int64_t>(a[1].integer(), -5000, 5000);
         return std::ldexp(a[0].real(), static_cast<int>(power));
       }},
      {"round.digits(float x, int digits) -> float",
       [](BuiltinArgs a) -> Datum { return round_digits(a[0].real(), a[1].integer()); }},
      {"modf.float(float x) -> (float, float)",
       [](BuiltinArgs a) -> Datum {
         double whole;
         const double rest = std::modf(a[0].real(), &whole);
         return Datum::tuple({rest, whole});
       }},
      {"frexp.float(float x) -> (float, int)",
       [](BuiltinArgs a) -> Datum {
         int power;
         const double mantissa = std::frexp(a[0].real(), &power);
         return Datum::tuple({mantissa, power});
       }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

template <auto f>
Datum of_complex(BuiltinArgs args) {
  return Datum(f(args[0].complex()));
}
using Complex = std::complex<double>;

void add_complex(std::vector<BuiltinRow>& table) {
#define WISP_COMPLEX(name)                                                                     \
  {                                                                                            \
    #name ".complex(complex x) -> complex", of_complex<[](Complex x) { return std::name(x); }> \
  }
  static constexpr BuiltinRow entries[] = {
      WISP_COMPLEX(sqrt),
      WISP_COMPLEX(exp),
      WISP_COMPLEX(log),
      WISP_COMPLEX(log10),
      WISP_COMPLEX(sin),
      WISP_COMPLEX(cos),
      WISP_COMPLEX(tan),
      WISP_COMPLEX(asin),
      WISP_COMPLEX(acos),
      WISP_COMPLEX(atan),
      WISP_COMPLEX(sinh),
      WISP_COMPLEX(cosh),
      WISP_COMPLEX(tanh),
      WISP_COMPLEX(asinh),
      WISP_COMPLEX(acosh),
      WISP_COMPLEX(atanh),
      {"phase.complex(complex x) -> float", of_complex<[](Complex x) { return std::arg(x); }>},
      {"polar.complex(complex x) -> (float, float)",
       of_complex<[](Complex x) { return Datum::tuple({std::abs(x), std::arg(x)}); }>},
      {"isnan.complex(complex x) -> bool",
       of_complex<[](Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); }>},
      {"isinf.complex(complex x) -> bool",
       of_complex<[](Complex x) { return std::isinf(x.real()) || std::isinf(x.imag()); }>},
      {"isfinite.complex(complex x) -> bool",
       of_complex<[](Complex x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }>},
      {"sum.complex(complex[] a) -> complex",
       [](BuiltinArgs a) -> Datum {
         Complex sum = 0;
         for (const Datum& item : a[0].items()) sum += item.complex();
         return sum;
       }},
  };
#undef WISP_COMPLEX
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_extremes(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"max.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return (b > a) ? b : a; }>},
      {"max.float(float a, float b) -> float",
       binary<double, [](double a, double b) { return (b > a) ? b : a; }>},
      {"max.int_list(int[] a) -> int", extreme_of<int64_t, true>},
      {"max.float_list(float[] a) -> float", extreme_of<double, true>},
      {"min.int(int a, int b) -> int",
       binary<int64_t, [](int64_t a, int64_t b) { return b < a ? b : a; }>},
      {"min.float(float a, float b) -> float",
       binary<double, [](double a, double b) { return b < a ? b : a; }>},
      {"min.int_list(int[] a) -> int", extreme_of<int64_t, false>},
      {"min.float_list(float[] a) -> float", extreme_of<double, false>},
      {"sum.int(int[] a) -> int", sum_of<int64_t>},
      {"sum.float(float[] a) -> float", sum_of<double>},
      {"sum.bool(bool[] a) -> int", sum_of<int64_t>},
      {"prod.int(int[] a) -> int",
       [](BuiltinArgs a) -> Datum {
         int64_t product = 1;
         for (const Datum& item : a[0].items()) product *= item.integer();
         return product;
       }},
      {"prod.float(float[] a) -> float",
       [](BuiltinArgs a) -> Datum {
         double product = 1;
         for (const Datum& item : a[0].items()) product *= item.real();
         return product;
       }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace

void add_math_builtins(std::vector<BuiltinRow>& table) {
  add_functions(table);
  add_integers(table);
  add_complex(table);
  add_extremes(table);
}

}  // namespace wisp::graph
