// gather and scatter: an index per element says where along one dimension it is read or written;
// its other coordinates are its own.
#pragma once

#include "cpu/combine.h"
#include "cpu/strided.h"

namespace wisp::cpu {

struct IndexedLines {
  IntSpan sizes;  // of the index; never empty
  int64_t dim;
  int64_t length;    // of the indexed tensor along dim
  Operand index;     // int64
  const char* what;  // for errors
  bool checked = false;
};

// All three fail if an index is negative or too large. The other two look at indices that were not
// checked line by line, while they are in the nearest cache: lines before a bad one may have been
// written.
void check_lines(IndexedLines& lines);

// out[.., i, ..] = self[.., index[.., i, ..], ..].
void gather(const IndexedLines& lines, const Operand& out, const Operand& self);

// self[.., index[.., i, ..], ..] = combine(itself, src[.., i, ..]), in the order of i. With strides
// left empty, `src` is one value for all.
void scatter(const IndexedLines& lines, Combine how, const Operand& self, const Operand& src);

}  // namespace wisp::cpu
