// Temporary memory of a kernel.
#pragma once

#include <span>

#include "base/memory.h"

namespace wisp::cpu {

// An uninitialised array from the caching allocator, gone at the end of its scope.
template <class T>
class Scratch {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit Scratch(int64_t n)
      : size_(static_cast<size_t>(n)), data_(static_cast<T*>(memory::allocate(bytes()))) {}
  ~Scratch() { memory::deallocate(data_, bytes()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](int64_t i) const { return data_[i]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  operator std::span<T>() const { return {data_, size_}; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  size_t bytes() const { return size_ * sizeof(T); }
  size_t size_;
  T* data_;
};

}  // namespace wisp::cpu
