// A source of random numbers. It is counter based (Philox): number i of a stream depends on the
// seed and i alone, so a tensor can be filled by any number of threads with the same result.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/refcount.h"

namespace wisp {

class Generator : public Object {
 public:
  static constexpr uint64_t default_seed = 67280421310721;

  explicit Generator(uint64_t seed = default_seed) : seed_(seed) {}

  struct State {
    uint64_t seed, counter;
  };
  State state() const {
    std::lock_guard lock(mutex_);
    return {seed_, counter_};
  }
  void set_state(State state) {
    std::lock_guard lock(mutex_);
    seed_ = state.seed;
    counter_ = state.counter;
  }
  void set_seed(uint64_t seed) { set_state({seed, 0}); }

  // Takes the next `blocks` counter values; each gives four 32-bit numbers.
  State reserve(uint64_t blocks) {
    std::lock_guard lock(mutex_);
    const State taken{seed_, counter_};
    counter_ += blocks;
    return taken;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t counter_ = 0;
};

// The one used where none is given.
Generator& default_generator();

}  // namespace wisp
