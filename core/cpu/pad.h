// Images continued beyond their borders.
#pragma once

#include <vector>

#include "cpu/strided.h"

namespace wisp::cpu {

// The sources of a row of the result: some of a few elements each at both ends, and between them
// `count` that lie one after the other.
struct PaddedRow {
  std::vector<int64_t> front, back;
  int64_t first, count;
  int64_t length() const { return static_cast<int64_t>(front.size() + back.size()) + count; }
};

// All memory is consecutive: (planes, in...) and (planes, out...).
struct PadCall {
  DType dtype;
  int64_t planes;
  std::vector<int64_t> in;  // sizes of an image, at most three
  // Per dimension but the last, for every output element: its source.
  std::vector<std::vector<int64_t>> at;
  PaddedRow row;  // those of the last
  const char* from;
  char* to;
};
// Copies every output element from its source.
void pad(const PadCall& call);
// Adds every element of `from`, an output's gradient, to its source in `to`; for the dtypes that
// are computed in.
void pad_grad(const PadCall& call);

// A value around a part of the input.
struct ConstantPad {
  IntSpan sizes;  // of the result
  char* out;      // consecutive
  Dims at, part;  // where the part goes to, and its sizes: none is zero
  Operand in;     // where the part begins; consecutive along the last dimension
  const void* value;
};
void pad_constant(const ConstantPad& call);

}  // namespace wisp::cpu
