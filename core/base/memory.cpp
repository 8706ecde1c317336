#include "base/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/block_heap.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "base/small_vector.h"

namespace wisp {

void fail_out_of_memory() { throw std::bad_alloc(); }

}  // namespace wisp

namespace wisp::memory {

constinit WISP_THREAD_LOCAL detail::ThreadCache* detail::thread_cache = nullptr;

using namespace detail;

namespace {

constexpr size_t alignment = 64;
constexpr size_t mapped_limit = 1 << 20;  // from here on blocks are cut from mapped memory
constexpr size_t least_mapped = 8 << 20;
constexpr size_t slab_bytes = 256 << 10;

size_t class_bytes(int index) { return class_sizes[index]; }

// Eight steps per doubling keep the waste below 12.5%; a unit of the heap below 6.25%.
size_t round_large(size_t bytes) {
  if (bytes > (size_t(1) << 60)) return bytes;  // cannot be had; let the mapping fail
  const size_t step =
      bytes >= mapped_limit
          ? BlockHeap::unit
          : std::max(size_t(4096), (size_t(1) << (std::bit_width(bytes - 1) - 1)) / 8);
  return (bytes + step - 1) / step * step;
}

// How many blocks move between a thread and the shared lists at once.
uint32_t batch_of(int index) {
  return static_cast<uint32_t>(std::clamp<size_t>((16 << 10) / class_bytes(index), 2, 64));
}

int64_t default_cache_limit() {
  const int64_t physical =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  return std::max<int64_t>(physical / 4, int64_t(256) << 20);
}

// What all threads share. Never destroyed: tensors may outlive static destruction.
struct Central {
  std::mutex mutex;
  std::array<FreeList, small_classes> small;
  char* slab = nullptr;
  size_t slab_left = 0;

  struct Cached {
    void* block;
    uint64_t age;
  };
  std::map<size_t, std::vector<Cached>> large;  // free blocks that are not mapped, newest last
  int64_t large_bytes = 0;                      // of these
  BlockHeap heap;                               // mapped memory that is free
  std::atomic<char*> lowest{nullptr};           // what was mapped last: the next goes before it
  std::vector<BlockHeap::Range> small_pages;    // mapped memory without huge pages
  std::map<size_t, int64_t> large_in_use;       // of both kinds
  uint64_t clock = 0;
  int64_t cache_limit = default_cache_limit();
  std::atomic<int64_t> reserved{0};
  std::atomic<int64_t> current{0};
  std::atomic<int64_t> peak{0};
  std::array<int64_t, small_classes> small_made{};  // blocks ever carved, by class
  std::vector<ThreadCache*> threads;

