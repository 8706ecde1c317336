#include "base/float8.h"

#include <cmath>

#include "base/half.h"

namespace wisp::detail {

namespace {

struct Layout {
  int digits, bias;  // of the mantissa; of the exponent
  uint8_t largest;   // number
  uint8_t beyond;    // what larger ones become: infinity, the largest one itself, or NaN
  uint8_t nan;
  bool signed_zero;  // and NaN
  bool infinity;
};

// Of all but e8m0fnu, which is an exponent alone.
constexpr Layout layouts[] = {{3, 7, 0x7e, 0x7e, 0x7f, true, false},
                              {2, 15, 0x7b, 0x7c, 0x7f, true, true},
                              {3, 8, 0x7f, 0x80, 0x80, false, false},
                              {2, 16, 0x7f, 0x80, 0x80, false, false}};

const Layout& layout_of(Float8Form form) { return layouts[static_cast<int>(form)]; }

float power_to_float(uint8_t bits) {
  return bits == 0xff ? NAN : std::ldexp(1.0f, static_cast<int>(bits) - 127);
}

// To the nearest power of two; halfway up.
uint8_t float_to_power(float value) {
  const uint32_t bits = float_to_bits(value) & 0x7fffffffu;
  const uint32_t exponent = bits >> 23, rest = bits & 0x7fffffu;
  if (exponent == 0xff) return 0xff;
  const uint32_t half = 0x400000u;
  const bool up = rest > half || (rest == half && exponent > 0);
  return static_cast<uint8_t>(exponent + up);
}

// The bits of a magnitude that is neither infinite nor NaN, rounded to even; those of the numbers
// behind the largest one where there is none that large.
uint32_t round_magnitude(const Layout& layout, float magnitude) {
  const int shift = 23 - layout.digits;
  const uint32_t smallest = static_cast<uint32_t>(128 - layout.bias) << 23;  // normal number
  const uint32_t bits = float_to_bits(magnitude);
  if (bits < smallest) {
    // Added to a number whose last digit is the one that is wanted, it is rounded by that.
    const uint32_t unit = smallest + (static_cast<uint32_t>(shift) << 23);
    return float_to_bits(magnitude + bits_to_float(unit)) - unit;
  }
  const uint32_t odd = (bits >> shift) & 1u;
  return (bits - (smallest - (1u << 23)) + (1u << (shift - 1)) - 1 + odd) >> shift;
}

}  // namespace

float float8_to_float(Float8Form form, uint8_t bits) {
  if (form == Float8Form::e8m0fnu) return power_to_float(bits);
  const Layout& layout = layout_of(form);
  const uint8_t magnitude = bits & 0x7f;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (layout.infinity && magnitude == layout.beyond) return sign * INFINITY;
  if (magnitude > layout.largest || bits == layout.nan) return std::copysign(NAN, sign);
  const int exponent = magnitude >> layout.digits, digits = magnitude & ((1 << layout.digits) - 1);
  const int whole = exponent == 0 ? digits : digits + (1 << layout.digits);
  return sign *
         std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - layout.bias - layout.digits);
}

uint8_t float_to_float8(Float8Form form, float value) {
  if (form == Float8Form::e8m0fnu) return float_to_power(value);
  const Layout& layout = layout_of(form);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return layout.nan | (layout.signed_zero ? sign : 0);
  const uint32_t magnitude = std::isinf(value) ? 0x100 : round_magnitude(layout, std::abs(value));
  if (magnitude == 0 && !layout.signed_zero) return 0;
  return sign | static_cast<uint8_t>(magnitude <= layout.largest ? magnitude : layout.beyond);
}

}  // namespace wisp::detail
