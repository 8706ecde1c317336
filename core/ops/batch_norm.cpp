// Normalisation of channels over a batch, and of each channel alone (instance_norm).
#include "ops/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cpu/opcode.h"
#include "ops/channel_images.h"
#include "ops/families.h"
#include "ops/joint.h"
#include "ops/norms.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

// All dimensions but the channels'.
Dims other_dims(int64_t ndim) {
  Dims dims;
  for (int64_t i = 0; i < ndim; ++i) {
    if (i != 1) dims.push_back(i);
  }
  return dims;
}

// A number per channel, with the dimensions of the input.
Tensor spread(const Tensor& channels, int64_t ndim) {
  Dims shape(static_cast<size_t>(ndim), 1);
  shape[1] = channels.numel();
  return view(channels, shape);
}

// --- _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
//         -> (result, mean, variance)

void infer_batch_norm(Infer& infer) {
  const Tensor& input = infer.tensor(0);
  WISP_CHECK(input.ndim() >= 2, "batch_norm(): expected an input of at least 2 dimensions, got ",
             input.ndim());
  if (!is_floating(input.dtype())) fail_not_implemented("batch_norm", input.dtype());
  const int64_t channels = input->size(1);
  for (int i = 1; i <= 4; ++i) check_channels(infer, i, channels);
  WISP_CHECK(infer.boolean(5) || (infer.has(3) && infer.has(4)),
             "running_mean and running_var must be defined in evaluation mode");
  TensorSpec& out = infer.push(input.sizes(), input.dtype(), input.device());
  if (has_pixels(input, input.ndim() - 2)) out.strides = channels_last_strides(input.sizes());
  for (int i = 0; i < 2; ++i) infer.push({channels}, math_dtype(input.dtype()), input.device());
}

struct Stats {
  Tensor mean, var;
};
Stats stats_of(const Tensor& x, const Dims& dims) {
  const std::vector<Tensor> both = invoke_many<"var_mean.correction">(x, dims, Scalar(0), false);
  return {both[1], both[0]};
}

cpu::Channels channels_of(const Tensor& x, DType dtype) {
  const int64_t lines = x->size(0) * x->size(1);
  return {dtype, x->size(0), x->size(1), lines ? x.numel() / lines : 0, false};
}

// What a channel is multiplied by and what is then added. Roots are taken of whole vectors: with
// few pixels this would take longer than they do.
template <class T>
void coefficients(const Tensor& mean, const Tensor& var, const Tensor& weight, const Tensor& bias,
                  double eps, T* scale, T* shift) {
  const int64_t n = mean.numel();
  const cpu::Scratch<double> invstd(n);
  const T *means = mean.data<T>(), *vars = var.data<T>();
  const T* weights = weight.defined() ? weight.data<T>() : nullptr;
  const T* biases = bias.defined() ? bias.data<T>() : nullptr;
  for (int64_t c = 0; c < n; ++c) invstd[c] = vars[c] + eps;
  const void* in[] = {invstd.data()};
  cpu::tile_kernel(cpu::Opcode::rsqrt, DType::float64)(invstd.data(), in, n, cpu::Params());
  for (int64_t c = 0; c < n; ++c) {
    scale[c] = static_cast<T>(invstd[c]) * (weights ? weights[c] : T(1));
    shift[c] = (biases ? biases[c] : T(0)) - means[c] * scale[c];
  }
}

void use_given_stats(const Call& call) {
  for (int i : {1, 2}) copy_raw(call.out(i), call.tensor(i + 2));
}

// Of the batch: x is the input as a kernel sees it.
void find_stats(const Call& call, const cpu::Channels& shape, const Tensor& x) {
  const Tensor &mean = call.out(1), &var = call.out(2);
  if (shape.block) return cpu::channel_moments({shape, x->bytes(), mean->bytes(), var->bytes()});
  const uint64_t all = (uint64_t(1) << x.ndim()) - 1;
  moments(x, x.sizes(), x.strides(), all & ~uint64_t(2), mean, var);
}

