// Memory from the system in huge pages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace wisp::memory {

constexpr size_t huge_page = 2 << 20;

// Memory aligned to huge pages, not yet touched; null if there is none. It ends at `end`, if that
// is given and the place before it is free.
char* map_aligned(size_t bytes, char* end = nullptr);

// Huge pages make kernels faster, but do not always come quickly. Some virtual machines give free
// memory back to their host and get it again piece by piece when it is touched: then a huge page
// takes longer than all the small ones in its place. So the first one of a block is touched here
// and timed. Slow ones are taken for a second in all; after that the next blocks, twice as many
// each time, do without, and get theirs later, while that takes a small part of the time the
// program runs.
class HugePages {
 public:
  // Whether the block has huge pages now.
  bool advise(char* block, size_t bytes);
  // Makes one of the small pages in its place, in use or not; false, with nothing done, while that
  // would take too long. It is done in bursts, so that most steps of a program do not notice. One
  // thread at a time.
  bool collapse(char* page);

 private:
  // Seconds that slow pages may still take.
  double left() const;
  void spend(double seconds);

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int> skip_{0}, pause_{1};
  std::atomic<double> per_page_{0}, spent_{0};
  bool going_on_ = false;
};

// Those of the process.
HugePages& huge_pages();

}  // namespace wisp::memory
