#include "base/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>

namespace wisp::memory {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double slow = 3e-3;  // seconds; small pages in its place take as long
// What slow ones may take: so much at once, and that part of the time the program runs.
constexpr double at_once = 1, largest_share = 0.05, shortest_burst = 0.5;
constexpr int longest_pause = 1024;
constexpr int collapse_now = 25;  // MADV_COLLAPSE, which older headers do not have

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long it takes to get the pages of a block.
double touch(char* block, size_t bytes) {
  const Clock::time_point start = Clock::now();
  for (size_t at = 0; at < bytes; at += huge_page) static_cast<volatile char*>(block)[at] = 0;
  return seconds_since(start);
}

}  // namespace

char* map_aligned(size_t bytes, char* end) {
  constexpr int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
  const size_t span = bytes + huge_page;
  if (span < bytes) return nullptr;
  if (end) {
    void* wanted = end - bytes;
    void* made = mmap(wanted, bytes, access, kind | MAP_FIXED_NOREPLACE, -1, 0);
    if (made == wanted) return static_cast<char*>(made);
    if (made != MAP_FAILED) munmap(made, bytes);  // systems that do not know this flag
  }
  // Over-map, then give the ends back.
  void* raw = mmap(nullptr, span, access, kind, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(begin) + huge_page - 1) &
                                          ~(huge_page - 1));
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  const size_t tail = static_cast<size_t>(begin + span - (aligned + bytes));
  if (tail) munmap(aligned + bytes, tail);
  return aligned;
}

bool HugePages::advise(char* block, size_t bytes) {
  if (skip_.load(std::memory_order_relaxed) > 0) {
    skip_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  madvise(block, bytes, MADV_HUGEPAGE);
  const double took = touch(block, huge_page);
  if (took < slow) {
    pause_.store(1, std::memory_order_relaxed);
    return true;
  }
  per_page_.store(took, std::memory_order_relaxed);
  if (took * static_cast<double>(bytes / huge_page) < left()) {
    spend(took + touch(block + huge_page, bytes - huge_page));
    return true;
  }
  madvise(block, bytes, MADV_NOHUGEPAGE);
  const int pause = pause_.load(std::memory_order_relaxed);
  skip_.store(pause, std::memory_order_relaxed);
  pause_.store(std::min(2 * pause, longest_pause), std::memory_order_relaxed);
  return false;
}

bool HugePages::collapse(char* page) {
  const double expected = per_page_.load(std::memory_order_relaxed);
  if (left() < expected || (!going_on_ && left() < shortest_burst)) {
    going_on_ = false;
    return false;
  }
  going_on_ = true;
  const Clock::time_point start = Clock::now();
  madvise(page, huge_page, MADV_HUGEPAGE);
  // Systems that do not know this do it by themselves, some time later.
  madvise(page, huge_page, collapse_now);
  const double took = seconds_since(start);
  per_page_.store(took, std::memory_order_relaxed);
  spend(took);
  return true;
}

double HugePages::left() const {
  return at_once + largest_share * seconds_since(start_) - spent_.load(std::memory_order_relaxed);
}

void HugePages::spend(double seconds) {
  spent_.store(spent_.load(std::memory_order_relaxed) + seconds, std::memory_order_relaxed);
}

HugePages& huge_pages() {
  static HugePages shared;
  return shared;
}

}  // namespace wisp::memory
