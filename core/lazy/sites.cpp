#include "lazy/sites.h"

#include <algorithm>

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

std::atomic<Sites::Slot>* Sites::find(uint64_t site) {
  for (std::atomic<Slot>& slot : row_of(site)) {
    if (slot.load(std::memory_order_relaxed).tag == static_cast<uint32_t>(site)) return &slot;
  }
  return nullptr;
}

bool Sites::puts_off(uint64_t site) {
  const std::atomic<Slot>* const found = find(site);
  if (!found) return true;
  const Slot known = found->load(std::memory_order_relaxed);
  if (known.idle < patience) return true;
  if (known.since == function_.load(std::memory_order_relaxed)) return true;
  if (asks_all_.load(std::memory_order_relaxed)) return true;
  // What threads count at the same moment may get lost.
  at_once_.store(at_once_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return false;
}

void Sites::begin() {
  const bool idle = batches_.load(std::memory_order_relaxed) == 0 &&
                    at_once_.load(std::memory_order_relaxed) == 0;
  if (WISP_LIKELY(idle) && !asks_all_.load(std::memory_order_relaxed)) return;
  const uint16_t next = static_cast<uint16_t>(function_.load(std::memory_order_relaxed) + 1);
  function_.store(next, std::memory_order_relaxed);
  const uint32_t functions = functions_.load(std::memory_order_relaxed) + 1;
  const bool again =
      at_once_.load(std::memory_order_relaxed) >= calls_at_once && functions >= functions_at_once;
  functions_.store(again ? 0 : functions, std::memory_order_relaxed);
  asks_all_.store(again, std::memory_order_relaxed);
  if (again) at_once_.store(0, std::memory_order_relaxed);
  batches_.store(0, std::memory_order_relaxed);
}

// Of a site that has its slot.
template <class F>
void Sites::change(uint64_t site, F f) {
  std::atomic<Slot>* const found = site ? find(site) : nullptr;
  if (!found) return;
  Slot known = found->load(std::memory_order_relaxed);
  f(known);
  found->store(known, std::memory_order_relaxed);
}

void Sites::note(const Entry& entry, uint16_t what) {
  if (entry.site && !find(entry.site)) {
    Row& row = row_of(entry.site);
    const auto is_free = [](const auto& slot) { return slot.load().tag == 0; };
    const auto free = std::find_if(row.begin(), row.end(), is_free);
    std::atomic<Slot>& taken =
        free == row.end() ? row[entry.site >> 48 & (slots_in_row - 1)] : *free;
    taken.store({.tag = static_cast<uint32_t>(entry.site)});
  }
  change(entry.site, [&](Slot& slot) { slot.noted = slot.noted | what; });
}

// A call that stands alone says nothing about others of its site that are joined.
void Sites::count(Slot& slot) const {
  const bool joins = slot.noted & joining;
  if (slot.noted & gaining) {
    slot.idle = 0;
  } else if (slot.noted && slot.idle < patience && (joins || slot.joined == 0)) {
    slot.idle = slot.idle + 1;
    slot.since = function_.load(std::memory_order_relaxed);
  }
  if (slot.noted) slot.joined = joins ? joined_for : slot.joined - (slot.joined > 0);
  slot.noted = 0;
}

// What is joined loses its patience together. Returns whether some had less than others.
bool Sites::share_patience(std::span<const Entry> kernels) {
  uint16_t least = patience, most = 0;
  for (const Entry& entry : kernels) {
    change(entry.site, [&](const Slot& slot) {
      least = std::min<uint16_t>(least, slot.idle);
      most = std::max<uint16_t>(most, slot.idle);
    });
  }
  if (least >= most) return false;
  for (const Entry& entry : kernels) change(entry.site, [&](Slot& slot) { slot.idle = least; });
  return true;
}

void Sites::learn(std::span<const Entry> entries, std::span<const Piece> pieces,
                  const std::vector<bool>& gained) {
  constexpr uint32_t many_batches = 64;  // a program that is one function
  if (batches_.fetch_add(1, std::memory_order_relaxed) >= many_batches) begin();
  for (size_t i = 0; i < entries.size(); ++i) note(entries[i], gained[i] ? seen | gaining : seen);
  for (const Piece& piece : pieces) {
    if (!piece.plan) continue;
    for (const Entry& entry : entries.subspan(piece.first, piece.count)) note(entry, joining);
  }
  for (const Entry& entry : entries) change(entry.site, [&](Slot& slot) { count(slot); });
  for (bool changed = true; changed;) {
    changed = false;
    for (const Piece& piece : pieces)
      changed |= piece.plan && share_patience(entries.subspan(piece.first, piece.count));
  }
}

}  // namespace wisp::lazy
