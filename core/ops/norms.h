// What the normalisations share: arguments as consecutive memory, and the normalised input.
#pragma once

#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

inline int64_t product(IntSpan sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

// An optional argument, consecutive in `dtype`.
inline Tensor optional_consecutive(const Arg& arg, DType dtype) {
  return arg.is_tensor() ? consecutive(arg.tensor(), dtype) : Tensor();
}
inline char* bytes_or_null(const Tensor& t) { return t.defined() ? t->bytes() : nullptr; }

// A result to write into in `dtype`: itself, or memory that is copied to it in the end.
class Target {
 public:
  Target(const Tensor& out, DType dtype)
      : out_(out), memory_(out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype)) {}
  ~Target() {
    if (!memory_.is_same(out_)) copy_raw(out_, memory_);
  }
  char* bytes() const { return memory_->bytes(); }

 private:
  const Tensor& out_;
  Tensor memory_;
};

// The normalised input and 1 / standard deviation, in operators that can be differentiated.
struct Normalized {
  Normalized(const Tensor& x, const Dims& dims, double eps) {
    const Tensor centred = sub(x, mean(x, dims, true));
    rstd = rsqrt(add(mean(square(centred), dims, true), eps));
    z = mul(centred, rstd);
  }
  // With g the gradient of z: (g - mean(g) - z mean(g z)) rstd.
  Tensor input_grad(const Tensor& g, const Dims& dims) const {
    const Tensor along = mul(z, mean(mul(g, z), dims, true));
    return mul(sub(sub(g, mean(g, dims, true)), along), rstd);
  }
  Tensor z, rstd;
};

}  // namespace wisp::ops
