// PyTorch's rules for the dtype of a result: tensors with dimensions count most, then 0-d tensors,
// then Python numbers; a lower kind changes the result only if its category is higher.
#pragma once

#include "dispatch/op_def.h"

namespace wisp::ops {

class Promotion {
 public:
  void add(const Tensor& tensor) { merge(tensor.ndim() > 0 ? dims_ : zero_, tensor.dtype()); }
  void add(Scalar number) { merge(number_, number.dtype()); }
  void add(const Arg& arg) {
    if (arg.is_tensor()) {
      add(arg.tensor());
    } else if (arg.is_scalar()) {
      add(arg.scalar());
    }
  }
  DType result() const { return combine(dims_, combine(zero_, number_)).value_or(default_dtype()); }

 private:
  using Maybe = std::optional<DType>;
  static void merge(Maybe& slot, DType dtype) { slot = slot ? promote(*slot, dtype) : dtype; }
  static Maybe combine(Maybe higher, Maybe lower) {
    if (!higher) return lower;
    if (!lower || is_complex(*higher)) return higher;
    if (is_floating(*higher)) return is_complex(*lower) ? to_complex(*higher) : *higher;
    if (*higher == DType::bool_ || is_differentiable(*lower)) return promote(*higher, *lower);
    return higher;
  }
  Maybe dims_, zero_, number_;
};

// The dtype two values would have together (torch.result_type).
inline DType result_type(const Arg& a, const Arg& b) {
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return promotion.result();
}

// What a dtype that is only stored is computed in; fails for uint64, which nothing holds.
DType stored_math_dtype(DType dtype);

// float16 and bfloat16 are computed in float32.
inline DType math_dtype(DType dtype) {
  if (WISP_UNLIKELY(contains(dtypes::stored, dtype))) return stored_math_dtype(dtype);
  return contains(dtypes::half, dtype) ? DType::float32 : dtype;
}

}  // namespace wisp::ops