  int64_t cached() const { return large_bytes + static_cast<int64_t>(heap.bytes()); }
  void count(int64_t bytes) {
    const int64_t now = current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {}
  }
};

Central& central() {
  static Central* shared = [] {
    auto* made = new Central;
    // A forked child must not inherit a mutex that another thread held.
    pthread_atfork([] { central().mutex.lock(); }, [] { central().mutex.unlock(); },
                   [] { central().mutex.unlock(); });
    return made;
  }();
  return *shared;
}

WISP_THREAD_LOCAL bool thread_ended = false;

void flush_count(ThreadCache& cache) {
  central().count(cache.pending);
  cache.pending = 0;
}

void give_back(ThreadCache& cache, int index, uint32_t keep) {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  while (cache.lists[index].count > keep) c.small[index].push(cache.lists[index].pop());
}

// Returns a thread's free lists when it ends.
struct ThreadEnd {
  ~ThreadEnd() {
    thread_ended = true;
    ThreadCache* cache = thread_cache;
    thread_cache = nullptr;
    if (!cache) return;
    flush_count(*cache);
    for (int i = 0; i < small_classes; ++i) give_back(*cache, i, 0);
    Central& c = central();
    std::lock_guard lock(c.mutex);
    std::erase(c.threads, cache);
    delete cache;
  }
};

[[noreturn]] WISP_COLD void out_of_memory(size_t bytes) {
  fail(ErrorKind::memory, "not enough memory: tried to allocate ", bytes, " bytes (", bytes >> 20,
       " MiB)");
}

// A block of memory that is mapped for it; what is left goes to the heap.
char* map_block(size_t bytes) {
  const size_t mapped = std::max(least_mapped, (bytes + huge_page - 1) / huge_page * huge_page);
  Central& c = central();
  char* block =
      mapped < bytes ? nullptr : map_aligned(mapped, c.lowest.load(std::memory_order_relaxed));
  if (!block) return nullptr;
  c.lowest.store(block, std::memory_order_relaxed);
  c.reserved.fetch_add(static_cast<int64_t>(mapped), std::memory_order_relaxed);
  const bool huge = huge_pages().advise(block, mapped);
  std::lock_guard lock(c.mutex);
  c.heap.add({block + bytes, mapped - bytes});
  if (!huge) c.small_pages.push_back({block, mapped});
  return block;
}

void* system_allocate(size_t bytes) {
  if (bytes >= mapped_limit) return map_block(bytes);
  void* block = std::aligned_alloc(alignment, bytes);
  if (block) central().reserved.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return block;
}

// Called with the lock held.
void drop_oldest(Central& c) {
  auto oldest = std::min_element(c.large.begin(), c.large.end(), [](const auto& a, const auto& b) {
    return a.second.front().age < b.second.front().age;
  });
  const auto bytes = static_cast<int64_t>(oldest->first);
  std::free(oldest->second.front().block);
  c.reserved.fetch_sub(bytes, std::memory_order_relaxed);
  c.large_bytes -= bytes;
  oldest->second.erase(oldest->second.begin());
  if (oldest->second.empty()) c.large.erase(oldest);
}

// Calls that follow leave this memory alone. Called with the lock held.
void forget_small_pages(Central& c, const BlockHeap::Range& gone) {
  std::erase_if(c.small_pages, [&](const BlockHeap::Range& range) {
    return range.begin < gone.end() && gone.begin < range.end();
  });
}

// Called with the lock held.
void collapse_some(Central& c) {
  while (!c.small_pages.empty()) {
    BlockHeap::Range& range = c.small_pages.back();
    if (!huge_pages().collapse(range.begin)) return;
    range = {range.begin + huge_page, range.bytes - huge_page};
    if (range.bytes == 0) c.small_pages.pop_back();
  }
}

// Gives free memory back until at most `target` bytes are kept. Called with the lock held.
void trim(Central& c, int64_t target) {
  while (c.cached() > target && c.heap.bytes() > 0) {
    const BlockHeap::Range range = c.heap.drop(static_cast<size_t>(c.cached() - target));
    forget_small_pages(c, range);
    munmap(range.begin, range.bytes);
    c.reserved.fetch_sub(static_cast<int64_t>(range.bytes), std::memory_order_relaxed);
  }
  while (c.cached() > target && !c.large.empty()) drop_oldest(c);
}

// A block that is kept; null if there is none. Called with the lock held.
void* take_cached(Central& c, size_t bytes) {
  if (bytes >= mapped_limit) return c.heap.take(bytes);
  const auto found = c.large.find(bytes);
  if (found == c.large.end()) return nullptr;
  void* block = found->second.back().block;
  found->second.pop_back();
  if (found->second.empty()) c.large.erase(found);
  c.large_bytes -= static_cast<int64_t>(bytes);
  return block;
}

void* allocate_large(size_t requested) {
  Central& c = central();
  const size_t bytes = round_large(requested);
  void* block = nullptr;
  {
    std::lock_guard lock(c.mutex);
    block = take_cached(c, bytes);
    ++c.large_in_use[bytes];
  }
  if (!block) block = system_allocate(bytes);
  if (!block) {
    empty_cache();
    block = system_allocate(bytes);
  }
  if (!block) {
    std::lock_guard lock(c.mutex);
    if (--c.large_in_use[bytes] == 0) c.large_in_use.erase(bytes);
    out_of_memory(requested);
  }
  c.count(static_cast<int64_t>(bytes));
  return block;
}

void deallocate_large(void* block, size_t requested) {
  Central& c = central();
  const size_t bytes = round_large(requested);
  c.count(-static_cast<int64_t>(bytes));
  std::lock_guard lock(c.mutex);
  if (--c.large_in_use[bytes] == 0) c.large_in_use.erase(bytes);
  if (bytes < mapped_limit) {
    c.large[bytes].push_back({block, c.clock++});
    c.large_bytes += static_cast<int64_t>(bytes);
  } else {
    c.heap.give({static_cast<char*>(block), bytes});
    collapse_some(c);
  }
  if (c.cached() > c.cache_limit) trim(c, c.cache_limit);
}

// Called with the lock held.
void* carve(Central& c, int index) {
  const size_t bytes = class_bytes(index);
  if (c.slab_left < bytes) {
    c.slab = static_cast<char*>(system_allocate(slab_bytes));
    c.slab_left = c.slab ? slab_bytes : 0;
    if (!c.slab) return nullptr;
  }
  void* block = c.slab;
  c.slab += bytes;
  c.slab_left -= bytes;
  ++c.small_made[index];
  return block;
}

// Fills a thread's list for this class and returns one block; without a thread cache just that
// block.
WISP_COLD void* refill(ThreadCache* cache, int index) {
  Central& c = central();
  void* block = nullptr;
  {
    std::lock_guard lock(c.mutex);
    FreeList& shared = c.small[index];
    for (uint32_t i = cache ? batch_of(index) : 1; i > 0; --i) {
      void* item = shared.head ? shared.pop() : carve(c, index);
      if (!item) break;
      if (block) cache->lists[index].push(block);
      block = item;
    }
  }
  if (!block) out_of_memory(class_bytes(index));
  return block;
}

WISP_COLD ThreadCache* start_thread_cache() {
  if (thread_ended) return nullptr;
  static thread_local ThreadEnd end;  // its destructor hands the lists back
  (void)end;
  thread_cache = new ThreadCache;
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.threads.push_back(thread_cache);
  return thread_cache;
}

}  // namespace

#if defined(WISP_SANITIZE)

// Under a sanitizer every block is its own, so that a use after free is seen.
void* allocate(size_t bytes) {
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* block = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!block) out_of_memory(bytes);
  central().count(static_cast<int64_t>(rounded));
  return block;
}

