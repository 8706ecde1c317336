// Several pointwise kernels run as one: tile after tile goes through all of them while it is in the
// first-level cache, and only what is wanted afterwards is written to memory. The kernels are those
// of single calls, so the results are the same to the last bit.
#pragma once

#include <span>

#include "cpu/opcode.h"
#include "cpu/reduce.h"
#include "cpu/strided.h"

namespace wisp::cpu {

constexpr int max_fused_steps = 48;
constexpr int max_fused_registers = 12;
constexpr int max_fused_numbers = 12;
constexpr int max_fused_folds = 4;

// Where a step reads from.
struct FusedSource {
  enum Kind : uint8_t { memory, number, tile } kind = memory;
  uint8_t index = 0;  // of an operand, of a number, of a register
};

// One kernel. Its result goes to a register, in the dtype a single call would give it.
struct FusedStep {
  Opcode op;
  DType compute;
  DType dtype;  // of the result
  FusedSource in[3];
  uint8_t tile;       // register of the result
  int8_t store = -1;  // the operand it is written to as well
  Params params = {};
};

// A value that is the same for all elements.
struct FusedNumber {
  alignas(16) char bytes[16];
  DType dtype;
};

// All elements of a step's result reduced to one.
struct FusedFold {
  int step;
  Reduction op;
  ReduceParams params;
  char* out;  // one element of the kernel's result dtype
};

struct Fused {
  IntSpan sizes;
  std::span<const FusedStep> steps;
  // Strides are expanded to the sizes. Those that are written come first: the order of the first in
  // memory is the order of the loop.
  std::span<const Operand> operands;
  std::span<const FusedNumber> numbers;
  // Only where every operand is consecutive in one order, or a single value (is_flat).
  std::span<const FusedFold> folds = {};
};

// Operands that are written may be read too, if the elements lie in the same places.
void run_fused(const Fused& job);

}  // namespace wisp::cpu
