// Element types: names, sizes, categories, promotion, and the one switch over them (visit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/complex.h"
#include "base/error.h"
#include "base/float8.h"
#include "base/half.h"

namespace wisp {

// What tensors can be made of, but little is computed with: see dtypes::stored.
#define WISP_FOR_EACH_STORED_DTYPE(X)                                                    \
  X(uint16, uint16_t, "uint16", "UInt16")                                                \
  X(uint32, uint32_t, "uint32", "UInt32")                                                \
  X(uint64, uint64_t, "uint64", "UInt64")                                                \
  X(float8_e4m3fn, Float8<Float8Form::e4m3fn>, "float8_e4m3fn", "Float8_e4m3fn")         \
  X(float8_e5m2, Float8<Float8Form::e5m2>, "float8_e5m2", "Float8_e5m2")                 \
  X(float8_e4m3fnuz, Float8<Float8Form::e4m3fnuz>, "float8_e4m3fnuz", "Float8_e4m3fnuz") \
  X(float8_e5m2fnuz, Float8<Float8Form::e5m2fnuz>, "float8_e5m2fnuz", "Float8_e5m2fnuz") \
  X(float8_e8m0fnu, Float8<Float8Form::e8m0fnu>, "float8_e8m0fnu", "Float8_e8m0fnu")

// X(enumerator, C++ type, Python name, legacy name as in "FloatTensor")
#define WISP_FOR_EACH_DTYPE(X)                                  \
  X(bool_, bool, "bool", "Bool")                                \
  X(uint8, uint8_t, "uint8", "Byte")                            \
  X(int8, int8_t, "int8", "Char")                               \
  X(int16, int16_t, "int16", "Short")                           \
  X(int32, int32_t, "int32", "Int")                             \
  X(int64, int64_t, "int64", "Long")                            \
  X(float16, Half, "float16", "Half")                           \
  X(bfloat16, BFloat16, "bfloat16", "BFloat16")                 \
  X(float32, float, "float32", "Float")                         \
  X(float64, double, "float64", "Double")                       \
  X(complex64, Complex<float>, "complex64", "ComplexFloat")     \
  X(complex128, Complex<double>, "complex128", "ComplexDouble") \
  WISP_FOR_EACH_STORED_DTYPE(X)

enum class DType : uint8_t {
#define WISP_ENUMERATOR(id, type, name, legacy) id,
  WISP_FOR_EACH_DTYPE(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
};
constexpr int num_dtypes = 20;

template <class T>
struct DTypeOf;
#define WISP_DTYPE_OF(id, type, name, legacy) \
  template <>                                 \
  struct DTypeOf<type> {                      \
    static constexpr DType value = DType::id; \
  };
WISP_FOR_EACH_DTYPE(WISP_DTYPE_OF)
#undef WISP_DTYPE_OF
template <class T>
constexpr DType dtype_of = DTypeOf<T>::value;

constexpr size_t item_size(DType dtype) {
  constexpr uint8_t sizes[num_dtypes] = {
#define WISP_SIZE(id, type, name, legacy) sizeof(type),
      WISP_FOR_EACH_DTYPE(WISP_SIZE)
#undef WISP_SIZE
  };
  return sizes[static_cast<int>(dtype)];
}

constexpr const char* name(DType dtype) {
  constexpr const char* names[num_dtypes] = {
#define WISP_NAME(id, type, name, legacy) name,
      WISP_FOR_EACH_DTYPE(WISP_NAME)
#undef WISP_NAME
  };
  return names[static_cast<int>(dtype)];
}

// "Float" as in FloatTensor: the spelling of PyTorch's error messages.
constexpr const char* legacy_name(DType dtype) {
  constexpr const char* names[num_dtypes] = {
#define WISP_NAME(id, type, name, legacy) legacy,
      WISP_FOR_EACH_DTYPE(WISP_NAME)
#undef WISP_NAME
  };
  return names[static_cast<int>(dtype)];
}

// A set of dtypes as a bit mask. Named once here, used by every table entry and kernel.
using DTypeSet = uint32_t;
constexpr DTypeSet set_of(DType dtype) {
  return static_cast<DTypeSet>(1u << static_cast<int>(dtype));
}
template <class... D>
constexpr DTypeSet set_of(DType first, D... rest) {
  return static_cast<DTypeSet>(set_of(first) | (set_of(rest) | ...));
}
constexpr bool contains(DTypeSet set, DType dtype) { return (set >> static_cast<int>(dtype)) & 1; }

namespace dtypes {
constexpr DTypeSet boolean = set_of(DType::bool_);
constexpr DTypeSet integral =
    set_of(DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64);
constexpr DTypeSet half = set_of(DType::float16, DType::bfloat16);
constexpr DTypeSet real_math =
    set_of(DType::float32, DType::float64);  // what float kernels compute in
constexpr DTypeSet floating = half | real_math;
constexpr DTypeSet complex = set_of(DType::complex64, DType::complex128);
constexpr DTypeSet math = real_math | complex;
constexpr DTypeSet real = integral | floating;
constexpr DTypeSet number = real | complex;
constexpr DTypeSet bits = boolean | integral;
constexpr DTypeSet all_real = boolean | real;
constexpr DTypeSet all = boolean | number;
// What is stored: made, copied, converted, viewed, indexed, compared and written to files. Kernels
// see it converted to a dtype of `all` (math_dtype), if at all.
constexpr DTypeSet wide_unsigned = set_of(DType::uint16, DType::uint32, DType::uint64);
constexpr DTypeSet float8 = set_of(DType::float8_e4m3fn, DType::float8_e5m2, DType::float8_e4m3fnuz,
                                   DType::float8_e5m2fnuz, DType::float8_e8m0fnu);
constexpr DTypeSet stored = wide_unsigned | float8;
constexpr DTypeSet any = all | stored;
}  // namespace dtypes

constexpr bool is_integral(DType d) {  // bool not included
  return contains(dtypes::integral | dtypes::wide_unsigned, d);
}
constexpr bool is_floating(DType d) { return contains(dtypes::floating | dtypes::float8, d); }
constexpr bool is_complex(DType d) { return contains(dtypes::complex, d); }
constexpr bool is_differentiable(DType d) { return is_floating(d) || is_complex(d); }
constexpr bool is_signed(DType d) {
  return !contains(dtypes::boolean | dtypes::wide_unsigned, d) && d != DType::uint8 &&
         d != DType::float8_e8m0fnu;
}

enum class Category : uint8_t { boolean, integral, floating, complex };
constexpr Category category(DType d) {
  if (d == DType::bool_) return Category::boolean;
  if (is_integral(d)) return Category::integral;
  return is_floating(d) ? Category::floating : Category::complex;
}

constexpr DType to_complex(DType d) {
  return d == DType::float64 || d == DType::complex128 ? DType::complex128 : DType::complex64;
}
constexpr DType to_real(DType d) {
  if (d == DType::complex64) return DType::float32;
  return d == DType::complex128 ? DType::float64 : d;
}

[[noreturn]] WISP_API void fail_to_promote(DType a, DType b);

// The smallest dtype that both fit in, by PyTorch's lattice. Of those that are only stored,
// unsigned integers meet ordinary floating-point numbers; all others meet nothing but themselves.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  if (contains(dtypes::stored, a) || contains(dtypes::stored, b)) {
    if (contains(dtypes::wide_unsigned, a) && contains(dtypes::floating, b)) return b;
    if (contains(dtypes::wide_unsigned, b) && contains(dtypes::floating, a)) return a;
    fail_to_promote(a, b);
  }
  if (category(a) < category(b)) return promote(b, a);
  if (category(a) > category(b)) {
    return a == DType::complex64 && b == DType::float64 ? DType::complex128 : a;
  }
  switch (category(a)) {
    case Category::boolean:
      return a;
    case Category::integral:
      if (a == DType::uint8 || b == DType::uint8) {
        const DType other = a == DType::uint8 ? b : a;
        return other == DType::int8 ? DType::int16 : other;
      }
      return a < b ? b : a;
    case Category::floating:
      if (contains(dtypes::half, a) && contains(dtypes::half, b)) return DType::float32;
      return a < b ? b : a;
    case Category::complex:
      return DType::complex128;
  }
  return a;
}

