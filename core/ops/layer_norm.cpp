// Normalisation over the last dimensions: layer_norm, rms_norm.
#include "cpu/layer_norm.h"

#include <limits>

#include "ops/families.h"
#include "ops/joint.h"
#include "ops/norms.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

// --- native_layer_norm(input, normalized_shape, weight, bias, eps) -> (result, mean, rstd)

void check_normalized_shape(const Args& args, const Tensor& input, IntSpan shape) {
  WISP_CHECK(
      !shape.empty(),
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = ",
      shape);
  const size_t ndim = static_cast<size_t>(input.ndim());
  const bool fits = ndim >= shape.size() && same(input.sizes().subspan(ndim - shape.size()), shape);
  WISP_CHECK(fits, "Given normalized_shape=", shape, ", expected input with shape [*, ", shape,
             "], but got input of size", input.sizes());
  for (int i : {2, 3}) {
    if (static_cast<size_t>(i) >= args.op().sig.params.size() || !args[i].is_tensor()) continue;
    WISP_CHECK(same(args.tensor(i).sizes(), shape), "Expected ",
               args.op().sig.params[static_cast<size_t>(i)].name,
               " to be of same shape as normalized_shape, but got one of shape ",
               args.tensor(i).sizes(), " and normalized_shape = ", shape);
  }
}

// The shape of mean and rstd: the normalised dimensions have size 1.
Dims stats_shape(IntSpan sizes, size_t normalized) {
  Dims shape(sizes);
  for (size_t i = sizes.size() - normalized; i < sizes.size(); ++i) shape[i] = 1;
  return shape;
}

void infer_layer_norm(Infer& infer) {
  const Tensor& input = infer.tensor(0);
  check_normalized_shape(infer, input, infer.integers(1));
  if (!is_floating(input.dtype())) fail_not_implemented("layer_norm", input.dtype());
  const Dims stats = stats_shape(input.sizes(), infer.integers(1).size());
  infer.push(input.sizes(), input.dtype(), input.device());
  for (int i = 0; i < 2; ++i) infer.push(stats, math_dtype(input.dtype()), input.device());
}

void layer_norm_kernel(const Call& call) {
  const DType dtype = math_dtype(call.tensor(0).dtype());
  const Tensor x = consecutive(call.tensor(0));
  const Tensor weight = optional_consecutive(call[2], dtype),
               bias = optional_consecutive(call[3], dtype);
  const int64_t columns = product(call.integers(1));
  cpu::layer_norm({.dtype = dtype,
                   .stored = x.dtype(),
                   .rows = product(call.out(1).sizes()),
                   .columns = columns,
                   .eps = call.real(4),
                   .x = x->bytes(),
                   .weight = bytes_or_null(weight),
                   .bias = bytes_or_null(bias),
                   .y = call.out(0)->bytes(),
                   .mean = call.out(1)->bytes(),
                   .rstd = call.out(2)->bytes()});
}

// --- Its derivatives: (grad, input, mean, rstd, weight, normalized_shape, wanted) -> the gradients
// of input, weight and bias whose bits are set in `wanted`

void infer_layer_norm_grads(Infer& infer) {
  const Tensor& input = infer.tensor(1);
  push_norm_grads(infer, infer.integer(6), input, infer.integers(5));
}

void layer_norm_grads_kernel(const Call& call) {
  const DType dtype = math_dtype(call.tensor(1).dtype());
  const Tensor x = consecutive(call.tensor(1)), grad = consecutive(call.tensor(0), x.dtype());
  const Tensor mean = consecutive(call.tensor(2), dtype), rstd = consecutive(call.tensor(3), dtype);
  const Tensor weight = optional_consecutive(call[4], dtype);
  const RoundedResult weight_grad(call.out(1), dtype), bias_grad(call.out(2), dtype);
  auto wanted = [&](int i, char* target) { return call.integer(6) >> i & 1 ? target : nullptr; };
  cpu::layer_norm_grad({.dtype = dtype,
                        .stored = x.dtype(),
                        .rows = mean.numel(),
                        .columns = product(call.integers(5)),
                        .grad = grad->bytes(),
                        .x = x->bytes(),
                        .mean = mean->bytes(),
                        .rstd = rstd->bytes(),
                        .weight = bytes_or_null(weight),
                        .x_grad = wanted(0, call.out(0)->bytes()),
                        .weight_grad = wanted(1, weight_grad.bytes()),
                        .bias_grad = wanted(2, bias_grad.bytes())});
}

