// Elements of short rows by their rank.
#pragma once

#include "cpu/select.h"

namespace wisp::cpu {

constexpr int64_t few_elements = 16;

// Which ranks are wanted of every row, of equal elements the first first.
struct Ranks {
  bool descending = false;
  int64_t first = 0, count = 1;
  // Instead: that of the median, or of the first NaN unless those are left out.
  bool median = false, skip_nan = false;
};

// For rows of at most few_elements: `count` values and indices per row.
void rank_few(const Rows& job, const Ranks& wanted);

}  // namespace wisp::cpu