void batch_norm_kernel(const Call& call) {
  const Tensor &input = call.tensor(0), &mean = call.out(1), &var = call.out(2);
  const DType dtype = mean.dtype();
  if (!call.boolean(5)) use_given_stats(call);
  const Tensor weight = optional_consecutive(call[1], dtype),
               bias = optional_consecutive(call[2], dtype);
  ChannelImages images({&input}, call.out(0), {&weight, &bias}, dtype, {.bfloat16 = true});
  const Tensor x = images.input(0, input), out = images.output(call.out(0));
  const cpu::Channels shape = images.described(channels_of(x, dtype));
  if (call.boolean(5)) find_stats(call, shape, x);
  const RoundedResult y(out, images.made_dtype());
  visit<dtypes::real_math>(dtype, "batch_norm", [&]<class T>() {
    const cpu::Scratch<T> scale(mean.numel()), shift(mean.numel());
    coefficients<T>(mean, var, weight, bias, call.real(7), scale.data(), shift.data());
    scale_channels<T>(shape, x, scale, shift, y);
  });
}

}  // namespace

namespace {

bool are_moderate(const Tensor& factors) {
  const float* first = factors.data<float>();
  return std::all_of(first, first + factors.numel(), [](float factor) {
    const float size = std::abs(factor);
    return factor == 0 || (size > 1e-15f && size < 1e15f);
  });
}

// The numbers of a batch norm, which all that they were made of keep: if one of them does not, it
// was written since.
class KeptAffine final : public Object {
 public:
  KeptAffine(const Call& call, ChannelAffine made) : affine(std::move(made)), eps_(call.real(7)) {
    for (int i = 1; i <= 4; ++i) sources_[i - 1] = source(call, i);
  }
  const ChannelAffine affine;

  static bool can_be_kept(const Call& call) {
    for (int i = 1; i <= 4; ++i) {
      if (!call.has(i)) continue;
      const Tensor& t = call.tensor(i);
      const size_t bytes = static_cast<size_t>(t.numel()) * sizeof(float);
      if (t.dtype() != DType::float32 || !t.is_contiguous() || t->storage().bytes() != bytes ||
          !t->storage().can_keep())
        return false;
    }
    return true;
  }
  static Ref<Object> find(const Call& call) {
    Ref<Object> found = call.tensor(4)->storage().kept();
    const auto* kept = dynamic_cast<const KeptAffine*>(found.get());
    return kept && kept->suits(call) ? found : Ref<Object>();
  }
  static void keep(const Call& call, const ChannelAffine& affine) {
    const auto made = Ref<Object>::adopt(new KeptAffine(call, affine));
    for (int i = 1; i <= 4; ++i) {
      if (call.has(i)) call.tensor(i)->storage().keep(made);
    }
  }

 private:
  static const Storage* source(const Call& call, int i) {
    return call.has(i) ? &call.tensor(i)->storage() : nullptr;
  }
  bool suits(const Call& call) const {
    for (int i = 1; i <= 4; ++i) {
      const Storage* given = source(call, i);
      if (given != sources_[i - 1] || (given && given->kept().get() != this)) return false;
    }
    return eps_ == call.real(7);
  }

  double eps_;
  const Storage* sources_[4];
};

}  // namespace

ChannelAffine normalisation_of(const Call& call) {
  const Tensor &input = call.tensor(0), &mean = call.out(1), &var = call.out(2);
  const bool trains = call.boolean(5), keeps = !trains && KeptAffine::can_be_kept(call);
  if (trains) {
    ChannelImages images({&input}, call.out(0), {}, DType::float32);
    const Tensor x = images.input(0, input);
    find_stats(call, images.described(channels_of(x, DType::float32)), x);
  } else {
    use_given_stats(call);
  }
  if (const Ref<Object> kept = keeps ? KeptAffine::find(call) : Ref<Object>())
    return static_cast<const KeptAffine&>(*kept).affine;
  const Tensor weight = optional_consecutive(call[1], DType::float32),
               bias = optional_consecutive(call[2], DType::float32);
  ChannelAffine made{Tensor::empty(mean.sizes(), DType::float32),
                     Tensor::empty(mean.sizes(), DType::float32)};
  coefficients<float>(mean, var, weight, bias, call.real(7), made.scale.data<float>(),
                      made.shift.data<float>());
  made.moderate = are_moderate(made.scale);
  if (keeps) KeptAffine::keep(call, made);
  return made;
}

void run_affine(const Tensor& x, const ChannelAffine& affine, const Tensor& other, bool relu,
                const Tensor& out) {
  ChannelImages images({&x, other.defined() ? &other : &x}, out, {&affine.scale, &affine.shift},
                       DType::float32);
  const Tensor given = images.input(0, x), made = images.output(out),
               addend = other.defined() ? images.input(1, other) : Tensor();
  cpu::channel_affine({.shape = images.described(channels_of(given, DType::float32)),
                       .x = given->bytes(),
                       .scale = affine.scale->bytes(),
                       .shift = affine.shift->bytes(),
                       .other = nullptr,
                       .other_scale = nullptr,
                       .y = made->bytes(),
                       .addend = bytes_or_null(addend),
                       .relu = relu});
}

