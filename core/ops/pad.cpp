// Padding at the ends of dimensions.
#include "cpu/pad.h"

#include <algorithm>

#include "base/element.h"
#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// What is added in front of and behind a dimension; negative numbers cut off.
struct Ends {
  int64_t front, back;
};

// The list starts with the last dimension: (left, right, top, bottom, ...).
Ends ends_of(IntSpan pad, int64_t ndim, int64_t dim) {
  const size_t at = static_cast<size_t>(2 * (ndim - 1 - dim));
  return at + 1 < pad.size() ? Ends{pad[at], pad[at + 1]} : Ends{0, 0};
}

void check_pad(const Args& args) {
  const Tensor& self = args.tensor(0);
  const IntSpan pad = args.integers(1);
  WISP_CHECK(pad.size() % 2 == 0, args.name(), "(): Padding length must be divisible by 2, got ",
             pad.size());
  WISP_CHECK(
      pad.size() <= 2 * static_cast<size_t>(self.ndim()), args.name(),
      "(): Padding length should be less than or equal to two times the input dimension but got padding length ",
      pad.size(), " and input of dimension ", self.ndim());
}

void infer_constant(Infer& infer) {
  check_pad(infer);
  const Tensor& self = infer.tensor(0);
  Dims sizes(self.sizes());
  for (int64_t dim = 0; dim < self.ndim(); ++dim) {
    const Ends ends = ends_of(infer.integers(1), self.ndim(), dim);
    const int64_t cut = std::min<int64_t>(ends.front, 0) + std::min<int64_t>(ends.back, 0);
    const bool fits = sizes[dim] + cut >= 0;
    sizes[dim] += ends.front + ends.back;
    WISP_CHECK(fits, infer.name(), "(): The input size ", self->size(dim),
               ", plus negative padding ", ends.front, " and ", ends.back,
               " resulted in a negative output size, which is invalid. Check dimension ", dim,
               " of your input.");
  }
  TensorSpec& spec = infer.push(sizes, self.dtype(), self.device());
  if (!self.is_contiguous() && is_channels_last(self.sizes(), self.strides()))
    spec.strides = channels_last_strides(sizes);
}

// Row by row where both sides have rows; else fills, then copies what is left of the input into its
// place.
void constant_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const int64_t item = static_cast<int64_t>(out->item_size());
  const Element element(call.scalar(2), out.dtype());
  const char* value = element.bytes;
  Dims part(self.sizes()), at;
  int64_t from = 0, to = 0, left = 1;
  for (int64_t dim = 0; dim < self.ndim(); ++dim) {
    const Ends ends = ends_of(call.integers(1), self.ndim(), dim);
    part[dim] += std::min<int64_t>(ends.front, 0) + std::min<int64_t>(ends.back, 0);
    at.push_back(std::max<int64_t>(ends.front, 0));
    from += std::max<int64_t>(-ends.front, 0) * self->stride(dim);
    to += at.back() * out->stride(dim);
    left *= std::max<int64_t>(part[dim], 0);
  }
  const cpu::Operand in{self->bytes() + from * item, self.strides(), self.dtype()};
  const cpu::Operand whole{out->bytes(), out.strides(), out.dtype()};
  if (left > 0 && self.ndim() > 0 && out.is_contiguous() && self.stride(-1) == 1)
    return cpu::pad_constant({out.sizes(), whole.data, at, part, in, value});
  cpu::fill(out.sizes(), whole, value);
  if (left > 0) cpu::copy(part, {whole.data + to * item, whole.strides, whole.dtype}, in);
}

Tensor constant_grad(const Backward& b) {
  Dims back;
  for (int64_t amount : b.integers(1)) back.push_back(-amount);
  return constant_pad_nd(b.grad(), back, 0);
}

enum class Mode : uint8_t { reflect, replicate, circular };

Mode mode_of(std::string_view text) {
  if (text == "reflect") return Mode::reflect;
  if (text == "replicate") return Mode::replicate;
  WISP_CHECK_KIND(not_implemented, text == "circular", "pad(): Unrecognised padding mode ", text,
                  "; expected 'constant', 'reflect', 'replicate' or 'circular'");
  return Mode::circular;
}

