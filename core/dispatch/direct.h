// The shortest way through call(): for operators on small plain tensors while nobody watches.
#pragma once

#include "dispatch/call.h"

namespace wisp {

// What call() would give as its only result, or null if it has more to do: record for backward,
// hand the call to an interceptor, or compute anything but the simplest case.
inline TensorImpl* call_direct(const OpDef& op, const Arg* args) {
  if (!op.direct || mode.interceptor || mode.inference || Storage::any_meta()) return nullptr;
  for (uint32_t rest = mode.grad ? op.differentiable : 0; rest; rest &= rest - 1) {
    const Arg& arg = args[__builtin_ctz(rest)];
    if (arg.kind == ArgKind::tensors) return nullptr;
    if (arg.is_tensor() && arg.as.tensor->requires_grad()) return nullptr;
  }
  return op.direct(op, args);
}

}  // namespace wisp
