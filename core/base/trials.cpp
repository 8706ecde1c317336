#include "base/trials.h"

#include <algorithm>

namespace wisp {

int Trials::find(uint64_t key) {
  for (int k = 0; k < max_entries; ++k) {
    const int i = static_cast<int>(((key >> 32) + static_cast<uint64_t>(k)) % max_entries);
    const uint64_t known = entries_[i].key.load(std::memory_order_acquire);
    if (known == key) return i;
    if (known != 0) continue;
    uint64_t expected = 0;
    if (entries_[i].key.compare_exchange_strong(expected, key) || expected == key) return i;
  }
  return -1;
}

bool Trials::is_better(int64_t other, int64_t plain) const {
  return other < plain - (rules_.clearly ? plain / rules_.clearly : 0) + rules_.allowance;
}

// Both ways take turns, so that whatever else the machine does slows them alike. Each goes twice in
// a row, and only the second call counts: the first one finds memory as the other way has left it,
// other blocks of it in the caches, which can double its time. Later both are tried again from time
// to time: the machine may have been busy with something that only slowed one of them.
Trials::Choice Trials::choose(uint64_t key) {
  const int at = find(key | 1);
  if (at < 0) return {};
  Entry& entry = entries_[at];
  // What threads count at the same moment may get lost: that is cheaper than to count it.
  const unsigned calls = entry.calls.load(std::memory_order_relaxed);
  const unsigned call = calls - rules_.plain_calls;
  // First what most calls come to, which may take less time than the rest of this.
  if (calls >= rules_.plain_calls + all_trials && call % calls_between >= each_once) {
    entry.calls.store(calls + 1, std::memory_order_relaxed);
    return {.other = entry.prefers_other.load(std::memory_order_relaxed)};
  }
  const int64_t plain = entry.plain.load(std::memory_order_relaxed);
  if (plain < rules_.least_time) return {};
  entry.calls.store(calls + 1, std::memory_order_relaxed);
  if (calls < rules_.plain_calls) return {};
  const int64_t other = entry.other.load(std::memory_order_relaxed);
  // What is far slower needs few trials to be seen through; more than one, which may be disturbed.
  if (call >= few_trials && call < all_trials) {
    if (other - plain > plain / 4) return {};
    if (plain - other > other / 4) return {.other = true};
  }
  const bool last = call % in_a_row == in_a_row - 1;
  // At first caches are cold, and plans have to be made.
  return {.other = call / in_a_row % 2 == 1,
          .at = at,
          .counts = last && call >= each_once,
          .again = call >= all_trials};
}

// A time that is not reached any more is forgotten little by little.
void Trials::note(const Choice& choice, int64_t nanoseconds) {
  if (!choice.counts) return;
  Entry& entry = entries_[choice.at];
  std::atomic<int64_t>& least = choice.other ? entry.other : entry.plain;
  int64_t known = least.load(std::memory_order_relaxed);
  if (choice.again && known != INT64_MAX) nanoseconds = std::min(nanoseconds, known + known / 32);
  while ((nanoseconds < known || choice.again) &&
         !least.compare_exchange_weak(known, nanoseconds)) {}
  // Kept, because whoever asks may have less time than a division takes.
  const int64_t plain = entry.plain.load(std::memory_order_relaxed);
  const int64_t other = entry.other.load(std::memory_order_relaxed);
  const bool known_both = plain != INT64_MAX && other != INT64_MAX;
  entry.prefers_other.store(known_both && is_better(other, plain), std::memory_order_relaxed);
}

void Trials::forget() {
  for (Entry& entry : entries_) {
    entry.calls = 0;
    entry.plain = entry.other = INT64_MAX;
    entry.prefers_other = false;
    entry.key = 0;
  }
}

Trials::Times Trials::times(uint64_t key) const {
  for (const Entry& entry : entries_) {
    if (entry.key.load(std::memory_order_acquire) != (key | 1)) continue;
    const int64_t plain = entry.plain.load(std::memory_order_relaxed);
    const int64_t other = entry.other.load(std::memory_order_relaxed);
    return {plain, other, entry.prefers_other.load(std::memory_order_relaxed)};
  }
  return {};
}

}  // namespace wisp
