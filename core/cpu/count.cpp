#include "cpu/count.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1 << 15;
constexpr int64_t largest_table = 1 << 12;  // counts: the tables of a piece stay in the caches
constexpr int64_t tables = 4;               // a count that was just written is slow to read again

// Counts into `size` counts and one more, of what is out of range.
void count_piece(const int64_t* values, int64_t n, uint32_t* table, int64_t size) {
  std::fill_n(table, tables * (size + 1), 0u);
  const auto place = [=](int64_t value) {
    return std::min(static_cast<uint64_t>(value), static_cast<uint64_t>(size));
  };
  int64_t i = 0;
  for (; i + tables <= n; i += tables) {
    for (int64_t t = 0; t < tables; ++t) ++table[t * (size + 1) + place(values[i + t])];
  }
  for (; i < n; ++i) ++table[place(values[i])];
}

bool count_directly(const int64_t* values, int64_t n, int64_t* counts, int64_t size) {
  bool inside = true;
  for (int64_t i = 0; i < n; ++i) {
    if (static_cast<uint64_t>(values[i]) < static_cast<uint64_t>(size)) {
      ++counts[values[i]];
    } else {
      inside = false;
    }
  }
  return inside;
}

}  // namespace

bool count_values(const int64_t* values, int64_t n, int64_t* counts, int64_t size) {
  std::fill_n(counts, size, 0);
  if (size > largest_table || n < 2 * size) return count_directly(values, n, counts, size);
  // Pieces have tables of their own; whole numbers add up to the same in any order.
  const int64_t grain = even_grain(n, piece), pieces = (n + grain - 1) / grain;
  const int64_t width = size + 1;
  const Scratch<uint32_t> counted(pieces * tables * width);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    count_piece(values + begin, end - begin, counted.data() + begin / grain * tables * width, size);
  });
  uint32_t outside = 0;
  for (int64_t t = 0; t < pieces * tables; ++t) {
    const uint32_t* table = counted.data() + t * width;
    for (int64_t k = 0; k < size; ++k) counts[k] += table[k];
    outside |= table[size];
  }
  return outside == 0;
}

}  // namespace wisp::cpu
