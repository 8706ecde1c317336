// Images whose channels are last in memory: the channels of a pixel lie next to each other.
#pragma once

#include "ops/raw.h"

namespace wisp::ops {

// Whether the channels of a pixel lie next to each other.
inline bool has_pixels(const Tensor& t, int64_t dims) {
  return t.ndim() == dims + 2 && dims >= 2 && !t.is_contiguous() && t->size(1) > 1 &&
         is_channels_last(t.sizes(), t.strides());
}

// `t` itself where it has that dtype and layout, else a copy.
inline Tensor in_layout(const Tensor& t, bool pixels, DType dtype) {
  if (!pixels) return consecutive(t, dtype);
  if (t.dtype() == dtype && is_channels_last(t.sizes(), t.strides())) return t;
  Tensor copy = Tensor::empty_strided(t.sizes(), channels_last_strides(t.sizes()), dtype);
  copy_raw(copy, t);
  return copy;
}

}  // namespace wisp::ops
