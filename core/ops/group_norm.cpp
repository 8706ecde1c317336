// Normalisation of groups of channels, in each member of a batch.
#include <cmath>

#include "ops/channel_images.h"
#include "ops/families.h"
#include "ops/joint.h"
#include "ops/norms.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

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

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Calls f(line, channel, group) for every channel of every member: group after group.
template <class F>
void for_lines(int64_t all_groups, int64_t groups, int64_t channels, F f) {
  const int64_t each = channels / groups;
  for (int64_t group = 0, line = 0, channel = 0; group < all_groups; ++group) {
    for (int64_t i = 0; i < each; ++i) f(line++, channel++, group);
    if (channel == channels) channel = 0;
  }
}

// Coefficients of every channel of every member: scale and shift.
template <class T>
void group_coefficients(const Call& call, const Tensor& weight, const Tensor& bias, T* scale,
                        T* shift) {
  const int64_t channels = call.integer(4), groups = call.integer(6);
  const T *mean = call.out(1).data<T>(), *rstd = call.out(2).data<T>(),
          *factor = data_or_null<T>(weight), *constant = data_or_null<T>(bias);
  for_lines(call.integer(3) * groups, groups, channels, [&](int64_t i, int64_t c, int64_t group) {
    scale[i] = factor ? rstd[group] * factor[c] : rstd[group];
    shift[i] = (constant ? constant[c] : T(0)) - mean[group] * scale[i];
  });
}

// An input whose dimensions are not those that the call names is read in plain order.
const Tensor& image_of(const Tensor& input, int64_t batch, int64_t channels) {
  const bool named = input.ndim() >= 2 && input->size(0) == batch && input->size(1) == channels;
  if (!named) input->bytes();
  return input;
}

void find_group_stats(const Call& call, const cpu::Channels& shape, const Tensor& x) {
  const Tensor &mean = call.out(1), &var = call.out(2);
  const int64_t groups = call.integer(6);
  if (shape.block)
    return cpu::channel_moments({shape, x->bytes(), mean->bytes(), var->bytes(), groups});
  const int64_t members = mean.numel() ? x.numel() / mean.numel() : 0;
  const int64_t sizes[] = {mean.numel(), members}, strides[] = {members, 1};
  moments(x, sizes, strides, 2, mean, var);
}

constexpr Takes takes{.rows = false, .bfloat16 = true};

void group_norm_kernel(const Call& call) {
  const Tensor& input = image_of(call.tensor(0), call.integer(3), call.integer(4));
  const Tensor& rstd = call.out(2);
  const DType dtype = rstd.dtype();
  const Tensor weight = optional_consecutive(call[1], dtype),
               bias = optional_consecutive(call[2], dtype);
  ChannelImages images({&input}, call.out(0), {&weight, &bias}, dtype, takes);
  const Tensor x = images.input(0, input), out = images.output(call.out(0));
  const cpu::Channels shape =
      images.described({dtype, call.integer(3), call.integer(4), call.integer(5), true});
  find_group_stats(call, shape, x);
  const RoundedResult y(out, images.made_dtype());
  visit<dtypes::real_math>(dtype, "group_norm", [&]<class T>() {
    T* variance = rstd.data<T>();
    for (int64_t i = 0; i < rstd.numel(); ++i)
      variance[i] = static_cast<T>(1 / std::sqrt(variance[i] + call.real(7)));
    const cpu::Scratch<T> scale(shape.lines()), shift(shape.lines());
    group_coefficients<T>(call, weight, bias, scale.data(), shift.data());
    scale_channels<T>(shape, x, scale, shift, y);
  });
}

// --- Its derivatives: (grad, input, mean, rstd, weight, N, C, HxW, group, wanted) -> the gradients
// of input, weight and bias whose bits are set in `wanted`

// The means of every line, and what the kernels below have in common.
struct GroupJob {
  explicit GroupJob(const Call& call)
      : dtype(call.tensor(2).dtype()),
        groups(call.integer(8)),
        mean(consecutive(call.tensor(2), dtype)),
        rstd(consecutive(call.tensor(3), dtype)),
        weight(optional_consecutive(call[4], dtype)),
        images({&image_of(call.tensor(1), call.integer(5), call.integer(6)), &call.tensor(0)},
               call.out(0), {&mean, &rstd, &weight}, dtype, takes),
        shape(images.described({dtype, call.integer(5), call.integer(6), call.integer(7), true})),
        x(images.input(0, call.tensor(1))),
        grad(images.input(1, call.tensor(0))) {}
  template <class F>
  void for_lines(F f) const {
    ops::for_lines(mean.numel(), groups, shape.channels, f);
  }
  template <class T>
  Tensor line_means() const {
    const Tensor means = Tensor::empty(IntSpan(&line_count, 1), dtype);
    const T* from = mean.data<T>();
    T* to = means.data<T>();
    for_lines([&](int64_t i, int64_t, int64_t group) { to[i] = from[group]; });
    return means;
  }
  DType dtype;
  int64_t groups;
  Tensor mean, rstd, weight;
  ChannelImages images;
  cpu::Channels shape;
  int64_t line_count = shape.lines();
  Tensor x, grad;
};

