// Complex functions: the standard library's, one element at a time.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

template <class T, class R, class F>
void unary_tile(void* out, const void* const* in, int64_t n, const Params&) {
  R* y = static_cast<R*>(out);
  const T* x = static_cast<const T*>(in[0]);
  for (int64_t i = 0; i < n; ++i) {
    const auto z = F{}(x[i].std());
    if constexpr (detail::is_complex_type<R>) {
      y[i] = R::from(z);
    } else {
      y[i] = z;
    }
  }
}

template <class F>
void unary(Kernels& table, Opcode op, F) {
  table.tile[int(op)][int(DType::complex64)] = unary_tile<Complex<float>, Complex<float>, F>;
  table.tile[int(op)][int(DType::complex128)] = unary_tile<Complex<double>, Complex<double>, F>;
}

template <class T>
void pow_tile(void* out, const void* const* in, int64_t n, const Params&) {
  auto* y = static_cast<Complex<T>*>(out);
  auto* a = static_cast<const Complex<T>*>(in[0]);
  auto* b = static_cast<const Complex<T>*>(in[1]);
  for (int64_t i = 0; i < n; ++i) {
    const bool zero_exponent = b[i].re == 0 && b[i].im == 0;
    y[i] = zero_exponent ? Complex<T>(1) : Complex<T>::from(std::pow(a[i].std(), b[i].std()));
  }
}

template <class T>
void polar_tile(void* out, const void* const* in, int64_t n, const Params&) {
  auto* y = static_cast<Complex<T>*>(out);
  auto* r = static_cast<const T*>(in[0]);
  auto* angle = static_cast<const T*>(in[1]);
  constexpr int64_t piece = 256;
  T cosine[piece], sine[piece];
  for (int64_t at = 0; at < n; at += piece) {
    const int64_t count = std::min(piece, n - at);
    const void* angles = angle + at;
    tile_kernel(Opcode::cos, dtype_of<T>)(cosine, &angles, count, Params());
    tile_kernel(Opcode::sin, dtype_of<T>)(sine, &angles, count, Params());
    for (int64_t i = 0; i < count; ++i) y[at + i] = {r[at + i] * cosine[i], r[at + i] * sine[i]};
  }
}

// Accurate near zero, where exp(z) - 1 and log(1 + z) cancel.
template <class T>
std::complex<T> expm1(std::complex<T> z) {
  const T half_sine = std::sin(z.imag() / 2), grown = std::expm1(z.real());
  return {grown * std::cos(z.imag()) - 2 * half_sine * half_sine,
          std::exp(z.real()) * std::sin(z.imag())};
}

template <class T>
std::complex<T> log1p(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  const T modulus_minus_1 = x * (2 + x) + y * y;
  if (std::abs(x) > T(0.5) || std::abs(y) > T(0.5)) return std::log(std::complex<T>(1 + x, y));
  return {std::log1p(modulus_minus_1) / 2, std::atan2(y, 1 + x)};
}

// log(e^a + e^b), from the one with the larger real part on.
template <class T>
void logaddexp_tile(void* out, const void* const* in, int64_t n, const Params&) {
  auto* y = static_cast<Complex<T>*>(out);
  const auto* a = static_cast<const Complex<T>*>(in[0]);
  const auto* b = static_cast<const Complex<T>*>(in[1]);
  for (int64_t i = 0; i < n; ++i) {
    const bool first = a[i].re >= b[i].re;
    const std::complex<T> more = (first ? a : b)[i].std(), less = (first ? b : a)[i].std();
    const bool infinite = std::isinf(more.real()) && more == less;
    y[i] = Complex<T>::from(infinite ? more : more + log1p(std::exp(less - more)));
  }
}

}  // namespace

void fill_complex_math(Kernels& t) {
  unary(t, Opcode::sqrt, [](auto z) { return std::sqrt(z); });
  unary(t, Opcode::rsqrt, [](auto z) { return decltype(z)(1) / std::sqrt(z); });
  unary(t, Opcode::exp, [](auto z) { return std::exp(z); });
  unary(t, Opcode::exp2, [](auto z) {
    using T = typename decltype(z)::value_type;
    return std::exp(z * std::numbers::ln2_v<T>);
  });
  unary(t, Opcode::expm1, [](auto z) { return expm1(z); });
  unary(t, Opcode::log, [](auto z) { return std::log(z); });
  unary(t, Opcode::log2, [](auto z) {
    using T = typename decltype(z)::value_type;
    return std::log(z) / std::numbers::ln2_v<T>;
  });
  unary(t, Opcode::log10, [](auto z) { return std::log10(z); });
  unary(t, Opcode::log1p, [](auto z) { return log1p(z); });
  unary(t, Opcode::sin, [](auto z) { return std::sin(z); });
  unary(t, Opcode::cos, [](auto z) { return std::cos(z); });
  unary(t, Opcode::tan, [](auto z) { return std::tan(z); });
  unary(t, Opcode::asin, [](auto z) { return std::asin(z); });
  unary(t, Opcode::acos, [](auto z) { return std::acos(z); });
  unary(t, Opcode::atan, [](auto z) { return std::atan(z); });
  unary(t, Opcode::sinh, [](auto z) { return std::sinh(z); });
  unary(t, Opcode::cosh, [](auto z) { return std::cosh(z); });
  unary(t, Opcode::tanh, [](auto z) { return std::tanh(z); });
  unary(t, Opcode::asinh, [](auto z) { return std::asinh(z); });
  unary(t, Opcode::acosh, [](auto z) { return std::acosh(z); });
  unary(t, Opcode::atanh, [](auto z) { return std::atanh(z); });
  unary(t, Opcode::sigmoid,
        [](auto z) { return decltype(z)(1) / (decltype(z)(1) + std::exp(-z)); });
  t.tile[int(Opcode::logaddexp)][int(DType::complex64)] = logaddexp_tile<float>;
  t.tile[int(Opcode::logaddexp)][int(DType::complex128)] = logaddexp_tile<double>;
  t.tile[int(Opcode::pow)][int(DType::complex64)] = pow_tile<float>;
  t.tile[int(Opcode::pow)][int(DType::complex128)] = pow_tile<double>;
  t.tile[int(Opcode::polar)][int(DType::complex64)] = polar_tile<float>;
  t.tile[int(Opcode::polar)][int(DType::complex128)] = polar_tile<double>;
}

}  // namespace wisp::cpu
