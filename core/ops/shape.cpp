// Shapes: operators made of views and copies, and the internal ones their derivatives use.
#include <algorithm>

#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

void reshape_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const Dims sizes = infer_size(args.integers(1), self.numel());
  const bool can_view = view_strides(self.sizes(), self.strides(), sizes).has_value();
  outs.push(can_view ? view(self, sizes) : invoke<"_reshape_copy">(self, sizes));
}

void reshape_copy_kernel(const Call& call) {
  const Tensor &out = call.out(), &self = call.tensor(0);
  const Dims strides = contiguous_strides(self.sizes());
  cpu::copy(self.sizes(), {out->bytes(), strides, out.dtype()},
            {self->bytes(), self.strides(), self.dtype()});
}

// Besides what expand allows, one element becomes 0-d: a weight of shape (1,) meets a 0-d input.
void expand_as_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  const bool to_scalar = other.ndim() == 0 && self.numel() == 1;
  outs.push(to_scalar ? reshape(self, other.sizes()) : expand(self, other.sizes()));
}

void flatten_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t start = wrap_dim(args.integer(1), self.ndim(), "flatten");
  const int64_t end = wrap_dim(args.integer(2), self.ndim(), "flatten");
  WISP_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (self.ndim() > 0 && start == end) {
    outs.push(self);
    return;
  }
  Dims sizes(self.sizes().first(start));
  sizes.push_back(
      count_elements(self.ndim() ? self.sizes().subspan(start, end - start + 1) : IntSpan()));
  for (int64_t dim = end + 1; dim < self.ndim(); ++dim) sizes.push_back(self->size(dim));
  outs.push(reshape(self, sizes));
}

void unflatten_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const IntSpan parts = args.integers(2);
  WISP_CHECK(!parts.empty(), "unflatten: sizes must be non-empty");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), "unflatten");
  const int64_t size = self.ndim() ? self->size(dim) : 1;
  int64_t known = 1, unknown = 0;
  for (int64_t part : parts) part == -1 ? ++unknown : known *= part;
  WISP_CHECK(unknown <= 1, "unflatten(): only one dimension can be inferred, got sizes ", parts);
  WISP_CHECK(unknown ? known != 0 && size % known == 0 : size == known,
             "unflatten: Provided sizes ", parts, " don't multiply up to the size of dim ", dim,
             " (", size, ") in the input tensor");
  Dims sizes(self.sizes().first(self.ndim() ? dim : 0));
  for (int64_t part : parts) sizes.push_back(part == -1 ? size / known : part);
  for (int64_t i = dim + 1; i < self.ndim(); ++i) sizes.push_back(self->size(i));
  outs.push(view(self, sizes));
}

void narrow_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t length = args.integer(3);
  WISP_CHECK(self.ndim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  WISP_CHECK(length >= 0, "narrow(): length must be non-negative.");
  const int64_t size = self.size(args.integer(1));
  int64_t start = args.integer(2);
  WISP_CHECK_INDEX(start >= -size && start <= size,
                   "narrow(): start out of range (expected to be in range of [", -size, ", ", size,
                   "], but got ", start, ")");
  if (start < 0) start += size;
  WISP_CHECK(start <= size - length, "narrow(): start (", start, ") + length (", length,
             ") exceeds dimension size (", size, ").");
  outs.push(slice(self, args.integer(1), start, start + length));
}

Tensor move_dims(const Tensor& self, IntSpan source, IntSpan destination) {
  WISP_CHECK(source.size() == destination.size(),
             "movedim: Invalid source or destination dims: source (", source,
             " dims) should contain the same number of dims as destination (", destination,
             " dims)");
  const Dims from = wrap_dims(source, self.ndim(), "movedim"),
             to = wrap_dims(destination, self.ndim(), "movedim");
  Dims order(self.ndim(), -1);
  if (self.ndim() == 0) return self;
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  int64_t next = 0;  // dimensions that stay, in their order
  for (int64_t& place : order) {
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    if (place < 0) place = next++;
  }
  return permute(self, order);
}

