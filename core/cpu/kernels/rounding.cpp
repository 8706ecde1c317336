#include <cmath>

#include "cpu/kernels/tile.h"

namespace wisp::cpu {

namespace WISP_ISA {

void fill_rounding(Kernels& table) {
  TileTable& t = table.tile;
  unary<Opcode::neg, dtypes::integral | dtypes::math>(t, [](auto x) { return -x; });
  unary<Opcode::abs, dtypes::integral>(t, [](auto x) { return x < 0 ? -x : x; });
  unary<Opcode::abs, dtypes::real_math>(t, [](auto x) { return std::fabs(x); });
  unary<Opcode::sign, dtypes::bits | dtypes::real_math>(t, [](auto x) {
    using T = decltype(x);
    return T((x > T(0)) - (x < T(0)));
  });
  unary<Opcode::floor, dtypes::real_math>(t, [](auto x) { return std::floor(x); });
  unary<Opcode::ceil, dtypes::real_math>(t, [](auto x) { return std::ceil(x); });
  unary<Opcode::round, dtypes::real_math>(t, [](auto x) { return std::nearbyint(x); });
  unary<Opcode::trunc, dtypes::real_math>(t, [](auto x) { return std::trunc(x); });
  unary<Opcode::frac, dtypes::real_math>(t, [](auto x) { return x - std::trunc(x); });
  unary<Opcode::square, dtypes::integral | dtypes::math>(t, [](auto x) { return x * x; });
  unary<Opcode::cube, dtypes::math>(t, [](auto x) { return x * x * x; });
  unary<Opcode::reciprocal, dtypes::real_math>(t, [](auto x) { return decltype(x)(1) / x; });
  unary<Opcode::reciprocal, dtypes::complex>(t, [](auto x) { return decltype(x)(1) / x; });
  unary<Opcode::conj, dtypes::complex>(t, [](auto x) { return conj(x); });
  unary<Opcode::relu, dtypes::integral>(t, [](auto x) { return x < 0 ? decltype(x)(0) : x; });
  // Not "x > 0 ? x : 0": NaN must stay NaN.
  unary<Opcode::relu, dtypes::real_math>(t, [](auto x) { return x < 0 ? decltype(x)(0) : x; });
  unary<Opcode::angle_real, dtypes::real_math>(t, [](auto x) {
    using T = decltype(x);
    return x != x ? x : x < 0 ? T(3.14159265358979323846) : T(0);
  });
  unary<Opcode::nan_to_num, dtypes::real_math>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    constexpr T inf = std::numeric_limits<T>::infinity();
    return x != x ? param<T>(p, 0) : x == inf ? param<T>(p, 1) : x == -inf ? param<T>(p, 2) : x;
  });
  unary<Opcode::nan_to_num, dtypes::complex>(t, [](auto z, const Params& p) {
    using R = decltype(z.re);
    constexpr R inf = std::numeric_limits<R>::infinity();
    auto finite = [&](R x) {
      return x != x ? param<R>(p, 0) : x == inf ? param<R>(p, 1) : x == -inf ? param<R>(p, 2) : x;
    };
    return decltype(z)(finite(z.re), finite(z.im));
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
