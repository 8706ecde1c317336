// Arranged images inside kernels (see tensor/arranged.h): memory in their order, whatever the order
// of the tensor it comes from.
#pragma once

#include <optional>
#include <span>

#include "ops/raw.h"
#include "tensor/arranged.h"

namespace wisp::ops {

// The elements of `t`, broadcast to an image's sizes, in that order.
inline Tensor arranged_copy(const Tensor& t, IntSpan image, const Arrangement& order) {
  const Dims given = expanded_strides(t.sizes(), t.strides(), image);
  Dims sizes, from;
  auto add = [&](int64_t size, int64_t stride) {
    sizes.push_back(size);
    from.push_back(stride);
  };
  add(image[0], given[0]);
  add(order.channels / order.block, given[1] * order.block);
  for (size_t i = 2; i < image.size(); ++i) add(image[i], given[i]);
  add(order.block, given[1]);
  Tensor copy = Tensor::empty(image, t.dtype());
  cpu::copy(sizes, {copy->bytes(), contiguous_strides(sizes), t.dtype()},
            {t->bytes(), from, t.dtype()});
  return copy;
}

// Images that a kernel reads in one order: as they lie if they do so, else copies.
class InOrder {
 public:
  static constexpr size_t most = 4;
  InOrder(std::span<const Tensor* const> images, IntSpan sizes, const Arrangement& order) {
    // Copies first: what has to be in plain order for one may be a part of another.
    for (size_t i = 0; i < images.size(); ++i) {
      const Tensor& t = *images[i];
      const bool stays = Arranged(t).exists() && same(t.sizes(), sizes);
      if (!stays) copies_[i] = arranged_copy(t, sizes, order);
    }
    for (size_t i = 0; i < images.size(); ++i) {
      if (copies_[i].defined()) continue;
      uses_[i].emplace(*images[i]);
      if (uses_[i]->exists() && uses_[i]->order() == order) continue;
      uses_[i].reset();
      copies_[i] = arranged_copy(*images[i], sizes, order);
    }
  }
  char* data(size_t i) const { return uses_[i] ? uses_[i]->data() : copies_[i]->bytes(); }

 private:
  std::optional<Arranged> uses_[most];
  Tensor copies_[most];
};

// The order of the first of these that is an arranged image of those sizes.
inline std::optional<Arrangement> order_of(std::span<const Tensor* const> images, IntSpan sizes) {
  for (const Tensor* t : images) {
    const Arranged use(*t);
    if (use.exists() && use.is_image(*t) && same(t->sizes(), sizes)) return use.order();
  }
  return std::nullopt;
}

}  // namespace wisp::ops
