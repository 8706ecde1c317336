// What the kinds of pooling share.
#pragma once

#include "ops/image.h"

namespace wisp::ops {

// Windows of one size, at even distances, and how many of them there are.
struct Geometry {
  Dims kernel, stride, padding, dilation, out;
};

// From the arguments (self, kernel_size, stride, padding, ...); `dilation` and `ceil_mode` are the
// positions of these, 0 if there is none.
Geometry geometry(const Args& args, IntSpan in, int dilation, int ceil_mode);

// Windows that cover the input: the arguments (self, output_size).
void check_adaptive(const Args& args, const Tensor& self, IntSpan out);

// A line is pooled as an image of height 1.
void check_line(const Args& args);
Dims with_row(const Args& args, int i, int64_t row);
Dims stride_with_row(const Args& args, int i, const Dims& kernel);
Tensor drop_row(const Tensor& image);

// The elements of images that indices into their planes name.
Tensor pool_gather(const Tensor& image, const Tensor& indices, int64_t dims);

}  // namespace wisp::ops
