// Counting through places of several operands at once.
#pragma once

#include "base/small_vector.h"

namespace wisp::cpu {

// Visits count[0] x count[1] x ... places, the last dimension fastest; `at[k]` is where operand k
// is.
template <int operands>
struct Odometer {
  Dims counts = {}, index = {};
  Dims steps[operands] = {};  // in bytes, from one place to the next
  char* at[operands] = {};
  int used = operands;

  void seek(int64_t begin) {
    index = Dims(counts.size(), 0);
    for (size_t dim = counts.size(); dim-- > 0;) {
      index[dim] = begin % counts[dim];
      begin /= counts[dim];
      for (int k = 0; k < used; ++k) at[k] += index[dim] * steps[k][dim];
    }
  }
  // Moves on by `count` places of a dimension; those after it stay where they are, at their starts.
  void skip(size_t dim, int64_t count) {
    index[dim] += count;
    for (int k = 0; k < used; ++k) at[k] += count * steps[k][dim];
    for (; index[dim] == counts[dim] && dim > 0; --dim) {
      index[dim] = 0;
      ++index[dim - 1];
      for (int k = 0; k < used; ++k) at[k] += steps[k][dim - 1] - counts[dim] * steps[k][dim];
    }
  }
  void advance() {
    for (size_t dim = counts.size(); dim-- > 0;) {
      const bool carry = ++index[dim] == counts[dim];
      const int64_t moved = carry ? 1 - counts[dim] : 1;
      for (int k = 0; k < used; ++k) at[k] += moved * steps[k][dim];
      if (!carry) return;
      index[dim] = 0;
    }
  }
};

}  // namespace wisp::cpu
