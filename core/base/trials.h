// Which of two ways of doing the same is faster, found out by trial.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

namespace wisp {

// Work of other sizes (it is told apart by a key) is tried for itself. Used by many threads.
class Trials {
 public:
  static constexpr int rounds = 8;    // each way, after one that is not counted
  static constexpr int in_a_row = 2;  // calls of a round, of which the last one counts

  struct Rules {
    int64_t least_time = 0;  // in nanoseconds: what takes less is not tried
    // The other way has to gain one part in so many; 0: anything; negative: it may lose that.
    int64_t clearly = 0;
    int64_t allowance = 0;     // nanoseconds that the other way may lose besides
    unsigned plain_calls = 0;  // before the first trial
  };
  explicit Trials(const Rules& rules) : rules_(rules) {}

  struct Choice {
    bool other = false;
    int at = -1;  // whose time is to be noted; -1: it is settled
    bool counts = false, again = false;
  };
  Choice choose(uint64_t key);
  void note(const Choice& choice, int64_t nanoseconds);

  // Least times of both ways; INT64_MAX: not known.
  struct Times {
    int64_t plain = INT64_MAX, other = INT64_MAX;
    bool prefers_other = false;
    bool known() const { return plain != INT64_MAX && other != INT64_MAX; }
  };
  Times times(uint64_t key) const;

  // Makes room for other keys.
  void forget();

 private:
  struct Entry {
    std::atomic<uint64_t> key = 0;  // 0: free
    std::atomic<unsigned> calls = 0;
    std::atomic<int64_t> plain = INT64_MAX, other = INT64_MAX;
    std::atomic<bool> prefers_other = false;
  };
  static constexpr unsigned each_once = 2 * in_a_row;
  static constexpr unsigned all_trials = each_once * (rounds + 1), few_trials = each_once * (3 + 1);
  static constexpr unsigned calls_between = 128;
  static constexpr int max_entries = 32;  // keys after these go the plain way
  int find(uint64_t key);
  bool is_better(int64_t other, int64_t plain) const;

  const Rules rules_;
  std::array<Entry, max_entries> entries_;
};

// Sizes that are the same up to a fourth have the same class.
inline uint64_t size_class(uint64_t elements) {
  const int width = std::bit_width(elements);
  return static_cast<uint64_t>(width) << 2 | (width > 2 ? elements >> (width - 3) & 3 : 0);
}

inline uint64_t mixed(uint64_t key, uint64_t value) {
  key = (key ^ value) * 0x9e3779b97f4a7c15u;
  return key ^ key >> 29;
}

class Stopwatch {
 public:
  int64_t nanoseconds() const {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace wisp
