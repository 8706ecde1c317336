// Activation functions and their derivatives (grad, x).
#include "cpu/kernels/tile.h"
#include "cpu/vmath_special.h"

namespace wisp::cpu {

namespace {

constexpr double inv_sqrt_2pi = 0.39894228040143267794;
constexpr double sqrt_2_over_pi = 0.79788456080286535588;
constexpr double gelu_cubic = 0.044715;

// The argument of tanh in the approximation of gelu.
template <class T>
WISP_INLINE T gelu_inner(T x) {
  return T(sqrt_2_over_pi) * (x + T(gelu_cubic) * x * x * x);
}

template <class T>
WISP_INLINE T gelu_tanh_slope(T x) {
  const T t = vmath::tanh(gelu_inner(x));
  const T inner_slope = T(sqrt_2_over_pi) * (T(1) + T(3 * gelu_cubic) * x * x);
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner_slope;
}

// tanh(log(1 + e^x)), of which mish is a multiple.
template <class T>
WISP_INLINE T mish_gate(T x) {
  return vmath::tanh(vmath::log1pexp(x));
}

void fill_smooth(TileTable& t) {
  constexpr DTypeSet real = dtypes::real_math;
  unary<Opcode::gelu, real>(t, [](auto x) { return x * vmath::normal_cdf(x); });
  binary<Opcode::gelu_grad, real>(t, [](auto grad, auto x) {
    using T = decltype(x);
    return grad * (vmath::normal_cdf(x) + x * T(inv_sqrt_2pi) * vmath::exp(T(-0.5) * x * x));
  });
  unary<Opcode::gelu_tanh, real>(t, [](auto x) {
    using T = decltype(x);
    return T(0.5) * x * (T(1) + vmath::tanh(gelu_inner(x)));
  });
  binary<Opcode::gelu_tanh_grad, real>(t,
                                       [](auto grad, auto x) { return grad * gelu_tanh_slope(x); });
  unary<Opcode::silu, real>(t, [](auto x) { return x * vmath::sigmoid(x); });
  binary<Opcode::gate, real>(t, [](auto x, auto gate) { return x * vmath::sigmoid(gate); });
  binary<Opcode::silu_grad, real>(t, [](auto grad, auto x) {
    using T = decltype(x);
    const T s = vmath::sigmoid(x);
    return grad * s * (T(1) + x * (T(1) - s));
  });
  unary<Opcode::mish, real>(t, [](auto x) { return x * mish_gate(x); });
  binary<Opcode::mish_grad, real>(t, [](auto grad, auto x) {
    using T = decltype(x);
    const T gate = mish_gate(x);
    return grad * (gate + x * vmath::sigmoid(x) * (T(1) - gate * gate));
  });
  unary<Opcode::log_sigmoid, real>(t, [](auto x) { return vmath::log_sigmoid(x); });
  binary<Opcode::log_sigmoid_grad, real>(
      t, [](auto grad, auto x) { return grad * vmath::sigmoid(-x); });
}

// Params: beta, threshold; and alpha, scale, input_scale.
void fill_exponential(TileTable& t) {
  constexpr DTypeSet real = dtypes::real_math;
  unary<Opcode::softplus, real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T beta = param<T>(p, 0), z = x * beta;
    return z > param<T>(p, 1) ? x : vmath::log1pexp(z) / beta;
  });
  binary<Opcode::softplus_grad, real>(t, [](auto grad, auto x, const Params& p) {
    using T = decltype(x);
    const T z = x * param<T>(p, 0);
    return z > param<T>(p, 1) ? grad : grad * vmath::sigmoid(z);
  });
  unary<Opcode::elu, real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T low = param<T>(p, 0) * param<T>(p, 1) * vmath::expm1(x * param<T>(p, 2));
    return x > 0 ? param<T>(p, 1) * x : low;
  });
  binary<Opcode::elu_grad, real>(t, [](auto grad, auto x, const Params& p) {
    using T = decltype(x);
    const T scale = param<T>(p, 1), low = param<T>(p, 0) * scale * param<T>(p, 2);
    return grad * (x > 0 ? scale : low * vmath::exp(x * param<T>(p, 2)));
  });
}

// Straight pieces. NaN stays NaN.
void fill_pieces(TileTable& t) {
  constexpr DTypeSet real = dtypes::real_math;
  unary<Opcode::leaky_relu, real>(
      t, [](auto x, const Params& p) { return x > 0 ? x : x * param<decltype(x)>(p); });
  binary<Opcode::dropout_grad, real>(t, [](auto grad, auto kept, const Params& p) {
    return grad * (kept * param<decltype(grad)>(p));
  });
  binary<Opcode::leaky_relu_grad, real>(t, [](auto grad, auto x, const Params& p) {
    return x > 0 ? grad : grad * param<decltype(x)>(p);
  });
  binary<Opcode::prelu, real>(t, [](auto x, auto slope) { return x > 0 ? x : x * slope; });
  binary<Opcode::hardtanh_grad, real>(t, [](auto grad, auto x, const Params& p) {
    using T = decltype(x);
    return (x <= param<T>(p, 0)) | (x >= param<T>(p, 1)) ? T(0) : grad;
  });
  unary<Opcode::hardsigmoid, real>(t, [](auto x) {
    using T = decltype(x);
    const T shifted = x + T(3);
    return (shifted < 0 ? T(0) : shifted > 6 ? T(6) : shifted) / T(6);
  });
  binary<Opcode::hardsigmoid_grad, real>(t, [](auto grad, auto x) {
    using T = decltype(x);
    return (x > -3) & (x < 3) ? grad / T(6) : T(0);
  });
  unary<Opcode::hardswish, real>(t, [](auto x) {
    using T = decltype(x);
    const T shifted = x + T(3);
    return x * (shifted < 0 ? T(0) : shifted > 6 ? T(6) : shifted) / T(6);
  });
  binary<Opcode::hardswish_grad, real>(t, [](auto grad, auto x) {
    using T = decltype(x);
    return x <= -3 ? T(0) : x < 3 ? grad * (x / T(3) + T(0.5)) : grad;
  });
  unary<Opcode::hardshrink, real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T limit = param<T>(p);
    return (x >= -limit) & (x <= limit) ? T(0) : x;
  });
  unary<Opcode::softshrink, real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T limit = param<T>(p);
    return x > limit ? x - limit : x < -limit ? x + limit : x * T(0);
  });
  binary<Opcode::shrink_grad, real>(t, [](auto grad, auto x, const Params& p) {
    using T = decltype(x);
    const T limit = param<T>(p);
    return (x >= -limit) & (x <= limit) ? T(0) : grad;
  });
  unary<Opcode::threshold, dtypes::integral | real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    return x <= param<T>(p, 0) ? param<T>(p, 1) : x;
  });
  binary<Opcode::threshold_grad, real>(t, [](auto grad, auto x, const Params& p) {
    using T = decltype(x);
    return x <= param<T>(p, 0) ? T(0) : grad;
  });
}

}  // namespace

namespace WISP_ISA {

void fill_activation(Kernels& table) {
  fill_smooth(table.tile);
  fill_exponential(table.tile);
  fill_pieces(table.tile);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
