// Maxima of windows, and what all kinds of pooling share.
#include "ops/pool.h"

#include "ops/arranged.h"
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

Dims per_dim(const Args& args, int i, int64_t dims) {
  const IntSpan given = args.integers(i);
  const size_t n = static_cast<size_t>(dims);
  constexpr const char* words[] = {"", "one int", "two ints", "three ints"};
  WISP_CHECK(given.size() == 1 || given.size() == n, args.name(), ": ",
             args.op().sig.params[static_cast<size_t>(i)].name,
             " must either be a single int, or a tuple of ", words[n]);
  return given.size() == n ? Dims(given) : Dims(n, given[0]);
}

Dims stride_or(const Args& args, int i, const Dims& kernel) {
  if (!args.has(i) || args.integers(i).empty()) return kernel;
  return per_dim(args, i, static_cast<int64_t>(kernel.size()));
}

void check_image(const Args& args, const Tensor& self, int64_t dims) {
  bool filled = self.ndim() == dims + 1 || self.ndim() == dims + 2;
  for (int64_t i = self.ndim() == dims + 2; i < self.ndim(); ++i)
    filled = filled && self->size(i) > 0;
  WISP_CHECK(
      filled, args.name(), "(): Expected ", dims + 1, "D or ", dims + 2,
      "D (batch mode) tensor with optional 0 dim batch size for input, but got: ", self.sizes());
}

namespace {

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode) {
  const int64_t last = in + 2 * padding - dilation * (kernel - 1) - 1;  // place of the last window
  int64_t steps = (last + (ceil_mode ? stride - 1 : 0)) / stride;
  if (last + (ceil_mode ? stride - 1 : 0) < 0) steps = -1;
  // Every window starts inside the input or in front of it.
  if (ceil_mode && steps * stride >= in + padding) --steps;
  return steps + 1;
}

void check_positive(const Args& args, const char* what, IntSpan values) {
  for (int64_t value : values)
    WISP_CHECK(value > 0, args.name(), "(): ", what, " should be greater than zero, but got ",
               values);
}

void check_padding(const Geometry& g, size_t d) {
  WISP_CHECK(g.padding[d] >= 0, "pad must be non-negative, but got pad: ", g.padding[d]);
  WISP_CHECK(g.padding[d] <= g.kernel[d] / 2,
             "pad should be at most half of effective kernel size, but got pad=", g.padding[d],
             ", kernel_size=", g.kernel[d], " and dilation=", g.dilation[d]);
}

}  // namespace

Geometry geometry(const Args& args, IntSpan in, int dilation, int ceil_mode) {
  const int64_t dims = static_cast<int64_t>(in.size());
  Geometry g;
  g.kernel = per_dim(args, 1, dims);
  g.stride = stride_or(args, 2, g.kernel);
  g.padding = per_dim(args, 3, dims);
  g.dilation = dilation ? per_dim(args, dilation, dims) : Dims(in.size(), 1);
  check_positive(args, "kernel size", g.kernel);
  check_positive(args, "stride", g.stride);
  check_positive(args, "dilation", g.dilation);
  for (size_t d = 0; d < in.size(); ++d) {
    check_padding(g, d);
    g.out.push_back(pooled_size(in[d], g.kernel[d], g.stride[d], g.padding[d], g.dilation[d],
                                args.boolean(ceil_mode)));
  }
  for (int64_t size : g.out)
    WISP_CHECK(size >= 1, args.name(), "(): Given input size: ", in,
               ". Calculated output size: ", g.out, ". Output size is too small");
  return g;
}

void check_adaptive(const Args& args, const Tensor& self, IntSpan out) {
  const int64_t dims = static_cast<int64_t>(out.size());
  WISP_CHECK(self.ndim() == dims + 1 || self.ndim() == dims + 2, args.name(), "(): Expected ",
             dims + 1, "D or ", dims + 2, "D tensor, but got ", self.sizes());
  for (int64_t i = self.ndim() == dims + 2; i < self.ndim(); ++i)
    WISP_CHECK(self->size(i) > 0 || i == 0, args.name(),
               "(): Expected input to have non-zero size for non-batch dimensions, but input has "
               "sizes ",
               self.sizes(), " with dimension ", i, " being empty");
  for (int64_t size : out)
    WISP_CHECK(size >= 0, args.name(),
               "(): elements of output_size must be greater than or equal "
               "to 0 but received ",
               out);
}

