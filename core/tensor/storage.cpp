#include "tensor/storage.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"

namespace wisp {

namespace {
constexpr size_t header = sizeof(Storage);
static_assert(header == 64, "data behind the header must stay aligned");
constexpr size_t inline_limit = (32 << 10) - header;  // header and data in one small block

// On the device "meta": pages that are zero when read and exist from their first write on. Neither
// should happen, and neither does harm.
char* reserve_addresses(size_t bytes) {
  void* start = mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WISP_CHECK_KIND(memory, start != MAP_FAILED, "a tensor of ", bytes,
                  " bytes is too large even for the device 'meta'");
  return static_cast<char*>(start);
}

char* memory_on(Device device, size_t bytes) {
  if (WISP_UNLIKELY(device.type == DeviceType::meta)) return reserve_addresses(bytes);
  return static_cast<char*>(memory::allocate(bytes));
}

}  // namespace

Ref<Storage> Storage::allocate(size_t bytes, Device device) {
  const size_t block = bytes <= inline_limit ? header + bytes : header;
  auto* storage = new (memory::allocate(block)) Storage;
  storage->block_ = block;
  storage->device_ = device;
  storage->bytes_ = bytes;
  if (WISP_UNLIKELY(storage->is_meta())) meta_made_ = true;
  if (bytes <= inline_limit) {
    storage->data_ = reinterpret_cast<char*>(storage) + header;
    return Ref<Storage>::adopt(storage);
  }
  try {
    storage->data_ = memory_on(device, bytes);
  } catch (...) {
    storage->~Storage();
    memory::deallocate(storage, block);
    throw;
  }
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> Storage::wrap(void* data, size_t bytes, Deleter deleter, void* context,
                           bool writable) {
  auto* storage = new (memory::allocate(header)) Storage;
  storage->block_ = header;
  storage->data_ = static_cast<char*>(data);
  storage->bytes_ = bytes;
  storage->deleter_ = deleter;
  storage->context_ = context;
  storage->writable_ = writable;
  return Ref<Storage>::adopt(storage);
}

// --- Kernels that are put off

void (*Storage::run_lazy)() = nullptr;
void (*Storage::run_awaited)(const Storage* wanted) = nullptr;

void Storage::run_deferred() {
  if (any_awaited()) run_awaited(nullptr);
  if (any_lazy()) run_lazy();
}

Ref<Storage> Storage::promise(size_t bytes) {
  if (bytes <= inline_limit) {
    Ref<Storage> storage = allocate(bytes);
    storage->state_ = pending;
    return storage;
  }
  auto* storage = new (memory::allocate(header)) Storage;
  storage->block_ = header;
  storage->bytes_ = bytes;
  storage->state_ = pending;
  return Ref<Storage>::adopt(storage);
}

void Storage::allocate_promised() {
  if (!data_) data_ = memory_on(device_, bytes_);
}

void Storage::take_memory(Storage& from) {
  if (from.is_inline()) {  // what lies behind its header goes with it
    allocate_promised();
    std::memcpy(data_, from.data_, bytes_);
  } else {
    data_ = std::exchange(from.data_, nullptr);
  }
  context_ = std::exchange(from.context_, nullptr);
  state_ = from.state_.exchange(plain);
}

void Storage::fail_promise(const Error& error) {
  context_ = new Error(error);
  state_ = failed;
}

void Storage::settle() const {
  // Other threads may go on putting off writes to it, though hardly for long.
  for (int tries = 0; tries < 1000; ++tries) {
    switch (state_.load(std::memory_order_acquire)) {
      case plain:
        return;
      case pending:
        if (any_awaited()) run_awaited(this);
        if (is_pending() && run_lazy) run_lazy();
        break;
      case failed:
        throw Error(*static_cast<const Error*>(context_));
      default:
        settle_order();
    }
  }
  fail(ErrorKind::runtime,
       "the kernel that should have filled this memory is gone: it was put off ",
       "by a thread that does not exist any more (after a fork)");
}

// --- Arranged images

// Kept until the storage goes: another thread may still be asking.
struct Storage::Order {
  Arrangement arrangement;
  size_t item;
  bool channels_last;  // in plain order
  std::atomic<int> users{0};
};

char* Storage::arrange(const Arrangement& arrangement, size_t item, bool channels_last) {
  auto order = std::make_unique<Order>();
  order->arrangement = arrangement;
  order->item = item;
  order->channels_last = channels_last;
  drop_order();
  context_ = order.release();
  state_ = arranged;
  return data_;
}

char* Storage::use_arranged(Arrangement& arrangement, size_t item, bool channels_last) const {
  if (!is_arranged() || order().item != item || order().channels_last != channels_last)
    return nullptr;
  // Whoever settles it waits for all who were counted before.
  order().users.fetch_add(1);
  if (state_.load() == arranged) {
    arrangement = order().arrangement;
    return data_;
  }
  release_arranged();
  return nullptr;
}

void Storage::release_arranged() const { order().users.fetch_sub(1); }

namespace {

// rows x columns of `from` (consecutive) become rows of `to`, which lie `step` apart.
template <class T>
void transpose(const T* from, T* to, int64_t rows, int64_t columns, int64_t step) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) to[c * step + r] = from[r * columns + c];
  }
}

