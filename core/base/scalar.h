// A Python number: bool, int, float or complex.
#pragma once

#include <complex>

#include "base/dtype.h"

namespace wisp {

class Scalar {
 public:
  Scalar() : Scalar(int64_t(0)) {}
  Scalar(bool value) : category_(Category::boolean) { bits_.integer = value; }
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  Scalar(int64_t value) : category_(Category::integral) { bits_.integer = value; }
  Scalar(double value) : category_(Category::floating) { bits_.real = value; }
  Scalar(std::complex<double> value) : category_(Category::complex) {
    bits_.real = value.real();
    imag_ = value.imag();
  }

  Category category() const { return category_; }
  bool is_integer() const { return category_ <= Category::integral; }
  bool is_complex() const { return category_ == Category::complex; }

  double real() const { return is_integer() ? static_cast<double>(bits_.integer) : bits_.real; }
  double imag() const { return imag_; }
  std::complex<double> complex() const { return {real(), imag_}; }
  int64_t integer() const {
    return is_integer() ? bits_.integer : detail::float_to_int<int64_t>(bits_.real);
  }
  bool truth() const { return is_integer() ? bits_.integer != 0 : bits_.real != 0 || imag_ != 0; }
  bool equals(double value) const { return imag_ == 0 && real() == value; }

  // The number as an element of type T, converted as a tensor of the number's own dtype would be.
  template <class T>
  T to() const {
    if constexpr (detail::is_complex_type<T>) {
      return T(static_cast<decltype(T::re)>(real()), static_cast<decltype(T::re)>(imag_));
    } else if constexpr (std::is_same_v<T, bool>) {
      return truth();
    } else {
      return is_integer() ? convert<T>(bits_.integer) : convert<T>(bits_.real);
    }
  }

  // The dtype a tensor made of this number alone has.
  DType dtype() const {
    switch (category_) {
      case Category::boolean:
        return DType::bool_;
      case Category::integral:
        return DType::int64;
      case Category::floating:
        return default_dtype();
      case Category::complex:
        return default_complex_dtype();
    }
    return DType::int64;
  }

  // For derivatives written once for tensors and numbers.
  Scalar operator-() const {
    if (is_complex()) return Scalar(-complex());
    return is_integer() ? Scalar(static_cast<int64_t>(-static_cast<uint64_t>(bits_.integer)))
                        : Scalar(-bits_.real);
  }
  Scalar conj() const { return is_complex() ? Scalar(std::conj(complex())) : *this; }

 private:
  Category category_;
  union {
    int64_t integer;
    double real;
  } bits_;
  double imag_ = 0;
};

}  // namespace wisp
