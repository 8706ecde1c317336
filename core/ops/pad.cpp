// Padding at the ends of dimensions.
#include <algorithm>

#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"

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

// Fills, then copies what is left of the input into its place.
void constant_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  visit<dtypes::all>(out.dtype(), "constant_pad_nd", [&]<class T>() {
    const T value = call.scalar(2).to<T>();
    cpu::fill(out.sizes(), {out->bytes(), out.strides(), out.dtype()}, &value);
  });
  Dims sizes(self.sizes());
  int64_t from = 0, to = 0;
  for (int64_t dim = 0; dim < self.ndim(); ++dim) {
    const Ends ends = ends_of(call.integers(1), self.ndim(), dim);
    sizes[dim] += std::min<int64_t>(ends.front, 0) + std::min<int64_t>(ends.back, 0);
    if (sizes[dim] <= 0) return;
    from += std::max<int64_t>(-ends.front, 0) * self->stride(dim);
    to += std::max<int64_t>(ends.front, 0) * out->stride(dim);
  }
  const int64_t item = static_cast<int64_t>(out->item_size());
  cpu::copy(sizes, {out->bytes() + to * item, out.strides(), out.dtype()},
            {self->bytes() + from * item, self.strides(), self.dtype()});
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

// The elements that continue a dimension in front (or behind) by `amount`.
Tensor continuation(const Tensor& self, int64_t dim, Mode mode, int64_t amount, bool front) {
  const int64_t size = self->size(dim);
  if (mode == Mode::replicate) {
    Dims sizes(self.sizes());
    sizes[static_cast<size_t>(dim)] = amount;
    return expand(narrow(self, dim, front ? 0 : size - 1, 1), sizes);
  }
  if (mode == Mode::circular) return narrow(self, dim, front ? size - amount : 0, amount);
  return flip(narrow(self, dim, front ? 1 : size - 1 - amount, amount), {&dim, 1});
}

void check_mode(const Tensor& self, int64_t dim, Mode mode, Ends ends) {
  const int64_t size = self->size(dim), most = std::max(ends.front, ends.back);
  WISP_CHECK(
      mode != Mode::reflect || most < size,
      "pad(): Padding size should be less than the corresponding input dimension, but got: padding (",
      ends.front, ", ", ends.back, ") at dimension ", dim, " of input ", self.sizes());
  const int64_t left = size + std::min<int64_t>(ends.front, 0) + std::min<int64_t>(ends.back, 0);
  WISP_CHECK(mode != Mode::circular || most <= left,
             "pad(): Padding value causes wrapping around more than once.");
  WISP_CHECK(size > 0 || most <= 0, "pad(): cannot continue an empty dimension ", dim, " of input ",
             self.sizes());
  const int64_t out = size + ends.front + ends.back;
  WISP_CHECK(out > 0 || size == 0 || (mode == Mode::circular && out == 0), "pad(): padding (",
             ends.front, ", ", ends.back, ") leaves nothing of dimension ", dim, " of input ",
             self.sizes());
}

// `self` between the elements that continue it.
Tensor extended(const Tensor& self, int64_t dim, Mode mode, Ends ends) {
  std::vector<Tensor> parts;
  if (ends.front > 0) parts.push_back(continuation(self, dim, mode, ends.front, true));
  parts.push_back(self);
  if (ends.back > 0) parts.push_back(continuation(self, dim, mode, ends.back, false));
  return parts.size() == 1 ? self : cat(parts, dim);
}

// What is cut off does not come round again, but is reflected and repeated.
Tensor continued(const Tensor& self, int64_t dim, Mode mode, Ends ends) {
  check_mode(self, dim, mode, ends);
  const int64_t front = std::max<int64_t>(-ends.front, 0), back = std::max<int64_t>(-ends.back, 0);
  auto cut = [&](const Tensor& t) {
    return front || back ? narrow(t, dim, front, t->size(dim) - front - back) : t;
  };
  return mode == Mode::circular ? extended(cut(self), dim, mode, ends)
                                : cut(extended(self, dim, mode, ends));
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
  Tensor result = self;
  for (int64_t dim = self.ndim() - static_cast<int64_t>(pad.size() / 2); dim < self.ndim(); ++dim) {
    const Ends ends = ends_of(pad, self.ndim(), dim);
    if (ends.front || ends.back) result = continued(result, dim, mode, ends);
  }
  outs.push(result.is_same(self) ? clone(self) : result);
}

}  // namespace

void register_pad(Registry& r) {
  r.add(
      {.schema = "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
       .doc =
           "Adds elements of one value at the ends of the last dimensions; negative numbers cut off.\n\n>>> wisp.constant_pad_nd(wisp.tensor([1, 2]), (1, 2), 7)\ntensor([7, 1, 2, 7, 7])",
       .infer = infer_constant,
       .kernel = constant_kernel,
       .vjp = {{"self", "pad", constant_grad}},
       .jvp = Jvp::linear,
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
