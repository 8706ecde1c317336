// Floating-point numbers of 8 bits, as they are stored: tensors of them can be made, moved and
// converted. What computes with them computes in float.
#pragma once

#include <cstdint>

#include "base/compiler.h"

namespace wisp {

// How the bits are read. "fn": finite, without infinities; "uz": zero has no sign.
enum class Float8Form : uint8_t { e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, e8m0fnu };

namespace detail {
WISP_API float float8_to_float(Float8Form form, uint8_t bits);
WISP_API uint8_t float_to_float8(Float8Form form, float value);
}  // namespace detail

template <Float8Form form>
struct Float8 {
  uint8_t bits;
  Float8() = default;
  WISP_INLINE explicit Float8(float value) : bits(detail::float_to_float8(form, value)) {}
  WISP_INLINE operator float() const { return detail::float8_to_float(form, bits); }
};

}  // namespace wisp
