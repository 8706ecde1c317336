#include "lazy/sites.h"

#include <algorithm>

#include "base/trials.h"

namespace wisp::lazy {

namespace {

template <class T, class F>
void change(std::atomic<T>& kept, F f) {
  T value = kept.load(std::memory_order_relaxed);
  f(value);
  kept.store(value, std::memory_order_relaxed);
}

}  // namespace

uint64_t Sites::here(const OpDef& op) {
  uint64_t key = mixed(1, static_cast<uint64_t>(op.id));
  if (host.here) {
    Place place = host.here();
    key =
        mixed(mixed(key, reinterpret_cast<uintptr_t>(place.code)), static_cast<uint64_t>(place.at));
    if (place.code && host.drop) host.drop(place);
  }
  return key | 1;
}

// There is always a free one.
std::atomic<Sites::Slot>& Sites::slot_of(uint64_t site) {
  for (size_t i = site >> 32;; ++i) {
    std::atomic<Slot>& slot = slots_[i & (slots - 1)];
    const uint32_t tag = slot.load(std::memory_order_relaxed).tag;
    if (tag == tag_of(site) || tag == 0) return slot;
  }
}

uint32_t Sites::whole_of(uint32_t party) const {
  for (;;) {
    const uint32_t in = parties_[party].load(std::memory_order_relaxed).in;
    if (in == party) return party;
    party = in;
  }
}

// Of a site that is known.
std::atomic<Sites::Party>& Sites::party_of(uint64_t site) {
  return parties_[whole_of(slot_of(site).load(std::memory_order_relaxed).party)];
}

bool Sites::puts_off(uint64_t site) {
  const Slot slot = slot_of(site).load(std::memory_order_relaxed);
  if (slot.tag == 0) return true;
  const Party known = parties_[whole_of(slot.party)].load(std::memory_order_relaxed);
  const bool changed = known.since == function_.load(std::memory_order_relaxed);
  if ((known.idle < patience) != changed) return true;
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

void Sites::forget() {
  for (std::atomic<Slot>& slot : slots_) slot.store({}, std::memory_order_relaxed);
  known_ = 0;
  at_once_.store(0, std::memory_order_relaxed);
  functions_.store(0, std::memory_order_relaxed);
}

// False: there are too many.
bool Sites::add(std::span<const Entry> entries) {
  const auto before = static_cast<uint16_t>(function_.load(std::memory_order_relaxed) - 1);
  for (const Entry& entry : entries) {
    std::atomic<Slot>& slot = slot_of(entry.site);
    if (entry.site == 0 || slot.load(std::memory_order_relaxed).tag != 0) continue;
    if (known_ == most_sites) return false;
    const uint32_t party = known_++;
    parties_[party].store({.in = party, .since = before}, std::memory_order_relaxed);
    slot.store({tag_of(entry.site), party}, std::memory_order_relaxed);
  }
  return true;
}

// They have as much patience as the one that had more. Since they are joined, both were put off.
void Sites::unite(uint64_t site, uint64_t other) {
  std::atomic<Party>&kept = party_of(site), &gone = party_of(other);
  if (&kept == &gone) return;
  const uint16_t now = function_.load(std::memory_order_relaxed);
  change(gone, [&](Party& part) {
    change(kept, [&](Party& whole) {
      part.in = whole.in;
      whole.idle = std::min<uint16_t>(whole.idle, part.idle);
      whole.joined = std::max<uint16_t>(whole.joined, part.joined);
      whole.since = static_cast<uint16_t>(now - (whole.idle < patience));
    });
  });
}

void Sites::note(const Entry& entry, uint16_t what) {
  if (entry.site) change(party_of(entry.site), [&](Party& party) { party.noted |= what; });
}

void Sites::join(std::span<const Entry> kernels) {
  uint64_t first = 0;
  for (const Entry& entry : kernels) {
    if (first && entry.site) unite(first, entry.site);
    if (!first) first = entry.site;
    note(entry, joining);
  }
}

// What is decided holds from the next function on; what is taken back was never decided.
void Sites::set_idle(Party& party, uint16_t batches) const {
  const uint16_t now = function_.load(std::memory_order_relaxed);
  const bool changes = (party.idle < patience) != (batches < patience);
  if (changes) party.since = static_cast<uint16_t>(party.since == now ? now - 1 : now);
  party.idle = batches;
}

// A call that stands alone says nothing about others of its party that are joined.
void Sites::count(std::atomic<Party>& counted) const {
  change(counted, [&](Party& party) {
    const bool joins = party.noted & joining;
    if (party.noted & gaining) {
      set_idle(party, 0);
    } else if (party.noted && party.idle < patience && (joins || party.joined == 0)) {
      set_idle(party, party.idle + 1);
    }
    if (party.noted) party.joined = joins ? joined_for : party.joined - (party.joined > 0);
    party.noted = 0;
  });
}

void Sites::learn(std::span<const Entry> entries, std::span<const Piece> pieces,
                  const std::vector<bool>& gained) {
  constexpr uint32_t many_batches = 64;  // a program that is one function
  if (batches_.fetch_add(1, std::memory_order_relaxed) >= many_batches) begin();
  if (!add(entries)) {
    forget();
    add(entries);
  }
  for (const Piece& piece : pieces) {
    if (piece.plan) join(entries.subspan(piece.first, piece.count));
  }
  for (size_t i = 0; i < entries.size(); ++i) note(entries[i], gained[i] ? seen | gaining : seen);
  for (const Entry& entry : entries) {
    if (entry.site) count(party_of(entry.site));
  }
}

}  // namespace wisp::lazy
