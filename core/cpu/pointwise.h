// Runs a pointwise kernel over operands of any strides and dtypes.
#pragma once

#include "cpu/opcode.h"
#include "cpu/strided.h"

namespace wisp::cpu {

struct Pointwise {
  Opcode op;
  DType compute;
  int inputs;
  IntSpan sizes;  // of the result; inputs come with strides expanded to it
  Operand out;
  Operand in[3];  // strides left empty: a single value for all
  Params params;
};

void pointwise(const Pointwise& call);

// How many elements a thread takes at once: as many as take it two to four times as long as
// waking it.
inline int64_t grain_of(Opcode op, DType compute) {
  constexpr int64_t piece = 1 << 19, least = 64;  // hundredths of a nanosecond
  const int64_t grain = piece / cost_of(op, compute);
  return grain > least ? grain : least;
}

}  // namespace wisp::cpu
