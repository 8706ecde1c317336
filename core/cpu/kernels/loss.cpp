// What single elements contribute to a loss, and the derivatives by the first of them (grad, x,
// target).
#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

constexpr DTypeSet real = dtypes::real_math;

template <class T>
WISP_INLINE T size_of_number(T x) {
  return x < 0 ? -x : x;
}

// Logarithms of probabilities stop at -100, lest one certain error makes everything infinite.
template <class T>
WISP_INLINE T bounded(T log) {
  return log < T(-100) ? T(-100) : log;
}

void fill_distances(TileTable& t) {
  binary<Opcode::squared_error, real>(t, [](auto x, auto y) { return (x - y) * (x - y); });
  ternary<Opcode::squared_error_grad, real>(
      t, [](auto grad, auto x, auto y) { return grad * (decltype(x)(2) * (x - y)); });
  // Param: beta, where the parabola ends.
  binary<Opcode::smooth_l1, real>(t, [](auto x, auto y, const Params& p) {
    using T = decltype(x);
    const T beta = param<T>(p), gap = size_of_number(x - y);
    return gap < beta ? T(0.5) * gap * gap / beta : gap - T(0.5) * beta;
  });
  ternary<Opcode::smooth_l1_grad, real>(t, [](auto grad, auto x, auto y, const Params& p) {
    using T = decltype(x);
    const T beta = param<T>(p), gap = x - y;
    return gap <= -beta ? -grad : gap >= beta ? grad : grad * (gap / beta);
  });
  // Param: delta, likewise.
  binary<Opcode::huber, real>(t, [](auto x, auto y, const Params& p) {
    using T = decltype(x);
    const T delta = param<T>(p), gap = size_of_number(x - y);
    return gap <= delta ? T(0.5) * gap * gap : delta * (gap - T(0.5) * delta);
  });
  ternary<Opcode::huber_grad, real>(t, [](auto grad, auto x, auto y, const Params& p) {
    using T = decltype(x);
    const T delta = param<T>(p), gap = x - y;
    return grad * (gap <= -delta ? -delta : gap >= delta ? delta : gap);
  });
}

void fill_entropies(TileTable& t) {
  binary<Opcode::bce, real>(t, [](auto x, auto y) {
    using T = decltype(x);
    return (y - T(1)) * bounded(vmath::log1p(-x)) - y * bounded(vmath::log(x));
  });
  ternary<Opcode::bce_grad, real>(t, [](auto grad, auto x, auto y) {
    using T = decltype(x);
    const T spread = (T(1) - x) * x, least = T(1e-12);
    return grad * (x - y) / (spread > least ? spread : least);
  });
  binary<Opcode::bce_logits, real>(
      t, [](auto x, auto y) { return (decltype(x)(1) - y) * x - vmath::log_sigmoid(x); });
  ternary<Opcode::bce_logits_grad, real>(
      t, [](auto grad, auto x, auto y) { return grad * (vmath::sigmoid(x) - y); });
}

}  // namespace

namespace WISP_ISA {

void fill_loss(Kernels& table) {
  fill_distances(table.tile);
  fill_entropies(table.tile);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
