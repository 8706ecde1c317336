// The kernels of convolutions: images in one layout, and in the order oneDNN likes best where it
// does them.
#include <algorithm>
#include <cstring>
#include <optional>

#include "cpu/conv.h"
#include "cpu/onednn.h"
#include "cpu/row_conv.h"
#include "cpu/winograd.h"
#include "dispatch/call.h"
#include "ops/conv.h"
#include "ops/raw.h"
#include "tensor/arranged.h"

namespace wisp::ops {

namespace {

// Which memory a kernel works on: images in one layout, and everything in the dtype it computes in.
class Images {
 public:
  Images(const Tensor& like, DType dtype)
      : channels_last_(has_channels_last(like)), dtype_(dtype) {}
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

using Pass = cpu::ConvPass;

// An image that is read, as it lies in memory.
class GivenImage {
 public:
  explicit GivenImage(const Tensor& t) : use_(t), t_(t) {}
  bool usable(bool channels_last) const {
    const bool dense =
        channels_last ? t_->is_contiguous(MemoryFormat::channels_last) : t_.is_contiguous();
    return dense && (!use_.exists() || use_.is_image(t_));
  }
  int block() const { return use_.exists() ? use_.order().block : 0; }
  char* data() const { return use_.exists() ? use_.data() : t_->bytes(); }

 private:
  Arranged use_;
  const Tensor& t_;
};

// Whether images whose channels are last are left so. Blocks begin where a network does, with an
// image of few channels, and end at the first kernel that does not know of them: networks that ask
// for rows of channels again and again (normalising each pixel, say) go on without.
bool stays_last(Pass pass, int64_t x_channels, int64_t y_channels,
                std::initializer_list<const Tensor*> images) {
  const bool blocks = std::any_of(images.begin(), images.end(), [](const Tensor* t) {
    return t->defined() && (*t)->storage().is_arranged();
  });
  if (pass == Pass::weight) return !blocks;
  constexpr int64_t few_channels = 8;
  const bool begins = pass == Pass::y && x_channels < few_channels;
  const int64_t made = pass == Pass::y ? y_channels : x_channels;
  return !(blocks || begins) || !cpu::row_conv_block(made);  // vectors of less than full width
}

// Takes the images of a call (the one that is computed may be undefined, as that which is added to
// it) and the result; false, with nothing done, if this is none for oneDNN or images lie otherwise.
bool run_arranged(Pass pass, cpu::ConvCall work, const Tensor& x, const Tensor& y,
                  const Tensor& out, const Tensor& other = {}) {
  const bool known =
      work.dtype == DType::float32 || (work.dtype == DType::bfloat16 && !work.channels_last);
  const cpu::ConvShape& s = work.shape;
  if (!known || (work.channels_last && stays_last(pass, s.x_channels, s.y_channels, {&x, &y})))
    return false;
  if (work.dtype == DType::float32 && cpu::is_product(work)) return false;
  // Parts of a storage that another image may be the whole of: plain from here on.
  for (const Tensor& t : {x, y, other}) {
    if (t.defined() && !Arranged(t).exists()) t->bytes();
  }
  std::optional<GivenImage> given_x, given_y, given_other;
  if (x.defined()) given_x.emplace(x);
  if (y.defined()) given_y.emplace(y);
  if (other.defined()) {
    given_other.emplace(other);
    if (!given_other->usable(work.channels_last)) return false;
    work.other = given_other->data();
  }
  for (const auto* given : {&given_x, &given_y}) {
    if (*given && !(*given)->usable(work.channels_last)) return false;
  }
  work.x_block = given_x ? given_x->block() : 0;
  work.y_block = given_y ? given_y->block() : 0;
  work.free_result = pass != Pass::weight && can_arrange(out);
  const std::optional<int> block = cpu::conv_result_block(pass, work);
  if (!block || (work.channels_last && pass != Pass::weight && !*block)) return false;
  if (work.has_tail() && (!*block || (given_other && given_other->block() != *block))) return false;
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
  return cpu::conv_fast(pass, work);
}

// Half precision is computed in float32 and rounded, but for bfloat16 on processors that have it.
DType working_dtype(DType dtype) { return contains(dtypes::half, dtype) ? DType::float32 : dtype; }

// Whether this weight, or gradient of one, can be left to oneDNN with its channels last.
bool keeps_last(const Tensor& weight, DType dtype) {
  return has_channels_last(weight) && weight.dtype() == dtype && dtype == DType::float32;
}

bool run_plain(Pass pass, cpu::ConvCall work, const Tensor& x, const Tensor& y,
               const Tensor& weight) {
  work.x = x->bytes();
  work.y = y->bytes();
  work.weight = weight->bytes();
  if (work.weight_last) {
    if (cpu::conv_fast(pass, work)) return true;
    work.weight_last = false;
    const bool made = pass == Pass::weight;
    const Tensor plain =
        made ? Tensor::empty(weight.sizes(), work.dtype) : consecutive(weight, work.dtype);
    run_plain(pass, work, x, y, plain);
    if (made) copy_raw(weight, plain);
    return true;
  }
  if (work.dtype == DType::bfloat16) return cpu::onednn::conv(pass, work);
  cpu::conv(pass, work);
  return true;
}

// What kernels keep of a weight between calls that do not change it.
class WeightKeeper {
 public:
  WeightKeeper(const Tensor& given, const Tensor& used) {
    const Storage& storage = given->storage();
    const bool whole = static_cast<size_t>(used.numel()) * used->item_size() == storage.bytes();
    if (!used.is_same(given) || !whole || !storage.can_keep()) return;
    storage_ = &storage;
    now_ = before_ = storage.kept();
  }
  ~WeightKeeper() {
    if (storage_ && now_.get() != before_.get()) storage_->keep(std::move(now_));
  }
  WeightKeeper(const WeightKeeper&) = delete;
  WeightKeeper& operator=(const WeightKeeper&) = delete;
  Ref<Object>* slot() { return storage_ ? &now_ : nullptr; }

