// The last dimensions of a tensor as an image, in a layout the window kernels work on.
#pragma once

#include <optional>

#include "cpu/window.h"
#include "dispatch/op_def.h"
#include "ops/pixels.h"
#include "ops/promotion.h"
#include "ops/raw.h"
#include "tensor/arranged.h"

namespace wisp::ops {

// An input as the kernels want it.
class Image {
 public:
  // `stays` says whether an arranged one (see tensor/arranged.h) may be worked on as it is: then
  // the result is arranged as well, see target().
  Image(const Tensor& t, int64_t dims, DType dtype, bool stays) : pixels(has_pixels(t, dims)) {
    if (stays) arranged_.emplace(t);
    if (stays && arranged_->exists() && t.dtype() == dtype && t.ndim() == dims + 2 &&
        arranged_->is_image(t)) {
      const Arrangement& order = arranged_->order();
      const int64_t blocks = order.channels / order.block;
      shape = {t->size(0) * blocks, order.block, blocks};
      return;
    }
    arranged_.reset();
    data_ = in_layout(t, pixels, dtype);
    shape = {1, pixels ? t->size(1) : 1};
    for (int64_t i = 0; i < t.ndim() - dims; ++i) shape.outer *= t->size(i);
    if (pixels) shape.outer = t->size(0);
  }

  const char* bytes() const { return arranged_ ? arranged_->data() : data_->bytes(); }

  // The memory of a result with the same members and channels.
  char* target(const Tensor& out) const {
    if (!arranged_) return out->bytes();
    const Arrangement& order = arranged_->order();
    const int64_t size = out.numel() / out->size(0) / order.channels;
    if (size == 1) return out->bytes();  // in plain order just the same
    return arrange(out, {order.channels, size, order.block});
  }

  const bool pixels;
  cpu::ImageShape shape;  // blocks of channels count as so many images of few channels

 private:
  std::optional<Arranged> arranged_;
  Tensor data_;
};

// A result of the last dimensions `sizes`, laid out like the image it comes from.
inline TensorSpec& push_image(Infer& infer, const Tensor& from, IntSpan image, DType dtype) {
  Dims sizes(from.sizes());
  const size_t lead = sizes.size() - image.size();
  for (size_t i = 0; i < image.size(); ++i) sizes[lead + i] = image[i];
  TensorSpec& spec = infer.push(sizes, dtype, from.device());
  if (has_pixels(from, static_cast<int64_t>(image.size())))
    spec.strides = channels_last_strides(sizes);
  return spec;
}

// Memory for a result in the dtype that is computed in; finish() rounds it into the result.
class Target {
 public:
  Target(const Tensor& out, DType dtype)
      : out_(out),
        work_(out.dtype() == dtype ? out
                                   : Tensor::empty_strided(out.sizes(), out.strides(), dtype)) {}
  char* bytes() const { return work_->bytes(); }
  const Tensor& work() const { return work_; }
  void finish() const {
    if (!work_.is_same(out_)) copy_raw(out_, work_);
  }

 private:
  const Tensor& out_;
  Tensor work_;
};

inline IntSpan image_sizes(const Tensor& t, int64_t dims) {
  return t.sizes().last(static_cast<size_t>(dims));
}

// A list argument that may be given as one number for all dimensions.
Dims per_dim(const Args& args, int i, int64_t dims);
// The same for a stride, which is the kernel's size if it is left out.
Dims stride_or(const Args& args, int i, const Dims& kernel);
// An image with a batch and channels, or just channels; all but the batch must have elements.
void check_image(const Args& args, const Tensor& self, int64_t dims);

}  // namespace wisp::ops
