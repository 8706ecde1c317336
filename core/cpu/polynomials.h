// Orthogonal polynomials of degree n, by their recurrences or by angles where that is exact.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace wisp::cpu {

// p(k + 1) = next(k, p(k), p(k - 1)) from the first two on.
template <class T, class Next>
T recurrence(int64_t n, T first, T second, Next next) {
  if (n < 0) return 0;
  if (n == 0) return first;
  T before = first, value = second;
  for (int64_t k = 1; k < n && value == value; ++k) {
    const T following = next(static_cast<T>(k), value, before);
    before = value;
    value = following;
  }
  return value;
}

// The four kinds of Chebyshev polynomials share a recurrence.
template <class T>
T chebyshev(T x, int64_t n, T second) {
  return recurrence<T>(n, 1, second,
                       [x](T, T value, T before) { return (x + x) * value - before; });
}

constexpr int sign_of_power(int64_t n) { return n % 2 == 0 ? 1 : -1; }

template <class T>
T chebyshev_t(T x, int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 ? T(1) : T(sign_of_power(n));
  if (n > 6 && std::abs(x) < 1) return std::cos(static_cast<T>(n) * std::acos(x));
  return chebyshev(x, n, x);
}

template <class T>
T chebyshev_u(T x, int64_t n) {
  if (n < 0) return 0;
  const T count = static_cast<T>(n + 1);
  if (std::abs(x) == 1) return x > 0 ? count : sign_of_power(n) * count;
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x), sine = std::sin(angle);
    return sine != 0 ? std::sin(count * angle) / sine : count * std::cos(count * angle) / x;
  }
  return chebyshev(x, n, x + x);
}

template <class T>
T chebyshev_v(T x, int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 ? T(1) : sign_of_power(n) * static_cast<T>(n + n + 1);
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x), half = static_cast<T>(n) + T(0.5);
    return std::sin(angle / 2) != 1 ? std::cos(half * angle) / std::cos(angle / 2)
                                    : sign_of_power(n) * static_cast<T>(n + n + 1);
  }
  return chebyshev(x, n, x + x - 1);
}

template <class T>
T chebyshev_w(T x, int64_t n) {
  if (n < 0) return 0;
  if (std::abs(x) == 1) return x > 0 ? static_cast<T>(n + n + 1) : T(sign_of_power(n));
  if (n > 8 && std::abs(x) < 1) {
    const T angle = std::acos(x), half = static_cast<T>(n) + T(0.5);
    if (std::cos(angle / 2) != 1) return std::sin(half * angle) / std::sin(angle / 2);
    return x > 0 ? static_cast<T>(n + n + 1) : T(sign_of_power(n));
  }
  return chebyshev(x, n, x + x + 1);
}

// Degrees whose values are beyond the range of T wherever they are not small.
template <class T>
constexpr int64_t hermite_limit = sizeof(T) == 4 ? 128 : 512;

template <class T>
T hermite_h(T x, int64_t n) {
  if (n > hermite_limit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recurrence<T>(n, 1, x + x,
                       [x](T k, T value, T before) { return 2 * (x * value - k * before); });
}

template <class T>
T hermite_he(T x, int64_t n) {
  if (n > hermite_limit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recurrence<T>(n, 1, x, [x](T k, T value, T before) { return x * value - k * before; });
}

template <class T>
T laguerre_l(T x, int64_t n) {
  if (n >= 0 && x == 0) return 1;
  return recurrence<T>(n, 1, 1 - x, [x](T k, T value, T before) {
    return ((k + k + 1 - x) * value - k * before) / (k + 1);
  });
}

template <class T>
T legendre_p(T x, int64_t n) {
  if (n >= 0 && std::abs(x) == 1) return x > 0 ? T(1) : T(sign_of_power(n));
  return recurrence<T>(n, 1, x, [x](T k, T value, T before) {
    return ((k + k + 1) * x * value - k * before) / (k + 1);
  });
}

}  // namespace wisp::cpu
