// Python numbers as elements.
#pragma once

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/scalar.h"

namespace wisp::ops {

// Whether a number keeps its meaning as an element of that dtype. Fractions may be cut off and
// negative numbers may wrap in an unsigned dtype, but nothing may overflow or lose its imaginary
// part.
inline bool fits(Scalar value, DType dtype) {
  if (dtype == DType::bool_ || is_complex(dtype)) return true;
  if (value.is_complex() && value.imag() != 0) return false;
  return visit<dtypes::real | dtypes::stored>(dtype, "number", [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
      constexpr double low =
          std::is_signed_v<T> ? static_cast<double>(std::numeric_limits<T>::min()) : -high;
      if (value.is_integer() && sizeof(T) == 8) return true;
      return value.real() >= low && (sizeof(T) == 8 ? value.real() < high : value.real() <= high);
    } else {
      const double real = value.real();
      const double rounded = convert<double>(convert<T>(real));
      return !std::isinf(rounded) || std::isinf(real);
    }
  });
}

inline void check_fits(const char* op, Scalar value, DType dtype) {
  WISP_CHECK(fits(value, dtype), op, "(): value cannot be converted to type ", name(dtype),
             " without overflow");
}

}  // namespace wisp::ops
