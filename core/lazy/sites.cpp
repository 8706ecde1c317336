#include "lazy/sites.h"

#include "base/trials.h"

namespace wisp::lazy {

uint64_t Sites::here(const OpDef& op, int64_t elements) {
  uint64_t key = mixed(static_cast<uint64_t>(op.id), size_class(static_cast<uint64_t>(elements)));
  if (host.here) {
    Place place = host.here();
    key =
        mixed(mixed(key, reinterpret_cast<uintptr_t>(place.code)), static_cast<uint64_t>(place.at));
    if (place.code && host.drop) host.drop(place);
  }
  return key | 1;
}

bool Sites::puts_off(uint64_t site) {
  std::atomic<Slot>& slot = slot_of(site);
  Slot known = slot.load(std::memory_order_relaxed);
  if (known.tag != static_cast<uint32_t>(site) || known.left == 0) return true;
  --known.left;
  slot.store(known, std::memory_order_relaxed);
  return false;
}

void Sites::note(uint64_t site, bool gained) {
  std::atomic<Slot>& slot = slot_of(site);
  Slot known = slot.load(std::memory_order_relaxed);
  const uint32_t tag = static_cast<uint32_t>(site);
  if (known.tag != tag) known = {.tag = tag};
  if (gained) {
    known.idle = 0;
    known.left = 0;
  } else if (known.idle < patience) {
    ++known.idle;
  }
  if (known.idle == patience) known.left = at_once;
  slot.store(known, std::memory_order_relaxed);
}

}  // namespace wisp::lazy
