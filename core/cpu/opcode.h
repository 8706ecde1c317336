// The vocabulary of pointwise kernels. The same kernels serve eager calls and fused groups.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/dtype.h"

namespace wisp::cpu {

// What element type a kernel writes, given the type it computes in.
enum class Result : uint8_t { same, boolean, real };

// X(name, inputs, dtypes it computes in, result)
#define WISP_FOR_EACH_OPCODE(X)                                 \
  /* arithmetic */                                              \
  X(add, 2, dtypes::bits | dtypes::math, same)                  \
  X(sub, 2, dtypes::integral | dtypes::math, same)              \
  X(mul, 2, dtypes::bits | dtypes::math, same)                  \
  X(div, 2, dtypes::math, same)                                 \
  X(add_scaled, 2, dtypes::integral | dtypes::math, same)       \
  X(div_floor, 2, dtypes::integral | dtypes::real_math, same)   \
  X(div_trunc, 2, dtypes::integral | dtypes::real_math, same)   \
  X(remainder, 2, dtypes::integral | dtypes::real_math, same)   \
  X(fmod, 2, dtypes::integral | dtypes::real_math, same)        \
  X(pow, 2, dtypes::integral | dtypes::math, same)              \
  X(maximum, 2, dtypes::bits | dtypes::real_math, same)         \
  X(minimum, 2, dtypes::bits | dtypes::real_math, same)         \
  X(fmax, 2, dtypes::bits | dtypes::real_math, same)            \
  X(fmin, 2, dtypes::bits | dtypes::real_math, same)            \
  X(atan2, 2, dtypes::real_math, same)                          \
  X(hypot, 2, dtypes::real_math, same)                          \
  X(copysign, 2, dtypes::real_math, same)                       \
  X(nextafter, 2, dtypes::floating, same)                       \
  X(xlogy, 2, dtypes::real_math, same)                          \
  X(xlog1py, 2, dtypes::real_math, same)                        \
  X(logaddexp, 2, dtypes::real_math, same)                      \
  X(logaddexp2, 2, dtypes::real_math, same)                     \
  X(heaviside, 2, dtypes::bits | dtypes::real_math, same)       \
  X(gcd, 2, dtypes::integral, same)                             \
  X(lcm, 2, dtypes::integral, same)                             \
  X(make_complex, 2, dtypes::complex, same)                     \
  X(polar, 2, dtypes::complex, same)                            \
  /* bits and logic */                                          \
  X(bitwise_and, 2, dtypes::bits, same)                         \
  X(bitwise_or, 2, dtypes::bits, same)                          \
  X(bitwise_xor, 2, dtypes::bits, same)                         \
  X(shift_left, 2, dtypes::integral, same)                      \
  X(shift_right, 2, dtypes::integral, same)                     \
  X(bitwise_not, 1, dtypes::bits, same)                         \
  X(logical_and, 2, dtypes::bits | dtypes::math, boolean)       \
  X(logical_or, 2, dtypes::bits | dtypes::math, boolean)        \
  X(logical_xor, 2, dtypes::bits | dtypes::math, boolean)       \
  X(logical_not, 1, dtypes::bits | dtypes::math, boolean)       \
  /* comparison */                                              \
  X(eq, 2, dtypes::bits | dtypes::math, boolean)                \
  X(ne, 2, dtypes::bits | dtypes::math, boolean)                \
  X(lt, 2, dtypes::bits | dtypes::real_math, boolean)           \
  X(le, 2, dtypes::bits | dtypes::real_math, boolean)           \
  X(gt, 2, dtypes::bits | dtypes::real_math, boolean)           \
  X(ge, 2, dtypes::bits | dtypes::real_math, boolean)           \
  X(isnan, 1, dtypes::math, boolean)                            \
  X(isinf, 1, dtypes::math, boolean)                            \
  X(isfinite, 1, dtypes::math, boolean)                         \
  X(isposinf, 1, dtypes::real_math, boolean)                    \
  X(isneginf, 1, dtypes::real_math, boolean)                    \
  X(signbit, 1, dtypes::integral | dtypes::real_math, boolean)  \
  /* sign and rounding */                                       \
  X(neg, 1, dtypes::integral | dtypes::math, same)              \
  X(abs, 1, dtypes::integral | dtypes::math, real)              \
  X(sign, 1, dtypes::bits | dtypes::real_math, same)            \
  X(sgn, 1, dtypes::complex, same)                              \
  X(floor, 1, dtypes::real_math, same)                          \
  X(ceil, 1, dtypes::real_math, same)                           \
  X(round, 1, dtypes::real_math, same)                          \
  X(trunc, 1, dtypes::real_math, same)                          \
  X(frac, 1, dtypes::real_math, same)                           \
  X(square, 1, dtypes::integral | dtypes::math, same)           \
  X(cube, 1, dtypes::math, same)                                \
  X(clamp_to, 1, dtypes::real_math, same)                       \
  X(reciprocal, 1, dtypes::math, same)                          \
  X(sqrt, 1, dtypes::math, same)                                \
  X(rsqrt, 1, dtypes::math, same)                               \
  X(conj, 1, dtypes::complex, same)                             \
  X(angle, 1, dtypes::complex, real)                            \
  X(angle_real, 1, dtypes::real_math, same)                     \
  /* exponential, trigonometric, hyperbolic, error functions */ \
  X(exp, 1, dtypes::math, same)                                 \
  X(exp2, 1, dtypes::math, same)                                \
  X(expm1, 1, dtypes::math, same)                               \
  X(log, 1, dtypes::math, same)                                 \
  X(log2, 1, dtypes::math, same)                                \
  X(log10, 1, dtypes::math, same)                               \
  X(log1p, 1, dtypes::math, same)                               \
  X(sin, 1, dtypes::math, same)                                 \
  X(cos, 1, dtypes::math, same)                                 \
  X(tan, 1, dtypes::math, same)                                 \
  X(asin, 1, dtypes::math, same)                                \
  X(acos, 1, dtypes::math, same)                                \
  X(atan, 1, dtypes::math, same)                                \
  X(sinh, 1, dtypes::math, same)                                \
  X(cosh, 1, dtypes::math, same)                                \
  X(tanh, 1, dtypes::math, same)                                \
  X(asinh, 1, dtypes::math, same)                               \
  X(acosh, 1, dtypes::math, same)                               \
  X(atanh, 1, dtypes::math, same)                               \
  X(sigmoid, 1, dtypes::math, same)                             \
  X(erf, 1, dtypes::real_math, same)                            \
  X(erfc, 1, dtypes::real_math, same)                           \
  X(erfinv, 1, dtypes::real_math, same)                         \
  X(lgamma, 1, dtypes::real_math, same)                         \
  X(digamma, 1, dtypes::real_math, same)                        \
  X(sinc, 1, dtypes::math, same)                                \
  X(i0, 1, dtypes::real_math, same)                             \
  X(i0e, 1, dtypes::real_math, same)                            \
  X(i1, 1, dtypes::real_math, same)                             \
  X(i1e, 1, dtypes::real_math, same)                            \
  X(erfcx, 1, dtypes::real_math, same)                          \
  X(log_ndtr, 1, dtypes::real_math, same)                       \
  X(ndtri, 1, dtypes::real_math, same)                          \
  X(entr, 1, dtypes::real_math, same)                           \
  X(polygamma, 1, dtypes::real_math, same)                      \
  X(zeta, 2, dtypes::real_math, same)                           \
  /* activations: some compute exponentials, the rest select */ \
  X(gelu, 1, dtypes::real_math, same)                           \
  X(gelu_tanh, 1, dtypes::real_math, same)                      \
  X(silu, 1, dtypes::real_math, same)                           \
  X(mish, 1, dtypes::real_math, same)                           \
  X(softplus, 1, dtypes::real_math, same)                       \
  X(log_sigmoid, 1, dtypes::real_math, same)                    \
  X(elu, 1, dtypes::real_math, same)                            \
  X(logit, 1, dtypes::real_math, same)                          \
  X(relu, 1, dtypes::integral | dtypes::real_math, same)        \
  X(leaky_relu, 1, dtypes::real_math, same)                     \
  X(hardsigmoid, 1, dtypes::real_math, same)                    \
  X(hardswish, 1, dtypes::real_math, same)                      \
  X(hardshrink, 1, dtypes::real_math, same)                     \
  X(softshrink, 1, dtypes::real_math, same)                     \
  X(threshold, 1, dtypes::integral | dtypes::real_math, same)   \
  X(prelu, 2, dtypes::real_math, same)                          \
  X(nan_to_num, 1, dtypes::math, same)                          \
  /* losses, before they are added up */                        \
  X(squared_error, 2, dtypes::real_math, same)                  \
  X(smooth_l1, 2, dtypes::real_math, same)                      \
  X(huber, 2, dtypes::real_math, same)                          \
  X(bce, 2, dtypes::real_math, same)                            \
  X(bce_logits, 2, dtypes::real_math, same)                     \
  /* three inputs */                                            \
  X(where, 3, dtypes::bits | dtypes::math, same)                \
  X(lerp, 3, dtypes::math, same)                                \
  X(lerp_by, 2, dtypes::real_math, same)                        \
  X(addcmul, 3, dtypes::integral | dtypes::math, same)          \
  X(addcdiv, 3, dtypes::math, same)                             \
  X(clamp, 3, dtypes::bits | dtypes::real_math, same)           \
  /* derivatives that deserve one pass */                       \
  X(tanh_grad, 2, dtypes::math, same)                           \
  X(sigmoid_grad, 2, dtypes::math, same)                        \
  X(relu_grad, 2, dtypes::real_math, same)                      \
  X(gelu_grad, 2, dtypes::real_math, same)                      \
  X(gelu_tanh_grad, 2, dtypes::real_math, same)                 \
  X(silu_grad, 2, dtypes::real_math, same)                      \
  X(mish_grad, 2, dtypes::real_math, same)                      \
  X(softplus_grad, 2, dtypes::real_math, same)                  \
  X(log_sigmoid_grad, 2, dtypes::real_math, same)               \
  X(elu_grad, 2, dtypes::real_math, same)                       \
  X(leaky_relu_grad, 2, dtypes::real_math, same)                \
  X(hardtanh_grad, 2, dtypes::real_math, same)                  \
  X(hardsigmoid_grad, 2, dtypes::real_math, same)               \
  X(hardswish_grad, 2, dtypes::real_math, same)                 \
  X(shrink_grad, 2, dtypes::real_math, same)                    \
  X(threshold_grad, 2, dtypes::real_math, same)                 \
  X(dropout_grad, 2, dtypes::real_math, same)                   \
  X(squared_error_grad, 3, dtypes::real_math, same)             \
  X(smooth_l1_grad, 3, dtypes::real_math, same)                 \
  X(huber_grad, 3, dtypes::real_math, same)                     \
  X(bce_grad, 3, dtypes::real_math, same)                       \
  X(bce_logits_grad, 3, dtypes::real_math, same)

enum class Opcode : uint16_t {
#define WISP_ENUMERATOR(name, inputs, types, result) name,
  WISP_FOR_EACH_OPCODE(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
      count
};
constexpr int num_opcodes = static_cast<int>(Opcode::count);

// A few numbers that parametrise a kernel: alpha, value, eps...
struct Params {
  double values[3] = {0, 0, 0};
  double imag = 0;                               // imaginary part of values[0] in complex kernels
  std::atomic<bool>* divided_by_zero = nullptr;  // told by integer division
};

// Works on n consecutive elements, inputs of input_dtype(). The output may be one of the inputs.
using TileFn = void (*)(void* out, const void* const* in, int64_t n, const Params& params);

struct OpcodeInfo {
  const char* name;
  int inputs;
  DTypeSet types;
  Result result;
};
inline constexpr OpcodeInfo opcode_infos[num_opcodes] = {
#define WISP_INFO(name, inputs, types, result) {#name, inputs, types, Result::result},
    WISP_FOR_EACH_OPCODE(WISP_INFO)
#undef WISP_INFO
};
inline const OpcodeInfo& info(Opcode opcode) { return opcode_infos[static_cast<int>(opcode)]; }

// The kernel, or null if there is none for this compute dtype.
TileFn tile_kernel(Opcode opcode, DType compute);
// The same with one value as the last input; null for most.
TileFn number_kernel(Opcode opcode, DType compute);

// What a kernel reads: its compute dtype, but for a condition or the parts of a complex number.
inline DType input_dtype(Opcode opcode, int input, DType compute) {
  if (opcode == Opcode::where && input == 0) return DType::bool_;
  if (opcode == Opcode::make_complex || opcode == Opcode::polar) return to_real(compute);
  return compute;
}

inline DType result_dtype(Opcode opcode, DType compute) {
  switch (info(opcode).result) {
    case Result::boolean:
      return DType::bool_;
    case Result::real:
      return to_real(compute);
    default:
      return compute;
  }
}

}  // namespace wisp::cpu