// Whether a result of dtype `from` may be written into a tensor of dtype `to`.
constexpr bool can_cast(DType from, DType to) { return category(from) <= category(to); }

// The default dtype of floating-point results; one per process, as in PyTorch.
WISP_API DType default_dtype();
WISP_API void set_default_dtype(DType dtype);
inline DType default_complex_dtype() { return to_complex(default_dtype()); }
inline DType to_floating(DType d) { return is_differentiable(d) ? d : default_dtype(); }

[[noreturn]] WISP_API void fail_not_implemented(const char* what, DType dtype);

// Calls f.operator()<T>() with the C++ type of `dtype`, which must be in Set.
template <DTypeSet Set, class F>
decltype(auto) visit(DType dtype, const char* what, F&& f) {
  switch (dtype) {
#define WISP_CASE(id, type, name, legacy)     \
  case DType::id:                             \
    if constexpr (contains(Set, DType::id)) { \
      return f.template operator()<type>();   \
    }                                         \
    break;
    WISP_FOR_EACH_DTYPE(WISP_CASE)
#undef WISP_CASE
  }
  fail_not_implemented(what, dtype);
}

// Converts between element types the way a C cast does, with bool as "not zero" and the imaginary
// part dropped on the way to a real number. Out-of-range floats convert to integers without
// undefined behaviour: through int32, or int64 for int64, then wrapping.
template <class To, class From>
WISP_INLINE To convert(From value);

