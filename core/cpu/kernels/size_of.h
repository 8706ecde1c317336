// The size |x| of a number, real or complex. Included by files of this folder only (see tile.h).
#pragma once

#include "cpu/kernels/tile.h"
#include "cpu/vmath.h"

namespace wisp::cpu {

namespace {

template <class T>
WISP_INLINE typename RealOf<T>::type size_of(T x) {
  if constexpr (detail::is_complex_type<T>) {
    return vmath::hypot(x.re, x.im);
  } else {
    return vmath::fabs(x);
  }
}

}  // namespace

}  // namespace wisp::cpu
