// Means of windows.
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pool.h"

namespace wisp::ops {

namespace {

// --- Means: (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override),
// and the same with the sizes of the image as the last argument for the derivative

cpu::PoolWindow window_of(const Args& args, const Geometry& g, size_t d) {
  return {g.kernel[d], g.stride[d], g.padding[d], g.out[d], args.boolean(5), args.has(6)};
}

std::vector<cpu::Taps> average_taps(const Args& args, const Geometry& g, IntSpan in, bool integer) {
  std::vector<cpu::Taps> taps;
  for (size_t d = 0; d < in.size(); ++d) {
    cpu::PoolWindow window = window_of(args, g, d);
    window.sum = window.sum || integer;
    taps.push_back(cpu::pool_taps(in[d], window));
  }
  if (args.has(6) && !integer) {
    for (double& weight : taps.back().weight) weight /= static_cast<double>(args.integer(6));
  }
  return taps;
}

void run_resample(const Call& call, std::vector<cpu::Taps> taps, DType dtype,
                  const Target& target) {
  const Image image(call.tensor(0), static_cast<int64_t>(taps.size()), dtype,
                    can_arrange(target.work()));
  cpu::resample({.dtype = dtype,
                 .shape = image.shape,
                 .taps = std::move(taps),
                 .x = image.bytes(),
                 .y = image.target(target.work())});
}

void check_divisor(const Args& args) {
  WISP_CHECK(!args.has(6) || args.integer(6) != 0, "divisor must be not zero");
}

template <int dims>
void infer_avg_pool(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_image(infer, self, dims);
  check_divisor(infer);
  if (!is_floating(self.dtype()) && self.dtype() != DType::int64)
    fail_not_implemented(infer.name(), self.dtype());
  const IntSpan in = image_sizes(self, dims);
  const Geometry g = geometry(infer, in, 0, 4);
  for (size_t d = 0; d < 3 && dims == 3; ++d)
    WISP_CHECK(in[d] >= g.kernel[d], "input image ", in, " smaller than kernel size ", g.kernel);
  push_image(infer, self, g.out, self.dtype());
}

// How many elements each sum along one dimension is divided by.
std::vector<int64_t> divisors(const cpu::PoolWindow& window, int64_t in) {
  std::vector<int64_t> result;
  for (int64_t o = 0; o < window.out; ++o) {
    const int64_t begin = o * window.stride - window.padding;
    const int64_t end = std::min(begin + window.kernel, in + window.padding);
    result.push_back(window.count_padding ? end - begin
                                          : std::min(end, in) - std::max<int64_t>(begin, 0));
  }
  return result;
}

// Integers are added up in double and divided as integers.
void integer_average(const Call& call, const Geometry& g, IntSpan in) {
  const int64_t dims = static_cast<int64_t>(in.size());
  const Tensor& out = call.out();
  const Tensor sums = Tensor::empty_strided(out.sizes(), out.strides(), DType::float64);
  run_resample(call, average_taps(call, g, in, true), DType::float64, Target(sums, DType::float64));
  const Tensor dense = consecutive(sums), whole = Tensor::empty(out.sizes(), DType::int64);
  std::vector<std::vector<int64_t>> divisor;
  for (size_t d = 0; d < in.size(); ++d) divisor.push_back(divisors(window_of(call, g, d), in[d]));
  for (int64_t i = 0; i < out.numel(); ++i) {
    int64_t by = 1, rest = i;
    for (int64_t d = dims; d-- > 0;) {
      const int64_t size = g.out[static_cast<size_t>(d)];
      by *= divisor[static_cast<size_t>(d)][static_cast<size_t>(rest % size)];
      rest /= size;
    }
    if (call.has(6)) by = call.integer(6);
    whole.data<int64_t>()[i] = static_cast<int64_t>(dense.data<double>()[i]) / by;
  }
  copy_raw(out, whole);
}

template <int dims>
void avg_pool_kernel(const Call& call) {
  const IntSpan in = image_sizes(call.tensor(0), dims);
  const Geometry g = geometry(call, in, 0, 4);
  if (call.out().dtype() == DType::int64) return integer_average(call, g, in);
  const DType dtype = math_dtype(call.out().dtype());
  const Target target(call.out(), dtype);
  run_resample(call, average_taps(call, g, in, false), dtype, target);
  target.finish();
}

Tensor avg_pool_grad(const Backward& b) {
  const size_t dims = b.op().sig.base == "avg_pool2d" ? 2 : 3;
  return invoke<"_avg_pool_grad">(b.grad(), b[1], b[2], b[3], b[4], b[5], b[6],
                                  b.shape(0).last(dims));
}

void avg_pool_grad_kernel(const Call& call) {
  const IntSpan in = call.integers(7);
  std::vector<cpu::Taps> taps = average_taps(call, geometry(call, in, 0, 4), in, false);
  for (cpu::Taps& along : taps) along = cpu::transposed(along);
  const DType dtype = math_dtype(call.out().dtype());
  const Target target(call.out(), dtype);
  run_resample(call, std::move(taps), dtype, target);
  target.finish();
}

Tensor avg_pool_grad_grad(const Backward& b) {
  return b.integers(7).size() == 2
             ? invoke<"avg_pool2d">(b.grad(), b[1], b[2], b[3], b[4], b[5], b[6])
             : invoke<"avg_pool3d">(b.grad(), b[1], b[2], b[3], b[4], b[5], b[6]);
}

// --- Windows that cover the input: (self, output_size)

template <int dims>
void infer_adaptive_avg(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const Dims out = per_dim(infer, 1, dims);
  check_adaptive(infer, self, out);
  if (!is_floating(self.dtype())) fail_not_implemented(infer.name(), self.dtype());
  push_image(infer, self, out, self.dtype());
}

std::vector<cpu::Taps> adaptive_taps_for(IntSpan in, IntSpan out) {
  std::vector<cpu::Taps> taps;
  for (size_t d = 0; d < in.size(); ++d) taps.push_back(cpu::adaptive_taps(in[d], out[d]));
  return taps;
}

template <int dims>
void adaptive_avg_kernel(const Call& call) {
  if (call.out().numel() == 0) return;
  const DType dtype = math_dtype(call.out().dtype());
  const Target target(call.out(), dtype);
  run_resample(call,
               adaptive_taps_for(image_sizes(call.tensor(0), dims), image_sizes(call.out(), dims)),
               dtype, target);
  target.finish();
}

template <int dims>
Tensor adaptive_avg_grad(const Backward& b) {
  return invoke<"_adaptive_avg_pool_grad">(b.grad(), b.shape(0).last(dims));
}

void adaptive_avg_grad_kernel(const Call& call) {
  const IntSpan in = call.integers(1);
  const DType dtype = math_dtype(call.out().dtype());
  const Target target(call.out(), dtype);
  std::vector<cpu::Taps> taps =
      adaptive_taps_for(in, image_sizes(call.tensor(0), static_cast<int64_t>(in.size())));
  for (cpu::Taps& along : taps) along = cpu::transposed(along);
  run_resample(call, std::move(taps), dtype, target);
  target.finish();
}

Tensor adaptive_avg_grad_grad(const Backward& b) {
  const size_t dims = b.integers(1).size();
  const IntSpan out = b.shape(0).last(dims);
  return dims == 2 ? invoke<"adaptive_avg_pool2d">(b.grad(), out)
                   : invoke<"adaptive_avg_pool3d">(b.grad(), out);
}

void avg_pool1d_body(const Args& args, TensorList& outs) {
  check_line(args);
  const Dims kernel = with_row(args, 1, 1), padding = with_row(args, 3, 0);
  const Dims stride = stride_with_row(args, 2, kernel);
  outs.push(drop_row(invoke<"avg_pool2d">(unsqueeze(args.tensor(0), -2), kernel, stride, padding,
                                          args[4], args[5], Arg())));
}

void adaptive_avg_pool1d_body(const Args& args, TensorList& outs) {
  const Dims out{1, per_dim(args, 1, 1)[0]};
  check_adaptive(args, args.tensor(0), IntSpan(out).last(1));
  outs.push(drop_row(invoke<"adaptive_avg_pool2d">(unsqueeze(args.tensor(0), -2), out)));
}

}  // namespace

void register_avg_pool(Registry& r) {
  r.add(
      {.schema =
           "avg_pool2d(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       .doc =
           "The mean of every window.\n\n>>> wisp.nn.functional.avg_pool2d(wisp.tensor([[[1., 3.], [2., 0.]]]), 2)\ntensor([[[1.5000]]])",
       .infer = infer_avg_pool<2>,
       .kernel = avg_pool_kernel<2>,
       .vjp =
           {{"self",
             "self.shape kernel_size stride padding ceil_mode count_include_pad divisor_override",
             avg_pool_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "AveragePool",
       .homes = home::functional,
       .node = "AvgPool2DBackward0"});
  r.add(
      {.schema =
           "avg_pool3d(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
       .doc =
           "The mean of every window.\n\n>>> wisp.nn.functional.avg_pool3d(wisp.tensor([[[[1., 3.], [2., 0.]]]]), (1, 2, 2))\ntensor([[[[1.5000]]]])",
       .infer = infer_avg_pool<3>,
       .kernel = avg_pool_kernel<3>,
       .vjp =
           {{"self",
             "self.shape kernel_size stride padding ceil_mode count_include_pad divisor_override",
             avg_pool_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "AveragePool",
       .homes = home::functional,
       .node = "AvgPool3DBackward0"});
  r.add(
      {.schema =
           "_avg_pool_grad(Tensor grad, int[] kernel_size, int[]? stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override, int[] size) -> Tensor",
       .doc = "The derivative of avg_pool2d and avg_pool3d.",
       .infer =
           [](Infer& infer) {
             push_image(infer, infer.tensor(0), infer.integers(7), infer.tensor(0).dtype());
           },
       .kernel = avg_pool_grad_kernel,
       .vjp = {{"grad",
                "kernel_size stride padding ceil_mode count_include_pad divisor_override size",
                avg_pool_grad_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema = "adaptive_avg_pool2d(Tensor self, int[2] output_size) -> Tensor",
       .doc =
           "The means of windows that cover the input, as many as asked for.\n\n>>> wisp.nn.functional.adaptive_avg_pool2d(wisp.tensor([[[1., 3.], [2., 0.]]]), 1)\ntensor([[[1.5000]]])",
       .infer = infer_adaptive_avg<2>,
       .kernel = adaptive_avg_kernel<2>,
       .vjp = {{"self", "self.shape", adaptive_avg_grad<2>}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ Slices",
       .homes = home::functional,
       .node = "AdaptiveAvgPool2DBackward0"});
  r.add(
      {.schema = "adaptive_avg_pool3d(Tensor self, int[3] output_size) -> Tensor",
       .doc =
           "The means of windows that cover the input, as many as asked for.\n\n>>> wisp.nn.functional.adaptive_avg_pool3d(wisp.tensor([[[[1., 3.], [2., 0.]]]]), 1)\ntensor([[[[1.5000]]]])",
       .infer = infer_adaptive_avg<3>,
       .kernel = adaptive_avg_kernel<3>,
       .vjp = {{"self", "self.shape", adaptive_avg_grad<3>}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ Slices",
       .homes = home::functional,
       .node = "AdaptiveAvgPool3DBackward0"});
  r.add({.schema = "_adaptive_avg_pool_grad(Tensor grad, int[] size) -> Tensor",
         .doc = "The derivative of adaptive_avg_pool2d and adaptive_avg_pool3d.",
         .infer =
             [](Infer& infer) {
               push_image(infer, infer.tensor(0), infer.integers(1), infer.tensor(0).dtype());
             },
         .kernel = adaptive_avg_grad_kernel,
         .vjp = {{"grad", "grad.shape size", adaptive_avg_grad_grad}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
  r.add(
      {.schema =
           "avg_pool1d(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor",
       .doc =
           "The mean of every window.\n\n>>> wisp.avg_pool1d(wisp.tensor([[1., 3., 2., 0.]]), 2)\ntensor([[2., 1.]])",
       .body = avg_pool1d_body,
       .onnx = "AveragePool",
       .homes = home::function | home::functional});
  r.add(
      {.schema = "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
       .doc =
           "The means of windows that cover the input, as many as asked for.\n\n>>> wisp.adaptive_avg_pool1d(wisp.tensor([[1., 3., 2., 0.]]), 2)\ntensor([[2., 1.]])",
       .body = adaptive_avg_pool1d_body,
       .onnx = "+ Slices",
       .homes = home::function | home::functional});
}

}  // namespace wisp::ops