namespace {

// --- Its derivatives

// In training: (grad, input, mean, var, weight, eps, wanted) -> the gradients of input, weight and
// bias whose bits are set in `wanted`.
void infer_batch_norm_grads(Infer& infer) {
  const Tensor &input = infer.tensor(1), &mean = infer.tensor(2);
  push_norm_grads(infer, infer.integer(6), input, mean.sizes());
  if ((infer.integer(6) & 1) && has_pixels(input, input.ndim() - 2))
    infer.out(0).strides = channels_last_strides(input.sizes());
}

// The gradient of the input is g a + x b + c with numbers a, b, c per channel, which follow from
// (grad - mean(grad) - z mean(grad z)) times weight / deviation, where z is the normalised input.
void find_grads(const Call& call, const ChannelImages& images, const Tensor& x, const Tensor& grad,
                const ChannelTotals::Making* making, const Tensor& result) {
  const DType dtype = call.tensor(2).dtype();
  const int64_t wanted = call.integer(6);
  const Tensor mean = consecutive(call.tensor(2), dtype), var = consecutive(call.tensor(3), dtype);
  const Tensor weight = optional_consecutive(call[4], dtype);
  const RoundedResult out(result, images.made_dtype()), weight_grad(call.out(1), dtype),
      bias_grad(call.out(2), dtype);
  const cpu::Channels shape = images.described(channels_of(x, dtype));
  const ChannelTotals totals(shape, grad, x, mean, making);
  const double elements = static_cast<double>(shape.batch * shape.length);
  visit<dtypes::real_math>(dtype, "batch_norm", [&]<class T>() {
    const cpu::Scratch<T> scale(shape.channels), along(shape.channels), constant(shape.channels);
    for (int64_t c = 0; c < shape.channels; ++c) {
      const double invstd = 1 / std::sqrt(var.data<T>()[c] + call.real(5));
      const double slope = invstd * (weight.defined() ? weight.data<T>()[c] : 1);
      const double curve = -slope * invstd * invstd * totals.products[c] / elements;
      scale[c] = static_cast<T>(slope);
      along[c] = static_cast<T>(curve);
      constant[c] = static_cast<T>(-slope * totals.grads[c] / elements - curve * mean.data<T>()[c]);
      if (wanted & 2)
        reinterpret_cast<T*>(weight_grad.bytes())[c] =
            static_cast<T>(elements ? totals.products[c] * invstd : 0);
      if (wanted & 4)
        reinterpret_cast<T*>(bias_grad.bytes())[c] = static_cast<T>(elements ? totals.grads[c] : 0);
    }
    if (wanted & 1) scale_channels<T>(shape, x, along, constant, out, grad, &scale);
  });
}

void batch_norm_grads_kernel(const Call& call) {
  const Tensor &grad = call.tensor(0), &x = call.tensor(1), none;
  const Tensor& weight = call.has(4) ? call.tensor(4) : none;
  ChannelImages images({&x, &grad}, call.out(0), {&call.tensor(2), &call.tensor(3), &weight},
                       call.tensor(2).dtype(), {.bfloat16 = true});
  const Tensor given = images.input(0, x);
  find_grads(call, images, given, images.input(1, grad), nullptr, images.output(call.out(0)));
}

}  // namespace

namespace {

bool is_private(const Tensor& t) {
  return t.defined() && t->storage().use_count() == 1 && t->storage().resizable();
}

// Memory that is read for the last time while the sums are made, and can hold the gradient of the
// input then; undefined if there is none.
Tensor spare_memory(const ChannelImages& images, const ReluGradient& given, bool wanted) {
  if (wanted && is_private(given.output) && images.is_own(2, given.output)) return given.output;
  if (wanted && is_private(given.addend) && images.is_own(3, given.addend)) return given.addend;
  return Tensor();
}

}  // namespace

