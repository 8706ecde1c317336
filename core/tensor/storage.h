// Memory shared by a tensor and its views.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/compiler.h"
#include "base/device.h"
#include "base/error.h"
#include "base/refcount.h"

namespace wisp {

// How images may lie in memory while only kernels that know of it look at them: the channels of
// every member of a batch in blocks, the channels of a block next to each other, pixel by pixel.
struct Arrangement {
  int64_t channels = 0, pixels = 0;  // of one member
  int block = 0;                     // divides the number of channels
  bool operator==(const Arrangement&) const = default;
};

class Storage {
 public:
  using Deleter = void (*)(void* context);

  // Uninitialised memory; on the device "meta" addresses only, that nothing should read. A small
  // storage is one block: this header with its data behind it.
  static Ref<Storage> allocate(size_t bytes, Device device = {});
  // Memory owned by somebody else (NumPy, DLPack, a mapped file); deleter(context) when done.
  static Ref<Storage> wrap(void* data, size_t bytes, Deleter deleter, void* context,
                           bool writable = true);

  // Memory that a kernel fills later (lazy evaluation): whoever asks for data() first has it run.
  static Ref<Storage> promise(size_t bytes);

  // The memory, with everything done to it that was put off, in the order that strides speak of.
  char* data() const {
    if (WISP_UNLIKELY(state_.load(std::memory_order_acquire) != plain)) settle();
    return data_;
  }
  // The same without a look at what is there: to compare addresses.
  const char* address() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  bool writable() const { return writable_; }
  bool is_meta() const { return device_.type == DeviceType::meta; }
  // Whether there has ever been a storage without memory: until then nobody need ask.
  static bool any_meta() { return meta_made_.load(std::memory_order_relaxed); }
  bool resizable() const { return !deleter_ && !pinned_; }
  // From now on somebody else (NumPy, a memoryview) holds the address and may write: the memory
  // must stay where it is, and what was to be read from it has to have been.
  void pin() {
    if (WISP_UNLIKELY(any_deferred())) run_deferred();
    forget();
    pinned_ = true;
  }

  bool pinned() const { return pinned_; }
  // From now on somebody knows the address, for a while at least.
  void expose() {
    forget();
    exposed_ = true;
  }
  // Whether others may write here without our knowing.
  bool shared_with_others() const { return !resizable() || exposed_; }
  // Copies the contents to memory that somebody else owns and lives there from now on, as does
  // every tensor on this storage. Returns the former memory, to be kept if this is pinned; null if
  // it lies behind the header and so stays anyway.
  Ref<Storage> move_to(void* data, Deleter deleter, void* context);

  // Images may be left in the order the kernels like best (see tensor/arranged.h). Whoever asks for
  // data() has them put back into the order of their strides first.
  bool is_arranged() const {
    const uint8_t state = state_.load(std::memory_order_acquire);
    return state == arranged || state == settling;
  }
  // New memory that nobody else knows: it will hold elements of `item` bytes in that order. Their
  // strides speak of a contiguous tensor, or of one whose channels are last.
  char* arrange(const Arrangement& order, size_t item, bool channels_last);
  // The memory as it lies, until release_arranged(); null if it is in plain order, or was arranged
  // by elements of another size or for other strides.
  char* use_arranged(Arrangement& order, size_t item, bool channels_last) const;
  void release_arranged() const;

  // Kernels may be put off. Until they have run, what they write is pending, and nobody may write
  // what they read.
  static bool any_deferred() { return deferred_.load(std::memory_order_relaxed) != 0; }
  static void run_deferred();
  // Those of lazy evaluation.
  static bool any_lazy() { return deferred_.load(std::memory_order_relaxed) & lazy; }
  static void set_deferred(bool any) { set_deferred(lazy, any); }
  static void (*run_lazy)();  // set by the room `lazy`
  // Convolutions that wait for what follows them (dispatch/awaited.h). They write nothing that
  // exists already.
  static bool any_awaited() { return deferred_.load(std::memory_order_relaxed) & awaited; }
  static void set_awaited(bool any) { set_deferred(awaited, any); }
  static void (*run_awaited)(const Storage* wanted);  // null: all of them; set by the room `ops`
  bool is_pending() const { return state_.load(std::memory_order_acquire) == pending; }
  bool has_memory() const { return data_ != nullptr; }
  // Only to be called of what is in plain order, or pending already.
  void set_pending(bool value) { state_ = value ? pending : plain; }
  // Gives a promise its memory; it stays pending.
  void allocate_promised();
  // Ends a promise with the memory of a storage that nobody else knows.
  void take_memory(Storage& from);
  // Ends a promise that could not be kept: whoever asks for data() gets this error.
  void fail_promise(const Error& error);

  // Keeps the common prefix. Every tensor on this storage sees the new memory.
  void resize(size_t bytes);

  // Counts in-place writes, so that backward can tell when what it saved was changed.
  uint32_t version() const { return version_; }
  void bump_version() { ++version_; }

  // Set once autograd has saved a tensor of this storage: from then on writes note where they
  // happened.
  bool watched() const { return watched_; }
  void watch() {
    if (watched_) return;
    forget();
    watched_ = true;
  }
  const Ref<Object>& last_write() const { return note_; }
  void set_last_write(Ref<Object> place) { note_ = std::move(place); }

  // What a kernel makes of the contents for its next calls: the same numbers in another order, say.
  // Given up as soon as somebody writes; so there is nothing to be kept of memory that others may
  // write unseen, or that a derivative needs (as the weights of a network in training).
  bool can_keep() const { return resizable() && !exposed_ && !watched_ && !any_lazy(); }
  Ref<Object> kept() const;  // null: nothing
  void keep(Ref<Object> made) const;
  void forget() const {
    if (WISP_UNLIKELY(note_ && !watched_)) drop_kept();
  }
  // Whether writes have to be told to this storage.
  bool minds_writes() const { return watched_ || note_; }

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
  void drop_order() noexcept;
  void settle() const;
  void settle_order() const;
  void drop_kept() const;
  struct Order;
  Order& order() const { return *static_cast<Order*>(context_); }
  static inline constinit std::atomic<bool> meta_made_ = false;
  enum Deferred : uint8_t { lazy = 1, awaited = 2 };
  static inline constinit std::atomic<uint8_t> deferred_ = 0;
  static void set_deferred(uint8_t kind, bool any) {
    if (any) {
      deferred_.fetch_or(kind, std::memory_order_relaxed);
    } else {
      deferred_.fetch_and(static_cast<uint8_t>(~kind), std::memory_order_relaxed);
    }
  }
  friend class TensorImpl;
  bool is_inline() const { return data_ == reinterpret_cast<const char*>(this) + sizeof(Storage); }

  RefCount refs_;
  uint32_t version_ = 0;
  char* data_ = nullptr;
  size_t bytes_ = 0;
  size_t block_ = 0;  // bytes of the block that holds this header
  Deleter deleter_ = nullptr;
  // The deleter's; without one, how the memory is or was arranged, or why it could not be filled.
  void* context_ = nullptr;
  mutable Ref<Object> note_;  // of a watched storage the last write, of others what is kept
  Device device_;
  bool writable_ = true;
  bool watched_ = false;
  bool pinned_ = false;
  bool exposed_ = false;
  enum State : uint8_t { plain, arranged, settling, pending, failed };
  mutable std::atomic<uint8_t> state_ = plain;
};

}  // namespace wisp
