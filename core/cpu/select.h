// Picking elements of rows by their rank. NaN counts as larger than everything; of equal elements,
// the one that comes first in the row ranks first.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// Rows of n consecutive elements, and where a value and its index go for each.
struct Rows {
  DType dtype;
  int64_t rows, n;
  const char* in;
  char* values;
  int64_t* indices;
};

// The k largest or smallest elements of each row, best first.
void topk_rows(const Rows& job, int64_t k, bool largest);
// The element of rank k (from 0) of each row.
void kth_rows(const Rows& job, int64_t k);
// The lower of the two in the middle; NaN if there is one, unless NaNs are left out.
void median_rows(const Rows& job, bool skip_nan);
// The smallest of the most frequent elements, and the last of its places.
void mode_rows(const Rows& job);

}  // namespace wisp::cpu
