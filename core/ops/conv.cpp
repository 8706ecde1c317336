// Convolutions and transposed convolutions.
#include "ops/conv.h"

#include <algorithm>

#include "ops/awaited.h"
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// --- convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
//                 groups)

// Wide enough for any sum and product of sizes given.
using Wide = __int128;

// A single number stands for all dimensions.
Dims expand_to(IntSpan given, int64_t dims, const char* what) {
  if (given.size() == 1) return Dims(static_cast<size_t>(dims), given[0]);
  WISP_CHECK(static_cast<int64_t>(given.size()) == dims, "expected ", what,
             " to be a single integer value or a list of ", dims,
             " values to match the convolution dimensions, but got ", what, "=", given);
  return Dims(given);
}

bool any_below(const Dims& numbers, int64_t limit) {
  return std::any_of(numbers.begin(), numbers.end(), [=](int64_t n) { return n < limit; });
}

void check_steps(const Steps& steps, bool transposed) {
  WISP_CHECK(!any_below(steps.padding, 0), "negative padding is not supported");
  WISP_CHECK(!any_below(steps.output_padding, 0), "negative output_padding is not supported");
  WISP_CHECK(!any_below(steps.stride, 1), "non-positive stride is not supported");
  WISP_CHECK(!any_below(steps.dilation, 1), "dilation should be greater than zero, but got ",
             steps.dilation);
  for (size_t i = 0; i < steps.padding.size(); ++i) {
    WISP_CHECK(steps.padding[i] <= INT64_MAX / 2, "Given padding=", steps.padding[i],
               " at dimension ", i, " , expected padding to be at most ", INT64_MAX / 2);
    WISP_CHECK(!transposed || steps.output_padding[i] < steps.stride[i] ||
                   steps.output_padding[i] < steps.dilation[i],
               "output padding must be smaller than either stride or dilation, but got "
               "output_padding: ",
               steps.output_padding, " stride: ", steps.stride, " dilation: ", steps.dilation);
  }
}

}  // namespace

Steps steps_of(const Args& args, int64_t dims) {
  return {expand_to(args.integers(3), dims, "stride"), expand_to(args.integers(4), dims, "padding"),
          expand_to(args.integers(5), dims, "dilation"),
          expand_to(args.integers(7), dims, "output_padding")};
}

namespace {

// "(3 x 3)"
std::string by(const Dims& sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "(" : " x ") + std::to_string(size);
  return text + ")";
}

int64_t narrowed(Wide size) {
  WISP_CHECK(size <= INT64_MAX && size >= INT64_MIN, "convolution(): sizes are too large");
  return static_cast<int64_t>(size);
}

// How much of the input one window spans.
Wide span_of(const Tensor& weight, const Steps& steps, size_t dim) {
  return Wide(steps.dilation[dim]) * (weight->size(static_cast<int64_t>(dim) + 2) - 1) + 1;
}

void check_window(const Tensor& input, const Tensor& weight, const Steps& steps) {
  Dims padded, spans;
  bool fits = true;
  for (size_t i = 0; i < steps.stride.size(); ++i) {
    const int64_t kernel = weight->size(static_cast<int64_t>(i) + 2);
    WISP_CHECK(kernel > 0, "kernel size should be greater than zero, but got weight of size ",
               weight.sizes());
    padded.push_back(
        narrowed(Wide(input->size(static_cast<int64_t>(i) + 2)) + 2 * Wide(steps.padding[i])));
    spans.push_back(narrowed(span_of(weight, steps, i)));
    fits = fits && padded[i] >= spans[i];
  }
  WISP_CHECK(fits, "Calculated padded input size per channel: ", by(padded),
             ". Kernel size: ", by(spans), ". Kernel size can't be greater than actual input size");
}

