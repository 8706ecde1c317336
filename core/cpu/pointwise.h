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

inline bool computes_much(Opcode op) { return op >= Opcode::exp && op <= Opcode::logit; }
// How many elements a thread takes at once: fewer where each costs more.
inline int64_t grain_of(Opcode op) { return computes_much(op) ? 1 << 13 : 1 << 15; }
// What a kernel costs, counted in kernels that add.
inline int64_t passes_of(Opcode op) { return computes_much(op) ? 8 : 1; }

}  // namespace wisp::cpu
