// What pointwise table entries share: shape and dtype inference, and the kernel that runs an
// opcode.
#pragma once

#include "cpu/pointwise.h"
#include "dispatch/call.h"
#include "ops/promotion.h"

namespace wisp::ops {

// How the dtype of the result follows from the common dtype of the inputs.
enum class Types : uint8_t {
  same,
  to_float,   // integers become the default float
  boolean,    // computed in the common dtype, the result is bool
  real_part,  // complex inputs give their real dtype (abs, angle)
};

void infer_pointwise(Infer& infer, Types types);
template <Types types>
void infer_pointwise(Infer& infer) {
  infer_pointwise(infer, types);
}

// Fails unless the dtype to compute in (after promotion) is one of these.
void check_compute(const Infer& infer, DTypeSet allowed);

// Takes the pointwise calls of one operator on this thread instead of having them run.
struct PointwiseSink {
  const OpDef* op;
  virtual void take(const Call& call, cpu::Opcode opcode, std::span<const Arg* const> operands,
                    const cpu::Params& params) = 0;
};
extern constinit WISP_THREAD_LOCAL PointwiseSink* pointwise_sink;
inline bool is_taken(const Call& call) {
  return WISP_UNLIKELY(pointwise_sink != nullptr) && pointwise_sink->op == &call.op();
}

// Runs the entry's own opcode on its tensor and Tensor|Scalar arguments, in order.
void pointwise_kernel(const Call& call);
// The same with another opcode or parameters, for entries with extra arguments.
void run_pointwise(const Call& call, cpu::Opcode opcode, const cpu::Params& params = {});
// The same with operands chosen by the entry.
void run_pointwise(const Call& call, cpu::Opcode opcode, std::span<const Arg> operands,
                   const cpu::Params& params = {});

// The shortcut of plain entries: nothing but operands and an opcode.
TensorImpl* pointwise_direct(const OpDef& op, const Arg* args);
// The shortcut of entries "(self, other, *, alpha=1)": like that of plain entries if alpha is 1.
TensorImpl* pointwise_direct_plain(const OpDef& op, const Arg* args);

constexpr uint16_t code(cpu::Opcode opcode) { return static_cast<uint16_t>(opcode); }

// Fills what pointwise entries have in common; fields already set stay.
OpDef pointwise(Types types, OpDef def);

// Shape that all tensors broadcast to.
Dims broadcast_all(std::span<const Tensor> tensors);

// Reads value(s) of a parameter for cpu::Params.
inline void set_param(cpu::Params& params, int i, Scalar value) {
  params.values[i] = value.real();
  if (i == 0) params.imag = value.imag();
}

}  // namespace wisp::ops
