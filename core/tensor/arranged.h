// Images in the order that kernels like best, for kernels that know of it. To all others they are
// ordinary tensors, contiguous or with their channels last: Storage::data() puts them back into
// plain order.
#pragma once

#include <utility>

#include "tensor/tensor.h"

namespace wisp {

// Whether elements lie next to each other in one of the orders that an arranged image may have to
// everybody else.
inline bool is_dense_image(const TensorImpl& impl) {
  return impl.is_contiguous() || is_channels_last(impl.sizes(), impl.strides());
}

// A tensor that is the whole of an arranged storage, kept so while this exists. A kernel asks for
// the plain memory of its other arguments first: one of them may share the storage.
class Arranged {
 public:
  explicit Arranged(const Tensor& t) {
    const TensorImpl& impl = *t.impl();
    const Storage& storage = impl.storage();
    if (WISP_LIKELY(!storage.is_arranged()) || !covers(impl)) return;
    data_ = storage.use_arranged(order_, impl.item_size(), !impl.is_contiguous());
    if (data_) storage_ = &storage;
  }
  Arranged(Arranged&& other) noexcept
      : storage_(std::exchange(other.storage_, nullptr)),
        data_(other.data_),
        order_(other.order_) {}
  Arranged& operator=(Arranged&&) = delete;
  ~Arranged() {
    if (storage_) storage_->release_arranged();
  }

  bool exists() const { return data_; }
  char* data() const { return data_; }
  const Arrangement& order() const { return order_; }

  // Whether the tensor has the dimensions (member, channel, pixels...) of its arrangement.
  bool is_image(const Tensor& t) const {
    return t.ndim() >= 2 && t->size(1) == order_.channels &&
           t.numel() == t->size(0) * order_.channels * order_.pixels;
  }

 private:
  static bool covers(const TensorImpl& impl) {
    return is_dense_image(impl) && impl.offset() == 0 &&
           static_cast<size_t>(impl.numel()) * impl.item_size() == impl.storage().bytes();
  }
  const Storage* storage_ = nullptr;
  char* data_ = nullptr;
  Arrangement order_;
};

// Arranged memory as it lies, as a plain tensor with the sizes of `like`. It does not own the
// memory.
inline Tensor as_it_lies(const Tensor& like, char* data) {
  const size_t bytes = static_cast<size_t>(like.numel()) * like->item_size();
  Ref<Storage> memory = Storage::wrap(data, bytes, [](void*) {}, nullptr);
  return Tensor::adopt(TensorImpl::make(std::move(memory), like.dtype(), like.sizes()));
}

// Whether a result may be left arranged: its memory is new, and all its own.
inline bool can_arrange(const Tensor& out) {
  const Storage& storage = out->storage();
  return is_dense_image(*out.impl()) && out->offset() == 0 && storage.use_count() == 1 &&
         storage.resizable() && !storage.is_arranged() && out.numel() > 0 &&
         out->item_size() <= sizeof(int64_t) && !out->is_meta() &&
         static_cast<size_t>(out.numel()) * out->item_size() == storage.bytes();
}

// The memory of such a result, from now on in that order.
inline char* arrange(const Tensor& out, const Arrangement& order) {
  return out->storage().arrange(order, out->item_size(), !out.is_contiguous());
}

}  // namespace wisp
