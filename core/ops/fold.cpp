// Patches of images as columns, and back; blocks of pixels as channels, and back.
#include "cpu/fold.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/image.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

DType sum_dtype(DType dtype) { return math_dtype(dtype); }

int64_t product(const Args& args, int64_t a, int64_t b) {
  int64_t result;
  WISP_CHECK(!__builtin_mul_overflow(a, b, &result), args.name(), "(): the sizes overflow: ", a,
             " * ", b);
  return result;
}

// Arguments kernel_size, dilation, padding and stride, from position `first` on. What is small
// enough can be added up and multiplied in pairs.
cpu::PatchShape patches(const Args& args, int first, IntSpan image) {
  cpu::PatchShape shape{};
  const Dims kernel = per_dim(args, first, 2), dilation = per_dim(args, first + 1, 2),
             padding = per_dim(args, first + 2, 2), stride = per_dim(args, first + 3, 2);
  for (size_t d = 0; d < 2; ++d) {
    WISP_CHECK(kernel[d] > 0,
               "kernel size should be greater than zero, but got kernel_size: ", kernel);
    WISP_CHECK(dilation[d] > 0,
               "dilation should be greater than zero, but got dilation: ", dilation);
    WISP_CHECK(padding[d] >= 0, "padding should be non-negative, but got padding: ", padding);
    WISP_CHECK(stride[d] > 0, "stride should be greater than zero, but got stride: ", stride);
    WISP_CHECK(std::max({kernel[d], dilation[d], padding[d], stride[d]}) < (int64_t(1) << 31),
               args.name(),
               "(): sizes of patches have to be less than 2^31, but got kernel_size: ", kernel,
               ", dilation: ", dilation, ", padding: ", padding, ", stride: ", stride);
    const int64_t room = image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    shape.dims[d] = {image[d],   kernel[d], dilation[d],
                     padding[d], stride[d], room < 0 ? 0 : room / stride[d] + 1};
  }
  return shape;
}

// --- unfold(self, kernel_size, dilation, padding, stride)

void infer_unfold(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_image(infer, self, 2);
  const cpu::PatchShape shape = patches(infer, 1, image_sizes(self, 2));
  const int64_t count = product(infer, shape.dims[0].count, shape.dims[1].count);
  WISP_CHECK(count > 0, "Given input with spatial size ", image_sizes(self, 2),
             ", kernel_size=", per_dim(infer, 1, 2), ", dilation=", per_dim(infer, 2, 2),
             ", padding=", per_dim(infer, 3, 2), ", calculated shape of the array of sliding ",
             "blocks as [", shape.dims[0].count, ", ", shape.dims[1].count,
             "], but its components must be at least one.");
  Dims sizes(self.sizes().first(static_cast<size_t>(self.ndim() - 2)));
  sizes.back() = product(infer, sizes.back(), shape.dims[0].kernel * shape.dims[1].kernel);
  sizes.push_back(count);
  infer.push(sizes, self.dtype(), self.device());
}

void unfold_kernel(const Call& call) {
  const Tensor self = consecutive(call.tensor(0));
  if (call.out().numel() == 0) return;
  cpu::PatchShape shape = patches(call, 1, image_sizes(self, 2));
  shape.dtype = self.dtype();
  shape.planes = self.numel() / count_elements(image_sizes(self, 2));
  cpu::images_to_columns(shape, self->bytes(), call.out()->bytes());
}

// --- fold(self, output_size, kernel_size, dilation, padding, stride)

