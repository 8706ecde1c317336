#include <cmath>

#include "cpu/kernels/tile.h"

namespace wisp::cpu {

namespace {

constexpr DTypeSet ordered = dtypes::bits | dtypes::real_math;

template <class T>
WISP_INLINE bool truth(T x) {
  return x != T(0);
}

template <class T>
WISP_INLINE bool is_nan(T x) {
  if constexpr (detail::is_complex_type<T>) {
    return x.re != x.re || x.im != x.im;
  } else {
    return x != x;
  }
}

template <class T>
WISP_INLINE bool is_inf(T x) {
  if constexpr (detail::is_complex_type<T>) {
    return is_inf(x.re) || is_inf(x.im);
  } else {
    return (x < 0 ? -x : x) == std::numeric_limits<T>::infinity();
  }
}

// Shifting by the width or more empties the number (or leaves its sign).
template <class T>
WISP_INLINE T left(T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int width = sizeof(T) * 8;
  return b < 0 || b >= width ? T(0) : static_cast<T>(static_cast<U>(a) << b);
}

template <class T>
WISP_INLINE T right(T a, T b) {
  constexpr int last = sizeof(T) * 8 - (std::is_signed_v<T> ? 1 : 0);
  if (b < 0 || b >= last) return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
  return static_cast<T>(a >> b);
}

}  // namespace

namespace WISP_ISA {

void fill_logic(Kernels& table) {
  TileTable& t = table.tile;
  binary<Opcode::bitwise_and, dtypes::bits>(t, [](auto a, auto b) { return a & b; });
  binary<Opcode::bitwise_or, dtypes::bits>(t, [](auto a, auto b) { return a | b; });
  binary<Opcode::bitwise_xor, dtypes::bits>(t, [](auto a, auto b) { return a ^ b; });
  unary<Opcode::bitwise_not, dtypes::integral>(t, [](auto a) { return ~a; });
  unary<Opcode::bitwise_not, dtypes::boolean>(t, [](bool a) { return !a; });
  binary<Opcode::shift_left, dtypes::integral>(t, [](auto a, auto b) { return left(a, b); });
  binary<Opcode::shift_right, dtypes::integral>(t, [](auto a, auto b) { return right(a, b); });

  constexpr DTypeSet any = dtypes::bits | dtypes::math;
  binary<Opcode::logical_and, any>(t, [](auto a, auto b) { return truth(a) & truth(b); });
  binary<Opcode::logical_or, any>(t, [](auto a, auto b) { return truth(a) | truth(b); });
  binary<Opcode::logical_xor, any>(t, [](auto a, auto b) { return truth(a) ^ truth(b); });
  unary<Opcode::logical_not, any>(t, [](auto a) { return !truth(a); });

  binary_or_number<Opcode::eq, any>(table, [](auto a, auto b) { return a == b; });
  binary_or_number<Opcode::ne, any>(table, [](auto a, auto b) { return a != b; });
  binary_or_number<Opcode::lt, ordered>(table, [](auto a, auto b) { return a < b; });
  binary_or_number<Opcode::le, ordered>(table, [](auto a, auto b) { return a <= b; });
  binary_or_number<Opcode::gt, ordered>(table, [](auto a, auto b) { return a > b; });
  binary_or_number<Opcode::ge, ordered>(table, [](auto a, auto b) { return a >= b; });

  unary<Opcode::isnan, dtypes::math>(t, [](auto a) { return is_nan(a); });
  unary<Opcode::isinf, dtypes::math>(t, [](auto a) { return is_inf(a); });
  unary<Opcode::isfinite, dtypes::math>(t, [](auto a) { return !is_inf(a) & !is_nan(a); });
  unary<Opcode::isposinf, dtypes::real_math>(
      t, [](auto a) { return a == std::numeric_limits<decltype(a)>::infinity(); });
  unary<Opcode::isneginf, dtypes::real_math>(
      t, [](auto a) { return a == -std::numeric_limits<decltype(a)>::infinity(); });
  unary<Opcode::signbit, dtypes::integral>(t, [](auto a) { return a < 0; });
  unary<Opcode::signbit, dtypes::real_math>(t, [](auto a) { return std::signbit(a); });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