 private:
  const Storage* storage_ = nullptr;
  Ref<Object> before_, now_;
};

// Computes in that dtype; false, with no result, if it is bfloat16 or has a tail and this
// convolution is none for oneDNN.
bool convolve(const Call& call, DType dtype, const ConvTail& tail = {}) {
  const Tensor& out = call.out();
  const Steps steps = steps_of(call, out.ndim() - 2);
  const Images images(out, dtype);
  const Tensor input = images.input(call.tensor(0)), result = images.output(out);
  const bool weight_last = keeps_last(call.tensor(1), dtype);
  const Tensor weight = weight_last ? call.tensor(1) : consecutive(call.tensor(1), dtype);
  const Tensor bias = call.has(2) ? consecutive(call.tensor(2), working_dtype(dtype)) : Tensor();
  const bool transposed = call.boolean(6);
  WeightKeeper keeper(call.tensor(1), weight);
  const Tensor &x = transposed ? result : input, &y = transposed ? input : result;
  const cpu::ConvCall work{.shape = shape_of(x, y, weight.sizes().subspan(2), steps.stride,
                                             steps.padding, steps.dilation, call.integer(8)),
                           .dtype = dtype,
                           .channels_last = images.channels_last(),
                           .x = nullptr,
                           .weight = weight->bytes(),
                           .y = nullptr,
                           .bias = bias.defined() ? bias->bytes() : nullptr,
                           .weight_last = weight_last,
                           .less_exact = cpu::winograd::enabled(),
                           .kept = keeper.slot(),
                           .scale = tail.scale.defined() ? tail.scale->bytes() : nullptr,
                           .shift = tail.shift.defined() ? tail.shift->bytes() : nullptr,
                           .relu = tail.relu};
  const Pass pass = transposed ? Pass::x : Pass::y;
  const bool done = transposed ? run_arranged(pass, work, Tensor(), input, result)
                               : run_arranged(pass, work, input, Tensor(), result, tail.other);
  if (tail.exists()) return done;
  if (!done && !run_plain(pass, work, x, y, weight)) return false;
  if (!result.is_same(out)) copy_raw(out, result);
  return true;
}

bool convolve_weight(const Call& call, DType dtype) {
  const Tensor& out = call.out();
  const bool by_gradient = has_channels_last(call.tensor(1));
  const Images images(call.tensor(by_gradient ? 1 : 0), dtype);
  const Tensor x = images.input(call.tensor(0)), y = images.input(call.tensor(1));
  const DType sums = working_dtype(dtype);
  const bool last = keeps_last(out, dtype), fits = last || out.is_contiguous();
  const Tensor result = out.dtype() == sums && fits ? out : Tensor::empty(out.sizes(), sums);
  const cpu::ConvCall work{.shape = shape_of(x, y, call.integers(2), call.integers(3),
                                             call.integers(4), call.integers(5), call.integer(6)),
                           .dtype = dtype,
                           .channels_last = images.channels_last(),
                           .x = nullptr,
                           .weight = nullptr,
                           .y = nullptr,
                           .bias = nullptr,
                           .weight_last = last,
                           .less_exact = cpu::winograd::enabled()};
  if (!run_arranged(Pass::weight, work, x, y, result) &&
      !run_plain(Pass::weight, work, x, y, result))
    return false;
  if (!result.is_same(out)) copy_raw(out, result);
  return true;
}

// Whether both factors are bfloat16 and the processor multiplies such numbers.
bool is_bfloat(const Call& call) {
  return call.tensor(0).dtype() == DType::bfloat16 && call.tensor(1).dtype() == DType::bfloat16 &&
         cpu::onednn::has_bfloat16();
}

}  // namespace

bool convolution_stays_last(const Tensor& x, const Tensor& weight) {
  return (has_channels_last(x) || has_channels_last(weight)) &&
         stays_last(Pass::y, x->size(1), weight->size(0), {&x});
}

bool convolve_with_tail(const Call& call, const ConvTail& tail) {
  return convolve(call, DType::float32, tail);
}

void convolution_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  if (is_bfloat(call) && convolve(call, DType::bfloat16)) return;
  convolve(call, working_dtype(out.dtype()));
}

namespace {

// Whether what a call would record, watch or put off lets it be done with its tail.
bool is_plain_call(const Arg* args, const Tensor& other) {
  if (mode.interceptor || mode.deferrer || mode.transforms) return false;
  if (Storage::any_awaited()) Storage::run_deferred();
  if (Storage::any_lazy()) return false;
  const auto plain = [](const Tensor& t) {
    return t.dtype() == DType::float32 && !t->is_meta() && !differentiated(t);
  };
  if (!plain(args[0].tensor()) || !plain(args[1].tensor())) return false;
  if (args[2].is_tensor() && !plain(args[2].tensor())) return false;
  if (has_channels_last(args[0].tensor()) || has_channels_last(args[1].tensor())) return false;
  return args[0].tensor().ndim() == args[1].tensor().ndim() && (!other.defined() || plain(other));
}

// The shape of a convolution that is done by rows with everything that follows, if it is.
std::optional<cpu::ConvShape> rows_shape(const Call& call, const ConvTail& tail) {
  const Tensor &input = call.tensor(0), &weight = call.tensor(1), &out = call.out();
  if (!tail.has_pool() || tail.scale.defined() || tail.other.defined()) return std::nullopt;
  if (out.ndim() != 4 || !input.is_contiguous()) return std::nullopt;
  if (!weight.is_contiguous() || cpu::winograd::enabled()) return std::nullopt;
  if (out->size(2) < tail.window[0] || out->size(3) < tail.window[1]) return std::nullopt;
  const Steps steps = steps_of(call, out.ndim() - 2);
  const cpu::ConvShape shape = shape_of(input, out, weight.sizes().subspan(2), steps.stride,
                                        steps.padding, steps.dilation, call.integer(8));
  const bool fits = cpu::suits_rows(shape) && WeightKeeper(weight, weight).slot();
  return fits ? std::optional(shape) : std::nullopt;
}

}  // namespace

bool suits_rows(const Call& call, const ConvTail& tail) {
  return rows_shape(call, tail).has_value();
}

Tensor convolve_rows(const Call& call, const ConvTail& tail) {
  const std::optional<cpu::ConvShape> shape = rows_shape(call, tail);
  if (!shape) return {};
  const Tensor &input = call.tensor(0), &weight = call.tensor(1);
  WeightKeeper keeper(weight, weight);
  const Tensor bias = call.has(2) ? consecutive(call.tensor(2), DType::float32) : Tensor();
  const char *weights = weight->bytes(), *shifts = bias.defined() ? bias->bytes() : nullptr;
  if (!Arranged(input).exists()) input->bytes();
  const GivenImage image(input);
  if (!image.usable(false) || !keeper.slot()) return {};
  const cpu::RowPool pool{tail.window[0], tail.window[1], tail.step[0], tail.step[1]};
  const int64_t channels = shape->y_channels,
                rows = (shape->y[1] - pool.height) / pool.row_step + 1,
                columns = (shape->y[2] - pool.width) / pool.column_step + 1;
  const Tensor out = Tensor::empty(Dims{shape->batch, channels, rows, columns}, DType::float32);
  const int block = tail.plain ? 0 : cpu::row_conv_block(channels);
  char* result = block ? arrange(out, {channels, rows * columns, block}) : out->bytes();
  cpu::row_conv({.shape = *shape,
                 .x = reinterpret_cast<const float*>(image.data()),
                 .x_block = image.block(),
                 .weight = reinterpret_cast<const float*>(weights),
                 .bias = reinterpret_cast<const float*>(shifts),
                 .relu = tail.relu,
                 .pool = pool,
                 .y = reinterpret_cast<float*>(result),
                 .y_block = block,
                 .kept = *keeper.slot()});
  return out;
}

namespace {

Tensor largest_of_windows(const Tensor& image, const ConvTail& tail) {
  static constexpr int64_t none[] = {0, 0}, one[] = {1, 1};
  return invoke<"max_pool2d">(image, IntSpan(tail.window), IntSpan(tail.step), IntSpan(none),
                              IntSpan(one), false, false);
}

}  // namespace

Tensor convolution_with_tail(const Arg* args, const ConvTail& tail) {
  if (!is_plain_call(args, tail.other)) return {};
  const OpDef& op = op_def<"convolution">();
  static constexpr int64_t none[] = {0};
  const Arg all[] = {args[0], args[1], args[2],    args[3],
                     args[4], args[5], Arg(false), Arg(IntSpan(none)),
                     args[6]};
  Infer infer(op, all);
  op.infer(infer);
  const TensorSpec& spec = infer.out();
  if (tail.other.defined() && !same(spec.sizes, tail.other.sizes())) return {};
  Tensor out = Tensor::empty(spec.sizes, spec.dtype);
  if (out.numel() == 0) return {};
  Tensor pooled;
  {
    const HostUnlock unlock(true);
    const Call call(op, all, &out, spec.dtype);
    pooled = convolve_rows(call, tail);
    if (!pooled.defined() && !convolve_with_tail(call, tail)) return {};
  }
  Tensor& last = pooled.defined() ? pooled : out;
  if (mode.inference) last->set_inference(true);
  return tail.has_pool() && !pooled.defined() ? largest_of_windows(out, tail) : last;
}

void convolution_weight_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (call.tensor(0).numel() == 0 || call.tensor(1).numel() == 0) {
    std::memset(out->bytes(), 0, static_cast<size_t>(out.numel()) * out->item_size());
    return;
  }
  if (is_bfloat(call) && convolve_weight(call, DType::bfloat16)) return;
  convolve_weight(call, working_dtype(call.tensor(0).dtype()));
}

}  // namespace wisp::ops