void broadcast_tensors_body(const Args& args, TensorList& outs) {
  const Dims shape = broadcast_all(args.tensors(0));
  for (const Tensor& t : args.tensors(0)) outs.push(expand(t, shape));
}

Tensor at_least(const Tensor& t, int64_t ndim) {
  if (t.ndim() >= ndim) return t;
  if (t.ndim() == 0) return reshape(t, Dims(ndim, 1));
  if (ndim == 2) return unsqueeze(t, 0);
  return t.ndim() == 1 ? unsqueeze(unsqueeze(t, 0), -1) : unsqueeze(t, -1);
}

template <int64_t ndim>
void at_least_body(const Args& args, TensorList& outs) {
  outs.push(at_least(args.tensor(0), ndim));
}

template <int64_t ndim>
void at_least_list_body(const Args& args, TensorList& outs) {
  for (const Tensor& t : args.tensors(0)) outs.push(at_least(t, ndim));
}

void adjoint_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(
      self.ndim() != 1,
      "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
  outs.push(self.ndim() == 0 ? conj(self) : conj(transpose(self, -2, -1)));
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
    WISP_CHECK(wanted == 1 || i < leading || wanted == result->size(i), "sum_to_size(): size ",
               size, " is not expandable to size ", result.sizes());
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
  const int64_t last = src.ndim() - 1, n = src->size(last);
  const int64_t to_step = region->stride(last), from_step = src->stride(last);
  visit<dtypes::all>(out.dtype(), "embed", [&]<class T>() {
    Dims index(src.ndim(), 0);
    T* to = region.data<T>();
    const T* from = src.data<T>();
    for (int64_t row = src.numel() / n; row > 0; --row) {
      int64_t a = 0, b = 0;
      for (int64_t d = 0; d < last; ++d) {
        a += index[d] * region->stride(d);
        b += index[d] * src->stride(d);
      }
      for (int64_t k = 0; k < n; ++k) {
        T& sum = to[a + k * to_step];
        if constexpr (std::is_same_v<T, bool>) {
          sum = sum || from[b + k * from_step];
        } else {
          sum = static_cast<T>(sum + from[b + k * from_step]);
        }
      }
      for (int64_t d = last - 1; d >= 0 && ++index[d] == src->size(d); --d) index[d] = 0;
    }
  });
}

void fill_zero(const Tensor& out) {
  std::memset(out->bytes(), 0, static_cast<size_t>(out.numel()) * out->item_size());
}

void embed_kernel(const Call& call) {
  fill_zero(call.out());
  if (call.tensor(0).numel())
    accumulate(call.out(), call.integers(2), call.integer(3), call.tensor(0));
}

// The region's offset counts from the gradient's first element, which may be inside a larger
// storage.
Tensor embed_grad(const Backward& b) {
  const Tensor grad = contiguous(b.grad());
  return as_strided(grad, b.shape(0), b.integers(2), grad->offset() + b.integer(3));
}

// Reads the gradient of an as_strided view back into the input's geometry, through a flat stretch
// of memory that covers both.
void as_strided_grad_kernel(const Call& call) {
  const Tensor& grad = call.tensor(0);
  const IntSpan strides = call.integers(2), in_sizes = call.integers(4),
                in_strides = call.integers(5);
  const int64_t offset = call.integer(3), in_offset = call.integer(6);
  const int64_t first = std::min(offset, in_offset);
  const int64_t end =
      std::max(offset + extent(grad.sizes(), strides), in_offset + extent(in_sizes, in_strides));
  Tensor flat = Tensor::empty({end - first}, grad.dtype());
  fill_zero(flat);
  if (grad.numel()) accumulate(flat, strides, offset - first, grad);
  const Tensor source = flat.alias(in_sizes, in_strides, in_offset - first);
  const Tensor& out = call.out();
  cpu::copy(out.sizes(), {out->bytes(), out.strides(), out.dtype()},
            {source->bytes(), source.strides(), source.dtype()});
}

