// Images as the normalisations of channels read and make them.
#pragma once

#include <initializer_list>
#include <optional>

#include "ops/arranged.h"
#include "ops/norms.h"
#include "ops/pixels.h"

namespace wisp::ops {

// Which images a kernel takes as they are, besides those in plain order and of its dtype.
struct Takes {
  bool rows = true;       // of channels
  bool bfloat16 = false;  // in blocks, to compute in float32
};

// Images that a kernel reads and makes, all in the order of the first: if that is arranged in
// blocks of channels, so is what is made from it; if its channels are last and the kernel takes
// rows, each pixel is a row of them.
class ChannelImages {
 public:
  // `others` are read in plain order, and may be parts of the same memory.
  ChannelImages(std::initializer_list<const Tensor*> images, const Tensor& out,
                std::initializer_list<const Tensor*> others, DType dtype, Takes takes = {})
      : dtype_(dtype),
        rows_(takes.rows && has_pixels(**images.begin(), (*images.begin())->ndim() - 2)) {
    const Tensor& first = **images.begin();
    if (!first->storage().is_arranged() || !can_arrange(out)) return;
    const bool rounded = takes.bfloat16 && dtype == DType::float32 &&
                         first.dtype() == DType::bfloat16 && out.dtype() == DType::bfloat16;
    for (const Tensor* image : images) {
      if (image->dtype() != (rounded ? DType::bfloat16 : dtype)) return;
    }
    for (const Tensor* other : others) bytes_or_null(*other);
    order_ = order_of({images.begin(), 1}, out.sizes());
    if (order_) read_.emplace(std::span(images.begin(), images.size()), out.sizes(), *order_);
    bfloat16_ = order_ && rounded;
  }
  // As the kernel is told them: lines as they lie.
  cpu::Channels described(cpu::Channels shape) const {
    shape.block = order_ ? order_->block : 0;
    shape.bfloat16 = bfloat16_;
    return shape;
  }
  // That in which images are made.
  DType made_dtype() const { return bfloat16_ ? DType::bfloat16 : dtype_; }
  Tensor input(size_t i, const Tensor& image) {
    if (order_) return as_it_lies(image, read_->data(i));
    copies_[i] = in_layout(image, rows_, dtype_);
    return rows_ ? rows_of(copies_[i]) : copies_[i];
  }
  // Whether the kernel works in the memory of the image itself.
  bool is_own(size_t i, const Tensor& image) const {
    return order_ ? read_->data(i) == image->storage().address() : copies_[i].is_same(image);
  }
  Tensor output(const Tensor& out) const {
    if (order_) return as_it_lies(out, arrange(out, *order_));
    return rows_ && out.ndim() > 1 ? rows_of(out) : out;
  }

 private:
  static Tensor rows_of(const Tensor& t) {
    const size_t bytes = static_cast<size_t>(t.numel()) * t->item_size();
    Ref<Storage> memory = Storage::wrap(t->bytes(), bytes, [](void*) {}, nullptr);
    const int64_t channels = t->size(1);
    return Tensor::adopt(
        TensorImpl::make(std::move(memory), t.dtype(), Dims{t.numel() / channels, channels}));
  }

  DType dtype_;
  bool rows_, bfloat16_ = false;
  std::optional<Arrangement> order_;
  std::optional<InOrder> read_;
  Tensor copies_[InOrder::most];
};

}  // namespace wisp::ops
