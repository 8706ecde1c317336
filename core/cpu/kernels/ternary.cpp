#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace WISP_ISA {

void fill_ternary(Kernels& table) {
  TileTable& t = table.tile;
  constexpr DTypeSet numbers = dtypes::integral | dtypes::math;
  ternary<Opcode::where, dtypes::bits | dtypes::math>(
      t, [](bool c, auto a, auto b) { return c ? a : b; });
  // Symmetric in the two ends, so that weight 1 gives `end` exactly.
  ternary_or_number<Opcode::lerp, dtypes::real_math>(table, [](auto start, auto end, auto weight) {
    const auto span = end - start;
    using T = decltype(start);
    return vmath::fabs(weight) < T(0.5) ? start + weight * span : end - span * (T(1) - weight);
  });
  // The same for one weight: base + factor * (end - start), see lerp_kernel().
  binary<Opcode::lerp_by, dtypes::real_math>(t, [](auto start, auto end, const Params& p) {
    return (p.values[1] != 0 ? end : start) + param<decltype(end)>(p) * (end - start);
  });
  ternary<Opcode::lerp, dtypes::complex>(t, [](auto start, auto end, auto weight) {
    using T = decltype(start);
    const auto span = end - start;
    const auto size = weight.re * weight.re + weight.im * weight.im;
    return size < decltype(size)(0.25) ? start + weight * span : end - span * (T(1) - weight);
  });
  ternary_or_number<Opcode::addcmul, numbers>(table, [](auto a, auto b, auto c, const Params& p) {
    return a + param<decltype(b)>(p) * b * c;
  });
  ternary_or_number<Opcode::addcdiv, dtypes::math>(
      table,
      [](auto a, auto b, auto c, const Params& p) { return a + param<decltype(b)>(p) * (b / c); });
  ternary<Opcode::clamp, dtypes::bits>(t, [](auto x, auto low, auto high) {
    const auto raised = x < low ? low : x;
    return raised > high ? high : raised;
  });
  ternary<Opcode::clamp, dtypes::real_math>(t, [](auto x, auto low, auto high) {
    const auto raised = x < low ? low : x;
    const auto clamped = raised > high ? high : raised;
    return x != x ? x : low != low ? low : high != high ? high : clamped;
  });
  // Between two numbers, neither of them NaN.
  unary<Opcode::clamp_to, dtypes::real_math>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T low = param<T>(p, 0), high = param<T>(p, 1);
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  });
  binary<Opcode::tanh_grad, dtypes::real_math>(
      t, [](auto grad, auto y) { return grad * (decltype(y)(1) - y * y); });
  binary<Opcode::tanh_grad, dtypes::complex>(
      t, [](auto grad, auto y) { return grad * conj(decltype(y)(1) - y * y); });
  binary<Opcode::sigmoid_grad, dtypes::real_math>(
      t, [](auto grad, auto y) { return grad * ((decltype(y)(1) - y) * y); });
  binary<Opcode::sigmoid_grad, dtypes::complex>(
      t, [](auto grad, auto y) { return grad * conj((decltype(y)(1) - y) * y); });
  binary<Opcode::relu_grad, dtypes::real_math>(
      t, [](auto grad, auto y) { return y <= 0 ? decltype(y)(0) : grad; });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
