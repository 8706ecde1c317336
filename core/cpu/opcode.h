// The vocabulary of pointwise kernels. The same kernels serve eager calls and fused groups.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/dtype.h"

namespace wisp::cpu {

// What element type a kernel writes, given the type it computes in.
enum class Result : uint8_t { same, boolean, real };

// X(name, inputs, dtypes it computes in, result, cost)
// The cost is that of one float32 in the caches, in hundredths of a nanosecond, as it was measured
// with AVX-512 on one thread; what reads and writes memory and little else counts 10.
#define WISP_FOR_EACH_OPCODE(X)                                    \
  /* arithmetic */                                                 \
  X(add, 2, dtypes::bits | dtypes::math, same, 10)                 \
  X(sub, 2, dtypes::integral | dtypes::math, same, 10)             \
  X(mul, 2, dtypes::bits | dtypes::math, same, 10)                 \
  X(div, 2, dtypes::math, same, 13)                                \
  X(add_scaled, 2, dtypes::integral | dtypes::math, same, 10)      \
  X(div_floor, 2, dtypes::integral | dtypes::real_math, same, 69)  \
  X(div_trunc, 2, dtypes::integral | dtypes::real_math, same, 12)  \
  X(remainder, 2, dtypes::integral | dtypes::real_math, same, 44)  \
  X(fmod, 2, dtypes::integral | dtypes::real_math, same, 33)       \
  X(pow, 2, dtypes::integral | dtypes::math, same, 157)            \
  X(maximum, 2, dtypes::bits | dtypes::real_math, same, 10)        \
  X(minimum, 2, dtypes::bits | dtypes::real_math, same, 10)        \
  X(fmax, 2, dtypes::bits | dtypes::real_math, same, 10)           \
  X(fmin, 2, dtypes::bits | dtypes::real_math, same, 10)           \
  X(atan2, 2, dtypes::real_math, same, 46)                         \
  X(hypot, 2, dtypes::real_math, same, 56)                         \
  X(copysign, 2, dtypes::real_math, same, 10)                      \
  X(nextafter, 2, dtypes::floating, same, 21)                      \
  X(xlogy, 2, dtypes::real_math, same, 53)                         \
  X(xlog1py, 2, dtypes::real_math, same, 63)                       \
  X(logaddexp, 2, dtypes::real_math, same, 164)                    \
  X(logaddexp2, 2, dtypes::real_math, same, 162)                   \
  X(heaviside, 2, dtypes::bits | dtypes::real_math, same, 10)      \
  X(gcd, 2, dtypes::integral, same, 600)                           \
  X(lcm, 2, dtypes::integral, same, 600)                           \
  X(make_complex, 2, dtypes::complex, same, 10)                    \
  X(polar, 2, dtypes::complex, same, 100)                          \
  /* bits and logic */                                             \
  X(bitwise_and, 2, dtypes::bits, same, 10)                        \
  X(bitwise_or, 2, dtypes::bits, same, 10)                         \
  X(bitwise_xor, 2, dtypes::bits, same, 10)                        \
  X(shift_left, 2, dtypes::integral, same, 10)                     \
  X(shift_right, 2, dtypes::integral, same, 10)                    \
  X(bitwise_not, 1, dtypes::bits, same, 10)                        \
  X(logical_and, 2, dtypes::bits | dtypes::math, boolean, 10)      \
  X(logical_or, 2, dtypes::bits | dtypes::math, boolean, 10)       \
  X(logical_xor, 2, dtypes::bits | dtypes::math, boolean, 10)      \
  X(logical_not, 1, dtypes::bits | dtypes::math, boolean, 10)      \
  /* comparison */                                                 \
  X(eq, 2, dtypes::bits | dtypes::math, boolean, 10)               \
  X(ne, 2, dtypes::bits | dtypes::math, boolean, 10)               \
  X(lt, 2, dtypes::bits | dtypes::real_math, boolean, 10)          \
  X(le, 2, dtypes::bits | dtypes::real_math, boolean, 10)          \
  X(gt, 2, dtypes::bits | dtypes::real_math, boolean, 10)          \
  X(ge, 2, dtypes::bits | dtypes::real_math, boolean, 10)          \
  X(isnan, 1, dtypes::math, boolean, 10)                           \
  X(isinf, 1, dtypes::math, boolean, 10)                           \
  X(isfinite, 1, dtypes::math, boolean, 10)                        \
  X(isposinf, 1, dtypes::real_math, boolean, 10)                   \
  X(isneginf, 1, dtypes::real_math, boolean, 10)                   \
  X(signbit, 1, dtypes::integral | dtypes::real_math, boolean, 10) \
  /* sign and rounding */                                          \
  X(neg, 1, dtypes::integral | dtypes::math, same, 10)             \
  X(abs, 1, dtypes::integral | dtypes::math, real, 10)             \
  X(sign, 1, dtypes::bits | dtypes::real_math, same, 10)           \
  X(sgn, 1, dtypes::complex, same, 10)                             \
  X(floor, 1, dtypes::real_math, same, 10)                         \
  X(ceil, 1, dtypes::real_math, same, 10)                          \
  X(round, 1, dtypes::real_math, same, 10)                         \
  X(trunc, 1, dtypes::real_math, same, 10)                         \
  X(frac, 1, dtypes::real_math, same, 10)                          \
  X(square, 1, dtypes::integral | dtypes::math, same, 10)          \
  X(cube, 1, dtypes::math, same, 10)                               \
  X(clamp_to, 1, dtypes::real_math, same, 10)                      \
  X(reciprocal, 1, dtypes::math, same, 12)                         \
  X(sqrt, 1, dtypes::math, same, 18)                               \
  X(rsqrt, 1, dtypes::math, same, 29)                              \
  X(conj, 1, dtypes::complex, same, 10)                            \
  X(angle, 1, dtypes::complex, real, 100)                          \
  X(angle_real, 1, dtypes::real_math, same, 10)                    \
  /* exponential, trigonometric, hyperbolic, error functions */    \
  X(exp, 1, dtypes::math, same, 31)                                \
  X(exp2, 1, dtypes::math, same, 29)                               \
  X(expm1, 1, dtypes::math, same, 38)                              \
  X(log, 1, dtypes::math, same, 41)                                \
  X(log2, 1, dtypes::math, same, 40)                               \
  X(log10, 1, dtypes::math, same, 47)                              \
  X(log1p, 1, dtypes::math, same, 57)                              \
  X(sin, 1, dtypes::math, same, 50)                                \
  X(cos, 1, dtypes::math, same, 49)                                \
  X(tan, 1, dtypes::math, same, 56)                                \
  X(asin, 1, dtypes::math, same, 38)                               \
  X(acos, 1, dtypes::math, same, 41)                               \
  X(atan, 1, dtypes::math, same, 49)                               \
  X(sinh, 1, dtypes::math, same, 44)                               \
  X(cosh, 1, dtypes::math, same, 35)                               \
  X(tanh, 1, dtypes::math, same, 51)                               \
  X(asinh, 1, dtypes::math, same, 91)                              \
  X(acosh, 1, dtypes::math, same, 82)                              \
  X(atanh, 1, dtypes::math, same, 79)                              \
  X(sigmoid, 1, dtypes::math, same, 36)                            \
  X(erf, 1, dtypes::real_math, same, 52)                           \
  X(erfc, 1, dtypes::real_math, same, 132)                         \
  X(erfinv, 1, dtypes::real_math, same, 104)                       \
  X(lgamma, 1, dtypes::real_math, same, 295)                       \
  X(digamma, 1, dtypes::real_math, same, 362)                      \
  X(sinc, 1, dtypes::math, same, 147)                              \
  X(i0, 1, dtypes::real_math, same, 1069)                          \
  X(i0e, 1, dtypes::real_math, same, 641)                          \
  X(i1, 1, dtypes::real_math, same, 1202)                          \
  X(i1e, 1, dtypes::real_math, same, 795)                          \
  X(erfcx, 1, dtypes::real_math, same, 1425)                       \
  X(log_ndtr, 1, dtypes::real_math, same, 1613)                    \
  X(ndtri, 1, dtypes::real_math, same, 381)                        \
  X(entr, 1, dtypes::real_math, same, 47)                          \
  X(polygamma, 1, dtypes::real_math, same, 13100)                  \
  X(zeta, 2, dtypes::real_math, same, 16100)                       \
  /* activations: some compute exponentials, the rest select */    \
  X(gelu, 1, dtypes::real_math, same, 39)                          \
  X(gelu_tanh, 1, dtypes::real_math, same, 69)                     \
  X(silu, 1, dtypes::real_math, same, 38)                          \
  X(mish, 1, dtypes::real_math, same, 195)                         \
  X(softplus, 1, dtypes::real_math, same, 121)                     \
  X(log_sigmoid, 1, dtypes::real_math, same, 108)                  \
  X(elu, 1, dtypes::real_math, same, 45)                           \
  X(logit, 1, dtypes::real_math, same, 108)                        \
  X(relu, 1, dtypes::integral | dtypes::real_math, same, 10)       \
  X(leaky_relu, 1, dtypes::real_math, same, 10)                    \
  X(hardsigmoid, 1, dtypes::real_math, same, 14)                   \
  X(hardswish, 1, dtypes::real_math, same, 14)                     \
  X(hardshrink, 1, dtypes::real_math, same, 10)                    \
  X(softshrink, 1, dtypes::real_math, same, 11)                    \
  X(threshold, 1, dtypes::integral | dtypes::real_math, same, 10)  \
  X(prelu, 2, dtypes::real_math, same, 10)                         \
  X(nan_to_num, 1, dtypes::math, same, 12)                         \
  /* losses, before they are added up */                           \
  X(squared_error, 2, dtypes::real_math, same, 10)                 \
  X(smooth_l1, 2, dtypes::real_math, same, 10)                     \
  X(huber, 2, dtypes::real_math, same, 10)                         \
  X(bce, 2, dtypes::real_math, same, 100)                          \
  X(bce_logits, 2, dtypes::real_math, same, 110)                   \
  /* three inputs */                                               \
  X(where, 3, dtypes::bits | dtypes::math, same, 10)               \
  X(lerp, 3, dtypes::math, same, 10)                               \
  X(lerp_by, 2, dtypes::real_math, same, 10)                       \
  X(addcmul, 3, dtypes::integral | dtypes::math, same, 10)         \
  X(addcdiv, 3, dtypes::math, same, 10)                            \
  X(clamp, 3, dtypes::bits | dtypes::real_math, same, 10)          \
  /* derivatives that deserve one pass */                          \
  X(tanh_grad, 2, dtypes::math, same, 10)                          \
  X(sigmoid_grad, 2, dtypes::math, same, 10)                       \
  X(relu_grad, 2, dtypes::real_math, same, 10)                     \
  X(gelu_grad, 2, dtypes::real_math, same, 80)                     \
  X(gelu_tanh_grad, 2, dtypes::real_math, same, 90)                \
  X(silu_grad, 2, dtypes::real_math, same, 45)                     \
  X(gate, 2, dtypes::real_math, same, 38)                          \
  X(mish_grad, 2, dtypes::real_math, same, 220)                    \
  X(softplus_grad, 2, dtypes::real_math, same, 45)                 \
  X(log_sigmoid_grad, 2, dtypes::real_math, same, 45)              \
  X(elu_grad, 2, dtypes::real_math, same, 45)                      \
  X(leaky_relu_grad, 2, dtypes::real_math, same, 10)               \
  X(hardtanh_grad, 2, dtypes::real_math, same, 10)                 \
  X(hardsigmoid_grad, 2, dtypes::real_math, same, 10)              \
  X(hardswish_grad, 2, dtypes::real_math, same, 10)                \
  X(shrink_grad, 2, dtypes::real_math, same, 10)                   \
  X(threshold_grad, 2, dtypes::real_math, same, 10)                \
  X(dropout_grad, 2, dtypes::real_math, same, 10)                  \
  X(squared_error_grad, 3, dtypes::real_math, same, 10)            \
  X(smooth_l1_grad, 3, dtypes::real_math, same, 10)                \
  X(huber_grad, 3, dtypes::real_math, same, 10)                    \
  X(bce_grad, 3, dtypes::real_math, same, 20)                      \
  X(bce_logits_grad, 3, dtypes::real_math, same, 45)

enum class Opcode : uint16_t {
#define WISP_ENUMERATOR(name, inputs, types, result, cost) name,
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
  int cost;
};
inline constexpr OpcodeInfo opcode_infos[num_opcodes] = {
#define WISP_INFO(name, inputs, types, result, cost) {#name, inputs, types, Result::result, cost},
    WISP_FOR_EACH_OPCODE(WISP_INFO)
#undef WISP_INFO
};
inline const OpcodeInfo& info(Opcode opcode) { return opcode_infos[static_cast<int>(opcode)]; }

// Of an element, in hundredths of a nanosecond.
inline int64_t cost_of(Opcode opcode, DType compute) {
  const auto words = static_cast<int64_t>(item_size(compute)) / 4;
  return info(opcode).cost * (words > 1 ? words : 1);
}

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
