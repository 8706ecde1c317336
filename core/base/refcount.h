// Intrusive reference counts: Ref<T> owns one count of a T that has retain() and release().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace wisp {

class RefCount {
 public:
  void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

  // True if that was the last one. A sole owner needs no atomic read-modify-write: nobody else
  // holds a reference from which a new one could be made.
  bool drop() const noexcept {
    if (count_.load(std::memory_order_acquire) == 1) return true;
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  uint32_t value() const noexcept { return count_.load(std::memory_order_acquire); }

 private:
  mutable std::atomic<uint32_t> count_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref adopt(T* pointer) {  // takes over a count the caller already owns
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }
  static Ref share(T* pointer) {
    if (pointer) pointer->retain();
    return adopt(pointer);
  }
  Ref(const Ref& other) : pointer_(other.pointer_) {
    if (pointer_) pointer_->retain();
  }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(const Ref& other) {
    Ref(other).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref(std::move(other)).swap(*this);
    return *this;
  }
  ~Ref() {
    if (pointer_) pointer_->release();
  }

  void swap(Ref& other) noexcept { std::swap(pointer_, other.pointer_); }
  void reset() { Ref().swap(*this); }
  T* get() const noexcept { return pointer_; }
  T* detach() noexcept { return std::exchange(pointer_, nullptr); }
  T* operator->() const noexcept { return pointer_; }
  T& operator*() const noexcept { return *pointer_; }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

 private:
  T* pointer_ = nullptr;
};

// Base of reference-counted things whose type a lower room does not know.
class Object {
 public:
  virtual ~Object() = default;
  void retain() const noexcept { refs_.retain(); }
  void release() const noexcept {
    if (refs_.drop()) const_cast<Object*>(this)->destroy();
  }
  uint32_t use_count() const noexcept { return refs_.value(); }

 protected:
  virtual void destroy() { delete this; }

 private:
  RefCount refs_;
};

}  // namespace wisp
