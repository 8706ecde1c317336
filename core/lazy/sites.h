// Where calls are made, and whether it was ever worth it to put them off there.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "lazy/plan.h"

namespace wisp::lazy {

// A site is an operator called by one instruction of the user's program. Sites whose kernels were
// ever joined are one party: what is decided is decided for all of them, whatever the sizes, and
// from the next beginning of a function on, so that no piece is ever taken apart.
// Asked by many threads; told by one at a time.
class Sites {
 public:
  // Never 0.
  static uint64_t here(const OpDef& op);

  // Whether the next call is to be put off: not after several that gained nothing.
  bool puts_off(uint64_t site);
  // A function begins whose calls may be put off.
  void begin();
  // What it was worth to put off each entry of a batch that was run in these pieces.
  void learn(std::span<const Entry> entries, std::span<const Piece> pieces,
             const std::vector<bool>& gained);

  void forget();

  static constexpr uint16_t patience = 8;
  // All sites are asked again during one function after so many calls that ran at once, in so many
  // functions.
  static constexpr uint32_t calls_at_once = 256, functions_at_once = 64;
  // When there are more, all are forgotten: some of a party would take pieces apart.
  static constexpr size_t most_sites = 4096;

 private:
  struct Party {
    uint32_t in = 0;          // the party that it is a part of; itself if of none
    uint16_t since = 0;       // the function in which it ran out of patience, or gained again
    uint16_t idle : 4 = 0;    // batches without a gain, one after the other
    uint16_t joined : 6 = 0;  // batches for which its kernels count as joined
    uint16_t noted : 3 = 0;   // of this batch
  };
  static constexpr uint16_t seen = 1, gaining = 2, joining = 4, joined_for = 63;
  struct Slot {
    uint32_t tag = 0;    // 0: free
    uint32_t party = 0;  // the site's own
  };
  static constexpr size_t slots = 2 * most_sites;

  static uint32_t tag_of(uint64_t site) { return static_cast<uint32_t>(site); }
  std::atomic<Slot>& slot_of(uint64_t site);  // a free one if it is not known
  uint32_t whole_of(uint32_t party) const;
  std::atomic<Party>& party_of(uint64_t site);
  bool add(std::span<const Entry> entries);
  void join(std::span<const Entry> kernels);
  void unite(uint64_t site, uint64_t other);
  void note(const Entry& entry, uint16_t what);
  void set_idle(Party& party, uint16_t batches) const;
  void count(std::atomic<Party>& party) const;

  std::array<std::atomic<Slot>, slots> slots_{};
  std::array<std::atomic<Party>, most_sites> parties_{};
  uint32_t known_ = 0;                  // sites
  std::atomic<uint16_t> function_ = 0;  // that runs; counted
  std::atomic<bool> asks_all_ = false;
  std::atomic<uint32_t> at_once_ = 0, functions_ = 0;  // since all were asked
  std::atomic<uint32_t> batches_ = 0;                  // since a function began
};

}  // namespace wisp::lazy
