// What the operators of convolutions and their kernels share.
#pragma once

#include <array>

#include "dispatch/op_def.h"

namespace wisp::ops {

// How the window moves, a number per dimension of space.
struct Steps {
  Dims stride, padding, dilation, output_padding;
};

// Of convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups).
Steps steps_of(const Args& args, int64_t dims);

inline bool has_channels_last(const Tensor& t) {
  return t.ndim() == 4 && !t.is_contiguous() && t->is_contiguous(MemoryFormat::channels_last);
}

// What follows a convolution. First, if they are defined: every channel is multiplied by a number
// of `scale` and one of `shift` added, then an image; then relu; then the largest element of each
// window of that many rows and columns, which do not overlap.
struct ConvTail {
  Tensor scale, shift, other;
  bool relu = false;
  std::array<int64_t, 2> window{1, 1}, step{1, 1};
  bool plain = true;  // whoever reads the result wants it in plain order
  bool exists() const { return relu || other.defined() || scale.defined(); }  // but for the windows
  bool has_pool() const { return window[0] * window[1] * step[0] * step[1] > 1; }
};

// All that, of what conv1d, conv2d or conv3d would give for these arguments, computed in one step.
// Undefined if that cannot be done: the parts are to be called then.
Tensor convolution_with_tail(const Arg* args, const ConvTail& tail);
// The same of the operator convolution in float32, without windows; false, with no result, if it
// cannot be done in one step.
bool convolve_with_tail(const Call& call, const ConvTail& tail);
// With windows: whether there is a kernel for all of it, and what that makes. `out` is of the size
// of what comes out of the convolution, and need not have memory; undefined if it cannot be done.
bool suits_rows(const Call& call, const ConvTail& tail);
Tensor convolve_rows(const Call& call, const ConvTail& tail);

// Whether the result of a convolution has its channels last in memory, and no tail joins it.
bool convolution_stays_last(const Tensor& x, const Tensor& weight);

void convolution_kernel(const Call& call);
void convolution_weight_kernel(const Call& call);

}  // namespace wisp::ops
