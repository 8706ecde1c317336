#include <cmath>

#include "cpu/kernels/tile.h"

namespace wisp::cpu {

namespace {

constexpr DTypeSet numbers = dtypes::integral | dtypes::math;

template <class T>
WISP_INLINE T floor_of(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_floorf(x);
  } else {
    return __builtin_floor(x);
  }
}

// Integer division without undefined behaviour: by zero is told and gives 0, MIN / -1 wraps.
template <class T>
WISP_INLINE bool bad_divisor(T b, const Params& params) {
  if (b != 0) return false;
  if (params.divided_by_zero) params.divided_by_zero->store(true, std::memory_order_relaxed);
  return true;
}

template <class T>
WISP_INLINE T int_div_trunc(T a, T b, const Params& params) {
  if (bad_divisor(b, params)) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(-a);
  }
  return static_cast<T>(a / b);
}

template <class T>
WISP_INLINE T int_fmod(T a, T b, const Params& params) {
  if (bad_divisor(b, params)) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return 0;
  }
  return static_cast<T>(a % b);
}

// Rounds towards minus infinity, exact where a/b is (Python's //).
template <class T>
WISP_INLINE T float_div_floor(T a, T b) {
  if (b == 0) return a / b;
  T mod = std::fmod(a, b);
  T quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T floored = floor_of(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}

template <class T>
WISP_INLINE T int_pow(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == T(-1)) return (exponent & 1) ? T(-1) : T(1);
      return 0;
    }
  }
  T result = 1;
  while (exponent) {
    if (exponent & 1) result = static_cast<T>(result * base);
    base = static_cast<T>(base * base);
    exponent = static_cast<T>(exponent / 2);
  }
  return result;
}

template <class T>
WISP_INLINE T gcd_of(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (a < 0) a = static_cast<T>(-a);
    if (b < 0) b = static_cast<T>(-b);
  }
  while (b != 0) {
    const T rest = int_fmod(a, b, Params());
    a = b;
    b = rest;
  }
  if constexpr (std::is_signed_v<T>) {
    if (a < 0) a = static_cast<T>(-a);
  }
  return a;
}

}  // namespace

namespace WISP_ISA {

void fill_arithmetic(Kernels& table) {
  TileTable& t = table.tile;
  binary<Opcode::add, numbers>(t, [](auto a, auto b) { return a + b; });
  binary<Opcode::add, dtypes::boolean>(t, [](bool a, bool b) { return a || b; });
  binary<Opcode::sub, numbers>(t, [](auto a, auto b) { return a - b; });
  binary<Opcode::mul, numbers>(t, [](auto a, auto b) { return a * b; });
  binary<Opcode::mul, dtypes::boolean>(t, [](bool a, bool b) { return a && b; });
  binary<Opcode::div, dtypes::math>(t, [](auto a, auto b) { return a / b; });
  binary<Opcode::add_scaled, numbers>(
      t, [](auto a, auto b, const Params& p) { return a + param<decltype(b)>(p) * b; });

  binary<Opcode::add_scaled, dtypes::boolean>(
      t, [](bool a, bool b, const Params& p) { return a || (b && param<bool>(p)); });
  binary<Opcode::div_trunc, dtypes::integral>(
      t, [](auto a, auto b, const Params& p) { return int_div_trunc(a, b, p); });
  binary<Opcode::div_trunc, dtypes::real_math>(t, [](auto a, auto b) { return std::trunc(a / b); });
  binary<Opcode::div_floor, dtypes::integral>(t, [](auto a, auto b, const Params& p) {
    using T = decltype(a);
    const T rest = int_fmod(a, b, p);
    const T quotient = int_div_trunc(a, b, p);
    return static_cast<T>(quotient - (rest != 0 && (rest < 0) != (b < 0)));
  });
  binary<Opcode::div_floor, dtypes::real_math>(
      t, [](auto a, auto b) { return float_div_floor(a, b); });
  binary<Opcode::fmod, dtypes::integral>(
      t, [](auto a, auto b, const Params& p) { return int_fmod(a, b, p); });
  binary<Opcode::fmod, dtypes::real_math>(t, [](auto a, auto b) { return std::fmod(a, b); });
  binary<Opcode::remainder, dtypes::integral>(t, [](auto a, auto b, const Params& p) {
    using T = decltype(a);
    const T rest = int_fmod(a, b, p);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  });
  binary<Opcode::remainder, dtypes::real_math>(t, [](auto a, auto b) {
    const auto rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  });
  binary<Opcode::pow, dtypes::integral>(t, [](auto a, auto b) { return int_pow(a, b); });

  binary<Opcode::maximum, dtypes::bits>(t, [](auto a, auto b) { return a > b ? a : b; });
  binary<Opcode::minimum, dtypes::bits>(t, [](auto a, auto b) { return a < b ? a : b; });
  binary<Opcode::maximum, dtypes::real_math>(t, [](auto a, auto b) {
    return a != a ? a : b != b ? b : a > b ? a : b;
  });
  binary<Opcode::minimum, dtypes::real_math>(t, [](auto a, auto b) {
    return a != a ? a : b != b ? b : a < b ? a : b;
  });
  binary<Opcode::fmax, dtypes::bits>(t, [](auto a, auto b) { return a > b ? a : b; });
  binary<Opcode::fmin, dtypes::bits>(t, [](auto a, auto b) { return a < b ? a : b; });
  binary<Opcode::fmax, dtypes::real_math>(t, [](auto a, auto b) {
    return b != b || a > b ? a : a != a ? b : b;
  });
  binary<Opcode::fmin, dtypes::real_math>(t, [](auto a, auto b) {
    return b != b || a < b ? a : a != a ? b : b;
  });
  binary<Opcode::copysign, dtypes::real_math>(t,
                                              [](auto a, auto b) { return std::copysign(a, b); });
  binary<Opcode::nextafter, dtypes::real_math>(t,
                                               [](auto a, auto b) { return std::nextafter(a, b); });
  binary<Opcode::heaviside, dtypes::bits | dtypes::real_math>(t, [](auto a, auto b) {
    using T = decltype(a);
    return a == T(0) ? b : T(a > T(0));
  });
  binary<Opcode::gcd, dtypes::integral>(t, [](auto a, auto b) { return gcd_of(a, b); });
  binary<Opcode::lcm, dtypes::integral>(t, [](auto a, auto b) {
    using T = decltype(a);
    const T divisor = gcd_of(a, b);
    if (divisor == 0) return T(0);
    const auto product = a / divisor * b;  // of small integers an int, which holds it
    return static_cast<T>(product < 0 ? -product : product);
  });
  for_each_type<dtypes::complex>([&]<class T>() {
    using R = decltype(T::re);
    t[int(Opcode::make_complex)][int(dtype_of<T>)] =
        binary_tile<R, T, decltype([](R re, R im) { return T(re, im); })>;
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
