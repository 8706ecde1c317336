// Parts of a program that need nothing of each other, run on the pool of threads. Each runs its
// kernels on one thread, in the pieces they are always cut into: the results are the same.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "graph/aliases.h"
#include "graph/datum.h"

namespace wisp::graph {

// Whether a node may stand in a part that runs beside others: it computes its outputs, or raises an
// exception, and does nothing else, nobody writes what it reads or makes, and it needs no host.
bool can_run_beside(const Node& node, const Aliases& aliases);

// Whether a node makes text of tensors, which only the host knows how to show.
bool shows_tensor(const Node& node);

// Whether this thread may hand out work: there are others, and nobody watches the calls it makes.
bool may_run_beside();
// Whether nothing is recorded of calls with this value, a tensor or a list of some. Its sizes are
// mixed into the key.
bool is_unrecorded(const Datum& value, uint64_t& key);

struct BesideFailure {
  int64_t index;
  std::exception_ptr error;
};
// Calls f(0) ... f(count - 1) on the pool, in the modes of this thread, and waits for all of them.
// The host's lock is given away meanwhile. Gives the failure of the lowest index, if any.
std::optional<BesideFailure> run_beside(int64_t count, const std::function<void(int64_t)>& f);

// Finds out by trial whether parts are faster one after the other, or beside each other. Inputs of
// other shapes (they are told apart by a key) are tried for themselves. Used by many threads.
class Trials {
 public:
  static constexpr int rounds = 8;  // each way, after one that is not counted
  // What takes less is over before other threads are awake.
  static constexpr int64_t least_time = 15'000;  // nanoseconds

  struct Choice {
    bool beside = false;
    int at = -1;  // whose time is to be noted; -1: it is settled
    bool counts = false;
  };
  Choice choose(uint64_t key);
  void note(const Choice& choice, int64_t nanoseconds);

 private:
  struct Entry {
    std::atomic<uint64_t> key = 0;  // 0: free
    std::atomic<unsigned> calls = 0;
    std::atomic<int64_t> in_turn = INT64_MAX, beside = INT64_MAX;  // least times
  };
  static constexpr unsigned all_trials = 2 * (rounds + 1), calls_between = 128;
  static constexpr int max_entries = 16;  // shapes after these run in turn
  int find(uint64_t key);

  std::array<Entry, max_entries> entries_;
};

}  // namespace wisp::graph