void check_channels(const Tensor& input, const Tensor& weight, const Arg& bias, bool transposed,
                    int64_t groups) {
  WISP_CHECK(input.ndim() == weight.ndim(), "Expected ", weight.ndim(), "-dimensional input for ",
             weight.ndim(), "-dimensional weight ", weight.sizes(), ", but got ", input.ndim(),
             "-dimensional input of size ", input.sizes(), " instead");
  WISP_CHECK(weight->size(0) >= groups, "Given groups=", groups,
             ", expected weight to be at least ", groups,
             " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  WISP_CHECK(weight->size(0) % groups == 0, "Given groups=", groups,
             ", expected weight to be divisible by ", groups,
             " at dimension 0, but got weight of size ", weight.sizes(), " instead");
  const Wide wanted = transposed ? Wide(weight->size(0)) : Wide(weight->size(1)) * groups;
  const int64_t out = transposed ? narrowed(Wide(weight->size(1)) * groups) : weight->size(0);
  WISP_CHECK(input->size(1) == wanted, "Given ",
             transposed ? "transposed=1" : str("groups=", groups), ", weight of size ",
             weight.sizes(), ", expected input", input.sizes(), " to have ", narrowed(wanted),
             " channels, but got ", input->size(1), " channels instead");
  if (!bias.is_tensor()) return;
  const Tensor& b = bias.tensor();
  WISP_CHECK(b.ndim() == 1 && b->size(0) == out, "Given ", transposed ? "transposed=1, " : "",
             "weight of size ", weight.sizes(), ", expected bias to be 1-dimensional with ", out,
             " elements, but got bias of size ", b.sizes(), " instead");
}

void check_dtypes(const Tensor& input, const Tensor& weight, const Arg& bias) {
  WISP_CHECK(input.dtype() == weight.dtype(), "expected scalar type ", legacy_name(input.dtype()),
             " but found ", legacy_name(weight.dtype()));
  WISP_CHECK(!bias.is_tensor() || bias.tensor().dtype() == input.dtype(), "Input type (",
             name(input.dtype()), ") and bias type (", name(bias.tensor().dtype()),
             ") should be the same");
  if (input.dtype() == DType::bool_) fail_not_implemented("convolution", input.dtype());
}

void check_space(const Tensor& input) {
  for (int64_t i = 2; i < input.ndim(); ++i) {
    WISP_CHECK(input->size(i) > 0,
               "Only zero batch or zero channel inputs are supported, but got input shape: ",
               input.sizes());
  }
}

int64_t size_after(const Tensor& input, const Tensor& weight, const Steps& steps, size_t dim,
                   bool transposed) {
  const Wide size = input->size(static_cast<int64_t>(dim) + 2),
             padding = 2 * Wide(steps.padding[dim]);
  const Wide span = span_of(weight, steps, dim), stride = steps.stride[dim];
  return narrowed(transposed ? (size - 1) * stride - padding + span + steps.output_padding[dim]
                             : (size + padding - span) / stride + 1);
}

Dims result_sizes(const Tensor& input, const Tensor& weight, const Steps& steps, bool transposed,
                  int64_t groups) {
  Dims sizes{input->size(0), transposed ? weight->size(1) * groups : weight->size(0)};
  if (input->size(1) == 0) sizes[1] = 0;  // nothing comes out of no channels
  for (size_t i = 0; i < steps.stride.size(); ++i) {
    sizes.push_back(size_after(input, weight, steps, i, transposed));
  }
  const Dims space(IntSpan(sizes).subspan(2));
  WISP_CHECK(!any_below(space, 1),
             "Given input size per channel: ", by(Dims(input.sizes().subspan(2))),
             ". Calculated output size per channel: ", by(space), ". Output size is too small");
  return sizes;
}

void infer_convolution(Infer& infer) {
  const Tensor &input = infer.tensor(0), &weight = infer.tensor(1);
  const bool transposed = infer.boolean(6);
  WISP_CHECK(weight.ndim() > 2, "weight should have at least three dimensions");
  WISP_CHECK(infer.integer(8) > 0, "non-positive groups is not supported");
  const Steps steps = steps_of(infer, weight.ndim() - 2);
  WISP_CHECK(steps.stride.size() <= 3, "unsupported ConvNd parameters");
  check_steps(steps, transposed);
  check_channels(input, weight, infer[2], transposed, infer.integer(8));
  if (!transposed) check_window(input, weight, steps);
  check_dtypes(input, weight, infer[2]);
  check_space(input);
  const Dims sizes = result_sizes(input, weight, steps, transposed, infer.integer(8));
  TensorSpec& out = infer.push(sizes, input.dtype(), input.device());
  if (has_channels_last(input) || has_channels_last(weight))
    out.strides = channels_last_strides(sizes);
}

