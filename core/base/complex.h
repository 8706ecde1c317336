// Complex numbers for kernels. std::complex would do, but its operators are emitted out of line and
// shared between translation units compiled for different instruction sets (see compiler.h).
#pragma once

#include <complex>

#include "base/compiler.h"

namespace wisp {

template <class T>
struct Complex {
  T re, im;
  Complex() = default;
  WISP_INLINE Complex(T real, T imag = 0) : re(real), im(imag) {}
  template <class U>
  WISP_INLINE explicit Complex(const Complex<U>& other)
      : re(static_cast<T>(other.re)), im(static_cast<T>(other.im)) {}

  WISP_INLINE std::complex<T> std() const { return {re, im}; }
  WISP_INLINE static Complex from(std::complex<T> z) { return {z.real(), z.imag()}; }

  WISP_INLINE friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  WISP_INLINE friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  WISP_INLINE friend Complex operator-(Complex a) { return {-a.re, -a.im}; }
  WISP_INLINE friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method: scaling by the larger part of the divisor avoids needless overflow.
  WISP_INLINE friend Complex operator/(Complex a, Complex b) {
    const T abs_re = b.re < 0 ? -b.re : b.re, abs_im = b.im < 0 ? -b.im : b.im;
    if (abs_re >= abs_im) {
      if (abs_re == 0 && abs_im == 0) return {a.re / abs_re, a.im / abs_im};
      const T ratio = b.im / b.re, scale = T(1) / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im, scale = T(1) / (b.im + b.re * ratio);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
  WISP_INLINE friend bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  WISP_INLINE friend bool operator!=(Complex a, Complex b) { return !(a == b); }
};

template <class T>
WISP_INLINE Complex<T> conj(Complex<T> z) {
  return {z.re, -z.im};
}

}  // namespace wisp
