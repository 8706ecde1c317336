#include <cmath>

#include "cpu/kernels/tile.h"
#include "cpu/special_math.h"
#include "cpu/vmath.h"
#include "cpu/vmath_special.h"
#include "cpu/vmath_trig.h"

namespace wisp::cpu {

namespace {

// Fast is right almost everywhere; elements for which Slow says so are computed again by libm.
template <class T, class Fast, class IsSlow, class Slow>
void patched_tile(void* out, const void* const* in, int64_t n, const Params&) {
  T* y = static_cast<T*>(out);
  const T* x = static_cast<const T*>(in[0]);
  constexpr int64_t block = 256;
  T kept[block];  // the output may be the input
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t count = n - begin < block ? n - begin : block;
    int slow = 0;
    for (int64_t i = 0; i < count; ++i) {
      kept[i] = x[begin + i];
      slow |= IsSlow{}(kept[i]);
    }
    for (int64_t i = 0; i < count; ++i) y[begin + i] = Fast{}(kept[i]);
    if (!slow) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (IsSlow{}(kept[i])) y[begin + i] = Slow{}(kept[i]);
    }
  }
}

template <Opcode Op, class Fast, class IsSlow, class Slow>
WISP_INLINE void patched(TileTable& table, Fast, IsSlow, Slow) {
  for_each_type<dtypes::real_math>(
      [&]<class T>() { table[int(Op)][int(dtype_of<T>)] = patched_tile<T, Fast, IsSlow, Slow>; });
}

constexpr double pi = 3.14159265358979323846;

// 2 p - 1 is exact in double, unless a float is tiny; of doubles, the tails are computed apart.
template <class T>
struct FastNdtri {
  WISP_INLINE T operator()(T p) const {
    return static_cast<T>(1.41421356237309504880 * vmath::erfinv(2 * static_cast<double>(p) - 1));
  }
};
template <class T>
struct IsSlowNdtri {
  WISP_INLINE bool operator()(T p) const {
    if constexpr (sizeof(T) == 4) return p != 0 && vmath::fabs(p) < 0x1p-29f;
    return vmath::fabs(p - 0.5) > 0.37;
  }
};
template <class T>
struct SlowNdtri {
  WISP_INLINE T operator()(T p) const { return static_cast<T>(ndtri(static_cast<double>(p))); }
};

}  // namespace

