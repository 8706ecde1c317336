// Normalisation of channels over a batch, and over each of its members.
#include <cmath>

#include "cpu/channels.h"
#include "cpu/reduce.h"
#include "cpu/scratch.h"
#include "ops/families.h"
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

void check_channels(const Infer& infer, int i, int64_t channels) {
  WISP_CHECK(!infer.has(i) || infer.tensor(i).numel() == channels,
             infer.op().sig.params[static_cast<size_t>(i)].name, " should contain ", channels,
             " elements not ", infer.has(i) ? infer.tensor(i).numel() : 0);
}

void infer_batch_norm(Infer& infer) {
  const Tensor& input = infer.tensor(0);
  WISP_CHECK(input.ndim() >= 2, "batch_norm(): expected an input of at least 2 dimensions, got ",
             input.ndim());
  if (!is_floating(input.dtype())) fail_not_implemented("batch_norm", input.dtype());
  const int64_t channels = input->size(1);
  for (int i = 1; i <= 4; ++i) check_channels(infer, i, channels);
  WISP_CHECK(infer.boolean(5) || (infer.has(3) && infer.has(4)),
             "running_mean and running_var must be defined in evaluation mode");
  infer.push(input.sizes(), input.dtype(), input.device());
  for (int i = 0; i < 2; ++i) infer.push({channels}, math_dtype(input.dtype()), input.device());
}

struct Stats {
  Tensor mean, var;
};
Stats stats_of(const Tensor& x, const Dims& dims) {
  const std::vector<Tensor> both = invoke_many<"var_mean.correction">(x, dims, Scalar(0), false);
  return {both[1], both[0]};
}

// Mean and variance over the dimensions whose bits are set in `reduced`.
void moments(const Tensor& x, IntSpan sizes, IntSpan strides, uint64_t reduced, const Tensor& mean,
             const Tensor& var) {
  cpu::reduce({.op = cpu::Reduction::moments,
               .compute = mean.dtype(),
               .sizes = sizes,
               .in = {x->bytes(), strides, x.dtype()},
               .reduced = reduced,
               .out = operand(var),
               .second = operand(mean),
               .params = {.correction = 0}});
}

cpu::Channels channels_of(const Tensor& x, DType dtype, bool per_member) {
  const int64_t lines = x->size(0) * x->size(1);
  return {dtype, x->size(0), x->size(1), lines ? x.numel() / lines : 0, per_member};
}

void batch_norm_kernel(const Call& call) {
  const Tensor &input = call.tensor(0), &mean = call.out(1), &var = call.out(2);
  const DType dtype = mean.dtype();
  if (call.boolean(5)) {
    const uint64_t all = (uint64_t(1) << input.ndim()) - 1;
    moments(input, input.sizes(), input.strides(), all & ~uint64_t(2), mean, var);
  } else {
    copy_raw(mean, call.tensor(3));
    copy_raw(var, call.tensor(4));
  }
  const Tensor x = consecutive(input, dtype);
  const Tensor weight = optional_consecutive(call[1], dtype),
               bias = optional_consecutive(call[2], dtype);
  const Target y(call.out(0), dtype);
  visit<dtypes::real_math>(dtype, "batch_norm", [&]<class T>() {
    const int64_t n = mean.numel();
    const cpu::Scratch<T> scale(n), shift(n);
    for (int64_t c = 0; c < n; ++c) {
      const T invstd = static_cast<T>(1 / std::sqrt(var.data<T>()[c] + call.real(7)));
      scale[c] = weight.defined() ? invstd * weight.data<T>()[c] : invstd;
      shift[c] = (bias.defined() ? bias.data<T>()[c] : T(0)) - mean.data<T>()[c] * scale[c];
    }
    cpu::channel_affine({.shape = channels_of(x, dtype, false),
                         .x = x->bytes(),
                         .scale = reinterpret_cast<char*>(scale.data()),
                         .shift = reinterpret_cast<char*>(shift.data()),
                         .other = nullptr,
                         .other_scale = nullptr,
                         .y = y.bytes()});
  });
}

// --- Its derivatives

// sum(grad) and sum(grad * (x - mean)) of every channel.
struct ChannelTotals {
  ChannelTotals(const cpu::Channels& shape, const Tensor& grad, const Tensor& x, const Tensor& mean)
      : count(cpu::channel_sum_count(shape)), grads(count), products(count) {
    cpu::channel_sums(
        {shape, grad->bytes(), x->bytes(), mean->bytes(), grads.data(), products.data()});
    if (shape.per_member) return;
    for (int64_t i = shape.channels; i < count; ++i) {  // over the batch, in order
      grads[i % shape.channels] += grads[i];
      products[i % shape.channels] += products[i];
    }
  }
  int64_t count;
  cpu::Scratch<double> grads, products;
};