void check_line(const Args& args) {
  WISP_CHECK(args.tensor(0).ndim() == 2 || args.tensor(0).ndim() == 3, args.name(),
             "() Expected 2D or 3D input tensor, but got ", args.tensor(0).sizes());
}

Dims with_row(const Args& args, int i, int64_t row) { return {row, per_dim(args, i, 1)[0]}; }

Dims stride_with_row(const Args& args, int i, const Dims& kernel) {
  return args.has(i) && !args.integers(i).empty() ? with_row(args, i, 1) : kernel;
}

Tensor drop_row(const Tensor& image) { return invoke<"squeeze.dim">(image, -2); }

Tensor pool_gather(const Tensor& image, const Tensor& indices, int64_t dims) {
  const int64_t first = indices.ndim() - dims;
  const Tensor picked = gather(flatten(image, first), -1, flatten(indices, first));
  return view(picked, indices.sizes());
}

namespace {

// The dtype that maxima are found in: exact for all that are taken to it.
DType max_dtype(DType dtype) { return is_integral(dtype) ? DType::int64 : dtype; }

// --- Maxima: (self, kernel_size, stride, padding, dilation, ceil_mode[, return_indices])

void run_max(const Call& call, std::vector<cpu::Windows> windows) {
  const Tensor& self = call.tensor(0);
  const DType dtype = max_dtype(self.dtype());
  const Target target(call.out(), dtype);
  const bool indexed = call.op().sig.returns.size() == 2;
  const bool stays = can_arrange(target.work()) && (!indexed || can_arrange(call.out(1)));
  const Image image(self, static_cast<int64_t>(windows.size()), dtype, stays);
  cpu::max_pool(
      {.dtype = dtype,
       .shape = image.shape,
       .windows = std::move(windows),
       .x = image.bytes(),
       .y = image.target(target.work()),
       .index = indexed ? reinterpret_cast<int64_t*>(image.target(call.out(1))) : nullptr});
  target.finish();
}

void push_max(Infer& infer, IntSpan out) {
  const Tensor& self = infer.tensor(0);
  if (!contains(dtypes::real, self.dtype())) fail_not_implemented(infer.name(), self.dtype());
  push_image(infer, self, out, self.dtype());
  if (infer.op().sig.returns.size() == 2) push_image(infer, self, out, DType::int64);
}

template <int dims>
void infer_max_pool(Infer& infer) {
  check_image(infer, infer.tensor(0), dims);
  push_max(infer, geometry(infer, image_sizes(infer.tensor(0), dims), 4, 5).out);
}

template <int dims>
void max_pool_kernel(const Call& call) {
  const IntSpan in = image_sizes(call.tensor(0), dims);
  const Geometry g = geometry(call, in, 4, 5);
  std::vector<cpu::Windows> windows;
  for (size_t d = 0; d < dims; ++d)
    windows.push_back(
        cpu::pool_windows(in[d], g.out[d], g.kernel[d], g.stride[d], g.padding[d], g.dilation[d]));
  run_max(call, std::move(windows));
}

template <int dims>
Tensor max_pool_grad(const Backward& b) {
  return invoke<"_pool_scatter">(b.grad(), b.out(1), b.shape(0).last(dims));
}

// Of maxima found without their indices: they are found again.
template <int dims>
Tensor max_pool_grad_later(const Backward& b) {
  constexpr OpName name =
      dims == 2 ? OpName("max_pool2d_with_indices") : OpName("max_pool3d_with_indices");
  const std::vector<Tensor> both =
      invoke_many<name>(detach(b.tensor(0)), b[1], b[2], b[3], b[4], b[5], false);
  return invoke<"_pool_scatter">(b.grad(), both[1], b.shape(0).last(dims));
}

// --- _pool_scatter(grad, indices, size): adds gradients up at the indices they come from

void infer_pool_scatter(Infer& infer) {
  push_image(infer, infer.tensor(0), infer.integers(2), infer.tensor(0).dtype());
}

// Indices of arranged images: gradients are brought into their order.
bool scatter_arranged(const Call& call, int64_t dims) {
  const Tensor &grad = call.tensor(0), &indices = call.tensor(1), &out = call.out();
  const Tensor* images[] = {&indices, &grad};
  const std::optional<Arrangement> order = order_of({images, 1}, grad.sizes());
  if (!order || indices.dtype() != DType::int64 || grad.ndim() != dims + 2 || !can_arrange(out))
    return false;
  const InOrder read(images, grad.sizes(), *order);
  const int64_t in = count_elements(call.integers(2));
  cpu::pool_scatter({.dtype = grad.dtype(),
                     .shape = {grad->size(0) * order->channels / order->block, order->block},
                     .in = in,
                     .out = order->pixels,
                     .index = reinterpret_cast<int64_t*>(read.data(0)),
                     .grad = read.data(1),
                     .x_grad = arrange(out, {order->channels, in, order->block})});
  return true;
}

void pool_scatter_kernel(const Call& call) {
  const int64_t dims = static_cast<int64_t>(call.integers(2).size());
  const Tensor& grad = call.tensor(0);
  if (scatter_arranged(call, dims)) return;
  const Image image(grad, dims, grad.dtype(), false);
  const Tensor indices = in_layout(call.tensor(1), image.pixels, DType::int64);
  cpu::pool_scatter({.dtype = grad.dtype(),
                     .shape = image.shape,
                     .in = count_elements(call.integers(2)),
                     .out = count_elements(image_sizes(grad, dims)),
                     .index = indices.data<int64_t>(),
                     .grad = image.bytes(),
                     .x_grad = call.out()->bytes()});
}

// --- Windows that cover the input: (self, output_size, return_indices)

template <int dims>
void infer_adaptive_max(Infer& infer) {
  const Dims out = per_dim(infer, 1, dims);
  check_adaptive(infer, infer.tensor(0), out);
  if (!is_floating(infer.tensor(0).dtype()))
    fail_not_implemented(infer.name(), infer.tensor(0).dtype());
  push_max(infer, out);
}

template <int dims>
void adaptive_max_kernel(const Call& call) {
  if (call.out().numel() == 0) return;
  const IntSpan in = image_sizes(call.tensor(0), dims), out = image_sizes(call.out(), dims);
  std::vector<cpu::Windows> windows;
  for (size_t d = 0; d < dims; ++d) windows.push_back(cpu::adaptive_windows(in[d], out[d]));
  run_max(call, std::move(windows));
}

// --- Functions that pass their arguments on

void max_pool1d_body(const Args& args, TensorList& outs) {
  check_line(args);
  const Dims kernel = with_row(args, 1, 1), padding = with_row(args, 3, 0),
             dilation = with_row(args, 4, 1);
  const Dims stride = stride_with_row(args, 2, kernel);
  const Tensor image = unsqueeze(args.tensor(0), -2);
  const bool indexed = args.op().sig.returns.size() == 2;
  if (!indexed) {
    return outs.push(
        drop_row(invoke<"max_pool2d">(image, kernel, stride, padding, dilation, args[5], false)));
  }
  for (const Tensor& t : invoke_many<"max_pool2d_with_indices">(image, kernel, stride, padding,
                                                                dilation, args[5], false))
    outs.push(drop_row(t));
}

// Indices are kept where a derivative may need them.
template <OpName Indexed, OpName Plain>
void max_pool_body(const Args& args, TensorList& outs) {
  if (differentiated(args.tensor(0))) {
    outs.push(invoke<Indexed>(args[0], args[1], args[2], args[3], args[4], args[5], false));
  } else {
    outs.push(invoke<Plain>(args[0], args[1], args[2], args[3], args[4], args[5]));
  }
}

template <OpName Indexed>
void max_pool_indexed_body(const Args& args, TensorList& outs) {
  for (const Tensor& t :
       invoke_many<Indexed>(args[0], args[1], args[2], args[3], args[4], args[5], false))
    outs.push(t);
}

void adaptive_max_pool1d_body(const Args& args, TensorList& outs) {
  const Dims out{1, per_dim(args, 1, 1)[0]};
  check_adaptive(args, args.tensor(0), IntSpan(out).last(1));
  for (const Tensor& t :
       invoke_many<"adaptive_max_pool2d_with_indices">(unsqueeze(args.tensor(0), -2), out, false))
    outs.push(drop_row(t));
}
void register_planes(Registry& r) {
  r.add(
      {.schema =
           "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, bool return_indices=False) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index in its plane.\n\n>>> wisp.nn.functional.max_pool2d_with_indices(wisp.tensor([[[1., 3.], [2., 0.]]]), 2)[1]\ntensor([[[1]]])",
       .infer = infer_max_pool<2>,
       .kernel = max_pool_kernel<2>,
       .vjp = {{"self", "self.shape result1", max_pool_grad<2>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "MaxPool",
       .homes = home::functional,
       .node = "MaxPool2DWithIndicesBackward0"});
  r.add(
      {.schema =
           "_max_pool2d(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
       .doc = "The largest element of every window.",
       .infer = infer_max_pool<2>,
       .kernel = max_pool_kernel<2>,
       .vjp = {{"self", "self kernel_size stride padding dilation ceil_mode",
                max_pool_grad_later<2>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "MaxPool",
       .traits = trait::awaited,
       .homes = home::internal});
  r.add(
      {.schema =
           "max_pool2d(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, False return_indices=False) -> Tensor",
       .doc =
           "The largest element of every window; with `return_indices`, also its index in its plane.\n\n>>> wisp.nn.functional.max_pool2d(wisp.tensor([[[1., 3.], [2., 0.]]]), 2)\ntensor([[[3.]]])",
       .body = max_pool_body<"max_pool2d_with_indices", "_max_pool2d">,
       .onnx = "MaxPool",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "max_pool2d.indices(Tensor self, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, True return_indices) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index in its plane.\n\n>>> wisp.nn.functional.max_pool2d(wisp.tensor([[[1., 3.], [2., 0.]]]), 2, return_indices=True)[1]\ntensor([[[1]]])",
       .body = max_pool_indexed_body<"max_pool2d_with_indices">,
       .onnx = "MaxPool",
       .homes = home::functional});
  r.add(
      {.schema =
           "max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, bool return_indices=False) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index in its plane.\n\n>>> wisp.nn.functional.max_pool3d_with_indices(wisp.tensor([[[[1., 3.], [2., 0.]]]]), (1, 2, 2))[1]\ntensor([[[[1]]]])",
       .infer = infer_max_pool<3>,
       .kernel = max_pool_kernel<3>,
       .vjp = {{"self", "self.shape result1", max_pool_grad<3>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "MaxPool",
       .homes = home::functional,
       .node = "MaxPool3DWithIndicesBackward0"});
  r.add(
      {.schema =
           "_max_pool3d(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor",
       .doc = "The largest element of every window.",
       .infer = infer_max_pool<3>,
       .kernel = max_pool_kernel<3>,
       .vjp = {{"self", "self kernel_size stride padding dilation ceil_mode",
                max_pool_grad_later<3>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "MaxPool",
       .homes = home::internal});
  r.add(
      {.schema =
           "max_pool3d(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, False return_indices=False) -> Tensor",
       .doc =
           "The largest element of every window; with `return_indices`, also its index in its plane.\n\n>>> wisp.nn.functional.max_pool3d(wisp.tensor([[[[1., 3.], [2., 0.]]]]), (1, 2, 2))\ntensor([[[[3.]]]])",
       .body = max_pool_body<"max_pool3d_with_indices", "_max_pool3d">,
       .onnx = "MaxPool",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "max_pool3d.indices(Tensor self, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, True return_indices) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index in its plane.\n\n>>> wisp.nn.functional.max_pool3d(wisp.tensor([[[[1., 3.], [2., 0.]]]]), (1, 2, 2), return_indices=True)[1]\ntensor([[[[1]]]])",
       .body = max_pool_indexed_body<"max_pool3d_with_indices">,
       .onnx = "MaxPool",
       .homes = home::functional});
}

void register_lines(Registry& r) {
  r.add(
      {.schema =
           "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, bool return_indices=False) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index.\n\n>>> wisp.nn.functional.max_pool1d_with_indices(wisp.tensor([[1., 3., 2., 0.]]), 2)[1]\ntensor([[1, 2]])",
       .body = max_pool1d_body,
       .onnx = "MaxPool",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "max_pool1d(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, False return_indices=False) -> Tensor",
       .doc =
           "The largest element of every window; with `return_indices`, also its index.\n\n>>> wisp.nn.functional.max_pool1d(wisp.tensor([[1., 3., 2., 0.]]), 2)\ntensor([[3., 2.]])",
       .body = max_pool1d_body,
       .onnx = "MaxPool",
       .homes = home::function | home::functional});
  r.add(
      {.schema =
           "max_pool1d.indices(Tensor self, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, True return_indices) -> (Tensor, Tensor)",
       .doc =
           "The largest element of every window, and its index.\n\n>>> wisp.nn.functional.max_pool1d(wisp.tensor([[1., 3., 2., 0.]]), 2, return_indices=True)[1]\ntensor([[1, 2]])",
       .body = max_pool1d_body,
       .onnx = "MaxPool",
       .homes = home::functional});
}

void register_adaptive(Registry& r) {
  r.add(
      {.schema =
           "adaptive_max_pool2d_with_indices(Tensor self, int[2] output_size, bool return_indices=False) -> (Tensor, Tensor)",
       .doc =
           "The largest elements of windows that cover the input, as many as asked for, and their indices.\n\n>>> wisp.nn.functional.adaptive_max_pool2d_with_indices(wisp.tensor([[[1., 3.], [2., 0.]]]), 1)[1]\ntensor([[[1]]])",
       .infer = infer_adaptive_max<2>,
       .kernel = adaptive_max_kernel<2>,
       .vjp = {{"self", "self.shape result1", max_pool_grad<2>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ Slices",
       .homes = home::functional,
       .node = "AdaptiveMaxPool2DBackward0"});
  r.add(
      {.schema =
           "adaptive_max_pool3d_with_indices(Tensor self, int[3] output_size, bool return_indices=False) -> (Tensor, Tensor)",
       .doc =
           "The largest elements of windows that cover the input, as many as asked for, and their indices.\n\n>>> wisp.nn.functional.adaptive_max_pool3d_with_indices(wisp.tensor([[[[1., 3.], [2., 0.]]]]), 1)[1]\ntensor([[[[1]]]])",
       .infer = infer_adaptive_max<3>,
       .kernel = adaptive_max_kernel<3>,
       .vjp = {{"self", "self.shape result1", max_pool_grad<3>}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ Slices",
       .homes = home::functional,
       .node = "AdaptiveMaxPool3DBackward0"});
  r.add(
      {.schema = "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
       .doc =
           "The largest elements of windows that cover the input, as many as asked for, and their indices.\n\n>>> wisp.adaptive_max_pool1d(wisp.tensor([[1., 3., 2.]]), 1)[1]\ntensor([[1]])",
       .body = adaptive_max_pool1d_body,
       .onnx = "+ Slices",
       .homes = home::function});
}

}  // namespace

void register_pool(Registry& r) {
  register_planes(r);
  register_lines(r);
  register_adaptive(r);
  r.add({.schema = "_pool_scatter(Tensor grad, Tensor indices, int[] size) -> Tensor",
         .doc = "Gradients of maxima, added up where the maxima came from.",
         .infer = infer_pool_scatter,
         .kernel = pool_scatter_kernel,
         .vjp = {{"grad", "indices size",
                  [](const Backward& b) {
                    return pool_gather(b.grad(), b.tensor(1),
                                       static_cast<int64_t>(b.integers(2).size()));
                  }}},
         .jvp = Jvp::transposed,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
}
}  // namespace wisp::ops
