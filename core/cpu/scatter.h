// gather and scatter: an index per element says where along one dimension it is read or written;
// its other coordinates are its own.
#pragma once

#include "cpu/combine.h"
#include "cpu/strided.h"

namespace wisp::cpu {

struct Lines {
  IntSpan sizes;  // of the index; never empty
  int64_t dim;
  int64_t length;  // of the indexed tensor along dim
  Operand index;   // int64
};

// Fails with `what` and the dimension if an index is negative or too large.
void check_lines(const Lines& lines, const char* what);

// out[.., i, ..] = self[.., index[.., i, ..], ..]; indices must have been checked.
void gather(const Lines& lines, const Operand& out, const Operand& self);

// self[.., index[.., i, ..], ..] = combine(itself, src[.., i, ..]), in the order of i. With strides
// left empty, `src` is one value for all.
void scatter(const Lines& lines, Combine how, const Operand& self, const Operand& src);

}  // namespace wisp::cpu