namespace detail {

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<Complex<T>> = true;
template <class T>
inline constexpr bool is_half_type = false;
template <>
inline constexpr bool is_half_type<Half> = true;
template <>
inline constexpr bool is_half_type<BFloat16> = true;
// Converted by way of float.
template <class T>
inline constexpr bool is_short_float = is_half_type<T>;
template <Float8Form form>
inline constexpr bool is_short_float<Float8<form>> = true;
template <class T>
inline constexpr bool is_float_type = std::is_floating_point_v<T> || is_short_float<T>;

// As the x86 instructions do: what does not fit, and NaN, becomes the smallest integer.
template <class Int, class F>
WISP_INLINE Int float_to_int(F value) {
  constexpr F limit = static_cast<F>(sizeof(Int) == 8 ? 9223372036854775808.0 : 2147483648.0);
  return value >= -limit && value < limit ? static_cast<Int>(value)
                                          : std::numeric_limits<Int>::min();
}

}  // namespace detail

template <class To, class From>
WISP_INLINE To convert(From value) {
  using namespace detail;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_complex_type<To>) {
    if constexpr (is_complex_type<From>) {
      return To(value);
    } else {
      return To(convert<decltype(To::re)>(value));
    }
  } else if constexpr (is_complex_type<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return value.re != 0 || value.im != 0;
    } else {
      return convert<To>(value.re);
    }
  } else if constexpr (is_short_float<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (is_short_float<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    constexpr From half = static_cast<From>(9223372036854775808.0);
    return value >= half
               ? (uint64_t(1) << 63) ^ static_cast<uint64_t>(float_to_int<int64_t>(value - half))
               : static_cast<uint64_t>(float_to_int<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr bool wide = sizeof(To) == 8 || std::is_same_v<To, uint32_t>;
    return static_cast<To>(float_to_int<std::conditional_t<wide, int64_t, int32_t>>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace wisp
