// The caching allocator behind tensors and graph nodes.
//
// Small blocks (up to 32 KiB) come from thread-local free lists, one per size class: a few
// nanoseconds. Larger ones are kept after use and handed out again, which spares the page faults
// that make fresh large temporaries slow; from 4 MiB on they are mapped with transparent huge
// pages. What is kept is bounded, oldest blocks go back to the system first.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/compiler.h"

namespace wisp::memory {

// Aligned to 64 bytes. Throws ErrorKind::memory. `bytes` may be 0.
void* allocate(size_t bytes);
// `bytes` as given to allocate(). May be called from another thread.
void deallocate(void* block, size_t bytes) noexcept;

struct Stats {
  int64_t current;  // bytes in use, rounded up to size classes
  int64_t peak;     // highest `current` since the last reset (small blocks within 64 KiB a thread)
  int64_t cached;   // bytes of large blocks kept for reuse
  int64_t cache_limit;  // upper bound of `cached`
  int64_t reserved;     // bytes taken from the system
};
Stats stats();
void reset_peak();
// Gives every cached large block back to the system.
void empty_cache();
void set_cache_limit(int64_t bytes);

struct SizeCount {
  int64_t size;    // block size in bytes
  int64_t in_use;  // blocks
  int64_t cached;  // blocks
};
// One row per block size that is in use or cached, smallest first.
std::vector<SizeCount> snapshot();

namespace detail {

constexpr size_t small_limit = 32 << 10;
constexpr int small_classes = 36;  // 64, 128 ... 1024, then four steps per doubling up to 32 KiB

constexpr int class_of(size_t bytes) {
  if (bytes <= 1024) return bytes ? static_cast<int>((bytes - 1) / 64) : 0;
  const int doubling = std::bit_width(bytes - 1) - 1;  // 10 for (1024, 2048]
  const size_t step = size_t(1) << (doubling - 2);
  return 16 + (doubling - 10) * 4 + static_cast<int>((bytes - 1 - (size_t(1) << doubling)) / step);
}

inline constexpr std::array<uint32_t, small_classes> class_sizes = [] {
  std::array<uint32_t, small_classes> sizes{};
  for (uint32_t i = 0; i < small_classes; ++i) {
    const uint32_t doubling = 10 + (i - 16) / 4;
    sizes[i] =
        i < 16 ? (i + 1) * 64 : (1u << doubling) + ((i - 16) % 4 + 1) * (1u << (doubling - 2));
  }
  return sizes;
}();

// How many free blocks of a class a thread keeps before it hands half of them back.
inline constexpr std::array<uint32_t, small_classes> keep_limits = [] {
  std::array<uint32_t, small_classes> limits{};
  for (int i = 0; i < small_classes; ++i) {
    limits[i] = (512u << 10) / class_sizes[i] > 16 ? (512u << 10) / class_sizes[i] : 16;
  }
  return limits;
}();

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  uint32_t count = 0;
  void push(void* block) {
    auto* item = static_cast<FreeBlock*>(block);
    item->next = head;
    head = item;
    ++count;
  }
  void* pop() {
    FreeBlock* item = head;
    head = item->next;
    --count;
    return item;
  }
};

struct ThreadCache {
  std::array<FreeList, small_classes> lists;
  int64_t pending = 0;  // change of the bytes in use not yet told to the process-wide count
};

extern constinit WISP_THREAD_LOCAL ThreadCache* thread_cache;
constexpr int64_t flush_bytes = 64 << 10;

}  // namespace detail

// allocate() and deallocate() for a size known at compile time: inlined down to a few instructions.
template <size_t bytes>
inline void* allocate_fixed() {
#if !defined(WISP_SANITIZE)
  constexpr int index = detail::class_of(bytes);
  detail::ThreadCache* cache = detail::thread_cache;
  if (WISP_LIKELY(cache && cache->lists[index].head && cache->pending < detail::flush_bytes)) {
    cache->pending += detail::class_sizes[index];
    return cache->lists[index].pop();
  }
#endif
  return allocate(bytes);
}

template <size_t bytes>
inline void deallocate_fixed(void* block) noexcept {
#if !defined(WISP_SANITIZE)
  constexpr int index = detail::class_of(bytes);
  detail::ThreadCache* cache = detail::thread_cache;
  if (WISP_LIKELY(cache && cache->lists[index].count < detail::keep_limits[index] &&
                  cache->pending > -detail::flush_bytes)) {
    cache->pending -= detail::class_sizes[index];
    cache->lists[index].push(block);
    return;
  }
#endif
  deallocate(block, bytes);
}

}  // namespace wisp::memory
