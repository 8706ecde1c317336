// A growable list of tensors that keeps the first few without touching the heap.
#pragma once

#include <memory>
#include <span>

#include "tensor/tensor.h"

namespace wisp {

class TensorList {
 public:
  TensorList() = default;
  explicit TensorList(size_t n) { resize(n); }
  TensorList(const TensorList&) = delete;
  TensorList& operator=(const TensorList&) = delete;

  void push(Tensor tensor) {
    if (WISP_UNLIKELY(size_ == capacity_)) grow(2 * capacity_);
    data()[size_++] = std::move(tensor);
  }
  void resize(size_t n) {
    if (WISP_UNLIKELY(n > capacity_)) grow(n);
    size_ = n;
  }
  size_t size() const { return size_; }
  Tensor* data() { return capacity_ == inline_size ? few_ : many_.get(); }
  const Tensor* data() const { return capacity_ == inline_size ? few_ : many_.get(); }
  Tensor& operator[](size_t i) { return data()[i]; }
  const Tensor& operator[](size_t i) const { return data()[i]; }
  Tensor* begin() { return data(); }
  Tensor* end() { return data() + size_; }
  operator std::span<const Tensor>() const { return {data(), size_}; }

 private:
  static constexpr size_t inline_size = 3;
  WISP_COLD void grow(size_t capacity) {
    auto grown = std::make_unique<Tensor[]>(capacity);
    for (size_t i = 0; i < size_; ++i) grown[i] = std::move(data()[i]);
    many_ = std::move(grown);
    capacity_ = capacity;
  }

  Tensor few_[inline_size];
  size_t size_ = 0;
  size_t capacity_ = inline_size;
  std::unique_ptr<Tensor[]> many_;
};

}  // namespace wisp
