// What the transforms and the short-time ones share.
#pragma once

#include "dispatch/op_def.h"

namespace wisp::ops {

// By what a transform of n numbers is divided.
enum class FftNorm : int64_t { none, root_n, n };

// Of complex numbers; of real ones (of the last dimension n / 2 + 1 numbers, or all); and back from
// such a half to real ones.
Tensor fft_c2c(const Tensor& self, IntSpan dims, FftNorm norm, bool forward);
Tensor fft_r2c(const Tensor& self, IntSpan dims, FftNorm norm, bool onesided);
Tensor fft_c2r(const Tensor& self, IntSpan dims, FftNorm norm, int64_t last_dim_size);

}  // namespace wisp::ops
