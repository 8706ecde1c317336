// What the normalisations share: arguments as consecutive memory, and the normalised input.
#pragma once

#include "cpu/channels.h"
#include "cpu/scratch.h"
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
class RoundedResult {
 public:
  RoundedResult(const Tensor& out, DType dtype)
      : out_(out), memory_(out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype)) {}
  ~RoundedResult() {
    if (!memory_.is_same(out_)) copy_raw(out_, memory_);
  }
  char* bytes() const { return memory_->bytes(); }

 private:
  const Tensor& out_;
  Tensor memory_;
};

// An optional argument with a number per channel.
void check_channels(const Infer& infer, int i, int64_t channels);

// Mean and variance over the dimensions whose bits are set in `reduced`.
void moments(const Tensor& x, IntSpan sizes, IntSpan strides, uint64_t reduced, const Tensor& mean,
             const Tensor& var);

// sum(grad) and sum(grad * (x - mean)) of every channel.
struct ChannelTotals {
  // What the gradient is made of meanwhile: see cpu::ChannelSums.
  struct Making {
    Tensor from, addend, output;
  };
  ChannelTotals(const cpu::Channels& shape, const Tensor& grad, const Tensor& x, const Tensor& mean,
                const Making* making = nullptr)
      : count(cpu::channel_sum_count(shape)), grads(count), products(count) {
    cpu::ChannelSums call{shape,         grad->bytes(), x->bytes(),
                          mean->bytes(), grads.data(),  products.data()};
    if (making) {
      call.grad = making->from->bytes();
      call.addend = bytes_or_null(making->addend);
      call.output = making->output->bytes();
      call.made = grad->bytes();
    }
    cpu::channel_sums(call);
    if (shape.per_member) return;
    for (int64_t i = shape.channels; i < count; ++i) {  // over the batch, in order
      grads[i % shape.channels] += grads[i];
      products[i % shape.channels] += products[i];
    }
  }
  int64_t count;
  cpu::Scratch<double> grads, products;
};

// y = x * scale + shift (+ other * other_scale), with numbers per channel.
template <class T>
void scale_channels(const cpu::Channels& shape, const Tensor& x, const cpu::Scratch<T>& scale,
                    const cpu::Scratch<T>& shift, const RoundedResult& y, const Tensor& other = {},
                    const cpu::Scratch<T>* other_scale = nullptr) {
  auto bytes = [](const cpu::Scratch<T>& numbers) {
    return reinterpret_cast<char*>(numbers.data());
  };
  cpu::channel_affine({.shape = shape,
                       .x = x->bytes(),
                       .scale = bytes(scale),
                       .shift = bytes(shift),
                       .other = bytes_or_null(other),
                       .other_scale = other_scale ? bytes(*other_scale) : nullptr,
                       .y = y.bytes()});
}

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
