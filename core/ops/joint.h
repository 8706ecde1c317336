// For operators whose gradients come from one kernel (OpDef::joint_vjp): the kernel is an internal
// operator that takes a bit per wanted gradient and returns all of them, empty where not wanted.
#pragma once

#include "dispatch/call.h"

namespace wisp::ops {

inline int64_t bits_of(std::span<const bool> wanted) {
  int64_t bits = 0;
  for (size_t i = 0; i < wanted.size(); ++i) bits |= static_cast<int64_t>(wanted[i]) << i;
  return bits;
}

// The kernel's results: gradients of these sizes, and of the dtype of `like`.
inline void push_wanted(Infer& infer, int64_t bits, const Tensor& like,
                        std::initializer_list<IntSpan> sizes) {
  static const Dims empty{0};
  for (IntSpan size : sizes) {
    infer.push(bits & 1 ? size : IntSpan(empty), like.dtype(), like.device());
    bits >>= 1;
  }
}

inline void hand_out(const std::vector<Tensor>& made, std::span<const bool> wanted,
                     std::span<Tensor> grads) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) grads[i] = made[i];
  }
}

}  // namespace wisp::ops