// --- _convolution_weight(x, y, kernel_size, stride, padding, dilation, groups): what y = x *
// weight says of the weight if gradients take the places of images

void infer_convolution_weight(Infer& infer) {
  const Tensor &x = infer.tensor(0), &y = infer.tensor(1);
  Dims sizes{y->size(1), x->size(1) / infer.integer(6)};
  for (int64_t size : infer.integers(2)) sizes.push_back(size);
  TensorSpec& out = infer.push(sizes, x.dtype(), x.device());
  const bool single = sizes[1] == 1 || count_elements(infer.integers(2)) == 1;  // either order
  if (!single && (has_channels_last(x) || has_channels_last(y)))
    out.strides = channels_last_strides(sizes);
}

// --- Derivatives. All three computations are linear in both of what they are given, and their
// derivatives are again such computations.

// y from x and weight. The windows of a transposed convolution with much output padding fit more
// often than y has elements: what is too much is cut off.
Tensor y_from(const Tensor& x, const Tensor& weight, const Steps& steps, int64_t groups,
              IntSpan y_sizes) {
  const Dims none(steps.stride.size(), 0);
  Tensor y = invoke<"convolution">(x, weight, Tensor(), steps.stride, steps.padding, steps.dilation,
                                   false, none, groups);
  for (int64_t dim = 2; dim < y.ndim(); ++dim) {
    const int64_t size = y_sizes[static_cast<size_t>(dim)];
    if (y->size(dim) != size) y = narrow(y, dim, 0, size);
  }
  return y;
}

Tensor x_from(const Tensor& y, const Tensor& weight, const Steps& steps, int64_t groups,
              IntSpan x_sizes) {
  Dims rest;
  for (size_t i = 0; i < steps.stride.size(); ++i) {
    const int64_t least = (y->size(static_cast<int64_t>(i) + 2) - 1) * steps.stride[i] -
                          2 * steps.padding[i] + static_cast<int64_t>(span_of(weight, steps, i));
    rest.push_back(x_sizes[i + 2] - least);
  }
  return invoke<"convolution">(y, weight, Tensor(), steps.stride, steps.padding, steps.dilation,
                               true, rest, groups);
}

Tensor weight_from(const Tensor& x, const Tensor& y, const Steps& steps, int64_t groups,
                   IntSpan weight_sizes) {
  return invoke<"_convolution_weight">(x, y, weight_sizes.subspan(2), steps.stride, steps.padding,
                                       steps.dilation, groups);
}

bool is_empty(const Backward& b) { return b.grad().numel() == 0; }

Tensor input_grad(const Backward& b) {
  const Steps steps = steps_of(b, b.tensor(1).ndim() - 2);
  const int64_t groups = b.integer(8);
  if (is_empty(b)) return zeros(b.shape(0), b.grad().dtype());
  const Tensor weight = conj(b.tensor(1));
  return b.boolean(6) ? y_from(b.grad(), weight, steps, groups, b.shape(0))
                      : x_from(b.grad(), weight, steps, groups, b.shape(0));
}

Tensor weight_grad(const Backward& b) {
  if (is_empty(b)) return zeros(b.shape(1), b.grad().dtype());
  const Steps steps = steps_of(b, static_cast<int64_t>(b.shape(1).size()) - 2);
  const Tensor input = conj(b.tensor(0));
  return b.boolean(6) ? weight_from(b.grad(), input, steps, b.integer(8), b.shape(1))
                      : weight_from(input, b.grad(), steps, b.integer(8), b.shape(1));
}

Tensor bias_grad(const Backward& b) {
  if (is_empty(b)) return zeros(b.shape(2), b.grad().dtype());
  Dims dims{0};
  for (int64_t i = 2; i < b.grad().ndim(); ++i) dims.push_back(i);
  return sum(b.grad(), dims);
}

