// A vector of trivially copyable items that keeps up to N of them without touching the heap.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>

namespace wisp {

// Throws std::bad_alloc; for headers that kernels, which are compiled without exceptions, include.
[[noreturn]] void fail_out_of_memory();

template <class T, int N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  SmallVector() = default;
  explicit SmallVector(size_t n, T value = T()) { resize(n, value); }
  SmallVector(std::initializer_list<T> items) { assign(items.begin(), items.size()); }
  SmallVector(std::span<const T> items) { assign(items.data(), items.size()); }
  SmallVector(const SmallVector& other) { assign(other.data_, other.size_); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.data_, other.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  auto rbegin() { return std::reverse_iterator(end()); }
  auto rend() { return std::reverse_iterator(begin()); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(T value) {
    reserve(size_ + 1);
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize(size_t n, T value = T()) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = static_cast<uint32_t>(n);
  }
  void assign(const T* items, size_t n) {
    reserve(n);
    if (n) std::memmove(data_, items, n * sizeof(T));
    size_ = static_cast<uint32_t>(n);
  }
  void insert(size_t position, T value) {
    reserve(size_ + 1);
    std::memmove(data_ + position + 1, data_ + position, (size_ - position) * sizeof(T));
    data_[position] = value;
    ++size_;
  }
  void erase(size_t position) {
    std::memmove(data_ + position, data_ + position + 1, (size_ - position - 1) * sizeof(T));
    --size_;
  }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t capacity = n > 2u * capacity_ ? n : 2u * capacity_;
    T* grown = static_cast<T*>(std::malloc(capacity * sizeof(T)));
    if (!grown) fail_out_of_memory();
    std::memcpy(static_cast<void*>(grown), data_, size_ * sizeof(T));
    drop();
    data_ = grown;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return a.size_ == b.size_ && std::memcmp(a.data_, b.data_, a.size_ * sizeof(T)) == 0;
  }

 private:
  bool is_inline() const { return data_ == reinterpret_cast<const T*>(inline_); }
  void drop() {
    if (!is_inline()) std::free(data_);
  }
  void take(SmallVector& other) {
    size_ = other.size_;
    if (other.is_inline()) {
      data_ = reinterpret_cast<T*>(inline_);
      capacity_ = N;
      std::memcpy(static_cast<void*>(data_), other.data_, size_ * sizeof(T));
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = reinterpret_cast<T*>(other.inline_);
      other.capacity_ = N;
    }
    other.size_ = 0;
  }

  T* data_ = reinterpret_cast<T*>(inline_);
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

// Sizes, strides, lists of dimensions.
using Dims = SmallVector<int64_t, 6>;
using IntSpan = std::span<const int64_t>;

inline bool same(IntSpan a, IntSpan b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace wisp