// (grad, input, mean, var, weight, eps): g a + x b + c with numbers a, b, c
// per channel, which follow from (grad - mean(grad) - z mean(grad z)) times weight / deviation,
// where z is the normalised input.
void batch_norm_input_grad_kernel(const Call& call) {
  const DType dtype = call.tensor(2).dtype();
  const Tensor grad = consecutive(call.tensor(0), dtype), x = consecutive(call.tensor(1), dtype);
  const Tensor mean = consecutive(call.tensor(2), dtype), var = consecutive(call.tensor(3), dtype);
  const Tensor weight = optional_consecutive(call[4], dtype);
  const Target out(call.out(), dtype);
  const cpu::Channels shape = channels_of(x, dtype, false);
  const ChannelTotals totals(shape, grad, x, mean);
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
    }
    cpu::channel_affine({.shape = shape,
                         .x = x->bytes(),
                         .scale = reinterpret_cast<char*>(along.data()),
                         .shift = reinterpret_cast<char*>(constant.data()),
                         .other = grad->bytes(),
                         .other_scale = reinterpret_cast<char*>(scale.data()),
                         .y = out.bytes()});
  });
}

// (grad, input, mean, var, eps)
void batch_norm_weight_grad_kernel(const Call& call) {
  const DType dtype = call.tensor(2).dtype();
  const Tensor grad = consecutive(call.tensor(0), dtype), x = consecutive(call.tensor(1), dtype);
  const Tensor mean = consecutive(call.tensor(2), dtype), var = consecutive(call.tensor(3), dtype);
  const Target out(call.out(), dtype);
  const ChannelTotals totals(channels_of(x, dtype, false), grad, x, mean);
  visit<dtypes::real_math>(dtype, "batch_norm", [&]<class T>() {
    T* result = reinterpret_cast<T*>(out.bytes());
    for (int64_t c = 0; c < mean.numel(); ++c) {
      const double invstd = 1 / std::sqrt(var.data<T>()[c] + call.real(4));
      result[c] = static_cast<T>(totals.products[c] * invstd);
    }
  });
}

const Tensor& only_grad(const Backward& b) {
  WISP_CHECK(b.has_grad(0) && !b.has_grad(1) && !b.has_grad(2),
             "batch_norm(): the saved statistics have no derivative");
  return b.grad(0);
}

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
  const Tensor &grad = only_grad(b), &x = b.tensor(0);
  const int64_t ndim = x.ndim();
  if (!rules_are_differentiated() && b.boolean(5)) {
    return invoke<"_batch_norm_input_grad">(grad, x, b.out(1), b.out(2), b[1], b.real(7));
  }
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
  if (!rules_are_differentiated()) {
    return invoke<"_batch_norm_weight_grad">(only_grad(b), b[0], b.out(1), b.out(2), b.real(7));
  }
  const Used used(b);
  return mul(correlation(only_grad(b), b.tensor(0), used.mean), used.invstd);
}

Tensor batch_norm_bias_grad(const Backward& b) {
  return sum(only_grad(b), other_dims(b.grad().ndim()));
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
  if (!args.boolean(5) || (!args.has(1) && !args.has(2))) return;
  const double count = static_cast<double>(self.numel() / std::max<int64_t>(1, self->size(1)));
  mix(args, 1, detach(all[1]));
  mix(args, 2, mul(detach(all[2]), count / (count - 1)));  // without bias
}

// --- native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> (result, mean, rstd)

void infer_group_norm(Infer& infer) {
  const Tensor& input = infer.tensor(0);
  if (!is_floating(input.dtype())) fail_not_implemented("group_norm", input.dtype());
  const int64_t batch = infer.integer(3), channels = infer.integer(4), groups = infer.integer(6);
  WISP_CHECK(groups > 0 && batch >= 0 && channels % groups == 0 && infer.integer(5) >= 0 &&
                 batch * channels * infer.integer(5) == input.numel(),
             "native_group_norm(): expected an input of ", batch, " x ", channels, " x ",
             infer.integer(5), " elements in ", groups, " groups, got one of shape ",
             input.sizes());
  for (int i : {1, 2}) check_channels(infer, i, channels);
  infer.push(input.sizes(), input.dtype(), input.device());
  for (int i = 0; i < 2; ++i) {
    infer.push({batch, groups}, math_dtype(input.dtype()), input.device());
  }
}

