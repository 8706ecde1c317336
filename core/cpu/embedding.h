// The gradient of rows picked from a table.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// All memory is consecutive, of `dtype`, float32 or float64; indices have been checked.
struct EmbeddingGradCall {
  DType dtype;
  int64_t rows, columns;  // of the table
  const int64_t* index;
  int64_t count;        // of the indices
  int64_t padding_row;  // gets no gradient; -1 if there is none
  bool mean;            // a row's gradients are averaged, not added
  const char* grad;     // (count, columns)
  char* table_grad;     // (rows, columns)
};
void embedding_grad(const EmbeddingGradCall& call);

}  // namespace wisp::cpu