// The common item, four by four; rows and columns are multiples of four.
void transpose_fours(const uint32_t* from, uint32_t* to, int64_t rows, int64_t columns,
                     int64_t step) {
  typedef uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));
  for (int64_t r = 0; r < rows; r += 4) {
    for (int64_t c = 0; c < columns; c += 4) {
      Four x[4];
      for (int64_t i = 0; i < 4; ++i)
        x[i] = *reinterpret_cast<const Four*>(from + (r + i) * columns + c);
      const Four low = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
                 next_low = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5),
                 high = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7),
                 next_high = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
      uint32_t* at = to + c * step + r;
      *reinterpret_cast<Four*>(at) = __builtin_shufflevector(low, next_low, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(at + step) = __builtin_shufflevector(low, next_low, 2, 3, 6, 7);
      *reinterpret_cast<Four*>(at + 2 * step) =
          __builtin_shufflevector(high, next_high, 0, 1, 4, 5);
      *reinterpret_cast<Four*>(at + 3 * step) =
          __builtin_shufflevector(high, next_high, 2, 3, 6, 7);
    }
  }
}

// Blocks of `width` channels become that many planes, through a copy of one block at a time.
template <class T>
void settle_block(T* block, T* copy, int64_t pixels, int64_t width) {
  constexpr int64_t tile = 64;  // pixels whose lines stay in the first-level cache
  std::memcpy(copy, block, static_cast<size_t>(pixels * width) * sizeof(T));
  for (int64_t first = 0; first < pixels; first += tile) {
    const int64_t rows = std::min(tile, pixels - first), even = rows / 4 * 4;
    const T* from = copy + first * width;
    int64_t done = 0;
    if constexpr (sizeof(T) == 4) {
      transpose_fours(from, block + first, even, width, pixels);  // blocks have 8 or 16 channels
      done = even;
    }
    transpose(from + done * width, block + first + done, rows - done, width, pixels);
  }
}

// f(piece, memory for a copy of it) for all pieces of so many elements.
template <class T, class F>
void settle_pieces(char* data, int64_t pieces, int64_t size, F f) {
  const int64_t small = std::max<int64_t>(1, (1 << 15) / size);
  const int64_t parts = std::clamp<int64_t>(pieces / small, 1, num_threads());
  // All memory is there before anything moves: this cannot fail half-way.
  const std::unique_ptr<T[]> copies(new T[static_cast<size_t>(parts * size)]);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      for (int64_t i = part * pieces / parts; i < (part + 1) * pieces / parts; ++i)
        f(reinterpret_cast<T*>(data) + i * size, copies.get() + part * size);
    }
  });
}

template <class T>
void settle_blocks(char* data, int64_t blocks, const Arrangement& from) {
  settle_pieces<T>(data, blocks, from.pixels * from.block,
                   [&](T* block, T* copy) { settle_block(block, copy, from.pixels, from.block); });
}

