// Shapes: operators made of views and copies, and the internal ones their derivatives use.
#include <algorithm>

#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

void reshape_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const Dims sizes = infer_size(args.integers(1), self.numel());
  const bool can_view = view_strides(self.sizes(), self.strides(), sizes).has_value();
  outs.push(view(can_view ? self : contiguous(self), sizes));
}

// Sums a gradient over the dimensions in which its tensor was expanded.
void sum_to_size_body(const Args& args, TensorList& outs) {
  Tensor result = args.tensor(0);
  const IntSpan size = args.integers(1);
  WISP_CHECK(size.size() <= static_cast<size_t>(result.ndim()), "sum_to_size(): size ", size,
             " is not expandable to size ", result.sizes());
  const int64_t leading = result.ndim() - static_cast<int64_t>(size.size());
  Dims dims;
  for (int64_t i = 0; i < result.ndim(); ++i) {
    const int64_t wanted = i < leading ? 1 : size[i - leading];
    WISP_CHECK(wanted == 1 || i < leading || wanted == result->size(i), "sum_to_size(): size ", size,
               " is not expandable to size ", result.sizes());
    if (i < leading || (wanted == 1 && result->size(i) != 1)) dims.push_back(i);
  }
  if (!dims.empty()) result = sum(result, dims, true);
  outs.push(leading > 0 ? reshape(result, size) : result);
}

void as_strided_scatter_body(const Args& args, TensorList& outs) {
  Tensor result = clone(args.tensor(0));
  const std::optional<int64_t> offset = args.has(4) ? std::optional(args.integer(4)) : std::nullopt;
  copy_(as_strided(result, args.integers(2), args.integers(3), offset), args.tensor(1));
  outs.push(result);
}

// Adds src into a strided region of out; repeated places add up.
void accumulate(const Tensor& out, IntSpan strides, int64_t offset, const Tensor& src) {
  const Tensor region = out.alias(src.sizes(), strides, out->offset() + offset);
  if (!overlaps_itself(region.sizes(), region.strides())) {
    cpu::copy(region.sizes(), {region->bytes(), region.strides(), region.dtype()},
              {src->bytes(), src.strides(), src.dtype()});
    return;
  }
  visit<dtypes::all>(out.dtype(), "embed", [&]<class T>() {
    Dims index(src.ndim(), 0);
    T* to = region.data<T>();
    const T* from = src.data<T>();
    for (int64_t i = 0; i < src.numel(); ++i) {
      int64_t a = 0, b = 0;
      for (int64_t d = 0; d < src.ndim(); ++d) {
        a += index[d] * region->stride(d);
        b += index[d] * src->stride(d);
      }
      if constexpr (std::is_same_v<T, bool>) {
        to[a] = to[a] || from[b];
      } else {
        to[a] = static_cast<T>(to[a] + from[b]);
      }
      for (int64_t d = src.ndim() - 1; d >= 0 && ++index[d] == src->size(d); --d) index[d] = 0;
    }
  });
}

void fill_zero(const Tensor& out) {
  std::memset(out->bytes(), 0, static_cast<size_t>(out.numel()) * out->item_size());
}

void embed_kernel(const Call& call) {
  fill_zero(call.out());
  if (call.tensor(0).numel()) accumulate(call.out(), call.integers(2), call.integer(3), call.tensor(0));
}

Tensor embed_grad(const Backward& b) {
  return as_strided(contiguous(b.grad()), b.shape(0), b.integers(2), b.integer(3));
}

// Reads the gradient of an as_strided view back into the input's geometry, through a flat stretch of
// memory that covers both.
void as_strided_grad_kernel(const Call& call) {
  const Tensor& grad = call.tensor(0);
  const IntSpan strides = call.integers(2), in_sizes = call.integers(4), in_strides = call.integers(5);
  const int64_t offset = call.integer(3), in_offset = call.integer(6);
  const int64_t first = std::min(offset, in_offset);
  const int64_t end = std::max(offset + extent(grad.sizes(), strides), in_offset + extent(in_sizes, in_strides));
  Tensor flat = Tensor::empty({end - first}, grad.dtype());
  fill_zero(flat);
  if (grad.numel()) accumulate(flat, strides, offset - first, grad);
  const Tensor source = flat.alias(in_sizes, in_strides, in_offset - first);
  const Tensor& out = call.out();
  cpu::copy(out.sizes(), {out->bytes(), out.strides(), out.dtype()},
            {source->bytes(), source.strides(), source.dtype()});
}