void check_mode(const Tensor& self, int64_t dim, Mode mode, Ends ends) {
  const int64_t size = self->size(dim), most = std::max(ends.front, ends.back);
  WISP_CHECK(
      mode != Mode::reflect || most < size || most == 0,
      "pad(): Padding size should be less than the corresponding input dimension, but got: padding (",
      ends.front, ", ", ends.back, ") at dimension ", dim, " of input ", self.sizes());
  const int64_t left = size + std::min<int64_t>(ends.front, 0) + std::min<int64_t>(ends.back, 0);
  WISP_CHECK(mode != Mode::circular || most <= left,
             "pad(): Padding value causes wrapping around more than once.");
  WISP_CHECK(size > 0 || most <= 0, "pad(): cannot continue an empty dimension ", dim, " of input ",
             self.sizes());
  WISP_CHECK(size + ends.front + ends.back >= 0, "pad(): padding (", ends.front, ", ", ends.back,
             ") leaves nothing of dimension ", dim, " of input ", self.sizes());
}

// Where the element at place i of a dimension, in front of it or behind it, comes from. What is cut
// off does not come round again, but is reflected and repeated.
int64_t source_of(int64_t i, int64_t size, Mode mode, Ends ends) {
  if (mode == Mode::replicate) return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == Mode::reflect) return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  const int64_t first = std::max<int64_t>(-ends.front, 0);
  const int64_t length = size - first - std::max<int64_t>(-ends.back, 0);
  return first + ((i - first) % length + length) % length;
}

// The sources of the elements [begin, end) of a dimension.
std::vector<int64_t> sources(int64_t begin, int64_t end, int64_t size, Mode mode, Ends ends) {
  std::vector<int64_t> at;
  for (int64_t i = begin; i < end; ++i) at.push_back(source_of(i, size, mode, ends));
  return at;
}

// Those of a row, whose elements inside the input are their own sources.
cpu::PaddedRow row_of(int64_t size, Mode mode, Ends ends) {
  const int64_t begin = -ends.front, end = size + ends.back;
  const int64_t last = std::max(begin, std::min(end, size));
  const int64_t first = std::min(std::max<int64_t>(begin, 0), last);
  return {sources(begin, first, size, mode, ends), sources(last, end, size, mode, ends), first,
          last - first};
}

// What is known of a job by the sizes of an image, the last dimensions.
cpu::PadCall job_of(IntSpan image, IntSpan pad, Mode mode) {
  cpu::PadCall call{};
  const int64_t dims = static_cast<int64_t>(image.size());
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t size = image[static_cast<size_t>(d)];
    const Ends ends = ends_of(pad, dims, d);
    call.in.push_back(size);
    if (d + 1 == dims) {
      call.row = row_of(size, mode, ends);
    } else {
      call.at.push_back(sources(-ends.front, size + ends.back, size, mode, ends));
    }
  }
  return call;
}

// --- Continued images: (self, pad, mode), and (grad, size, pad, mode) for the derivative

void infer_continued(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const IntSpan pad = infer.integers(1);
  const Mode mode = mode_of(infer.string(2));
  Dims sizes(self.sizes());
  for (int64_t dim = self.ndim() - static_cast<int64_t>(pad.size() / 2); dim < self.ndim(); ++dim) {
    const Ends ends = ends_of(pad, self.ndim(), dim);
    check_mode(self, dim, mode, ends);
    sizes[static_cast<size_t>(dim)] += ends.front + ends.back;
  }
  bool left = mode == Mode::circular;
  for (int64_t size : IntSpan(sizes).last(pad.size() / 2)) left = left || size > 0;
  WISP_CHECK(left, "pad(): input ", self.sizes(), " is too small for padding ", pad);
  infer.push(sizes, self.dtype(), self.device());
}

void continued_kernel(const Call& call) {
  const IntSpan pad = call.integers(1);
  const Tensor self = consecutive(call.tensor(0));
  if (call.out().numel() == 0) return;
  const IntSpan image = self.sizes().last(pad.size() / 2);
  cpu::PadCall job = job_of(image, pad, mode_of(call.string(2)));
  job.dtype = self.dtype();
  job.planes = self.numel() / count_elements(image);
  job.from = self->bytes();
  job.to = call.out()->bytes();
  cpu::pad(job);
}

void continued_grad_kernel(const Call& call) {
  const Tensor& out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor grad = consecutive(call.tensor(0), dtype);
  const IntSpan pad = call.integers(2), image = out.sizes().last(pad.size() / 2);
  const Tensor work = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  if (out.numel() == 0) return;
  cpu::PadCall job = job_of(image, pad, mode_of(call.string(3)));
  job.dtype = dtype;
  job.planes = out.numel() / count_elements(image);
  job.from = grad->bytes();
  job.to = work->bytes();
  cpu::pad_grad(job);
  if (!work.is_same(out)) copy_raw(out, work);
}

