// Where calls are made, and whether it was ever worth it to put them off there.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "lazy/plan.h"

namespace wisp::lazy {

// A site is an operator called by one instruction of the user's program, on about as many elements.
// Many sites belong to one piece of kernels that are joined: what is decided is decided for all of
// them, and from the next beginning of a function on, so that no piece is ever taken apart.
// Asked by many threads; told by one at a time.
class Sites {
 public:
  // Never 0.
  static uint64_t here(const OpDef& op, int64_t elements);

  // Whether the next call is to be put off: not after several that gained nothing.
  bool puts_off(uint64_t site);
  // A function begins whose calls may be put off.
  void begin();
  // What it was worth to put off each entry of a batch that was run in these pieces.
  void learn(std::span<const Entry> entries, std::span<const Piece> pieces,
             const std::vector<bool>& gained);

  static constexpr uint16_t patience = 8;
  // All sites are asked again during one function after so many calls that ran at once, in so many
  // functions.
  static constexpr uint32_t calls_at_once = 256, functions_at_once = 64;

 private:
  struct Slot {
    uint32_t tag = 0;
    uint16_t since = 0;       // the function in which it ran out of patience
    uint16_t idle : 4 = 0;    // batches without a gain, one after the other
    uint16_t joined : 6 = 0;  // batches for which it counts as one of kernels that are joined
    uint16_t noted : 3 = 0;   // of this batch
  };
  static constexpr uint16_t seen = 1, gaining = 2, joining = 4, joined_for = 63;
  // Sites that share a row forget each other when there are too many of them.
  static constexpr size_t rows = 1024, slots_in_row = 4;
  using Row = std::array<std::atomic<Slot>, slots_in_row>;
  Row& row_of(uint64_t site) { return rows_[site >> 32 & (rows - 1)]; }
  std::atomic<Slot>* find(uint64_t site);  // null: it has no slot
  template <class F>
  void change(uint64_t site, F f);
  void note(const Entry& entry, uint16_t what);
  void count(Slot& slot) const;
  bool share_patience(std::span<const Entry> kernels);

  std::array<Row, rows> rows_{};
  std::atomic<uint16_t> function_ = 1;  // that runs; counted
  std::atomic<bool> asks_all_ = false;
  std::atomic<uint32_t> at_once_ = 0, functions_ = 0;  // since all were asked
  std::atomic<uint32_t> batches_ = 0;                  // since a function began
};

}  // namespace wisp::lazy
