#include "tensor/storage.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"

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

void Storage::resize(size_t bytes) {
  WISP_CHECK(resizable(),
             "Trying to resize storage that is not resizable: its memory is shared with ",
             "another library (NumPy, DLPack or a mapped file)");
  char* data = memory_on(device_, bytes);
  if (!is_meta()) std::memcpy(data, data_, std::min(bytes, bytes_));
  free_data();
  data_ = data;
  bytes_ = bytes;
}

Ref<Storage> Storage::move_to(void* data, Deleter deleter, void* context) {
  WISP_CHECK(!is_meta(), "a tensor on the device 'meta' has no memory to share");
  Ref<Storage> former;
  if (!is_inline()) former = wrap(data_, bytes_, deleter_, context_, writable_);
  if (bytes_ > 0) std::memcpy(data, data_, bytes_);
  data_ = static_cast<char*>(data);
  deleter_ = deleter;
  context_ = context;
  writable_ = true;
  return former;
}

void Storage::free_data() noexcept {
  if (deleter_) {
    deleter_(context_);
  } else if (is_inline()) {
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
