// Batch norm with given statistics, as a step that other kernels may do.
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

// What _batch_norm does in evaluation of float32, but for its first result. It is kept with the
// statistics, weight and bias until somebody writes one of them.
ChannelAffine normalisation_of(const Call& call);
// out = x * scale + shift, of images of float32.
void run_affine(const Tensor& x, const ChannelAffine& affine, const Tensor& out);

}  // namespace wisp::ops
