// What is done to pixels before and after the products of cpu/row_conv.cpp.
#include "base/compiler.h"
#include "cpu/row_conv_kernel.h"

#ifndef WISP_ISA
#error "compiled once per instruction set: WISP_ISA names it"
#endif

namespace wisp::cpu {

namespace {

template <int width>
using Lanes
    __attribute__((vector_size(width * sizeof(float)), aligned(alignof(float)), may_alias)) = float;

template <int width>
WISP_INLINE Lanes<width>& lanes_at(float* p) {
  return *reinterpret_cast<Lanes<width>*>(p);
}
template <int width>
WISP_INLINE const Lanes<width>& lanes_at(const float* p) {
  return *reinterpret_cast<const Lanes<width>*>(p);
}

template <int width>
WISP_INLINE void spread_blocks(const float* from, float* to, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    lanes_at<width>(to + i * step) = lanes_at<width>(from + i * width);
}

void spread(const float* from, int64_t block, float* to, int64_t step, int64_t n) {
  block == 16 ? spread_blocks<16>(from, to, step, n) : spread_blocks<8>(from, to, step, n);
}

template <int width, bool relu>
WISP_INLINE void finish_lanes(const float* from, int64_t from_step, const float* bias, float* to,
                              int64_t to_step, int64_t n) {
  const Lanes<width> shift = lanes_at<width>(bias);
  for (int64_t i = 0; i < n; ++i) {
    const Lanes<width> value = lanes_at<width>(from + i * from_step) + shift;
    if constexpr (relu) {
      lanes_at<width>(to + i * to_step) = value < 0 ? Lanes<width>{} : value;
    } else {
      lanes_at<width>(to + i * to_step) = value;
    }
  }
}

template <bool relu>
void finish_all(const float* from, int64_t from_step, const float* bias, float* to, int64_t to_step,
                int64_t n, int64_t channels) {
  int64_t c = 0;
  for (; c + 16 <= channels; c += 16)
    finish_lanes<16, relu>(from + c, from_step, bias + c, to + c, to_step, n);
  if (c < channels) finish_lanes<8, relu>(from + c, from_step, bias + c, to + c, to_step, n);
}

void finish(const float* from, int64_t from_step, const float* bias, bool relu, float* to,
            int64_t to_step, int64_t n, int64_t channels) {
  relu ? finish_all<true>(from, from_step, bias, to, to_step, n, channels)
       : finish_all<false>(from, from_step, bias, to, to_step, n, channels);
}

}  // namespace

namespace WISP_ISA {
void fill_row_conv(RowConvKernel& kernel);
void fill_row_conv(RowConvKernel& kernel) { kernel = {spread, finish}; }
}  // namespace WISP_ISA

}  // namespace wisp::cpu
