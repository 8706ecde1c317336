// Memory shared by a tensor and its views.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/device.h"
#include "base/refcount.h"

namespace wisp {

class Storage {
 public:
  using Deleter = void (*)(void* context);

  // Uninitialised memory; on the device "meta" addresses only, that nothing should read. A small
  // storage is one block: this header with its data behind it.
  static Ref<Storage> allocate(size_t bytes, Device device = {});
  // Memory owned by somebody else (NumPy, DLPack, a mapped file); deleter(context) when done.
  static Ref<Storage> wrap(void* data, size_t bytes, Deleter deleter, void* context,
                           bool writable = true);

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool writable() const { return writable_; }
  bool is_meta() const { return device_.type == DeviceType::meta; }
  // Whether there has ever been a storage without memory: until then nobody need ask.
  static bool any_meta() { return meta_made_.load(std::memory_order_relaxed); }
  bool resizable() const { return !deleter_ && !pinned_; }
  // From now on somebody else (NumPy, a memoryview) holds the address: the memory must stay where
  // it is.
  void pin() { pinned_ = true; }

  bool pinned() const { return pinned_; }
  // Copies the contents to memory that somebody else owns and lives there from now on, as does
  // every tensor on this storage. Returns the former memory, to be kept if this is pinned; null if
  // it lies behind the header and so stays anyway.
  Ref<Storage> move_to(void* data, Deleter deleter, void* context);

  // Keeps the common prefix. Every tensor on this storage sees the new memory.
  void resize(size_t bytes);

  // Counts in-place writes, so that backward can tell when what it saved was changed.
  uint32_t version() const { return version_; }
  void bump_version() { ++version_; }

  // Set once autograd has saved a tensor of this storage: from then on writes note where they
  // happened.
  bool watched() const { return watched_; }
  void watch() { watched_ = true; }
  const Ref<Object>& last_write() const { return last_write_; }
  void set_last_write(Ref<Object> place) { last_write_ = std::move(place); }

  void retain() const noexcept { refs_.retain(); }
  void release() const noexcept {
    if (refs_.drop()) const_cast<Storage*>(this)->destroy();
  }
  uint32_t use_count() const noexcept { return refs_.value(); }

 private:
  Storage() = default;
  ~Storage() = default;
  void destroy() noexcept;
  void free_data() noexcept;
  static inline constinit std::atomic<bool> meta_made_ = false;
  friend class TensorImpl;
  bool is_inline() const { return data_ == reinterpret_cast<const char*>(this) + sizeof(Storage); }

  RefCount refs_;
  uint32_t version_ = 0;
  char* data_ = nullptr;
  size_t bytes_ = 0;
  size_t block_ = 0;  // bytes of the block that holds this header
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  Ref<Object> last_write_;
  Device device_;
  bool writable_ = true;
  bool watched_ = false;
  bool pinned_ = false;
};

}  // namespace wisp
