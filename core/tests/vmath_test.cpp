// Measures the accuracy of cpu/vmath.h and cpu/vmath_special.h: the largest error of every
// function, in units in the last place, and where it is. Exits with 1 if a limit is exceeded, or if
// an infinity, a NaN or the sign of a zero is wrong.
//
// The full run takes every float, and twenty million doubles (or pairs), for each function, which
// is the better part of an hour; --quick takes a sample in under twenty seconds. The references are
// the C library's functions of the next wider type. Build with the flags of the kernels, at any
// -march:
//
//   g++ -O3 -std=c++20 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv -Icore
//       -march=x86-64-v3 core/tests/vmath_test.cpp -o vmath_test
//   ./vmath_test [--quick] [function]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/vmath_special.h"
#include "cpu/vmath_trig.h"

namespace {

namespace vmath = wisp::cpu::vmath;

bool quick = false;
bool failed = false;
const char* only = nullptr;

constexpr int kTile = 4096;

template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// As in a kernel, so that what is tested is the vector code.
template <class T, class F>
__attribute__((noinline)) void apply(F f, const T* x, T* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = f(x[i]);
}
template <class T, class F>
__attribute__((noinline)) void apply(F f, const T* a, const T* b, T* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
}

// 1 over the unit in the last place that r would have as a float, or as a double.
double inverse_ulp(double r) {
  const int e = static_cast<int>(__builtin_bit_cast(uint64_t, r) >> 52 & 0x7ff) - 1023;
  return __builtin_bit_cast(double, static_cast<uint64_t>(1023 + 23 - std::max(e, -126)) << 52);
}
long double inverse_ulp(long double r) {
  int e;
  std::frexp(r, &e);
  return std::ldexp(1.0L, 53 - std::max(e, -1021));
}

// The error of y in units in the last place of the reference r, or of floor if that is larger.
// Infinite if y is special and r, rounded, is not, or the other way round.
template <class T>
double ulps(T y, Wider<T> r, Wider<T> floor) {
  const T rounded = static_cast<T>(r);
  if (std::isnan(r) || std::isnan(y)) return std::isnan(r) && std::isnan(y) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(y)) return rounded == y ? 0 : INFINITY;
  if (r == 0 && y == 0) return std::signbit(r) == std::signbit(y) ? 0 : INFINITY;
  return static_cast<double>(std::fabs(r - y) * inverse_ulp(std::max(std::fabs(r), floor)));
}

template <class T>
struct Worst {
  double error = -1;
  T a = 0, b = 0, y = 0;

  void add(double e, T x0, T x1, T got) {
    if (e > error) error = e, a = x0, b = x1, y = got;
  }
  void print(const char* name, double limit, bool binary) const {
    const bool bad = !(error <= limit);
    failed |= bad;
    std::printf("%-12s %-6s %7.3f  (limit %3.1f)  at %.17g", name,
                sizeof(T) == 4 ? "float" : "double", error, limit, static_cast<double>(a));
    if (binary) std::printf(", %.17g", static_cast<double>(b));
    std::printf(" -> %.17g%s\n", static_cast<double>(y), bad ? "  FAILED" : "");
    std::fflush(stdout);
  }
};

uint64_t random_bits() {
  static uint64_t s = 0x9e3779b97f4a7c15;
  s ^= s << 13, s ^= s >> 7, s ^= s << 17;
  return s * 0x2545f4914f6cdd1d;
}
double uniform(double lo, double hi) { return lo + (hi - lo) * 0x1p-53 * (random_bits() >> 11); }

