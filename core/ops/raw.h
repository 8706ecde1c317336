// Tensors inside kernels: memory to work on, without dispatch or history.
#pragma once

#include "cpu/copy.h"
#include "tensor/tensor.h"

namespace wisp::ops {

inline cpu::Operand operand(const Tensor& t) { return {t->bytes(), t.strides(), t.dtype()}; }

inline void copy_raw(const Tensor& out, const Tensor& in) {
  const Dims strides = expanded_strides(in.sizes(), in.strides(), out.sizes());
  cpu::copy(out.sizes(), operand(out), {in->bytes(), strides, in.dtype()});
}

// The elements one after the other, of that dtype: itself if it is so already.
inline Tensor consecutive(const Tensor& t, DType dtype) {
  if (t.is_contiguous() && t.dtype() == dtype) return t;
  Tensor copy = Tensor::empty(t.sizes(), dtype);
  copy_raw(copy, t);
  return copy;
}
inline Tensor consecutive(const Tensor& t) { return consecutive(t, t.dtype()); }

// The same, broadcast to a shape.
inline Tensor consecutive(const Tensor& t, IntSpan shape, DType dtype) {
  if (same(t.sizes(), shape)) return consecutive(t, dtype);
  Tensor copy = Tensor::empty(shape, dtype);
  copy_raw(copy, t);
  return copy;
}

// `input`, or a copy if it shares memory with what is written meanwhile.
inline Tensor apart_from(const Tensor& out, const Tensor& input) {
  if (!input.defined() || !share_memory(*input.impl(), *out.impl())) return input;
  Tensor copy = Tensor::empty(input.sizes(), input.dtype());
  copy_raw(copy, input);
  return copy;
}

// A kernel that starts from self's elements (trait::writes_self): write(target) changes some of
// them and the result is left in `out`. Kernels that add to float16 or bfloat16 do so in a float32
// copy, which is rounded once.
template <class F>
void update(const Tensor& out, const Tensor& self, bool adds, F write) {
  if (adds && contains(dtypes::half, out.dtype())) {
    const Tensor wide = consecutive(self, DType::float32);
    write(wide);
    copy_raw(out, wide);
  } else {
    if (!out.is_same(self)) copy_raw(out, self);
    write(out);
  }
}

}  // namespace wisp::ops
