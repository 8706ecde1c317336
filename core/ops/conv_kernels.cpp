// The kernels of convolutions: images in one layout, and in the order oneDNN likes best where it
// does them.
#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/conv.h"
#include "cpu/onednn.h"
#include "ops/conv.h"
#include "ops/raw.h"
#include "tensor/arranged.h"

namespace wisp::ops {

namespace {

// Which memory a kernel works on: images in one layout, and everything in the dtype it computes in.
class Images {
 public:
  explicit Images(const Tensor& like)
      : channels_last_(has_channels_last(like)),
        dtype_(contains(dtypes::half, like.dtype()) ? DType::float32 : like.dtype()) {}
  bool channels_last() const { return channels_last_; }
  DType dtype() const { return dtype_; }

  Tensor input(const Tensor& t) const {
    if (!channels_last_) return consecutive(t, dtype_);
    const bool ready = t.dtype() == dtype_ && t->is_contiguous(MemoryFormat::channels_last);
    if (ready) return t;
    Tensor copy = empty(t);
    copy_raw(copy, t);
    return copy;
  }
  // Memory for a result, which is itself if it has the dtype; else it has to be copied there.
  Tensor output(const Tensor& out) const {
    return out.dtype() == dtype_ && (channels_last_ || out.is_contiguous()) ? out : empty(out);
  }

 private:
  Tensor empty(const Tensor& like) const {
    if (!channels_last_) return Tensor::empty(like.sizes(), dtype_);
    return Tensor::empty_strided(like.sizes(), channels_last_strides(like.sizes()), dtype_);
  }
  bool channels_last_;
  DType dtype_;
};

cpu::ConvShape::Sizes in_space(IntSpan sizes, int64_t missing) {
  cpu::ConvShape::Sizes full;
  full.fill(missing);
  std::copy_backward(sizes.begin(), sizes.end(), full.end());
  return full;
}

// `x` is the image that windows are taken of: the input of a convolution, the result of a
// transposed one.
cpu::ConvShape shape_of(const Tensor& x, const Tensor& y, IntSpan kernel, IntSpan stride,
                        IntSpan padding, IntSpan dilation, int64_t groups) {
  return {.batch = x->size(0),
          .groups = groups,
          .x_channels = x->size(1),
          .y_channels = y->size(1),
          .x = in_space(x.sizes().subspan(2), 1),
          .y = in_space(y.sizes().subspan(2), 1),
          .kernel = in_space(kernel, 1),
          .stride = in_space(stride, 1),
          .padding = in_space(padding, 0),
          .dilation = in_space(dilation, 1)};
}

// --- Images in the order that oneDNN likes best: they stay so from one convolution to the next

using cpu::onednn::Pass;

// An image that is read, as it lies in memory.
class GivenImage {
 public:
  explicit GivenImage(const Tensor& t) : use_(t), t_(t) {}
  bool usable() const {
    return t_.dtype() == DType::float32 && t_.is_contiguous() &&
           (!use_.exists() || use_.is_image(t_));
  }
  int block() const { return use_.exists() ? use_.order().block : 0; }
  char* data() const { return use_.exists() ? use_.data() : t_->bytes(); }

 private:
  Arranged use_;
  const Tensor& t_;
};

// Takes the images of a call (the one that is computed may be undefined) and the result; false,
// with nothing done, if this is none for oneDNN or images lie otherwise.
bool run_arranged(Pass pass, cpu::ConvCall work, const Tensor& x, const Tensor& y,
                  const Tensor& out) {
  if (work.channels_last || work.dtype != DType::float32) return false;
  // Parts of a storage that another image may be the whole of: plain from here on.
  for (const Tensor& t : {x, y}) {
    if (t.defined() && !Arranged(t).exists()) t->bytes();
  }
  std::optional<GivenImage> given_x, given_y;
  if (x.defined()) given_x.emplace(x);
  if (y.defined()) given_y.emplace(y);
  if ((given_x && !given_x->usable()) || (given_y && !given_y->usable())) return false;
  work.x_block = given_x ? given_x->block() : 0;
  work.y_block = given_y ? given_y->block() : 0;
  work.free_result = pass != Pass::weight && can_arrange(out) && !(pass == Pass::x && work.bias);
  const std::optional<int> block = cpu::onednn::result_block(pass, work);
  if (!block) return false;
  char* result = nullptr;
  if (*block) {
    const int64_t channels = out->size(1);
    result = arrange(out, {channels, out.numel() / out->size(0) / channels, *block});
  } else {
    result = out->bytes();
  }
  work.x = given_x ? given_x->data() : result;
  work.y = given_y ? given_y->data() : result;
  if (pass == Pass::weight) work.weight = result;
  return cpu::onednn::conv(pass, work);
}

}  // namespace

void convolution_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const Steps steps = steps_of(call, out.ndim() - 2);
  const Images images(out);
  const Tensor input = images.input(call.tensor(0)), result = images.output(out);
  const Tensor weight = consecutive(call.tensor(1), images.dtype());
  const Tensor bias = call.has(2) ? consecutive(call.tensor(2), images.dtype()) : Tensor();
  const bool transposed = call.boolean(6);
  const Tensor &x = transposed ? result : input, &y = transposed ? input : result;
  cpu::ConvCall work{.shape = shape_of(x, y, weight.sizes().subspan(2), steps.stride, steps.padding,
                                       steps.dilation, call.integer(8)),
                     .dtype = images.dtype(),
                     .channels_last = images.channels_last(),
                     .x = nullptr,
                     .weight = weight->bytes(),
                     .y = nullptr,
                     .bias = bias.defined() ? bias->bytes() : nullptr};
  const bool done = transposed ? run_arranged(Pass::x, work, Tensor(), input, result)
                               : run_arranged(Pass::y, work, input, Tensor(), result);
  if (!done) {
    work.x = x->bytes();
    work.y = y->bytes();
    transposed ? cpu::conv_x(work) : cpu::conv_y(work);
  }
  if (!result.is_same(out)) copy_raw(out, result);
}

void convolution_weight_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (call.tensor(0).numel() == 0 || call.tensor(1).numel() == 0) {
    std::memset(out->bytes(), 0, static_cast<size_t>(out.numel()) * out->item_size());
    return;
  }
  const bool by_gradient = has_channels_last(call.tensor(1));
  const Images images(call.tensor(by_gradient ? 1 : 0));
  const Tensor x = images.input(call.tensor(0)), y = images.input(call.tensor(1));
  const Tensor result =
      out.dtype() == images.dtype() ? out : Tensor::empty(out.sizes(), images.dtype());
  cpu::ConvCall work{.shape = shape_of(x, y, call.integers(2), call.integers(3), call.integers(4),
                                       call.integers(5), call.integer(6)),
                     .dtype = images.dtype(),
                     .channels_last = images.channels_last(),
                     .x = nullptr,
                     .weight = nullptr,
                     .y = nullptr,
                     .bias = nullptr};
  if (!run_arranged(Pass::weight, work, x, y, result)) {
    work.x = x->bytes();
    work.weight = result->bytes();
    work.y = y->bytes();
    cpu::conv_weight(work);
  }
  if (!result.is_same(out)) copy_raw(out, result);
}

}  // namespace wisp::ops