void deallocate(void* block, size_t bytes) noexcept {
  const size_t rounded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  central().count(-static_cast<int64_t>(rounded));
  std::free(block);
}

#else

void* allocate(size_t bytes) {
  if (WISP_UNLIKELY(bytes > small_limit)) return allocate_large(bytes);
  const int index = class_of(bytes);
  ThreadCache* cache = thread_cache;
  if (WISP_UNLIKELY(!cache)) cache = start_thread_cache();
  if (WISP_UNLIKELY(!cache)) {
    central().count(static_cast<int64_t>(class_bytes(index)));
    return refill(nullptr, index);
  }
  cache->pending += static_cast<int64_t>(class_bytes(index));
  if (WISP_UNLIKELY(cache->pending > flush_bytes)) flush_count(*cache);
  FreeList& list = cache->lists[index];
  return WISP_LIKELY(list.head != nullptr) ? list.pop() : refill(cache, index);
}

void deallocate(void* block, size_t bytes) noexcept {
  if (WISP_UNLIKELY(bytes > small_limit)) return deallocate_large(block, bytes);
  const int index = class_of(bytes);
  ThreadCache* cache = thread_cache;
  if (WISP_UNLIKELY(!cache)) {
    Central& c = central();
    c.count(-static_cast<int64_t>(class_bytes(index)));
    std::lock_guard lock(c.mutex);
    c.small[index].push(block);
    return;
  }
  cache->pending -= static_cast<int64_t>(class_bytes(index));
  if (WISP_UNLIKELY(cache->pending < -flush_bytes)) flush_count(*cache);
  FreeList& list = cache->lists[index];
  list.push(block);
  if (WISP_UNLIKELY(list.count > keep_limits[index])) {
    give_back(*cache, index, keep_limits[index] / 2);
  }
}

#endif

Stats stats() {
  Central& c = central();
  if (thread_cache) flush_count(*thread_cache);
  std::lock_guard lock(c.mutex);
  return {c.current.load(), c.peak.load(), c.cached(), c.cache_limit, c.reserved.load()};
}

void reset_peak() {
  if (thread_cache) flush_count(*thread_cache);
  central().peak.store(central().current.load());
}

void empty_cache() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  trim(c, 0);
}

void set_cache_limit(int64_t bytes) {
  WISP_CHECK_VALUE(bytes >= 0, "cache limit must not be negative, got ", bytes);
  Central& c = central();
  std::lock_guard lock(c.mutex);
  c.cache_limit = bytes;
  trim(c, bytes);
}

std::vector<SizeCount> snapshot() {
  Central& c = central();
  std::lock_guard lock(c.mutex);
  std::vector<SizeCount> rows;
  for (int i = 0; i < small_classes; ++i) {
    int64_t free = c.small[i].count;
    for (const ThreadCache* thread : c.threads) free += thread->lists[i].count;
    if (c.small_made[i]) {
      rows.push_back({static_cast<int64_t>(class_bytes(i)), c.small_made[i] - free, free});
    }
  }
  std::map<size_t, SizeCount> large;
  auto kept = [&](size_t size, int64_t count) {
    large[size] = {static_cast<int64_t>(size), 0, count};
  };
  for (const auto& [size, blocks] : c.large) kept(size, static_cast<int64_t>(blocks.size()));
  for (const auto& [size, count] : c.heap.sizes()) kept(size, count);
  for (const auto& [size, count] : c.large_in_use) {
    large[size].size = static_cast<int64_t>(size);
    large[size].in_use = count;
  }
  for (const auto& [size, row] : large) rows.push_back(row);
  return rows;
}

}  // namespace wisp::memory