void infer_fold(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const Dims image = per_dim(infer, 1, 2);
  WISP_CHECK((self.ndim() == 2 || self.ndim() == 3) && self->size(self.ndim() - 2) > 0 &&
                 self->size(self.ndim() - 1) > 0,
             "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and ",
             "non-zero dimensions for input, but got: ", self.sizes());
  WISP_CHECK(image[0] > 0 && image[1] > 0,
             "Expected output spatial size to be positive, but got output_size=", image);
  if (!contains(dtypes::floating | dtypes::complex, self.dtype()))
    fail_not_implemented("fold", self.dtype());
  const cpu::PatchShape shape = patches(infer, 2, image);
  const int64_t block = shape.dims[0].kernel * shape.dims[1].kernel;
  const int64_t count = product(infer, shape.dims[0].count, shape.dims[1].count);
  const int64_t rows = self->size(self.ndim() - 2);
  WISP_CHECK(rows % block == 0,
             "Expected size of input's dimension 1 to be divisible by the product of kernel_size, ",
             "but got input.size(1)=", rows, " and kernel_size=", per_dim(infer, 2, 2), ".");
  WISP_CHECK(count > 0 && self->size(self.ndim() - 1) == count, "Given output_size=", image,
             ", kernel_size=", per_dim(infer, 2, 2),
             ", expected size of input's dimension 2 to match the calculated number of sliding ",
             "blocks ", shape.dims[0].count, " * ", shape.dims[1].count, " = ", count,
             ", but got input.size(2)=", self->size(self.ndim() - 1), ".");
  Dims sizes(self.sizes().first(static_cast<size_t>(self.ndim() - 1)));
  sizes.back() /= block;
  sizes.push_back(image[0]);
  sizes.push_back(image[1]);
  infer.push(sizes, self.dtype(), self.device());
}

void fold_kernel(const Call& call) {
  const DType dtype = sum_dtype(call.out().dtype());
  const Tensor self = consecutive(call.tensor(0), dtype);
  if (call.out().numel() == 0) return;
  const Target target(call.out(), dtype);
  const IntSpan image = image_sizes(call.out(), 2);
  cpu::PatchShape shape = patches(call, 2, image);
  shape.dtype = dtype;
  shape.planes = call.out().numel() / count_elements(image);
  cpu::columns_to_images(shape, self->bytes(), target.bytes());
  target.finish();
}

// --- pixel_shuffle(self, upscale_factor), pixel_unshuffle(self, downscale_factor),
// channel_shuffle(self, groups)

void check_shuffle(const Args& args, const char* what) {
  WISP_CHECK(args.tensor(0).ndim() >= 3, args.name(),
             " expects input to have at least 3 dimensions, but got input with ",
             args.tensor(0).ndim(), " dimension(s)");
  WISP_CHECK(args.integer(1) > 0, args.name(), " expects a positive ", what, ", but got ",
             args.integer(1));
}

void pixel_shuffle_body(const Args& args, TensorList& outs) {
  check_shuffle(args, "upscale_factor");
  const Tensor& self = args.tensor(0);
  const int64_t r = args.integer(1), c = self.size(-3), h = self.size(-2), w = self.size(-1);
  WISP_CHECK_VALUE(r < (int64_t(1) << 31), "pixel_shuffle: the square of upscale_factor ", r,
                   " overflows");
  WISP_CHECK(c % (r * r) == 0, "pixel_shuffle expects its input's 'channel' dimension to be ",
             "divisible by the square of upscale_factor, but input.size(-3)=", c,
             " is not divisible by ", r * r);
  const IntSpan lead = self.sizes().first(static_cast<size_t>(self.ndim() - 3));
  const int64_t n = static_cast<int64_t>(lead.size());
  Dims apart(lead), order, shape(lead);
  for (int64_t size : {c / (r * r), r, r, h, w}) apart.push_back(size);
  for (int64_t i = 0; i < n; ++i) order.push_back(i);
  for (int64_t i : {0, 3, 1, 4, 2}) order.push_back(n + i);
  for (int64_t size : {c / (r * r), product(args, h, r), product(args, w, r)})
    shape.push_back(size);
  outs.push(reshape(permute(reshape(self, apart), order), shape));
}

void pixel_unshuffle_body(const Args& args, TensorList& outs) {
  check_shuffle(args, "downscale_factor");
  const Tensor& self = args.tensor(0);
  const int64_t r = args.integer(1), c = self.size(-3), h = self.size(-2), w = self.size(-1);
  WISP_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle expects height and width to be divisible ",
             "by downscale_factor, but got ", h, " and ", w, ", and downscale_factor ", r);
  const IntSpan lead = self.sizes().first(static_cast<size_t>(self.ndim() - 3));
  const int64_t n = static_cast<int64_t>(lead.size());
  Dims apart(lead), order, shape(lead);
  for (int64_t size : {c, h / r, r, w / r, r}) apart.push_back(size);
  for (int64_t i = 0; i < n; ++i) order.push_back(i);
  for (int64_t i : {0, 2, 4, 1, 3}) order.push_back(n + i);
  for (int64_t size : {product(args, product(args, c, r), r), h / r, w / r}) shape.push_back(size);
  outs.push(reshape(permute(reshape(self, apart), order), shape));
}