// Pixels of the members of a batch get all their channels next to each other.
void settle_members(char* data, int64_t members, const Arrangement& from, size_t item) {
  const int64_t width = from.block * static_cast<int64_t>(item),
                blocks = from.channels / from.block;
  const int64_t size = blocks * from.pixels * width;
  settle_pieces<char>(data, members, size, [&](char* member, char* copy) {
    std::memcpy(copy, member, static_cast<size_t>(size));
    for (int64_t pixel = 0; pixel < from.pixels; ++pixel) {
      for (int64_t b = 0; b < blocks; ++b, member += width)
        std::memcpy(member, copy + (b * from.pixels + pixel) * width, static_cast<size_t>(width));
    }
  });
}

}  // namespace

void Storage::settle_order() const {
  uint8_t expected = arranged;
  if (!state_.compare_exchange_strong(expected, settling)) {
    while (is_arranged()) std::this_thread::yield();  // until the other thread is done
    return;
  }
  while (order().users.load() > 0) std::this_thread::yield();
  const Arrangement& from = order().arrangement;
  const size_t item = order().item;
  const int64_t blocks = static_cast<int64_t>(bytes_ / item) / (from.pixels * from.block);
  try {
    if (order().channels_last) {
      settle_members(data_, blocks * from.block / from.channels, from, item);
    } else if (item == 1) {
      settle_blocks<uint8_t>(data_, blocks, from);
    } else if (item == 2) {
      settle_blocks<uint16_t>(data_, blocks, from);
    } else if (item == 4) {
      settle_blocks<uint32_t>(data_, blocks, from);
    } else {
      settle_blocks<uint64_t>(data_, blocks, from);
    }
  } catch (...) {
    state_ = arranged;
    throw;
  }
  state_ = plain;
}

// --- What kernels keep. Several threads may run the same program.

namespace {
std::mutex& keeping() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
}  // namespace

Ref<Object> Storage::kept() const {
  const std::lock_guard lock(keeping());
  return can_keep() ? note_ : nullptr;
}

void Storage::keep(Ref<Object> made) const {
  const std::lock_guard lock(keeping());
  if (can_keep()) note_.swap(made);  // the former is destroyed behind the lock
}

void Storage::drop_kept() const {
  Ref<Object> former;
  const std::lock_guard lock(keeping());
  if (!watched_) note_.swap(former);
}

void Storage::resize(size_t bytes) {
  WISP_CHECK(resizable(),
             "Trying to resize storage that is not resizable: its memory is shared with ",
             "another library (NumPy, DLPack or a mapped file)");
  if (WISP_UNLIKELY(any_deferred())) run_deferred();
  const char* before = this->data();
  char* data = memory_on(device_, bytes);
  forget();
  if (!is_meta()) std::memcpy(data, before, std::min(bytes, bytes_));
  free_data();
  data_ = data;
  bytes_ = bytes;
}

Ref<Storage> Storage::move_to(void* data, Deleter deleter, void* context) {
  WISP_CHECK(!is_meta(), "a tensor on the device 'meta' has no memory to share");
  if (WISP_UNLIKELY(any_deferred())) run_deferred();
  const char* before = this->data();
  if (!deleter_) drop_order();
  forget();
  Ref<Storage> former;
  if (!is_inline()) former = wrap(data_, bytes_, deleter_, context_, writable_);
  if (bytes_ > 0) std::memcpy(data, before, bytes_);
  data_ = static_cast<char*>(data);
  deleter_ = deleter;
  context_ = context;
  writable_ = true;
  return former;
}

void Storage::drop_order() noexcept {
  void* context = std::exchange(context_, nullptr);
  if (WISP_UNLIKELY(state_.load(std::memory_order_relaxed) == failed)) {
    delete static_cast<Error*>(context);
  } else {
    delete static_cast<Order*>(context);
  }
}

void Storage::free_data() noexcept {
  if (deleter_) {
    deleter_(context_);
    return;
  }
  drop_order();
  if (is_inline() || !data_) {  // without data: a promise nobody insisted on
    return;
  } else if (WISP_UNLIKELY(is_meta())) {
    munmap(data_, std::max<size_t>(bytes_, 1));
  } else {
    memory::deallocate(data_, bytes_);
  }
}

void Storage::destroy() noexcept {
  free_data();
  const size_t block = block_;
  this->~Storage();
  memory::deallocate(this, block);
}

}  // namespace wisp
