// Sorting rows of consecutive memory. Sorts are stable, NaN counts as larger than everything.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// Sorts each of `rows` rows of n elements: values[i] = in[indices[i]].
void sort_rows(DType dtype, int64_t rows, int64_t n, bool descending, const char* in, char* values,
               int64_t* indices);

// Sorts distinct numbers by some of their bits, `bits` of them from `low` on, using `spare` memory
// of the same size. Lower bits must be ordered already.
void sort_words(uint64_t* words, uint64_t* spare, int64_t n, int low, int bits);

}  // namespace wisp::cpu