// The last one, two or three dimensions of an image with channels, with or without a batch.
void check_dims(const Tensor& self, IntSpan pad) {
  const int64_t dims = static_cast<int64_t>(pad.size() / 2);
  WISP_CHECK_KIND(not_implemented,
                  pad.size() % 2 == 0 && dims >= 1 && dims <= 3 &&
                      (self.ndim() == dims + 1 || self.ndim() == dims + 2),
                  "Padding size ", pad.size(), " is not supported for ", self.ndim(),
                  "D input tensor.");
}

void pad_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const IntSpan pad = args.integers(1);
  if (args.string(2) == "constant") {
    outs.push(constant_pad_nd(self, pad, args.has(3) ? args.scalar(3) : Scalar(0)));
    return;
  }
  const Mode mode = mode_of(args.string(2));
  check_pad(args);
  check_dims(self, pad);
  WISP_CHECK(!args.has(3) || args.real(3) == 0, "pad(): Padding mode \"", args.string(2),
             "\" doesn't take in value argument");
  const size_t dims = pad.size() / 2;
  constexpr const char* names[][3] = {
      {"_reflection_pad1d", "_reflection_pad2d", "_reflection_pad3d"},
      {"_replication_pad1d", "_replication_pad2d", "_replication_pad3d"},
      {"_circular_pad", "_circular_pad", "_circular_pad"}};
  const OpDef& op = registry().get(names[static_cast<int>(mode)][dims - 1]);
  const Arg arguments[] = {self, pad, args[2]};
  call(op, arguments, outs);
}

Tensor continued_grad(const Backward& b) {
  return invoke<"_pad_grad">(b.grad(), b.shape(0), b[1], b[2]);
}

// The operator is its own derivative's derivative, whatever it is called.
Tensor continued_grad_grad(const Backward& b) {
  return invoke<"_circular_pad">(b.grad(), b[2], b[3]);
}

void register_continued(Registry& r) {
  const struct {
    const char *schema, *node;
  } entries[] = {
      {"_reflection_pad1d(Tensor self, int[] pad, str mode) -> Tensor", "ReflectionPad1DBackward0"},
      {"_reflection_pad2d(Tensor self, int[] pad, str mode) -> Tensor", "ReflectionPad2DBackward0"},
      {"_reflection_pad3d(Tensor self, int[] pad, str mode) -> Tensor", "ReflectionPad3DBackward0"},
      {"_replication_pad1d(Tensor self, int[] pad, str mode) -> Tensor",
       "ReplicationPad1DBackward0"},
      {"_replication_pad2d(Tensor self, int[] pad, str mode) -> Tensor",
       "ReplicationPad2DBackward0"},
      {"_replication_pad3d(Tensor self, int[] pad, str mode) -> Tensor",
       "ReplicationPad3DBackward0"},
      {"_circular_pad(Tensor self, int[] pad, str mode) -> Tensor", "CircularPadBackward0"}};
  for (const auto& entry : entries) {
    r.add({.schema = entry.schema,
           .doc = "The kernel of pad for modes that continue the input.",
           .infer = infer_continued,
           .kernel = continued_kernel,
           .vjp = {{"self", "self.shape pad mode", continued_grad}},
           .jvp = Jvp::linear,
           .batch = Batch::loop,
           .onnx = "Pad",
           .homes = home::internal,
           .node = entry.node});
  }
  r.add({.schema = "_pad_grad(Tensor grad, int[] size, int[] pad, str mode) -> Tensor",
         .doc = "The derivative of pad for modes that continue the input.",
         .infer =
             [](Infer& infer) {
               infer.push(infer.integers(1), infer.tensor(0).dtype(), infer.tensor(0).device());
             },
         .kernel = continued_grad_kernel,
         .vjp = {{"grad", "pad mode", continued_grad_grad}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
}

}  // namespace

void register_pad(Registry& r) {
  register_continued(r);
  r.add(
      {.schema = "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
       .doc =
           "Adds elements of one value at the ends of the last dimensions; negative numbers cut off.\n\n>>> wisp.constant_pad_nd(wisp.tensor([1, 2]), (1, 2), 7)\ntensor([7, 1, 2, 7, 7])",
       .infer = infer_constant,
       .kernel = constant_kernel,
       .vjp = {{"self", "pad", constant_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "Pad",
       .homes = home::function});
  r.add(
      {.schema = "pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor",
       .doc =
           "Adds elements at the ends of the last dimensions: `pad` is (left, right, top, bottom, ...), and negative numbers cut off. Modes: 'constant' (of the given value), 'reflect', 'replicate' and 'circular'.\n\n>>> wisp.nn.functional.pad(wisp.tensor([[1., 2., 3.]]), (2, 1), mode='reflect')\ntensor([[3., 2., 1., 2., 3., 2.]])",
       .body = pad_body,
       .onnx = "Pad",
       .homes = home::functional});
}

}  // namespace wisp::ops