// grad * a + x * b + c with numbers per line: (g - mean(g) - z mean(g z)) rstd, g = grad * weight.
template <class T>
void group_norm_input_grad(const GroupJob& job, const ChannelTotals& totals,
                           const RoundedResult& out) {
  const int64_t lines = job.line_count, channels = job.shape.channels;
  const double members = static_cast<double>(channels / job.groups * job.shape.length);
  const T *mean = job.mean.data<T>(), *rstds = job.rstd.data<T>(),
          *weight = data_or_null<T>(job.weight);
  const cpu::Scratch<double> sums(job.mean.numel()), products(job.mean.numel());
  for (int64_t i = 0; i < job.mean.numel(); ++i) sums[i] = products[i] = 0;
  job.for_lines([&](int64_t i, int64_t c, int64_t group) {
    const double factor = weight ? double(weight[c]) : 1.0;
    sums[group] += factor * totals.grads[i];
    products[group] += factor * totals.products[i];
  });
  const cpu::Scratch<T> scale(lines), along(lines), constant(lines);
  job.for_lines([&](int64_t i, int64_t c, int64_t group) {
    const double rstd = rstds[group];
    const double curve = -rstd * rstd * rstd * products[group] / members;
    scale[i] = static_cast<T>(rstd * (weight ? double(weight[c]) : 1.0));
    along[i] = static_cast<T>(curve);
    constant[i] = static_cast<T>(-rstd * sums[group] / members - curve * mean[group]);
  });
  scale_channels<T>(job.shape, job.x, along, constant, out, job.grad, &scale);
}

template <class T>
void group_norm_parameter_grads(const GroupJob& job, const ChannelTotals& totals, T* weight_grad,
                                T* bias_grad) {
  const int64_t channels = job.shape.channels;
  const T* rstd = job.rstd.data<T>();
  const cpu::Scratch<double> products(channels), grads(channels);
  for (int64_t c = 0; c < channels; ++c) products[c] = grads[c] = 0;
  job.for_lines([&](int64_t i, int64_t c, int64_t group) {
    products[c] += totals.products[i] * rstd[group];
    grads[c] += totals.grads[i];
  });
  for (int64_t c = 0; c < channels; ++c) {
    if (weight_grad) weight_grad[c] = static_cast<T>(products[c]);
    if (bias_grad) bias_grad[c] = static_cast<T>(grads[c]);
  }
}

void infer_group_norm_grads(Infer& infer) {
  const Tensor& input = infer.tensor(1);
  const int64_t channels[] = {infer.integer(6)};
  push_norm_grads(infer, infer.integer(9), input, channels);
}

void group_norm_grads_kernel(const Call& call) {
  const GroupJob job(call);
  const int64_t wanted = call.integer(9);
  const Tensor made = job.images.output(call.out(0));
  const RoundedResult out(made, job.images.made_dtype()), weight_grad(call.out(1), job.dtype),
      bias_grad(call.out(2), job.dtype);
  visit<dtypes::real_math>(job.dtype, "group_norm", [&]<class T>() {
    const ChannelTotals totals(job.shape, job.grad, job.x, job.line_means<T>());
    if (wanted & 1) group_norm_input_grad<T>(job, totals, out);
    group_norm_parameter_grads<T>(job, totals,
                                  wanted & 2 ? reinterpret_cast<T*>(weight_grad.bytes()) : nullptr,
                                  wanted & 4 ? reinterpret_cast<T*>(bias_grad.bytes()) : nullptr);
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

Tensor group_norm_input_vjp(const Backward& b) {
  const Tensor& grad = b.grad();
  const Normalized n(group_rows(b, b.tensor(0)), last_dim, b.real(7));
  const Tensor g = b.has(1) ? mul(by_channel(b, grad), unsqueeze(b.tensor(1), -1)) : grad;
  return reshape(n.input_grad(group_rows(b, g), last_dim), b.tensor(0).sizes());
}

Tensor group_norm_weight_vjp(const Backward& b) {
  const Normalized n(group_rows(b, b.tensor(0)), last_dim, b.real(7));
  return sum(mul(by_channel(b, b.grad()), by_channel(b, n.z)), Dims{0, 2});
}

Tensor group_norm_bias_vjp(const Backward& b) { return sum(by_channel(b, b.grad()), Dims{0, 2}); }

void group_norm_grads(const Backward& b, std::span<const bool> wanted, std::span<Tensor> grads) {
  if (!wanted[0] && !wanted[1]) {
    grads[2] = group_norm_bias_vjp(b);
    return;
  }
  hand_out(
      invoke_many<"_group_norm_grads">(b.grad(), b[0], b.out(1), b.out(2), wanted[0] ? b[1] : Arg(),
                                       b[3], b[4], b[5], b[6], bits_of(wanted)),
      wanted, grads);
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
  WISP_CHECK_VALUE(batch * (channels / groups) * length != 1,
                   "Expected more than 1 value per group, got input size ", self.sizes(), " and ",
                   groups, " groups");
  outs.push(invoke<"native_group_norm">(self, args[2], args[3], batch, channels, length, groups,
                                        args[4]));
}

}  // namespace

void register_group_norm(Registry& r) {
  r.add(
      {.schema =
           "_group_norm_grads(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, int wanted) -> (Tensor, Tensor, Tensor)",
       .doc =
           "The gradients of group_norm's input, weight and bias; empty where the bit of `wanted` is not set.",
       .infer = infer_group_norm_grads,
       .kernel = group_norm_grads_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
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
       .joint_vjp = group_norm_grads,
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

}  // namespace wisp::ops
