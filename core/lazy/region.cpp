#include "lazy/region.h"

#include <array>

#include "dispatch/awaited.h"

namespace wisp::lazy {

namespace {

using Clock = std::chrono::steady_clock;

// Regions are made as ever at first: so code that is run once is never tried, and sites have learnt
// what they can before anything is compared.
struct Tried : Trials {
  Tried() : Trials({.clearly = 64, .plain_calls = 8}) {}
};

// Regions that find no room put off as ever.
std::array<Tried, 64> tried;

Trials& trials_of(uint64_t key) { return tried[key % tried.size()]; }

}  // namespace

void forget_regions() {
  for (Trials& trials : tried) trials.forget();
}

bool Region::ask(uint64_t site, int64_t elements, bool continues) {
  asked_ = true;
  measured_ = {};
  if (continues) return true;
  const uint64_t key =
      mixed(mixed(site, size_class(static_cast<uint64_t>(elements))), mode.grad ? 2 : 4);
  Trials& trials = trials_of(key);
  const Trials::Choice choice = trials.choose(key);
  at_once_ = choice.other;
  if (choice.at >= 0) {
    measured_ = {&trials, choice};
    start_ = Clock::now();
  }
  return !at_once_;
}

Measured Region::end() {
  open_ = at_once_ = false;
  if (measured_.trials) {
    run_all_awaited();
    measured_.nanoseconds = std::chrono::nanoseconds(Clock::now() - start_).count();
  }
  return measured_;
}

}  // namespace wisp::lazy