namespace WISP_ISA {

void fill_math(Kernels& table) {
  TileTable& t = table.tile;
  constexpr DTypeSet real = dtypes::real_math;
  unary<Opcode::sqrt, real>(t, [](auto x) { return std::sqrt(x); });
  unary<Opcode::rsqrt, real>(t, [](auto x) { return vmath::rsqrt(x); });
  unary<Opcode::abs, dtypes::complex>(t, [](auto z) { return vmath::hypot(z.re, z.im); });
  unary<Opcode::sgn, dtypes::complex>(t, [](auto z) {
    const auto size = vmath::hypot(z.re, z.im);
    return size == 0 ? decltype(z)(0) : decltype(z)(z.re / size, z.im / size);
  });
  unary<Opcode::angle, dtypes::complex>(t, [](auto z) { return vmath::atan2(z.im, z.re); });
  unary<Opcode::exp, real>(t, [](auto x) { return vmath::exp(x); });
  unary<Opcode::exp2, real>(t, [](auto x) { return vmath::exp2(x); });
  unary<Opcode::expm1, real>(t, [](auto x) { return vmath::expm1(x); });
  unary<Opcode::log, real>(t, [](auto x) { return vmath::log(x); });
  unary<Opcode::log2, real>(t, [](auto x) { return vmath::log2(x); });
  unary<Opcode::log10, real>(t, [](auto x) { return vmath::log10(x); });
  unary<Opcode::log1p, real>(t, [](auto x) { return vmath::log1p(x); });
  patched<Opcode::sin>(
      t, [](auto x) { return vmath::sin(x); }, [](auto x) { return vmath::needs_slow_sin(x); },
      [](auto x) { return std::sin(x); });
  patched<Opcode::cos>(
      t, [](auto x) { return vmath::cos(x); }, [](auto x) { return vmath::needs_slow_cos(x); },
      [](auto x) { return std::cos(x); });
  patched<Opcode::tan>(
      t, [](auto x) { return vmath::tan(x); }, [](auto x) { return vmath::needs_slow_tan(x); },
      [](auto x) { return std::tan(x); });
  unary<Opcode::asin, real>(t, [](auto x) { return vmath::asin(x); });
  unary<Opcode::acos, real>(t, [](auto x) { return vmath::acos(x); });
  unary<Opcode::atan, real>(t, [](auto x) { return vmath::atan(x); });
  unary<Opcode::sinh, real>(t, [](auto x) { return vmath::sinh(x); });
  unary<Opcode::cosh, real>(t, [](auto x) { return vmath::cosh(x); });
  unary<Opcode::tanh, real>(t, [](auto x) { return vmath::tanh(x); });
  unary<Opcode::asinh, real>(t, [](auto x) { return vmath::asinh(x); });
  unary<Opcode::acosh, real>(t, [](auto x) { return vmath::acosh(x); });
  unary<Opcode::atanh, real>(t, [](auto x) { return vmath::atanh(x); });
  unary<Opcode::sigmoid, real>(t, [](auto x) { return vmath::sigmoid(x); });
  unary<Opcode::erf, real>(t, [](auto x) { return vmath::erf(x); });
  unary<Opcode::erfc, real>(t, [](auto x) { return vmath::erfc(x); });
  unary<Opcode::erfinv, real>(t, [](auto x) { return vmath::erfinv(x); });
  patched<Opcode::lgamma>(
      t, [](auto x) { return vmath::lgamma(x); },
      [](auto x) { return vmath::needs_slow_lgamma(x); },
      [](auto x) {
        int sign;  // the plain function writes a global
        return static_cast<decltype(x)>(::lgamma_r(static_cast<double>(x), &sign));
      });
  unary<Opcode::digamma, real>(t, [](auto x) { return vmath::digamma(x); });
  unary<Opcode::logit, real>(t, [](auto x, const Params& p) {
    using T = decltype(x);
    const T eps = param<T>(p, 0);  // negative if none was given
    const T low = eps < 0 ? -vmath::Format<T>::kInf : eps,
            high = eps < 0 ? vmath::Format<T>::kInf : T(1) - eps;
    const T z = x < low ? low : x > high ? high : x;
    // The quotient of the larger and the smaller of z and 1 - z, by its distance from 1: around one
    // half, that says more. Raised where it would overflow.
    const bool below = z < T(0.5), tiny = (z >= 0) & (z < T(sizeof(T) == 4 ? 0x1p-100 : 0x1p-1000));
    const T raised = (z + T(0)) * (tiny ? T(0x1p64) : T(1));  // of -0, as of 0
    const T size = vmath::log1p(vmath::fabs(T(1) - (z + z)) / (below ? raised : T(1) - z)) +
                   (tiny ? T(64 * 0.69314718055994530942) : T(0));
    return below ? -size : size;
  });
  unary<Opcode::entr, real>(t, [](auto x) {
    using T = decltype(x);
    const T inside = -x * vmath::log(x), outside = x == 0 ? T(0) : -vmath::Format<T>::kInf;
    return x > 0 || x != x ? inside : outside;
  });
  // In double, whose multiple of pi is exact enough for the sine of large floats.
  patched<Opcode::sinc>(
      t,
      [](auto x) {
        const double angle = static_cast<double>(x) * pi, sine = vmath::sin(angle);
        return static_cast<decltype(x)>(x == 0 ? 1.0 : sine / angle);
      },
      [](auto x) { return vmath::needs_slow_sin(static_cast<double>(x) * pi); },
      [](auto x) {
        const double angle = static_cast<double>(x) * pi;
        return static_cast<decltype(x)>(std::sin(angle) / angle);
      });
  for_each_type<real>([&]<class T>() {
    t[int(Opcode::ndtri)][int(dtype_of<T>)] =
        patched_tile<T, FastNdtri<T>, IsSlowNdtri<T>, SlowNdtri<T>>;
  });
  binary<Opcode::pow, real>(t, [](auto a, auto b) { return vmath::pow(a, b); });
  binary<Opcode::atan2, real>(t, [](auto a, auto b) { return vmath::atan2(a, b); });
  binary<Opcode::hypot, real>(t, [](auto a, auto b) { return vmath::hypot(a, b); });
  // 0 * log(anything but NaN) is 0.
  binary<Opcode::xlogy, real>(t, [](auto a, auto b) {
    return b != b ? b : a == 0 ? decltype(a)(0) : a * vmath::log(b);
  });
  binary<Opcode::xlog1py, real>(t, [](auto a, auto b) {
    return b != b ? b : a == 0 ? decltype(a)(0) : a * vmath::log1p(b);
  });
  // log(exp(a) + exp(b)); equal infinities would otherwise give inf - inf.
  binary<Opcode::logaddexp, real>(t, [](auto a, auto b) {
    using T = decltype(a);
    const T high = a > b ? a : b, gap = a > b ? b - a : a - b;
    const bool equal_infinities = a == b && (a - a != T(0));
    return a != a || equal_infinities ? a : b != b ? b : high + vmath::log1p(vmath::exp(gap));
  });
  binary<Opcode::logaddexp2, real>(t, [](auto a, auto b) {
    using T = decltype(a);
    const T high = a > b ? a : b, gap = a > b ? b - a : a - b;
    const bool equal_infinities = a == b && (a - a != T(0));
    const T inv_ln2 = T(1.44269504088896340736);
    return a != a || equal_infinities ? a
           : b != b                   ? b
                                      : high + vmath::log1p(vmath::exp2(gap)) * inv_ln2;
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
