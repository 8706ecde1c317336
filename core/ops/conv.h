// What the operators of convolutions and their kernels share.
#pragma once

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

// relu(y + other), or a part of it, of the y that conv1d, conv2d or conv3d would give for these
// arguments, computed in one step. Undefined if that cannot be done: the parts are to be called
// then.
Tensor convolution_with_tail(const Arg* args, const Tensor& other, bool relu);

// What is done to the result of a convolution in the same step. First, if they are defined: every
// channel multiplied by a number of `scale` and `shift` added, then an image; at last relu.
struct ConvTail {
  Tensor scale, shift, other;
  bool relu = false;
  bool exists() const { return relu || other.defined() || scale.defined(); }
};
// Of the operator convolution, in float32; false, with no result, if it cannot be done in one step.
bool convolve_with_tail(const Call& call, const ConvTail& tail);

void convolution_kernel(const Call& call);
void convolution_weight_kernel(const Call& call);

}  // namespace wisp::ops