// Arguments where some function changes its mind, each with its neighbours, and the special ones.
template <class T>
std::vector<T> special_values(int neighbours) {
  using L = std::numeric_limits<T>;
  std::vector<double> points = {
      0,     L::min(),  L::denorm_min(), L::max(), L::epsilon(), M_SQRT1_2, M_SQRT2,
      M_LN2, M_LN2 / 2, M_PI_4,          M_PI_2,   M_PI,         2 * M_PI,  1.4616321449683623};
  for (double p : {0.25,   0.5,    0.75,  1.0,    1.5,    2.0,    2.4,    2.5,   3.0,   3.4,
                   4.0,    5.0,    6.25,  8.0,    9.1,    10.0,   16.0,   17.3,  20.0,  27.2,
                   36.7,   40.0,   88.7,  89.4,   103.9,  127.0,  128.0,  149.0, 150.0, 708.4,
                   709.78, 710.47, 745.1, 1022.0, 1023.0, 1024.0, 1074.0, 1075.0}) {
    points.push_back(p);
  }
  for (int e = -40; e <= 70; e += e < 20 || e > 55 ? 5 : 1) points.push_back(std::exp2(e));
  std::vector<T> v = {L::infinity(), -L::infinity(), L::quiet_NaN()};
  for (double p : points) {
    for (double x : {p, -p}) {
      T up = static_cast<T>(x), down = up;
      v.push_back(up);
      for (int i = 0; i < neighbours; ++i) {
        v.push_back(up = std::nextafter(up, L::infinity()));
        v.push_back(down = std::nextafter(down, -L::infinity()));
      }
    }
  }
  return v;
}

template <class T>
T from_random_bits() {
  T x;
  const uint64_t bits = random_bits();
  std::memcpy(&x, &bits, sizeof(T));
  return x;
}

// A double from one of several distributions: all exponents alike, [lo, hi], close to -1, 0 or 1,
// and next to multiples of pi/2.
double random_double(double lo, double hi) {
  const uint64_t bits = random_bits();
  const double d = std::copysign(std::exp2(uniform(-60, 4)), bits & 4 ? 1.0 : -1.0);
  switch (bits >> 32 & 3) {
    case 0:
      return from_random_bits<double>();
    case 1:
      return uniform(lo, hi);
    case 2:
      return bits & 2 ? d : bits & 1 ? 1 + d : -1 + d;
    default:
      return static_cast<double>(std::rint(std::exp2(uniform(0, 30))) *
                                 (3.14159265358979323846L / 2));
  }
}

template <class F, class Ref, class Slow, class Floor>
struct Unary {
  F f;
  Ref ref;
  Slow slow;    // arguments to leave out
  Floor floor;  // see ulps

  template <class T>
  void tile(Worst<T>& worst, const T* x, int n) const {
    T y[kTile];
    apply(f, x, y, n);
    for (int i = 0; i < n; ++i) {
      const Wider<T> wide = x[i];
      if (!slow(x[i])) worst.add(ulps(y[i], ref(wide), floor(wide)), x[i], T(0), y[i]);
    }
  }

  template <class T>
  void specials(Worst<T>& worst) const {
    const std::vector<T> v = special_values<T>(quick ? 3 : 50);
    for (size_t i = 0; i < v.size(); i += kTile) {
      tile(worst, &v[i], static_cast<int>(std::min<size_t>(kTile, v.size() - i)));
    }
  }

  void floats(const char* name, double limit) const {
    constexpr uint64_t kEnd = uint64_t(1) << 32;
    const uint64_t step = quick ? 131 : 1;
    Worst<float> worst;
    float x[kTile];
    for (uint64_t bits = 0; bits < kEnd;) {
      int n = 0;
      for (; n < kTile && bits < kEnd; bits += step) {
        x[n++] = __builtin_bit_cast(float, static_cast<uint32_t>(bits));
      }
      tile(worst, x, n);
    }
    specials(worst);
    worst.print(name, limit, false);
  }

  void doubles(const char* name, double limit, double lo, double hi) const {
    Worst<double> worst;
    double x[kTile];
    for (int k = quick ? 50 : 5000; k > 0; --k) {
      for (double& e : x) e = random_double(lo, hi);
      tile(worst, x, kTile);
    }
    specials(worst);
    worst.print(name, limit, false);
  }
};

