// A growable list of movable things that keeps the first few without touching the heap.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/compiler.h"

namespace wisp {

template <class T, size_t N>
class InlineList {
 public:
  InlineList() = default;
  explicit InlineList(size_t n) { resize(n); }
  InlineList(const InlineList&) = delete;
  InlineList& operator=(const InlineList&) = delete;

  void push(T item) {
    if (WISP_UNLIKELY(size_ == capacity_)) grow(2 * capacity_);
    data_[size_++] = std::move(item);
  }
  void resize(size_t n) {
    if (WISP_UNLIKELY(n > capacity_)) grow(n);
    size_ = n;
  }
  T pop() { return std::move(data_[--size_]); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  WISP_COLD void grow(size_t capacity) {
    auto grown = std::make_unique<T[]>(capacity);
    for (size_t i = 0; i < size_; ++i) grown[i] = std::move(data_[i]);
    many_ = std::move(grown);
    data_ = many_.get();
    capacity_ = capacity;
  }

  T few_[N] = {};
  T* data_ = few_;
  size_t size_ = 0;
  size_t capacity_ = N;
  std::unique_ptr<T[]> many_;
};

}  // namespace wisp
