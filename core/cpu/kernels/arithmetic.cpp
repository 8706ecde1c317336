#include <bit>
#include <cmath>
#include <limits>

#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

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

template <class T>
WISP_INLINE T fused(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_fmaf(a, b, c);
  } else {
    return __builtin_fma(a, b, c);
  }
}
template <class T>
WISP_INLINE T trunc_of(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_truncf(x);
  } else {
    return __builtin_trunc(x);
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

// Rounds towards minus infinity.
template <class T>
WISP_INLINE T int_div_floor(T a, T b, const Params& params) {
  const T quotient = int_div_trunc(a, b, params);
  const T rest = static_cast<T>(a - quotient * b);
  return static_cast<T>(quotient - ((rest != 0) & ((rest < 0) != (b < 0)) & (b != 0)));
}

// --- Divisions of blocks of integers in floating point, which has vectors for it. Numbers below
// 2^51 and a quotient that differs from every integer by at least 2^-51 of itself are told apart
// exactly; anything larger, and zero as divisor, takes the way above.

constexpr double to_double_magic = 6755399441055744.0;  // 2^52 + 2^51: its last bits count units

WISP_INLINE double double_of(int64_t x) {
  return std::bit_cast<double>(x + std::bit_cast<int64_t>(to_double_magic)) - to_double_magic;
}
WISP_INLINE int64_t integer_of(double x) {
  return std::bit_cast<int64_t>(x + to_double_magic) - std::bit_cast<int64_t>(to_double_magic);
}
template <class T>
WISP_INLINE uint64_t beyond_doubles(T x) {
  if constexpr (sizeof(T) < 8) return 0;
  return (static_cast<uint64_t>(x) + (uint64_t(1) << 50)) >> 51;
}

// Fast{}(a, b) of doubles, Plain{}(a, b, params) of integers.
template <class T, class Fast, class Plain>
void integer_division_tile(void* out, const void* const* in, int64_t n, const Params& given) {
  constexpr int64_t block = 64;
  const Params params = given;
  T* y = static_cast<T*>(out);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = n - first < block ? n : first + block;
    uint64_t odd = 0;
    for (int64_t i = first; i < end; ++i)
      odd |= beyond_doubles(a[i]) | beyond_doubles(b[i]) | uint64_t(b[i] == 0);
    if (odd) {
      for (int64_t i = first; i < end; ++i) y[i] = Plain{}(a[i], b[i], params);
    } else {
#pragma GCC ivdep
      for (int64_t i = first; i < end; ++i)
        y[i] = static_cast<T>(integer_of(Fast{}(double_of(a[i]), double_of(b[i]))));
    }
  }
}

template <Opcode Op, class Fast, class Plain>
WISP_INLINE void integer_division(TileTable& table, Fast, Plain plain) {
  binary<Op, dtypes::integral>(table, plain);
  for_each_type<set_of(DType::int32, DType::int64)>(
      [&]<class T>() { table[int(Op)][int(dtype_of<T>)] = integer_division_tile<T, Fast, Plain>; });
}

// --- Remainders of floats. They are exact: for a quotient that fits the mantissa with room to
// spare, a fused multiply-add gives the difference without rounding, off by one divisor at most.
// Everything else (huge quotients, zeros, infinities, NaN) goes through the library.

template <class T>
WISP_INLINE T size_of_float(T x) {
  return x < 0 ? -x : x;
}
template <class T>
WISP_INLINE T with_sign(T size, T sign) {
  if constexpr (std::is_same_v<T, float>) {
    return __builtin_copysignf(size, sign);
  } else {
    return __builtin_copysign(size, sign);
  }
}

template <class T>
WISP_INLINE bool plain_quotient(T a, T b) {
  constexpr T limit = sizeof(T) == 4 ? T(1 << 22) : T(int64_t(1) << 51);
  const T size = size_of_float(b);
  return (size_of_float(a) < size * limit) & (size <= std::numeric_limits<T>::max());
}

template <class T>
struct FastMod {
  WISP_INLINE T operator()(T a, T b) const {
    const T x = size_of_float(a), y = size_of_float(b);
    T rest = fused(-trunc_of(x / y), y, x);
    rest = rest < 0 ? rest + y : rest;
    return with_sign(rest, a);
  }
};
template <class T>
struct LibraryMod {
  WISP_INLINE T operator()(T a, T b) const { return std::fmod(a, b); }
};

