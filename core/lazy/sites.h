// Where calls are made, and whether it was ever worth it to put them off there.
#pragma once

#include <array>
#include <atomic>

#include "dispatch/call.h"

namespace wisp::lazy {

// A site is an operator called by one instruction of the user's program, on about as many elements.
// Used by many threads; what they learn at the same moment may get lost.
class Sites {
 public:
  // Never 0.
  static uint64_t here(const OpDef& op, int64_t elements);

  // Whether the next call is to be put off: not, for a while, after several that gained nothing.
  bool puts_off(uint64_t site);
  void note(uint64_t site, bool gained);

  static constexpr uint8_t patience = 8;
  static constexpr uint16_t at_once = 256;  // calls until one is put off again

 private:
  struct Slot {
    uint32_t tag = 0;
    uint16_t left = 0;  // of the calls that run at once
    uint8_t idle = 0;   // calls without a gain, one after the other
    uint8_t unused = 0;
  };
  static constexpr size_t slots = 1024;  // sites that share one forget each other
  std::atomic<Slot>& slot_of(uint64_t site) { return slots_[site >> 32 & (slots - 1)]; }

  std::array<std::atomic<Slot>, slots> slots_{};
};

}  // namespace wisp::lazy