Tensor batch_norm_grads_through_relu(const Call& call, const ReluGradient& given) {
  const Tensor &grad = given.grad, &addend = given.addend, &x = call.tensor(1), none;
  const Tensor& weight = call.has(4) ? call.tensor(4) : none;
  Storage& promised = call.out()->storage();
  Tensor made, spare;
  {
    ChannelImages images({&x, &grad, &given.output, addend.defined() ? &addend : &x}, call.out(),
                         {&call.tensor(2), &call.tensor(3), &weight}, DType::float32);
    const Tensor seen = images.input(0, x);
    const ChannelTotals::Making making{.from = images.input(1, grad),
                                       .addend = addend.defined() ? images.input(3, addend) : none,
                                       .output = images.input(2, given.output)};
    spare = spare_memory(images, given, call.integer(6) & 1);
    if (!spare.defined()) {
      promised.allocate_promised();
      promised.set_pending(false);
    }
    const Tensor result = !spare.defined()              ? images.output(call.out())
                          : spare.is_same(given.output) ? making.output
                                                        : making.addend;
    const bool reused = is_private(grad) && images.is_own(1, grad);
    made = reused ? grad : Tensor::empty_strided(grad.sizes(), grad.strides(), DType::float32);
    find_grads(call, images, seen, reused ? making.from : images.output(made), &making, result);
  }
  if (spare.defined()) promised.take_memory(spare->storage());
  return made;
}

namespace {

// Mean and 1 / standard deviation that the input was normalised with; as functions of the input if
// the gradient is itself to be differentiated.
struct Used {
  explicit Used(const Backward& b) {
    Stats stats{b.out(1), b.out(2)};
    if (rules_are_differentiated()) {  // the running ones depend on nothing
      stats = b.boolean(5)
                  ? stats_of(to(b.tensor(0), b.out(1).dtype()), other_dims(b.tensor(0).ndim()))
                  : Stats{detach(stats.mean), detach(stats.var)};
    }
    mean = stats.mean;
    invstd = rsqrt(add(stats.var, b.real(7)));
  }
  Tensor mean, invstd;
};

// sum(grad * (x - mean)) per channel.
Tensor correlation(const Tensor& grad, const Tensor& x, const Tensor& mean) {
  return sum(mul(grad, sub(x, spread(mean, x.ndim()))), other_dims(x.ndim()));
}

// In training g a + x b + c with numbers a, b, c per channel, which follow from (grad - mean(grad)
// - z mean(grad z)) times weight / deviation, where z is the normalised input.
Tensor batch_norm_input_grad(const Backward& b) {
  const Tensor &grad = b.grad(), &x = b.tensor(0);
  const int64_t ndim = x.ndim();
  const Used used(b);
  const Tensor scale = b.has(1) ? mul(used.invstd, b.tensor(1)) : used.invstd;
  if (!b.boolean(5)) return mul(grad, spread(scale, ndim));
  const double count =
      static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(1, x->size(1)));
  const Tensor along =
      div(mul(mul(scale, square(used.invstd)), correlation(grad, x, used.mean)), -count);
  const Tensor constant =
      sub(div(mul(scale, sum(grad, other_dims(ndim))), -count), mul(along, used.mean));
  const Tensor rest = invoke<"addcmul">(spread(constant, ndim), x, spread(along, ndim));
  return invoke<"addcmul">(rest, grad, spread(scale, ndim));
}

Tensor batch_norm_weight_grad(const Backward& b) {
  const Used used(b);
  return mul(correlation(b.grad(), b.tensor(0), used.mean), used.invstd);
}

Tensor batch_norm_bias_grad(const Backward& b) {
  return sum(b.grad(), other_dims(b.grad().ndim()));
}

// One kernel in training; with running statistics the rules are as good.
void batch_norm_grads(const Backward& b, std::span<const bool> wanted, std::span<Tensor> grads) {
  const bool depends = wanted[0] || wanted[1];
  if (!depends || !b.boolean(5)) {
    if (wanted[0]) grads[0] = batch_norm_input_grad(b);
    if (wanted[1]) grads[1] = batch_norm_weight_grad(b);
    if (wanted[2]) grads[2] = batch_norm_bias_grad(b);
    return;
  }
  hand_out(invoke_many<"_batch_norm_grads">(b.grad(), b[0], b.out(1), b.out(2),
                                            wanted[0] ? b[1] : Arg(), b.real(7), bits_of(wanted)),
           wanted, grads);
}

// Moves a running statistic towards that of this batch.
void mix(const Args& args, int running, const Tensor& now) {
  if (!args.has(running)) return;
  const double momentum = args.real(6);
  GradMode no_grad(false);
  add_(mul_(args.tensor(running), 1 - momentum),
       to(mul(now, momentum), args.tensor(running).dtype()));
}

// --- nn.functional.batch_norm(self, running_mean, running_var, weight, bias, training, momentum,
// eps)

