// Sums, means and maxima of rows picked from a table.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

enum class BagMode : int64_t { sum, mean, max };

// All memory is consecutive, of `dtype`, float32 or float64; indices have been checked.
struct EmbeddingBagCall {
  DType dtype;
  BagMode mode;
  int64_t bags, columns;
  const int64_t* index;
  const int64_t* begin;  // of every bag, and the end of the last: bags + 1 numbers
  int64_t padding_row;   // is left out; -1 if there is none
  const char* table;
  const char* weights;  // one per index, or null
  char* out;            // (bags, columns)
  int64_t* bag_size;    // rows that were not left out
  int64_t* max_index;   // (bags, columns): the rows of the maxima; null unless mode is max
};
void embedding_bag(const EmbeddingBagCall& call);

// The gradient of the table, for sums and means: every index adds its bag's gradient, times its
// factor, to its row.
struct EmbeddingBagGradCall {
  DType dtype;
  int64_t rows, columns;
  const int64_t *index, *bag;  // of every index
  int64_t count;
  int64_t padding_row;
  const char* factors;  // one per index
  const char* grad;     // (bags, columns)
  char* table_grad;     // (rows, columns)
};
void embedding_bag_grad(const EmbeddingBagGradCall& call);

}  // namespace wisp::cpu