void channel_shuffle_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t groups = args.integer(1);
  WISP_CHECK(self.ndim() >= 3, "channel_shuffle expects input with > 2 dims, but got input with ",
             "sizes ", self.sizes());
  WISP_CHECK(groups > 0,
             "Number of groups to divide channels in must be positive. Value of groups:", groups);
  WISP_CHECK(self->size(1) % groups == 0, "Number of channels must be divisible by groups. Got ",
             self->size(1), " channels and ", groups, " groups.");
  Dims apart{self->size(0), groups, self->size(1) / groups};
  for (int64_t i = 2; i < self.ndim(); ++i) apart.push_back(self->size(i));
  outs.push(reshape(transpose(reshape(self, apart), 1, 2), self.sizes()));
}

void register_shuffles(Registry& r) {
  r.add(
      {.schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
       .doc =
           "Channels become blocks of pixels: (C r r, H, W) becomes (C, H r, W r).\n\n>>> wisp.pixel_shuffle(wisp.arange(4).reshape(4, 1, 1), 2)\ntensor([[[0, 1],\n         [2, 3]]])",
       .body = pixel_shuffle_body,
       .onnx = "DepthToSpace",
       .homes = home::function | home::functional});
  r.add(
      {.schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
       .doc =
           "Blocks of pixels become channels: (C, H r, W r) becomes (C r r, H, W).\n\n>>> wisp.pixel_unshuffle(wisp.arange(4).reshape(1, 2, 2), 2).shape\nwisp.Size([4, 1, 1])",
       .body = pixel_unshuffle_body,
       .onnx = "SpaceToDepth",
       .homes = home::function | home::functional});
  for (const char* schema : {"channel_shuffle(Tensor self, int groups) -> Tensor",
                             "native_channel_shuffle(Tensor self, int groups) -> Tensor"}) {
    r.add(
        {.schema = schema,
         .doc =
             "Channels of several groups, in turns.\n\n>>> wisp.channel_shuffle(wisp.arange(4).reshape(1, 4, 1), 2).flatten()\ntensor([0, 2, 1, 3])",
         .body = channel_shuffle_body,
         .onnx = "+ Reshape and Transpose",
         .homes = home::function | home::functional});
  }
}

}  // namespace

void register_fold(Registry& r) {
  r.add(
      {.schema =
           "unfold.im2col(Tensor self, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) -> Tensor",
       .doc =
           "The patches of images as columns: (N, C, H, W) becomes (N, C * size of a patch, number of patches).\n\n"
           ">>> wisp.nn.functional.unfold(wisp.arange(4.).reshape(1, 2, 2), (1, 2))\ntensor([[0., 2.],\n        [1., 3.]])",
       .infer = infer_unfold,
       .kernel = unfold_kernel,
       .vjp = {{"self", "self.shape kernel_size dilation padding stride",
                [](const Backward& b) {
                  return invoke<"fold">(b.grad(), b.shape(0).last(2), b[1], b[2], b[3], b[4]);
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ Gather",
       .homes = home::functional,
       .node = "Im2ColBackward0"});
  r.add(
      {.schema =
           "fold(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1) -> Tensor",
       .doc =
           "Images from patches given as columns; where patches overlap they are added.\n\n"
           ">>> wisp.nn.functional.fold(wisp.ones(2, 2), (1, 3), (1, 2))\ntensor([[[1., 2., 1.]]])",
       .infer = infer_fold,
       .kernel = fold_kernel,
       .vjp = {{"self", "kernel_size dilation padding stride",
                [](const Backward& b) {
                  return invoke<"unfold.im2col">(b.grad(), b[2], b[3], b[4], b[5]);
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Col2Im",
       .homes = home::functional,
       .node = "Col2ImBackward0"});
  register_shuffles(r);
}

}  // namespace wisp::ops