void batch_norm_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  if (self.ndim() == 1 && self.numel() == 0) return outs.push(clone(self));  // no channels at all
  if (args.boolean(5) && self.ndim() >= 2) {
    WISP_CHECK_VALUE(self.numel() != self->size(1) || self->size(1) == 0,
                     "Expected more than 1 value per channel when training, got input size ",
                     self.sizes());
  }
  const std::vector<Tensor> all = invoke_many<"_batch_norm">(self, args[3], args[4], args[1],
                                                             args[2], args[5], args[6], args[7]);
  outs.push(all[0]);
  if (!args.boolean(5) || self.numel() == 0 || (!args.has(1) && !args.has(2))) return;
  const double count = static_cast<double>(self.numel() / std::max<int64_t>(1, self->size(1)));
  mix(args, 1, detach(all[1]));
  mix(args, 2, mul(detach(all[2]), count / (count - 1)));  // without bias
}

// --- nn.functional.instance_norm(self, running_mean, running_var, weight, bias, use_input_stats,
// momentum, eps)

void update_instance_stats(const Args& args) {
  GradMode no_grad(false);
  const Tensor& self = args.tensor(0);
  Dims dims;
  for (int64_t i = 2; i < self.ndim(); ++i) dims.push_back(i);
  const std::vector<Tensor> both = invoke_many<"var_mean.correction">(self, dims, Scalar(1), false);
  const int64_t batch = 0;
  mix(args, 1, mean(both[1], IntSpan(&batch, 1)));
  mix(args, 2, mean(both[0], IntSpan(&batch, 1)));
}

// Every channel of every member is a group of its own.
void instance_norm_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  if (!args.boolean(5))
    return outs.push(
        invoke<"_batch_norm">(self, args[3], args[4], args[1], args[2], false, args[6], args[7]));
  WISP_CHECK(self.ndim() >= 2, "instance_norm(): expected an input of at least 2 dimensions, got ",
             self.ndim());
  WISP_CHECK_VALUE(self.numel() != self->size(0) * self->size(1),
                   "Expected more than 1 spatial element when training, got input size ",
                   self.sizes());
  if (args.has(1) || args.has(2)) update_instance_stats(args);
  outs.push(invoke<"group_norm">(self, self->size(1), args[3], args[4], args[7]));
}

}  // namespace

void register_batch_norm(Registry& r) {
  r.add(
      {.schema =
           "_batch_norm_grads(Tensor grad, Tensor input, Tensor mean, Tensor var, Tensor? weight, float eps, int wanted) -> (Tensor, Tensor, Tensor)",
       .doc =
           "The gradients of batch_norm's input, weight and bias in training; empty where the bit of `wanted` is not set.",
       .infer = infer_batch_norm_grads,
       .kernel = batch_norm_grads_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .traits = trait::awaited,
       .homes = home::internal});
  r.add(
      {.schema =
           "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       .doc = "The kernel of batch_norm, with the statistics it used.",
       .infer = infer_batch_norm,
       .kernel = batch_norm_kernel,
       .vjp = {{"input", "input weight training eps result1 result2", batch_norm_input_grad},
               {"weight", "input training eps result1 result2", batch_norm_weight_grad},
               {"bias", "", batch_norm_bias_grad}},
       .joint_vjp = batch_norm_grads,
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "BatchNormalization",
       .constant_outs = 0b110,
       .traits = trait::writes_inputs | trait::awaited,
       .homes = home::internal,
       .node = "NativeBatchNormBackward0"});
  r.add(
      {.schema =
           "batch_norm(Tensor self, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
       .doc =
           "Channels (dimension 1) brought to mean 0 and variance 1, by statistics of the batch in training and by the "
           "running ones otherwise, then scaled and shifted.\n\n"
           ">>> wisp.nn.functional.batch_norm(wisp.tensor([[1.], [3.]]), None, None, training=True)\ntensor([[-1.0000],\n        [ 1.0000]])",
       .body = batch_norm_body,
       .onnx = "BatchNormalization",
       .traits = trait::writes_inputs,
       .homes = home::functional});
  r.add(
      {.schema =
           "instance_norm(Tensor self, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
       .doc =
           "Every channel of every member of the batch brought to mean 0 and variance 1, then scaled and shifted.\n\n"
           ">>> wisp.nn.functional.instance_norm(wisp.tensor([[[1., 3.]]]))\ntensor([[[-1.0000,  1.0000]]])",
       .body = instance_norm_body,
       .onnx = "InstanceNormalization",
       .traits = trait::writes_inputs,
       .homes = home::functional});
}

}  // namespace wisp::ops