// The remainder with the sign of the divisor (Python's %).
template <class T, class Mod>
WISP_INLINE T float_remainder(T a, T b, Mod mod) {
  const T rest = mod(a, b);
  return (rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest;
}

// Rounds towards minus infinity, exact where a/b is (Python's //).
template <class T, class Mod>
WISP_INLINE T float_div_floor(T a, T b, Mod mod) {
  const T rest = mod(a, b), plain = a / b;
  T quotient = (a - rest) / b;
  quotient -= (rest != 0) & ((b < 0) != (rest < 0)) ? T(1) : T(0);
  const T floored = floor_of(quotient);
  const T rounded = quotient - floored > T(0.5) ? floored + 1 : floored;
  return b == 0 ? plain : quotient == 0 ? with_sign(T(0), plain) : rounded;
}

// F{}(a, b, mod) for tiles of floats: the fast remainder wherever a whole block allows it.
template <class T, class F>
void remainder_tile(void* out, const void* const* in, int64_t n, const Params&) {
  constexpr int64_t block = 64;
  T* y = static_cast<T*>(out);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  for (int64_t first = 0; first < n; first += block) {
    const int64_t end = n - first < block ? n : first + block;
    int odd = 0;
    for (int64_t i = first; i < end; ++i) odd |= !plain_quotient(a[i], b[i]);
    if (odd) {
      for (int64_t i = first; i < end; ++i) y[i] = F{}(a[i], b[i], LibraryMod<T>());
    } else {
#pragma GCC ivdep
      for (int64_t i = first; i < end; ++i) y[i] = F{}(a[i], b[i], FastMod<T>());
    }
  }
}

template <Opcode Op, class F>
WISP_INLINE void remainders(TileTable& table, F) {
  for_each_type<dtypes::real_math>(
      [&]<class T>() { table[int(Op)][int(dtype_of<T>)] = remainder_tile<T, F>; });
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

// Neighbouring numbers of one sign have neighbouring bits.
template <class T>
WISP_INLINE T next_after(T a, T b) {
  using Bits = vmath::Bits<T>;
  const Bits bits = vmath::to_bits(a), sign = vmath::to_bits(b) & vmath::kSignBit<T>;
  const Bits away = (a < b) == (a > 0) ? Bits(1) : ~Bits(0);  // from zero, or towards it
  const T next = vmath::from_bits(a == 0 ? sign | 1 : bits + away);
  return a != a || b != b ? a + b : a == b ? b : next;
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
  binary_or_number<Opcode::add, numbers>(table, [](auto a, auto b) { return a + b; });
  binary<Opcode::add, dtypes::boolean>(t, [](bool a, bool b) { return a || b; });
  binary_or_number<Opcode::sub, numbers>(table, [](auto a, auto b) { return a - b; });
  binary_or_number<Opcode::mul, numbers>(table, [](auto a, auto b) { return a * b; });
  binary<Opcode::mul, dtypes::boolean>(t, [](bool a, bool b) { return a && b; });
  binary_or_number<Opcode::div, dtypes::math>(table, [](auto a, auto b) { return a / b; });
  binary<Opcode::add_scaled, numbers>(
      t, [](auto a, auto b, const Params& p) { return a + param<decltype(b)>(p) * b; });

  binary<Opcode::add_scaled, dtypes::boolean>(
      t, [](bool a, bool b, const Params& p) { return a || (b && param<bool>(p)); });
  integer_division<Opcode::div_trunc>(
      t, [](double a, double b) { return trunc_of(a / b); },
      [](auto a, auto b, const Params& p) { return int_div_trunc(a, b, p); });
  binary<Opcode::div_trunc, dtypes::real_math>(t, [](auto a, auto b) { return std::trunc(a / b); });
  integer_division<Opcode::div_floor>(
      t, [](double a, double b) { return floor_of(a / b); },
      [](auto a, auto b, const Params& p) { return int_div_floor(a, b, p); });
  integer_division<Opcode::fmod>(
      t, [](double a, double b) { return a - trunc_of(a / b) * b; },
      [](auto a, auto b, const Params& p) { return int_fmod(a, b, p); });
  integer_division<Opcode::remainder>(
      t, [](double a, double b) { return a - floor_of(a / b) * b; },
      [](auto a, auto b, const Params& p) {
        using T = decltype(a);
        const T rest = int_fmod(a, b, p);
        return static_cast<T>((rest != 0) & ((rest < 0) != (b < 0)) ? rest + b : rest);
      });
  remainders<Opcode::fmod>(t, [](auto a, auto b, auto mod) { return mod(a, b); });
  remainders<Opcode::remainder>(
      t, [](auto a, auto b, auto mod) { return float_remainder(a, b, mod); });
  remainders<Opcode::div_floor>(
      t, [](auto a, auto b, auto mod) { return float_div_floor(a, b, mod); });
  binary<Opcode::pow, dtypes::integral>(t, [](auto a, auto b) { return int_pow(a, b); });

  binary<Opcode::maximum, dtypes::bits>(t, [](auto a, auto b) { return a > b ? a : b; });
  binary<Opcode::minimum, dtypes::bits>(t, [](auto a, auto b) { return a < b ? a : b; });
  binary<Opcode::maximum, dtypes::boolean>(t, [](bool a, bool b) { return a || b; });
  binary<Opcode::minimum, dtypes::boolean>(t, [](bool a, bool b) { return a && b; });
  binary<Opcode::maximum, dtypes::real_math>(t, [](auto a, auto b) {
    const auto larger = a > b ? a : b;  // b, if that is NaN
    return a != a ? a : larger;
  });
  binary<Opcode::minimum, dtypes::real_math>(t, [](auto a, auto b) {
    const auto smaller = a < b ? a : b;
    return a != a ? a : smaller;
  });
  binary<Opcode::fmax, dtypes::bits>(t, [](auto a, auto b) { return a > b ? a : b; });
  binary<Opcode::fmin, dtypes::bits>(t, [](auto a, auto b) { return a < b ? a : b; });
  binary<Opcode::fmax, dtypes::boolean>(t, [](bool a, bool b) { return a || b; });
  binary<Opcode::fmin, dtypes::boolean>(t, [](bool a, bool b) { return a && b; });
  binary<Opcode::fmax, dtypes::real_math>(t, [](auto a, auto b) {
    return b != b || a > b ? a : a != a ? b : b;
  });
  binary<Opcode::fmin, dtypes::real_math>(t, [](auto a, auto b) {
    return b != b || a < b ? a : a != a ? b : b;
  });
  binary<Opcode::copysign, dtypes::real_math>(t,
                                              [](auto a, auto b) { return std::copysign(a, b); });
  binary<Opcode::nextafter, dtypes::real_math>(t, [](auto a, auto b) { return next_after(a, b); });
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