// Pairs: all exponents alike, both within a range, and powers or ratios near 1 and near overflow.
template <class T, class F, class Ref>
void check_pairs(const char* name, double limit, F f, Ref ref, double range0, double range1) {
  Worst<T> worst;
  T a[kTile], b[kTile], y[kTile];
  const auto check = [&](int n) {
    apply(f, a, b, y, n);
    for (int i = 0; i < n; ++i) {
      worst.add(ulps(y[i], ref(Wider<T>(a[i]), Wider<T>(b[i])), Wider<T>(0)), a[i], b[i], y[i]);
    }
  };
  for (int k = quick ? 50 : 5000; k > 0; --k) {
    for (int i = 0; i < kTile; ++i) {
      if (i % 4 == 0) {
        a[i] = from_random_bits<T>(), b[i] = from_random_bits<T>();
      } else if (i % 4 == 1) {
        a[i] = static_cast<T>(uniform(-range0, range0)),
        b[i] = static_cast<T>(uniform(-range1, range1));
      } else {
        const double x = i % 4 == 2 ? std::exp2(uniform(-30, 30)) : 1 + std::exp2(uniform(-30, -1)),
                     e = uniform(-1.1, 1.1);
        a[i] = static_cast<T>(x);
        b[i] = static_cast<T>(i % 8 < 4 ? x * e
                                        : std::numeric_limits<T>::max_exponent * e / std::log2(x));
      }
    }
    check(kTile);
  }
  int n = 0;
  const std::vector<T> v = special_values<T>(1);
  for (T p : v) {
    for (T q : v) {
      a[n] = p, b[n] = q;
      if (++n == kTile) check(n), n = 0;
    }
  }
  check(n);
  worst.print(name, limit, true);
}

// References that the library does not have.

