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

// How many elements a thread takes at once: fewer where each costs more.
inline int64_t grain_of(Opcode op) {
  return op >= Opcode::exp && op <= Opcode::logit ? 1 << 13 : 1 << 15;
}

}  // namespace wisp::cpu