// Coefficients of every channel of every member: scale and shift.
template <class T>
void group_coefficients(const Call& call, const Tensor& weight, const Tensor& bias, T* scale,
                        T* shift) {
  const int64_t batch = call.integer(3), channels = call.integer(4), groups = call.integer(6);
  const int64_t each = channels / groups;
  for (int64_t i = 0; i < batch * channels; ++i) {
    const int64_t c = i % channels, group = i / channels * groups + c / each;
    const T rstd = call.out(2).data<T>()[group];
    scale[i] = weight.defined() ? rstd * weight.data<T>()[c] : rstd;
    shift[i] =
        (bias.defined() ? bias.data<T>()[c] : T(0)) - call.out(1).data<T>()[group] * scale[i];
  }
}

void group_norm_kernel(const Call& call) {
  const Tensor &mean = call.out(1), &rstd = call.out(2);
  const DType dtype = mean.dtype();
  const Tensor x = consecutive(call.tensor(0), dtype);
  const Tensor weight = optional_consecutive(call[1], dtype),
               bias = optional_consecutive(call[2], dtype);
  const Target y(call.out(0), dtype);
  const int64_t members = mean.numel() ? x.numel() / mean.numel() : 0;
  const int64_t sizes[] = {mean.numel(), members}, strides[] = {members, 1};
  moments(x, sizes, strides, 2, mean, rstd);
  const cpu::Channels shape{dtype, call.integer(3), call.integer(4), call.integer(5), true};
  visit<dtypes::real_math>(dtype, "group_norm", [&]<class T>() {
    T* variance = rstd.data<T>();
    for (int64_t i = 0; i < rstd.numel(); ++i)
      variance[i] = static_cast<T>(1 / std::sqrt(variance[i] + call.real(7)));
    const cpu::Scratch<T> scale(shape.lines()), shift(shape.lines());
    group_coefficients<T>(call, weight, bias, scale.data(), shift.data());
    cpu::channel_affine({.shape = shape,
                         .x = x->bytes(),
                         .scale = reinterpret_cast<char*>(scale.data()),
                         .shift = reinterpret_cast<char*>(shift.data()),
                         .other = nullptr,
                         .other_scale = nullptr,
                         .y = y.bytes()});
  });
}

// --- Its derivatives: (grad, input, mean, rstd, weight, N, C, HxW, group)

// The means of every line, and what the kernels below have in common.
struct GroupJob {
  explicit GroupJob(const Call& call)
      : dtype(call.tensor(2).dtype()),
        shape{dtype, call.integer(5), call.integer(6), call.integer(7), true},
        groups(call.integer(8)),
        grad(consecutive(call.tensor(0), dtype)),
        x(consecutive(call.tensor(1), dtype)),
        mean(consecutive(call.tensor(2), dtype)),
        rstd(consecutive(call.tensor(3), dtype)),
        weight(optional_consecutive(call[4], dtype)) {}
  int64_t group_of(int64_t line) const {
    return line / shape.channels * groups + line % shape.channels / (shape.channels / groups);
  }
  template <class T>
  Tensor line_means() const {
    const Tensor means = Tensor::empty(IntSpan(&line_count, 1), dtype);
    for (int64_t i = 0; i < line_count; ++i) means.data<T>()[i] = mean.data<T>()[group_of(i)];
    return means;
  }
  DType dtype;
  cpu::Channels shape;
  int64_t groups, line_count = shape.lines();
  Tensor grad, x, mean, rstd, weight;
};

// grad * a + x * b + c with numbers per line: (g - mean(g) - z mean(g z)) rstd, g = grad * weight.
template <class T>
void group_norm_input_grad(const GroupJob& job, char* out) {
  const ChannelTotals totals(job.shape, job.grad, job.x, job.line_means<T>());
  const int64_t lines = job.line_count, channels = job.shape.channels;
  const double members = static_cast<double>(channels / job.groups * job.shape.length);
  auto weight_of = [&](int64_t line) {
    return job.weight.defined() ? double(job.weight.data<T>()[line % channels]) : 1.0;
  };
  const cpu::Scratch<double> sums(job.mean.numel()), products(job.mean.numel());
  for (int64_t i = 0; i < job.mean.numel(); ++i) sums[i] = products[i] = 0;
  for (int64_t i = 0; i < lines; ++i) {
    sums[job.group_of(i)] += weight_of(i) * totals.grads[i];
    products[job.group_of(i)] += weight_of(i) * totals.products[i];
  }
  const cpu::Scratch<T> scale(lines), along(lines), constant(lines);
  for (int64_t i = 0; i < lines; ++i) {
    const int64_t group = job.group_of(i);
    const double rstd = job.rstd.data<T>()[group];
    const double curve = -rstd * rstd * rstd * products[group] / members;
    scale[i] = static_cast<T>(rstd * weight_of(i));
    along[i] = static_cast<T>(curve);
    constant[i] = static_cast<T>(-rstd * sums[group] / members - curve * job.mean.data<T>()[group]);
  }
  cpu::channel_affine({.shape = job.shape,
                       .x = job.x->bytes(),
                       .scale = reinterpret_cast<char*>(along.data()),
                       .shift = reinterpret_cast<char*>(constant.data()),
                       .other = job.grad->bytes(),
                       .other_scale = reinterpret_cast<char*>(scale.data()),
                       .y = out});
}