void register_internal(Registry& r) {
  r.add({.schema = "embed(Tensor grad, int[] size, int[] stride, int offset) -> Tensor",
         .doc = "Zeros of the given size with a tensor added into a strided region: the derivative of views.",
         .infer = [](Infer& infer) { infer.push(infer.integers(1), infer.tensor(0).dtype(), infer.tensor(0).device()); },
         .kernel = embed_kernel,
         .vjp = {{"grad", "grad.shape stride offset", embed_grad}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
  r.add({.schema = "_as_strided_grad(Tensor grad, int[] size, int[] stride, int storage_offset, int[] self_size, int[] self_stride, int self_offset) -> Tensor",
         .doc = "The derivative of as_strided.",
         .infer = [](Infer& infer) { infer.push(infer.integers(4), infer.tensor(0).dtype(), infer.tensor(0).device()); },
         .kernel = as_strided_grad_kernel,
         .vjp = {{"grad", "size stride storage_offset self_stride self_offset",
                  [](const Backward& b) {
                    const Tensor laid_out = restride(b.grad(), b.integers(5));
                    return as_strided(laid_out, b.integers(1), b.integers(2), b.integer(3) - b.integer(6));
                  }}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
  r.add({.schema = "restride(Tensor self, int[] stride) -> Tensor",
         .doc = "A copy with the given strides.",
         .infer =
             [](Infer& infer) {
               infer.push(infer.tensor(0).sizes(), infer.tensor(0).dtype(), infer.tensor(0).device());
               infer.out().strides = Dims(infer.integers(1));
             },
         .kernel =
             [](const Call& c) {
               const Tensor &out = c.out(), &self = c.tensor(0);
               cpu::copy(out.sizes(), {out->bytes(), out.strides(), out.dtype()}, {self->bytes(), self.strides(), self.dtype()});
             },
         .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "Identity",
         .homes = home::internal});
}

}  // namespace

void register_shape(Registry& r) {
  register_internal(r);
  r.add({.schema = "reshape(Tensor self, int[] shape) -> Tensor",
         .doc = "The same elements in another shape: a view where possible, else a copy.\n\n>>> wisp.arange(4).reshape(2, 2)\ntensor([[0, 1],\n        [2, 3]])",
         .body = reshape_body,
         .onnx = "Reshape"});
  r.add({.schema = "sum_to_size(Tensor self, int[] size) -> Tensor",
         .doc = "Sums over dimensions until the shape is `size`: the reverse of broadcasting.\n\n>>> wisp.ones(2, 3).sum_to_size(1, 3)\ntensor([[2., 2., 2.]])",
         .body = sum_to_size_body,
         .onnx = "ReduceSum",
         .homes = home::method});
  r.add({.schema = "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
         .doc = "A copy of `self` in which the as_strided region holds `src`.\n\n>>> wisp.as_strided_scatter(wisp.zeros(3), wisp.ones(2), (2,), (2,))\ntensor([1., 0., 1.])",
         .body = as_strided_scatter_body,
         .onnx = "- strides have no meaning in ONNX"});
  r.add({.schema = "detach(Tensor self) -> Tensor",
         .doc = "The same memory without history: gradients stop here.\n\n>>> wisp.ones(1, requires_grad=True).detach().requires_grad\nFalse",
         .body = [](const Args& args, TensorList& outs) { outs.push(args.tensor(0).alias()); },
         .onnx = "Identity"});
  r.add({.schema = "conj(Tensor self) -> Tensor",
         .doc = "The complex conjugate; real tensors as they are.\n\n>>> wisp.tensor([1+2j]).conj()\ntensor([1.-2.j])",
         .body =
             [](const Args& args, TensorList& outs) {
               const Tensor& self = args.tensor(0);
               outs.push(is_complex(self.dtype()) ? conj_physical(self) : self);
             },
         .onnx = "- complex numbers do not exist in ONNX"});
  r.add({.schema = "real(Tensor self) -> Tensor",
         .doc = "The real part, as a view; real tensors as they are.\n\n>>> wisp.tensor([1+2j]).real\ntensor([1.])",
         .body =
             [](const Args& args, TensorList& outs) {
               const Tensor& self = args.tensor(0);
               outs.push(is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self);
             },
         .onnx = "- complex numbers do not exist in ONNX",
         .homes = home::function});
}

}  // namespace wisp::ops