template <class R>
R sigmoid(R x) {
  return 1 / (1 + std::exp(-x));
}
template <class R>
R log1pexp(R x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
template <class R>
R log_sigmoid(R x) {
  return x < 0 ? x - std::log1p(std::exp(x)) : 0 - std::log1p(std::exp(-x));
}
template <class R>
R rsqrt(R x) {
  return 1 / std::sqrt(x);
}

// One Newton step in R from the answer under test, which squares its error.
template <class R>
R erfinv(R x) {
  constexpr R kHalfSqrtPi = static_cast<R>(0.88622692545275801364908374167057L);
  const R a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * R(INFINITY) : R(NAN);
  if (a < R(1e-11)) return x * kHalfSqrtPi;
  const R y = vmath::erfinv(static_cast<double>(a));
  const R error = a < R(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
  return std::copysign(y - error * std::exp(y * y) * kHalfSqrtPi, x);
}

// The recurrence up to 10 or 20, then the asymptotic series; a Taylor series about the positive
// zero.
template <class R>
R digamma(R x) {
  constexpr R kPi = static_cast<R>(3.14159265358979323846264338327950288L);
  if (x == 0) return std::copysign(R(INFINITY), -x);
  if (x < 0) {
    const R f = x - std::rint(x);
    return std::isinf(x) || f == 0 ? R(NAN) : digamma(1 - x) - kPi / std::tan(kPi * f);
  }
  const R d = (x - static_cast<R>(0x1.762d86356be3fp0L)) - static_cast<R>(0x1.b86a722197829p-54L);
  if (std::fabs(d) < R(0.05)) {
    constexpr long double c[] = {
        0.967672245447621170427L,   -0.442763168983592106093L,   0.258499760955651010624L,
        -0.163942705442406527504L,  0.107824050691262365757L,    -0.0721995612564547109261L,
        0.0488042881641431072251L,  -0.0331611264748473592923L,  0.0225976482322181046596L,
        -0.0154247659049489591388L, 0.0105387916166121753881L,   -0.00720453438635686824097L,
        0.00492678139572985344635L, -0.00336980165543932808279L, 0.00230512632673492783694L,
        -0.00157693677143019725927L};
    R s = 0;
    for (int k = std::size(c) - 1; k >= 0; --k) s = (s + static_cast<R>(c[k])) * d;
    return s;
  }
  R s = 0;
  for (; x < (sizeof(R) == 8 ? 10 : 20); x += 1) s -= 1 / x;
  const R u = 1 / (x * x);
  R t = R(3617) / 8160;
  for (R c :
       {R(1) / 12, R(691) / 32760, R(1) / 132, R(1) / 240, R(1) / 252, R(1) / 120, R(1) / 12}) {
    t = c - u * t;
  }
  return s + (std::log(x) - R(0.5) / x - u * t);
}

constexpr auto never = [](auto) { return false; };
constexpr auto relative = [](auto x) { return decltype(x)(0); };

#define WISP_CHECK_FULL(fn, float_limit, double_limit, lo, hi, ref, slow, floor)                \
  if (!only || !std::strcmp(only, #fn)) {                                                       \
    const Unary check{[](auto x) { return vmath::fn(x); }, [](auto x) { return ref(x); }, slow, \
                      floor};                                                                   \
    check.floats(#fn, float_limit);                                                             \
    check.doubles(#fn, double_limit, lo, hi);                                                   \
  }
#define WISP_CHECK(fn, float_limit, double_limit, lo, hi, ref) \
  WISP_CHECK_FULL(fn, float_limit, double_limit, lo, hi, ref, never, relative)
#define WISP_CHECK_SLOW(fn, float_limit, double_limit, lo, hi, ref) \
  WISP_CHECK_FULL(                                                  \
      fn, float_limit, double_limit, lo, hi, ref,                   \
      [](auto x) { return vmath::needs_slow_##fn(x); }, relative)
#define WISP_CHECK2(fn, float_limit, double_limit, range0, range1)  \
  if (!only || !std::strcmp(only, #fn)) {                           \
    const auto f = [](auto x, auto y) { return vmath::fn(x, y); };  \
    const auto ref = [](auto x, auto y) { return std::fn(x, y); };  \
    check_pairs<float>(#fn, float_limit, f, ref, range0, range1);   \
    check_pairs<double>(#fn, double_limit, f, ref, range0, range1); \
  }

void check_all() {
  WISP_CHECK(exp, 1, 1, -745, 710, std::exp)
  WISP_CHECK(exp2, 1.5, 1.5, -1075, 1024, std::exp2)
  WISP_CHECK(expm1, 1.5, 1.5, -40, 710, std::expm1)
  WISP_CHECK(sigmoid, 2.5, 2.5, -750, 40, sigmoid)
  WISP_CHECK(tanh, 1.5, 1.5, -20, 20, std::tanh)
  WISP_CHECK(sinh, 1.5, 1.5, -711, 711, std::sinh)
  WISP_CHECK(cosh, 1.5, 1.5, -711, 711, std::cosh)
  WISP_CHECK(log, 1, 1, 0, 10, std::log)
  WISP_CHECK(log2, 1.5, 1.5, 0, 10, std::log2)
  WISP_CHECK(log10, 1.5, 1.5, 0, 10, std::log10)
  WISP_CHECK(log1p, 1, 1, -1, 10, std::log1p)
  WISP_CHECK(log1pexp, 2, 2, -745, 40, log1pexp)
  WISP_CHECK(log_sigmoid, 2, 2, -40, 745, log_sigmoid)
  WISP_CHECK(asinh, 1.5, 1.5, -10, 10, std::asinh)
  WISP_CHECK(acosh, 2, 3, 1, 10, std::acosh)
  WISP_CHECK(atanh, 2, 2, -1, 1, std::atanh)
  WISP_CHECK_SLOW(sin, 1, 1, -1e6, 1e6, std::sin)
  WISP_CHECK_SLOW(cos, 1, 1, -1e6, 1e6, std::cos)
  WISP_CHECK_SLOW(tan, 2, 3, -1e6, 1e6, std::tan)
  WISP_CHECK(asin, 1.5, 1.5, -1, 1, std::asin)
  WISP_CHECK(acos, 1.5, 1.5, -1, 1, std::acos)
  WISP_CHECK(atan, 1.5, 1.5, -10, 10, std::atan)
  WISP_CHECK2(atan2, 2, 2, 10, 10)
  WISP_CHECK(rsqrt, 1.5, 1.5, 0, 10, rsqrt)
  WISP_CHECK2(hypot, 1, 1.5, 10, 10)
  WISP_CHECK2(pow, 1, 1.5, 10, 300)
  WISP_CHECK(erf, 1.5, 2, -6, 6, std::erf)
  WISP_CHECK(erfc, 1, 3, -6, 28, std::erfc)
  WISP_CHECK(erfinv, 2, 3, -1, 1, erfinv)
  WISP_CHECK_SLOW(lgamma, 1, 3, 0, 20, std::lgamma)
  // Left of 0 digamma is a sum that has zeros; the floor is about the size of its terms.
  WISP_CHECK_FULL(digamma, 1, 3, -20, 20, digamma, never,
                  [](auto x) { return x < 0 ? 2 + std::log(1 - x) : decltype(x)(0); })
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--quick")) {
      quick = true;
    } else {
      only = argv[i];
    }
  }
  check_all();
  return failed;
}
