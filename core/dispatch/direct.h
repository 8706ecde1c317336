// The shortest way through call(): for operators on small plain tensors while nobody watches.
#pragma once

#include "dispatch/call.h"

namespace wisp {

// Whether somebody may put this call off, small as it is: everything, or what others who wait
// compute for it.
inline bool is_put_off(const OpDef& op, const Arg* args) {
  if (WISP_LIKELY(mode.deferrer == nullptr && !Storage::any_awaited())) return false;
  if (mode.deferrer && mode.deferrer->takes_small()) return true;
  if (!Storage::any_deferred()) return false;
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].is_tensor() && args[i].as.tensor->storage().is_pending()) return true;
  }
  return false;
}

// What call() would give as its only result, or null if it has more to do: record for backward,
// hand the call to an interceptor, put it off, or compute anything but the simplest case.
inline TensorImpl* call_direct(const OpDef& op, const Arg* args) {
  if (!op.direct || mode.interceptor || mode.inference || Storage::any_meta()) return nullptr;
  if (is_put_off(op, args)) return nullptr;
  for (uint32_t rest = mode.grad ? op.differentiable : 0; rest; rest &= rest - 1) {
    const Arg& arg = args[__builtin_ctz(rest)];
    if (arg.kind == ArgKind::tensors) return nullptr;
    if (arg.is_tensor() && arg.as.tensor->requires_grad()) return nullptr;
  }
  return op.direct(op, args);
}

}  // namespace wisp