void register_internal(Registry& r) {
  r.add({.schema = "_reshape_copy(Tensor self, int[] size) -> Tensor",
         .doc = "The elements in another shape, copied: what reshape does where no view will.",
         .infer =
             [](Infer& infer) {
               infer.push(infer.integers(1), infer.tensor(0).dtype(), infer.tensor(0).device());
             },
         .kernel = reshape_copy_kernel,
         .vjp = {{"self", "self.shape",
                  [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "Reshape",
         .homes = home::internal,
         .node = "UnsafeViewBackward0"});
  r.add(
      {.schema = "embed(Tensor grad, int[] size, int[] stride, int offset) -> Tensor",
       .doc =
           "Zeros of the given size with a tensor added into a strided region: the derivative of views.",
       .infer =
           [](Infer& infer) {
             infer.push(infer.integers(1), infer.tensor(0).dtype(), infer.tensor(0).device());
           },
       .kernel = embed_kernel,
       .vjp = {{"grad", "grad.shape stride offset", embed_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "_as_strided_grad(Tensor grad, int[] size, int[] stride, int storage_offset, int[] self_size, int[] self_stride, int self_offset) -> Tensor",
       .doc = "The derivative of as_strided.",
       .infer =
           [](Infer& infer) {
             infer.push(infer.integers(4), infer.tensor(0).dtype(), infer.tensor(0).device());
           },
       .kernel = as_strided_grad_kernel,
       .vjp = {{"grad", "size stride storage_offset self_size self_stride self_offset",
                [](const Backward& b) {  // the same way back: the two geometries change places
                  return invoke<"_as_strided_grad">(b.grad(), b[4], b[5], b[6], b[1], b[2], b[3]);
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add({.schema = "restride(Tensor self, int[] stride) -> Tensor",
         .doc = "A copy with the given strides.",
         .infer =
             [](Infer& infer) {
               infer.push(infer.tensor(0).sizes(), infer.tensor(0).dtype(),
                          infer.tensor(0).device());
               infer.out().strides = Dims(infer.integers(1));
             },
         .kernel =
             [](const Call& c) {
               const Tensor &out = c.out(), &self = c.tensor(0);
               cpu::copy(out.sizes(), {out->bytes(), out.strides(), out.dtype()},
                         {self->bytes(), self.strides(), self.dtype()});
             },
         .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "Identity",
         .homes = home::internal});
}

void register_reshaping(Registry& r) {
  r.add(
      {.schema = "reshape(Tensor self, int[] shape) -> Tensor",
       .doc =
           "The same elements in another shape: a view where possible, else a copy.\n\n>>> wisp.arange(4).reshape(2, 2)\ntensor([[0, 1],\n        [2, 3]])",
       .body = reshape_body,
       .onnx = "Reshape"});
  r.add(
      {.schema = "view_as(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The same elements in the shape of `other`, without copying.\n\n>>> wisp.arange(4).view_as(wisp.ones(2, 2)).shape\nwisp.Size([2, 2])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(view(args.tensor(0), args.tensor(1).sizes())); },
       .onnx = "Reshape",
       .homes = home::method});
  r.add(
      {.schema = "reshape_as(Tensor self, Tensor other) -> Tensor",
       .doc =
           "The same elements in the shape of `other`.\n\n>>> wisp.arange(4).reshape_as(wisp.ones(2, 2)).shape\nwisp.Size([2, 2])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(reshape(args.tensor(0), args.tensor(1).sizes())); },
       .onnx = "Reshape",
       .homes = home::method});
  r.add(
      {.schema = "flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
       .doc =
           "Merges the dimensions from `start_dim` to `end_dim` into one.\n\n>>> wisp.ones(2, 3, 4).flatten(1).shape\nwisp.Size([2, 12])",
       .body = flatten_body,
       .onnx = "Reshape"});
  r.add(
      {.schema = "unflatten(Tensor self, int dim, int[] sizes) -> Tensor",
       .doc =
           "Cuts a dimension up into several; one size may be -1.\n\n>>> wisp.ones(2, 6).unflatten(1, (2, -1)).shape\nwisp.Size([2, 2, 3])",
       .body = unflatten_body,
       .onnx = "Reshape"});
  r.add(
      {.schema = "ravel(Tensor self) -> Tensor",
       .doc =
           "All elements in one dimension.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).ravel()\ntensor([1, 2, 3, 4])",
       .body =
           [](const Args& args, TensorList& outs) {
             const int64_t all = -1;
             outs.push(contiguous(reshape(args.tensor(0), {&all, 1})));
           },
       .onnx = "Reshape"});
  r.add(
      {.schema = "atleast_1d(Tensor self) -> Tensor",
       .doc = "0-d tensors get a dimension.\n\n>>> wisp.atleast_1d(wisp.tensor(1.))\ntensor([1.])",
       .body = at_least_body<1>,
       .onnx = "Reshape",
       .homes = home::function});
  r.add(
      {.schema = "atleast_1d.list(Tensor... tensors) -> Tensor[]",
       .doc =
           "atleast_1d of each tensor.\n\n>>> wisp.atleast_1d(wisp.tensor(1.), wisp.tensor(2.))\n(tensor([1.]), tensor([2.]))",
       .body = at_least_list_body<1>,
       .onnx = "Reshape",
       .homes = home::function});
  r.add(
      {.schema = "atleast_2d(Tensor self) -> Tensor",
       .doc =
           "Tensors of fewer than two dimensions get leading ones.\n\n>>> wisp.atleast_2d(wisp.tensor([1., 2.]))\ntensor([[1., 2.]])",
       .body = at_least_body<2>,
       .onnx = "Reshape",
       .homes = home::function});
  r.add(
      {.schema = "atleast_2d.list(Tensor... tensors) -> Tensor[]",
       .doc =
           "atleast_2d of each tensor.\n\n>>> wisp.atleast_2d(wisp.tensor(1.), wisp.tensor(2.))\n(tensor([[1.]]), tensor([[2.]]))",
       .body = at_least_list_body<2>,
       .onnx = "Reshape",
       .homes = home::function});
  r.add(
      {.schema = "atleast_3d(Tensor self) -> Tensor",
       .doc =
           "Tensors of fewer than three dimensions get more: a vector becomes (1, n, 1), a matrix (m, n, 1).\n\n>>> wisp.atleast_3d(wisp.ones(2, 3)).shape\nwisp.Size([2, 3, 1])",
       .body = at_least_body<3>,
       .onnx = "Reshape",
       .homes = home::function});
  r.add(
      {.schema = "atleast_3d.list(Tensor... tensors) -> Tensor[]",
       .doc =
           "atleast_3d of each tensor.\n\n>>> wisp.atleast_3d(wisp.tensor(1.), wisp.tensor(2.))\n(tensor([[[1.]]]), tensor([[[2.]]]))",
       .body = at_least_list_body<3>,
       .onnx = "Reshape",
       .homes = home::function});
}

void register_expanding(Registry& r) {
  r.add(
      {.schema = "expand_as(Tensor self, Tensor other) -> Tensor",
       .doc =
           "Expanded to the shape of `other`. Unlike in PyTorch, a tensor of one element also expands to a 0-d shape.\n\n>>> wisp.tensor([[1], [2]]).expand_as(wisp.ones(2, 2))\ntensor([[1, 1],\n        [2, 2]])",
       .body = expand_as_body,
       .onnx = "Expand",
       .homes = home::method});
  r.add(
      {.schema = "broadcast_to(Tensor self, int[] size) -> Tensor",
       .doc =
           "Expanded to a shape it broadcasts to.\n\n>>> wisp.broadcast_to(wisp.tensor([1, 2]), (2, 2))\ntensor([[1, 2],\n        [1, 2]])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(expand(args.tensor(0), args.integers(1))); },
       .onnx = "Expand"});
  r.add(
      {.schema = "broadcast_tensors(Tensor... tensors) -> Tensor[]",
       .doc =
           "All tensors expanded to their common shape.\n\n>>> a, b = wisp.broadcast_tensors(wisp.ones(3, 1), wisp.ones(2))\n>>> a.shape\nwisp.Size([3, 2])",
       .body = broadcast_tensors_body,
       .onnx = "Expand",
       .homes = home::function});
  r.add(
      {.schema = "sum_to_size(Tensor self, int[] size) -> Tensor",
       .doc =
           "Sums over dimensions until the shape is `size`: the reverse of broadcasting.\n\n>>> wisp.ones(2, 3).sum_to_size(1, 3)\ntensor([[2., 2., 2.]])",
       .body = sum_to_size_body,
       .onnx = "ReduceSum",
       .homes = home::method});
}

void register_moving(Registry& r) {
  r.add(
      {.schema = "narrow(Tensor self, int dim, int start, int length) -> Tensor",
       .doc =
           "`length` elements from `start` on along a dimension.\n\n>>> wisp.arange(5).narrow(0, 1, 3)\ntensor([1, 2, 3])",
       .body = narrow_body,
       .onnx = "Slice"});
  r.add(
      {.schema = "movedim(Tensor self, int source, int destination) -> Tensor",
       .doc =
           "Moves a dimension to another place; the others keep their order.\n\n>>> wisp.ones(2, 3, 4).movedim(0, -1).shape\nwisp.Size([3, 4, 2])",
       .body =
           [](const Args& args, TensorList& outs) {
             const int64_t from = args.integer(1), to = args.integer(2);
             outs.push(move_dims(args.tensor(0), {&from, 1}, {&to, 1}));
           },
       .onnx = "Transpose"});
  r.add(
      {.schema = "movedim.list(Tensor self, int[] source, int[] destination) -> Tensor",
       .doc =
           "Moves dimensions to other places; the others keep their order.\n\n>>> wisp.ones(2, 3, 4).movedim((0, 1), (1, 2)).shape\nwisp.Size([4, 2, 3])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(move_dims(args.tensor(0), args.integers(1), args.integers(2)));
           },
       .onnx = "Transpose"});
  r.alias("moveaxis", "movedim");
  r.add(
      {.schema = "adjoint(Tensor self) -> Tensor",
       .doc =
           "The last two dimensions swapped, complex numbers conjugated.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).adjoint()\ntensor([[1, 3],\n        [2, 4]])",
       .body = adjoint_body,
       .onnx = "Transpose"});
  r.add(
      {.schema =
           "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
       .doc =
           "A copy of `self` in which the as_strided region holds `src`.\n\n>>> wisp.as_strided_scatter(wisp.zeros(3), wisp.ones(2), (2,), (2,))\ntensor([1., 0., 1.])",
       .body = as_strided_scatter_body,
       .onnx = "+ Gather",
       .traits = trait::out});
}

void register_parts(Registry& r) {
  r.add(
      {.schema = "detach(Tensor self) -> Tensor",
       .doc =
           "The same memory without history: gradients stop here.\n\n>>> wisp.ones(1, requires_grad=True).detach().requires_grad\nFalse",
       .body = [](const Args& args, TensorList& outs) { outs.push(detached(args.tensor(0))); },
       .onnx = "Identity"});
  r.add(
      {.schema = "conj(Tensor self) -> Tensor",
       .doc =
           "The complex conjugate; real tensors as they are.\n\n>>> wisp.tensor([1+2j]).conj()\ntensor([1.-2.j])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             outs.push(is_complex(self.dtype()) ? conj_physical(self) : self);
           },
       .onnx = "+ pairs of real numbers"});
  r.add(
      {.schema = "real(Tensor self) -> Tensor",
       .doc =
           "The real part, as a view; real tensors as they are.\n\n>>> wisp.real(wisp.tensor([1+2j]))\ntensor([1.])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             outs.push(is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self);
           },
       .onnx = "+ pairs of real numbers",
       .homes = home::function});
  r.add(
      {.schema = "imag(Tensor self) -> Tensor",
       .doc = "The imaginary part, as a view.\n\n>>> wisp.imag(wisp.tensor([1+2j]))\ntensor([2.])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             WISP_CHECK(is_complex(self.dtype()),
                        "imag is not implemented for tensors with non-complex dtypes.");
             outs.push(select(view_as_real(self), -1, 1));
           },
       .onnx = "+ pairs of real numbers",
       .homes = home::function});
}

}  // namespace

void register_shape(Registry& r) {
  register_internal(r);
  register_reshaping(r);
  register_expanding(r);
  register_moving(r);
  register_parts(r);
}

}  // namespace wisp::ops
