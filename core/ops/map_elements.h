// Kernels of pointwise operators whose function is too costly for tiles to matter: it is called
// once per element.
#pragma once

#include "base/parallel.h"
#include "ops/pointwise.h"
#include "ops/raw.h"

namespace wisp::ops {

// The elements of an argument, in the shape of the result and the dtype to compute in; numbers are
// repeated.
template <class T>
class Elements {
 public:
  Elements(const Arg& arg, IntSpan shape) {
    if (arg.is_tensor()) {
      tensor_ = consecutive(arg.tensor(), shape, dtype_of<T>);
      data_ = tensor_.data<T>();
    } else {
      number_ = arg.scalar().to<T>();
    }
  }
  T operator[](int64_t i) const { return data_ ? data_[i] : number_; }

 private:
  Tensor tensor_;
  const T* data_ = nullptr;
  T number_ = 0;
};

// out[i] = f(i) for all elements, converted from T if need be.
template <class T, class F>
void fill_each(const Tensor& out, F f) {
  const bool direct = out.dtype() == dtype_of<T> && out.is_contiguous();
  const Tensor target = direct ? out : Tensor::empty(out.sizes(), dtype_of<T>);
  T* data = target.data<T>();
  parallel_for(out.numel(), 1 << 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(f(i));
  });
  if (!direct) copy_raw(out, target);
}

// out = f(argument `first`), or f of that and the next one; f takes numbers of the dtype to compute
// in, which is float32 or float64.
template <class F>
void map_one(const Call& call, F f, int first = 0) {
  visit<dtypes::real_math>(call.compute, call.name(), [&]<class T>() {
    const Elements<T> x(call[first], call.out().sizes());
    fill_each<T>(call.out(), [&](int64_t i) { return f(x[i]); });
  });
}

template <class F>
void map_two(const Call& call, F f) {
  visit<dtypes::real_math>(call.compute, call.name(), [&]<class T>() {
    const Elements<T> x(call[0], call.out().sizes()), y(call[1], call.out().sizes());
    fill_each<T>(call.out(), [&](int64_t i) { return f(x[i], y[i]); });
  });
}

// A rule for an input that has no derivative here.
[[noreturn]] inline Tensor no_derivative(const char* what) {
  fail(ErrorKind::not_implemented, "the derivative for '", what, "' is not implemented.");
}

}  // namespace wisp::ops