void group_norm_input_grad_kernel(const Call& call) {
  const GroupJob job(call);
  const Target out(call.out(), job.dtype);
  visit<dtypes::real_math>(job.dtype, "group_norm",
                           [&]<class T>() { group_norm_input_grad<T>(job, out.bytes()); });
}

void group_norm_weight_grad_kernel(const Call& call) {
  const GroupJob job(call);
  const Target out(call.out(), job.dtype);
  visit<dtypes::real_math>(job.dtype, "group_norm", [&]<class T>() {
    const ChannelTotals totals(job.shape, job.grad, job.x, job.line_means<T>());
    T* result = reinterpret_cast<T*>(out.bytes());
    for (int64_t c = 0; c < job.shape.channels; ++c) {
      double sum = 0;
      for (int64_t i = c; i < job.line_count; i += job.shape.channels)
        sum += totals.products[i] * job.rstd.data<T>()[job.group_of(i)];
      result[c] = static_cast<T>(sum);
    }
  });
}

const Dims last_dim{-1};

// The input as one row per group.
Tensor group_rows(const Backward& b, const Tensor& t) {
  const int64_t groups = b.integer(3) * b.integer(6);
  const int64_t rows[] = {groups, groups ? t.numel() / groups : 0};
  return reshape(t, rows);
}

// A number per channel, next to elements as N x C x HxW.
Tensor by_channel(const Backward& b, const Tensor& t) {
  const int64_t lines[] = {b.integer(3), b.integer(4), b.integer(5)};
  return reshape(t, lines);
}

const Tensor& only_group_grad(const Backward& b) {
  WISP_CHECK(b.has_grad(0) && !b.has_grad(1) && !b.has_grad(2),
             "native_group_norm(): mean and rstd have no derivative");
  return b.grad(0);
}

Tensor group_norm_input_vjp(const Backward& b) {
  const Tensor& grad = only_group_grad(b);
  if (!rules_are_differentiated()) {
    return invoke<"_group_norm_input_grad">(grad, b[0], b.out(1), b.out(2), b[1], b[3], b[4], b[5],
                                            b[6]);
  }
  const Normalized n(group_rows(b, b.tensor(0)), last_dim, b.real(7));
  const Tensor g = b.has(1) ? mul(by_channel(b, grad), unsqueeze(b.tensor(1), -1)) : grad;
  return reshape(n.input_grad(group_rows(b, g), last_dim), b.tensor(0).sizes());
}

Tensor group_norm_weight_vjp(const Backward& b) {
  const Tensor& grad = only_group_grad(b);
  if (!rules_are_differentiated()) {
    return invoke<"_group_norm_weight_grad">(grad, b[0], b.out(1), b.out(2), Tensor(), b[3], b[4],
                                             b[5], b[6]);
  }
  const Normalized n(group_rows(b, b.tensor(0)), last_dim, b.real(7));
  return sum(mul(by_channel(b, grad), by_channel(b, n.z)), Dims{0, 2});
}

Tensor group_norm_bias_vjp(const Backward& b) {
  return sum(by_channel(b, only_group_grad(b)), Dims{0, 2});
}

// --- group_norm(self, num_groups, weight, bias, eps)

void group_norm_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t groups = args.integer(1);
  WISP_CHECK(self.ndim() >= 2, "Expected at least 2 dimensions for input tensor but received ",
             self.ndim());
  const int64_t batch = self->size(0), channels = self->size(1);
  WISP_CHECK(groups > 0, "Expected num groups to be greater than 0, got ", groups);
  WISP_CHECK(
      channels % groups == 0,
      "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
      self.sizes(), " and num_groups=", groups);
  for (int i : {2, 3}) {
    WISP_CHECK(
        !args.has(i) || (args.tensor(i).ndim() == 1 && args.tensor(i).numel() == channels),
        "Expected ", i == 2 ? "weight" : "bias",
        " to be a vector of size equal to the number of channels in input, but got one of shape ",
        args.has(i) ? args.tensor(i).sizes() : IntSpan(), " and input of shape ", self.sizes());
  }
  const int64_t length = product(self.sizes().subspan(2));
  outs.push(invoke<"native_group_norm">(self, args[2], args[3], batch, channels, length, groups,
                                        args[4]));
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

