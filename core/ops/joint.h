// For operators whose gradients come from one kernel (OpDef::joint_vjp): the kernel is an internal
// operator that takes a bit per wanted gradient and returns all of them, empty where not wanted.
#pragma once

#include "dispatch/call.h"
#include "ops/promotion.h"

namespace wisp::ops {

inline int64_t bits_of(std::span<const bool> wanted) {
  int64_t bits = 0;
  for (size_t i = 0; i < wanted.size(); ++i) bits |= static_cast<int64_t>(wanted[i]) << i;
  return bits;
}

// The kernel's results: gradients of these sizes, the first of the dtype of `like`, the others of
// theirs.
inline void push_wanted(Infer& infer, int64_t bits, const Tensor& like,
                        std::initializer_list<IntSpan> sizes, DType others) {
  static const Dims empty{0};
  DType dtype = like.dtype();
  for (IntSpan size : sizes) {
    infer.push(bits & 1 ? size : IntSpan(empty), dtype, like.device());
    bits >>= 1;
    dtype = others;
  }
}

// For a norm: parameters may be of float32 next to an input of less, and get gradients as precise.
inline void push_norm_grads(Infer& infer, int64_t bits, const Tensor& input, IntSpan parameter) {
  push_wanted(infer, bits, input, {input.sizes(), parameter, parameter}, math_dtype(input.dtype()));
}

inline void hand_out(const std::vector<Tensor>& made, std::span<const bool> wanted,
                     std::span<Tensor> grads) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) grads[i] = made[i];
  }
}

}  // namespace wisp::ops
