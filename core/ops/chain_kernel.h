// What a pointwise call of a chain comes to: the kernel that the operator would run on tensors of
// given shapes.
#pragma once

#include <optional>

#include "cpu/opcode.h"
#include "ops/chain.h"

namespace wisp::ops {

struct ChainKernel {
  cpu::Opcode opcode = {};
  DType compute = DType::float32;
  cpu::Params params = {};
  ChainShape result;
  int inputs = 0;
  // A value of the chain, or a number (then `value` is -1).
  struct Input {
    int value = -1;
    Scalar number = 0;
  } in[3];
};

// A tensor of that shape without memory, which fails whoever asks for it.
Tensor stand_in(const ChainShape& shape);

// Sets the arguments of a call; tensor(operand) gives those that are tensors.
template <class F>
void set_chain_args(const ChainCall& call, Arg* args, F tensor) {
  const OpDef& op = *call.op;
  for (size_t p = 0; p < op.sig.params.size(); ++p)
    args[p] = call.args.empty() ? op.sig.params[p].fallback : call.args[p];
  for (int i = 0; i < call.operand_count; ++i) {
    const ChainOperand& operand = call.operands[i];
    Arg& arg = args[op.operands[i]];
    if (operand.value >= 0) {
      arg = tensor(operand.value);
    } else if (operand.absent) {
      arg = Arg();
    } else {
      arg = operand.whole ? Arg(static_cast<int64_t>(operand.number)) : Arg(operand.number);
    }
  }
}

// Whether all arguments but the operands are numbers, flags or None.
bool has_plain_args(const OpDef& op, const Arg* args);
// Adds an operand that is no tensor; false if it is none that a chain knows.
bool add_number(ChainCall& call, const Arg& arg);

// The kernel of a call on such values; nothing if it runs none, if it depends on more than their
// shapes, or if they do not fit.
std::optional<ChainKernel> kernel_of(const ChainCall& call, std::span<const Tensor> values);

// The pointwise calls that a composite (trait::spelled_out) makes of its first argument, with the
// others as they are: that is value 0, and results follow. Empty if they are none that a chain has.
std::vector<ChainCall> parts_of(const OpDef& op, std::span<const Arg> args);

}  // namespace wisp::ops