Dims last_dims(size_t count) {
  Dims dims;
  for (size_t i = 0; i < count; ++i)
    dims.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(count));
  return dims;
}

Dims first_dims(int64_t count) {
  Dims dims;
  for (int64_t i = 0; i < count; ++i) dims.push_back(i);
  return dims;
}

Tensor sum_rows(const Tensor& t, size_t normalized) {
  const int64_t rows = t.ndim() - static_cast<int64_t>(normalized);
  return rows == 0 ? t : sum(t, first_dims(rows));
}

// The rules, in operators that can be differentiated.

// (g - mean(g) - z mean(g z)) rstd with g = grad * weight.
Tensor layer_norm_input_grad(const Backward& b) {
  const Dims dims = last_dims(b.integers(1).size());
  const Normalized n(b.tensor(0), dims, b.real(4));
  return n.input_grad(b.has(2) ? mul(b.grad(), b.tensor(2)) : b.grad(), dims);
}

Tensor layer_norm_weight_grad(const Backward& b) {
  const size_t normalized = b.integers(1).size();
  return sum_rows(mul(b.grad(), Normalized(b.tensor(0), last_dims(normalized), b.real(4)).z),
                  normalized);
}

Tensor layer_norm_bias_grad(const Backward& b) { return sum_rows(b.grad(), b.integers(1).size()); }

void layer_norm_grads(const Backward& b, std::span<const bool> wanted, std::span<Tensor> grads) {
  if (!wanted[0] && !wanted[1]) {
    grads[2] = layer_norm_bias_grad(b);
    return;
  }
  hand_out(invoke_many<"_layer_norm_grads">(b.grad(), b[0], b.out(1), b.out(2),
                                            wanted[0] ? b[2] : Arg(), b[1], bits_of(wanted)),
           wanted, grads);
}

void register_layer_norm_kernels(Registry& r) {
  r.add(
      {.schema =
           "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
       .doc =
           "layer_norm, the means, and 1 / the standard deviations.\n\n>>> wisp.native_layer_norm(wisp.tensor([1., 3.]), (2,), None, None, 0.)[0]\ntensor([-1.,  1.])",
       .infer = infer_layer_norm,
       .kernel = layer_norm_kernel,
       .vjp = {{"input", "input normalized_shape weight eps result1 result2",
                layer_norm_input_grad},
               {"weight", "input normalized_shape eps result1 result2", layer_norm_weight_grad},
               {"bias", "normalized_shape", layer_norm_bias_grad}},
       .joint_vjp = layer_norm_grads,
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "LayerNormalization",
       .constant_outs = 0b110,
       .homes = home::function});
  r.add(
      {.schema =
           "_layer_norm_grads(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int[] normalized_shape, int wanted) -> (Tensor, Tensor, Tensor)",
       .doc =
           "The gradients of layer_norm's input, weight and bias; empty where the bit of `wanted` is not set.",
       .infer = infer_layer_norm_grads,
       .kernel = layer_norm_grads_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

// --- rms_norm(self, normalized_shape, weight, eps)

void rms_norm_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  check_normalized_shape(args, self, args.integers(1));
  if (!is_floating(self.dtype())) fail_not_implemented("rms_norm", self.dtype());
  const Tensor x = to(self, math_dtype(self.dtype()));
  const double smallest = x.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon();
  const Dims dims = last_dims(args.integers(1).size());
  const Tensor scale =
      rsqrt(add(mean(square(x), dims, true), args.has(3) ? args.real(3) : smallest));
  const Tensor result = args.has(2) ? mul(mul(x, scale), args.tensor(2)) : mul(x, scale);
  outs.push(to(result, self.dtype()));
}

}  // namespace

void register_layer_norm(Registry& r) {
  register_layer_norm_kernels(r);
  r.add(
      {.schema =
           "layer_norm(Tensor self, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
       .doc =
           "The last dimensions brought to mean 0 and variance 1, then scaled and shifted.\n\n>>> wisp.layer_norm(wisp.tensor([1., 3.]), (2,))\ntensor([-1.0000,  1.0000])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"native_layer_norm">(args[0], args[1], args[2], args[3], args[4]));
           },
       .onnx = "LayerNormalization",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "rms_norm(Tensor self, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
       .doc =
           "The last dimensions divided by their root mean square, then scaled.\n\n>>> wisp.rms_norm(wisp.tensor([3., 3.]), (2,))\ntensor([1., 1.])",
       .body = rms_norm_body,
       .onnx = "RMSNormalization",
       .homes = home::function | home::functional});
}

}  // namespace wisp::ops
