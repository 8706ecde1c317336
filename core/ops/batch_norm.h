// Batch norm in steps that other kernels may do together with what follows it or comes before.
#pragma once

#include "dispatch/op_def.h"

namespace wisp::ops {

// What every channel is multiplied by, and what is then added: vectors of float32.
struct ChannelAffine {
  Tensor scale, shift;
  // Whether what is multiplied may as well be the weight of a convolution: nothing gets too large
  // or too small by it.
  bool moderate = true;
};

// What _batch_norm does of float32, but for its first result. In evaluation it is kept with the
// statistics, weight and bias until somebody writes one of them.
ChannelAffine normalisation_of(const Call& call);
// out = x * scale + shift, + other if that is defined, then relu if asked for; of images of
// float32.
void run_affine(const Tensor& x, const ChannelAffine& affine, const Tensor& other, bool relu,
                const Tensor& out);

// A gradient on its way back through relu: grad, + addend if that is defined, and 0 where the
// output of relu is not positive.
struct ReluGradient {
  Tensor grad, addend, output;
};
// _batch_norm_grads of such a gradient in float32, which it makes on the way and returns. The first
// result of the call is a promise. Memory of what is given is used again where nobody else knows
// it.
Tensor batch_norm_grads_through_relu(const Call& call, const ReluGradient& given);

}  // namespace wisp::ops
