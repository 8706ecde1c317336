// float16 and bfloat16 as storage types: arithmetic happens in float, rounding on the way back.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/compiler.h"
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace wisp {

namespace detail {

WISP_INLINE float bits_to_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

WISP_INLINE uint32_t float_to_bits(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits;
}

WISP_INLINE float half_to_float(uint16_t h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  // Shift exponent and mantissa into place and rescale by 2^112; subnormals come out exact because
  // the multiplication normalises them. Inf and NaN get their exponent set afterwards.
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7fffu) << 13;
  uint32_t bits = float_to_bits(bits_to_float(magnitude) * bits_to_float(0x77800000u));
  if (magnitude >= 0x0f800000u) bits |= 0x7f800000u;
  return bits_to_float(bits | sign);
#endif
}

WISP_INLINE uint16_t float_to_half(float f) {
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(f, 0));
#else
  const uint32_t bits = float_to_bits(f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // NaN, payload kept as the hardware does
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // rounds to infinity
  } else if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 puts the rounding position where the mantissa ends.
    half = float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    half = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;  // round to nearest even
  }
  return static_cast<uint16_t>(half | sign);
#endif
}

WISP_INLINE uint16_t float_to_bfloat(float f) {
  const uint32_t bits = float_to_bits(f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

}  // namespace detail

struct Half {
  uint16_t bits;
  Half() = default;
  WISP_INLINE Half(float f) : bits(detail::float_to_half(f)) {}
  WISP_INLINE operator float() const { return detail::half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  WISP_INLINE BFloat16(float f) : bits(detail::float_to_bfloat(f)) {}
  WISP_INLINE operator float() const {
    return detail::bits_to_float(static_cast<uint32_t>(bits) << 16);
  }
};

}  // namespace wisp