void register_batch_norm_grads(Registry& r) {
  OpDef grad{
      .schema =
          "_batch_norm_input_grad(Tensor grad, Tensor input, Tensor mean, Tensor var, Tensor? weight, float eps) -> Tensor",
      .doc = "The gradient of batch_norm's input in training.",
      .infer = [](Infer& infer) { infer.push(infer.tensor(1).sizes(), infer.tensor(1).dtype()); },
      .kernel = batch_norm_input_grad_kernel,
      .jvp = Jvp::none,
      .batch = Batch::loop,
      .onnx = "- backward only",
      .homes = home::internal};
  r.add(grad);
  grad.schema =
      "_batch_norm_weight_grad(Tensor grad, Tensor input, Tensor mean, Tensor var, float eps) -> Tensor";
  grad.doc = "The gradient of batch_norm's weight.";
  grad.infer = [](Infer& infer) { infer.push(infer.tensor(2).sizes(), infer.tensor(1).dtype()); };
  grad.kernel = batch_norm_weight_grad_kernel;
  r.add(grad);
  grad.schema =
      "_group_norm_input_grad(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group) -> Tensor";
  grad.doc = "The gradient of group_norm's input.";
  grad.infer = [](Infer& infer) { infer.push(infer.tensor(1).sizes(), infer.tensor(1).dtype()); };
  grad.kernel = group_norm_input_grad_kernel;
  r.add(grad);
  grad.schema =
      "_group_norm_weight_grad(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group) -> Tensor";
  grad.doc = "The gradient of group_norm's weight.";
  grad.infer = [](Infer& infer) { infer.push({infer.integer(6)}, infer.tensor(1).dtype()); };
  grad.kernel = group_norm_weight_grad_kernel;
  r.add(grad);
}

void register_group_norm(Registry& r) {
  r.add(
      {.schema =
           "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
       .doc =
           "group_norm of N x C x HxW elements, the means of its groups, and 1 / their standard deviations.\n\n"
           ">>> wisp.native_group_norm(wisp.tensor([[1., 3.]]), None, None, 1, 2, 1, 1, 0.)[0]\ntensor([[-1.,  1.]])",
       .infer = infer_group_norm,
       .kernel = group_norm_kernel,
       .vjp = {{"input", "input weight N C HxW group eps result1 result2", group_norm_input_vjp},
               {"weight", "input N C HxW group eps result1 result2", group_norm_weight_vjp},
               {"bias", "N C HxW", group_norm_bias_vjp}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "GroupNormalization",
       .constant_outs = 0b110,
       .homes = home::function});
  r.add(
      {.schema =
           "group_norm(Tensor self, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
       .doc =
           "Groups of channels (dimension 1) brought to mean 0 and variance 1, then scaled and shifted per channel.\n\n"
           ">>> wisp.group_norm(wisp.tensor([[1., 3.]]), 1)\ntensor([[-1.0000,  1.0000]])",
       .body = group_norm_body,
       .onnx = "GroupNormalization",
       .homes = home::function | home::functional});
}

}  // namespace

void register_batch_norm(Registry& r) {
  register_batch_norm_grads(r);
  register_group_norm(r);
  r.add(
      {.schema =
           "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
       .doc = "The kernel of batch_norm, with the statistics it used.",
       .infer = infer_batch_norm,
       .kernel = batch_norm_kernel,
       .vjp = {{"input", "input weight training eps result1 result2", batch_norm_input_grad},
               {"weight", "input training eps result1 result2", batch_norm_weight_grad},
               {"bias", "", batch_norm_bias_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "BatchNormalization",
       .constant_outs = 0b110,
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
       .homes = home::functional});
  r.add(
      {.schema =
           "instance_norm(Tensor self, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
       .doc =
           "Every channel of every member of the batch brought to mean 0 and variance 1, then scaled and shifted.\n\n"
           ">>> wisp.nn.functional.instance_norm(wisp.tensor([[[1., 3.]]]))\ntensor([[[-1.0000,  1.0000]]])",
       .body = instance_norm_body,
       .onnx = "InstanceNormalization",
       .homes = home::functional});
}

}  // namespace wisp::ops