Steps weight_steps(const Backward& b) {
  return {Dims(b.integers(3)), Dims(b.integers(4)), Dims(b.integers(5)), {}};
}

void register_kernels(Registry& r) {
  r.add(
      {.schema =
           "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
       .doc =
           "A convolution over as many dimensions as the weight has beyond two, or a transposed one. conv2d() and its siblings are more convenient.\n\n"
           ">>> x, w = wisp.tensor([[[1., 2., 3.]]]), wisp.tensor([[[1., 10.]]])\n"
           ">>> wisp.convolution(x, w, None, [1], [0], [1], False, [0], 1)\ntensor([[[21., 32.]]])",
       .infer = infer_convolution,
       .kernel = convolution_kernel,
       .vjp = {{"input",
                "input.shape weight stride padding dilation transposed output_padding groups",
                input_grad},
               {"weight",
                "input weight.shape stride padding dilation transposed output_padding groups",
                weight_grad},
               {"bias", "bias.shape", bias_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Conv",
       .traits = trait::out | trait::awaited,
       .homes = home::function});
  r.add(
      {.schema =
           "_convolution_weight(Tensor x, Tensor y, int[] kernel_size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
       .doc = "The weight's gradient in convolution(), from both images.",
       .infer = infer_convolution_weight,
       .kernel = convolution_weight_kernel,
       .vjp = {{"x", "x.shape y stride padding dilation groups",
                [](const Backward& b) {
                  return x_from(conj(b.tensor(1)), b.grad(), weight_steps(b), b.integer(6),
                                b.shape(0));
                }},
               {"y", "x y.shape stride padding dilation groups",
                [](const Backward& b) {
                  return y_from(conj(b.tensor(0)), b.grad(), weight_steps(b), b.integer(6),
                                b.shape(1));
                }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "- exported as part of a gradient only",
       .homes = home::internal});
}

// --- conv1d, conv2d, conv3d (input, weight, bias, stride, padding, dilation, groups) and
// conv_transpose1d, ... (input, weight, bias, stride, padding, output_padding, groups, dilation)

// Runs f on a batch: of one, if the input has no dimension for it.
template <class F>
void batched(const Args& args, int64_t dims, TensorList& outs, F f) {
  const Tensor& input = args.tensor(0);
  const int64_t ndim = input.ndim();
  WISP_CHECK(ndim == dims + 1 || ndim == dims + 2, "Expected ", dims + 1, "D (unbatched) or ",
             dims + 2, "D (batched) input to ", args.name(),
             ", but got input of size: ", input.sizes());
  if (ndim == dims + 2) return outs.push(f(input));
  outs.push(invoke<"squeeze.dim">(f(unsqueeze(input, 0)), int64_t(0)));
}

template <int dims>
void conv_body(const Args& args, TensorList& outs) {
  batched(args, dims, outs, [&](const Tensor& input) {
    static constexpr int64_t none[dims] = {};
    return invoke<"convolution">(input, args[1], args[2], args[3], args[4], args[5], false,
                                 IntSpan(none), args[6]);
  });
}

template <int dims>
void conv_transpose_body(const Args& args, TensorList& outs) {
  batched(args, dims, outs, [&](const Tensor& input) {
    return invoke<"convolution">(input, args[1], args[2], args[3], args[4], args[7], true, args[5],
                                 args[6]);
  });
}

// The padding that keeps the sizes. If it is odd, there is one more at the end, which the input
// gets beforehand.
Tensor conv_same(const Args& args, const Tensor& input) {
  const Tensor& weight = args.tensor(1);
  const int64_t dims = weight.ndim() - 2;
  WISP_CHECK(dims > 0, "weight should have at least three dimensions");
  WISP_CHECK(input.ndim() == weight.ndim(), "Expected ", weight.ndim(), "-dimensional input for ",
             weight.ndim(), "-dimensional weight ", weight.sizes(), ", but got ", input.ndim(),
             "-dimensional input of size ", input.sizes(), " instead");
  const Dims stride = expand_to(args.integers(3), dims, "stride"),
             dilation = expand_to(args.integers(5), dims, "dilation");
  for (int64_t step : stride)
    WISP_CHECK(step == 1, "padding='same' is not supported for strided convolutions");
  WISP_CHECK(!any_below(dilation, 1), "dilation should be greater than zero, but got ", dilation);
  Dims padding, ends(static_cast<size_t>(2 * dims), 0);
  bool odd = false;
  for (int64_t i = 0; i < dims; ++i) {
    const int64_t total =
        narrowed(Wide(dilation[static_cast<size_t>(i)]) * (weight->size(i + 2) - 1));
    padding.push_back(std::max<int64_t>(total, 0) / 2);
    ends[static_cast<size_t>(2 * (dims - 1 - i) + 1)] = std::max<int64_t>(total, 0) % 2;
    odd = odd || total % 2 == 1;
  }
  const Tensor padded = odd ? constant_pad_nd(input, ends, 0) : input;
  return invoke<"convolution">(padded, weight, args[2], stride, padding, dilation, false,
                               Dims(static_cast<size_t>(dims), 0), args[6]);
}

template <int dims>
void conv_padding_body(const Args& args, TensorList& outs) {
  const std::string_view padding = args.string(4);
  WISP_CHECK(padding == "same" || padding == "valid", "Invalid padding string: '", padding, "'");
  batched(args, dims, outs, [&](const Tensor& input) {
    if (padding == "same") return conv_same(args, input);
    static constexpr int64_t none[dims] = {};
    return invoke<"convolution">(input, args[1], args[2], args[3], IntSpan(none), args[5], false,
                                 IntSpan(none), args[6]);
  });
}

constexpr uint32_t homes = home::function | home::functional;

void register_conv(Registry& r) {
  r.add(
      {.schema =
           "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Sums of windows along the last dimension, weighted: input (N, C, L) or (C, L), weight (channels out, C / groups, size of the window).\n\n"
           ">>> wisp.conv1d(wisp.tensor([[1., 2., 3.]]), wisp.tensor([[[1., 10.]]]), padding=1)\ntensor([[10., 21., 32.,  3.]])",
       .body = conv_body<1>,
       .onnx = "Conv",
       .homes = homes});
  r.add(
      {.schema =
           "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str padding=\"valid\", int[1] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Padding 'same' keeps the length, 'valid' is none.\n\n"
           ">>> wisp.conv1d(wisp.tensor([[1., 2., 3.]]), wisp.tensor([[[1., 10.]]]), padding='same')\ntensor([[21., 32.,  3.]])",
       .body = conv_padding_body<1>,
       .onnx = "Conv",
       .homes = homes});
  r.add(
      {.schema =
           "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Sums of windows over the last two dimensions, weighted: input (N, C, H, W) or (C, H, W), weight (channels out, C / groups, height, width).\n\n"
           ">>> wisp.conv2d(wisp.ones(1, 1, 3, 3), wisp.ones(1, 1, 2, 2))\ntensor([[[[4., 4.],\n          [4., 4.]]]])",
       .body = conv_body<2>,
       .onnx = "Conv",
       .homes = homes});
  r.add(
      {.schema =
           "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding=\"valid\", int[2] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Padding 'same' keeps height and width, 'valid' is none.\n\n"
           ">>> wisp.conv2d(wisp.ones(1, 1, 2, 2), wisp.ones(1, 1, 3, 3), padding='same')\ntensor([[[[4., 4.],\n          [4., 4.]]]])",
       .body = conv_padding_body<2>,
       .onnx = "Conv",
       .homes = homes});
  r.add(
      {.schema =
           "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Sums of windows over the last three dimensions, weighted: input (N, C, D, H, W) or (C, D, H, W), weight (channels out, C / groups, depth, height, width).\n\n"
           ">>> wisp.conv3d(wisp.ones(1, 2, 2, 2), wisp.ones(1, 1, 2, 2, 2))\ntensor([[[[8.]]]])",
       .body = conv_body<3>,
       .onnx = "Conv",
       .homes = homes});
  r.add(
      {.schema =
           "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding=\"valid\", int[3] dilation=1, int groups=1) -> Tensor",
       .doc =
           "Padding 'same' keeps depth, height and width, 'valid' is none.\n\n"
           ">>> wisp.conv3d(wisp.ones(1, 1, 1, 2), wisp.ones(1, 1, 3, 3, 3), padding='same')\ntensor([[[[2., 2.]]]])",
       .body = conv_padding_body<3>,
       .onnx = "Conv",
       .homes = homes});
}

void register_conv_transpose(Registry& r) {
  r.add(
      {.schema =
           "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, int groups=1, int[1] dilation=1) -> Tensor",
       .doc =
           "Every element of the input spread over a window along the last dimension: the reverse of conv1d() in shapes, and its gradient. The weight is (C, channels out / groups, size of the window).\n\n"
           ">>> wisp.conv_transpose1d(wisp.tensor([[1., 2.]]), wisp.tensor([[[1., 10.]]]), stride=2)\ntensor([[ 1., 10.,  2., 20.]])",
       .body = conv_transpose_body<1>,
       .onnx = "ConvTranspose",
       .homes = homes});
  r.add(
      {.schema =
           "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, int groups=1, int[2] dilation=1) -> Tensor",
       .doc =
           "Every element of the input spread over a window of the last two dimensions: the reverse of conv2d() in shapes, and its gradient.\n\n"
           ">>> wisp.conv_transpose2d(wisp.ones(1, 1, 2, 2), wisp.ones(1, 1, 2, 2))\ntensor([[[[1., 2., 1.],\n          [2., 4., 2.],\n          [1., 2., 1.]]]])",
       .body = conv_transpose_body<2>,
       .onnx = "ConvTranspose",
       .homes = homes});
  r.add(
      {.schema =
           "conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, int groups=1, int[3] dilation=1) -> Tensor",
       .doc =
           "Every element of the input spread over a window of the last three dimensions: the reverse of conv3d() in shapes, and its gradient.\n\n"
           ">>> wisp.conv_transpose3d(wisp.ones(1, 1, 1, 2), wisp.ones(1, 1, 1, 1, 2))\ntensor([[[[1., 2., 1.]]]])",
       .body = conv_transpose_body<3>,
       .onnx = "ConvTranspose",
       .homes = homes});
}

// --- conv_tbc(self, weight, bias, pad): time first, channels last

void conv_tbc_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &weight = args.tensor(1), &bias = args.tensor(2);
  WISP_CHECK(self.ndim() == 3, "Input must have 3 dims: time, batch, in_channel");
  WISP_CHECK(weight.ndim() == 3,
             "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.");
  WISP_CHECK(bias.ndim() == 1, "Bias must be 1-D");
  WISP_CHECK(self->size(2) == weight->size(1),
             "Input dim 2 (input channels) is not == dim 1 in the weight tensor");
  WISP_CHECK(bias->size(0) == weight->size(2),
             "Bias size must equal dim 2 in the weight tensor (output channels).");
  const Dims one{1}, zero{0}, pad{args.integer(3)};
  const Tensor out =
      invoke<"convolution">(permute(self, Dims{1, 2, 0}), permute(weight, Dims{2, 1, 0}), bias, one,
                            pad, one, false, zero, int64_t(1));
  outs.push(contiguous(permute(out, Dims{2, 0, 1})));
}

void register_conv_tbc(Registry& r) {
  r.add(
      {.schema = "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
       .doc =
           "conv1d() of input (time, batch, channels) with a weight (size of the window, channels in, channels out).\n\n"
           ">>> wisp.conv_tbc(wisp.ones(3, 1, 1), wisp.ones(2, 1, 1), wisp.zeros(1)).flatten()\ntensor([2., 2.])",
       .body = conv_tbc_body,
       .onnx = "Conv",
       .homes = homes});
}

}  // namespace

void register_convolution(Registry& r) {
  install_awaiting();
  register_kernels(r);
  register_conv(r);
  register_conv_transpose(r);
  register_conv_tbc(r);
}

}  // namespace wisp::ops
