// Views: other sizes, strides and offset on the same memory.
#include "ops/view.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

Diagonal diagonal_of(IntSpan sizes, IntSpan strides, int64_t shift, int64_t dim1, int64_t dim2,
                     const char* op) {
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  const int64_t rows = wrap_dim(dim1, ndim, op), cols = wrap_dim(dim2, ndim, op);
  WISP_CHECK(rows != cols, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  const int64_t length = std::max<int64_t>(shift >= 0 ? std::min(sizes[rows], sizes[cols] - shift)
                                                      : std::min(sizes[rows] + shift, sizes[cols]),
                                           0);
  Diagonal d{Dims(sizes), Dims(strides), 0};
  if (length > 0) d.offset = shift >= 0 ? shift * strides[cols] : -shift * strides[rows];
  d.sizes.erase(std::max(rows, cols));
  d.sizes.erase(std::min(rows, cols));
  d.strides.erase(std::max(rows, cols));
  d.strides.erase(std::min(rows, cols));
  d.sizes.push_back(length);
  d.strides.push_back(strides[rows] + strides[cols]);
  return d;
}

namespace {

ViewSpec same_as(const Tensor& self) {
  return {Dims(self.sizes()), Dims(self.strides()), self->offset(), self.dtype()};
}

ViewSpec view_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  ViewSpec spec = same_as(self);
  spec.sizes = infer_size(args.integers(1), self.numel());
  auto strides = view_strides(self.sizes(), self.strides(), spec.sizes);
  WISP_CHECK(
      strides,
      "view size is not compatible with input tensor's size and stride (at least one dimension ",
      "spans across two contiguous subspaces). Use .reshape(...) instead. Shape ", self.sizes(),
      ", strides ", self.strides(), ", wanted ", spec.sizes);
  spec.strides = *strides;
  return spec;
}

// Elements of another size: the last dimension grows or shrinks.
ViewSpec view_dtype_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  ViewSpec spec = same_as(self);
  spec.dtype = args.dtype(1);
  const int64_t from = static_cast<int64_t>(item_size(self.dtype()));
  const int64_t to = static_cast<int64_t>(item_size(spec.dtype));
  if (from == to) return spec;
  const int64_t last = self.ndim() - 1;
  WISP_CHECK(last >= 0, "self.dim() cannot be 0 to view ", name(self.dtype()), " as ",
             name(spec.dtype), " (different element sizes)");
  WISP_CHECK(self->stride(last) == 1 || self->size(last) <= 1, "self.stride(-1) must be 1 to view ",
             name(self.dtype()), " as ", name(spec.dtype), " (different element sizes), but got ",
             self->stride(last));
  auto rescale = [&](int64_t value, const char* what) {
    WISP_CHECK(value * from % to == 0, what, " ", value, " must be divisible by ", to / from,
               " to view ", name(self.dtype()), " as ", name(spec.dtype),
               " (different element sizes)");
    return value * from / to;
  };
  spec.sizes[last] = rescale(spec.sizes[last], "self.size(-1)");
  for (int64_t i = 0; i < last; ++i) spec.strides[i] = rescale(spec.strides[i], "self.stride()");
  spec.strides[last] = 1;
  spec.offset = rescale(spec.offset, "self.storage_offset()");
  return spec;
}

ViewSpec transpose_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  ViewSpec spec = same_as(self);
  const int64_t a = wrap_dim(args.integer(1), self.ndim(), args.name());
  const int64_t b = wrap_dim(args.integer(2), self.ndim(), args.name());
  if (self.ndim() == 0) return spec;
  std::swap(spec.sizes[a], spec.sizes[b]);
  std::swap(spec.strides[a], spec.strides[b]);
  return spec;
}

ViewSpec t_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
             self.ndim(), "D");
  ViewSpec spec = same_as(self);
  if (self.ndim() == 2) {
    std::swap(spec.sizes[0], spec.sizes[1]);
    std::swap(spec.strides[0], spec.strides[1]);
  }
  return spec;
}

ViewSpec permute_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const IntSpan wanted = args.integers(1);
  WISP_CHECK(
      wanted.size() == static_cast<size_t>(self.ndim()),
      "permute(): number of dimensions in the tensor input does not match the length of the ",
      "desired ordering of dimensions i.e. input.dim() = ", self.ndim(),
      " is not equal to len(dims) = ", wanted.size());
  const Dims dims = wrap_dims(wanted, self.ndim(), "permute");
  ViewSpec spec = same_as(self);
  for (size_t i = 0; i < dims.size(); ++i) {
    spec.sizes[i] = self->size(dims[i]);
    spec.strides[i] = self->stride(dims[i]);
  }
  return spec;
}

Tensor permute_grad(const Backward& b) {
  const IntSpan dims = b.integers(1);
  Dims inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    inverse[wrap_dim(dims[i], static_cast<int64_t>(dims.size()))] = static_cast<int64_t>(i);
  }
  return permute(b.grad(), inverse);
}

ViewSpec expand_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const IntSpan target = args.integers(1);
  WISP_CHECK(target.size() >= static_cast<size_t>(self.ndim()),
             "expand(): the number of sizes provided (", target.size(),
             ") must be greater or equal to the number of dimensions in the tensor (", self.ndim(),
             ")");
  ViewSpec spec = same_as(self);
  const int64_t ndim = static_cast<int64_t>(target.size()), shift = ndim - self.ndim();
  spec.sizes = Dims(target);
  spec.strides = Dims(target.size(), 0);
  for (int64_t i = ndim - 1; i >= 0; --i) {
    const int64_t size = i >= shift ? self->size(i - shift) : 1;
    const int64_t inner = i + 1 < ndim ? spec.sizes[i + 1] * spec.strides[i + 1] : 1;
    const int64_t stride = i >= shift ? self->stride(i - shift) : inner;
    if (target[i] == -1) {
      WISP_CHECK(i >= shift,
                 "expand(): the expanded size of the tensor (-1) isn't allowed in a leading, ",
                 "non-existing dimension ", i);
      spec.sizes[i] = size;
    }
    WISP_CHECK(spec.sizes[i] >= 0, "expand(): the expanded size ", spec.sizes[i], " is negative");
    WISP_CHECK(size == spec.sizes[i] || size == 1, "The expanded size of the tensor (", target[i],
               ") must match the existing size (", size, ") at non-singleton dimension ", i,
               ". Target sizes: ", target, ". Tensor sizes: ", self.sizes());
    spec.strides[i] = size == spec.sizes[i] ? stride : 0;
  }
  return spec;
}

ViewSpec unsqueeze_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const int64_t dim = wrap_dim(args.integer(1), self.ndim() + 1, args.name());
  ViewSpec spec = same_as(self);
  const int64_t stride = dim < self.ndim() ? self->size(dim) * self->stride(dim) : 1;
  spec.sizes.insert(dim, 1);
  spec.strides.insert(dim, stride);
  return spec;
}

ViewSpec squeeze_where(const Tensor& self, auto drop) {
  ViewSpec spec = same_as(self);
  for (int64_t dim = self.ndim() - 1; dim >= 0; --dim) {
    if (self->size(dim) == 1 && drop(dim)) {
      spec.sizes.erase(dim);
      spec.strides.erase(dim);
    }
  }
  return spec;
}

ViewSpec squeeze_dim_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const int64_t only = wrap_dim(args.integer(1), self.ndim(), args.name());
  return squeeze_where(self, [&](int64_t dim) { return dim == only; });
}

ViewSpec squeeze_dims_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const Dims dims = wrap_dims(args.integers(1), self.ndim(), args.name());
  return squeeze_where(
      self, [&](int64_t dim) { return std::find(dims.begin(), dims.end(), dim) != dims.end(); });
}

ViewSpec select_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK_INDEX(self.ndim() > 0, "select() cannot be applied to a 0-dim tensor.");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), args.name());
  const int64_t size = self->size(dim);
  int64_t index = args.integer(2);
  WISP_CHECK_INDEX(index >= -size && index < size, "select(): index ", index,
                   " out of range for tensor of size ", self.sizes(), " at dimension ", dim);
  if (index < 0) index += size;
  ViewSpec spec = same_as(self);
  spec.offset += index * self->stride(dim);
  spec.sizes.erase(dim);
  spec.strides.erase(dim);
  return spec;
}

struct Range {
  int64_t start, length, step;
};

Range range_of(const Args& args, int64_t size) {
  const int64_t step = args.integer(4);
  WISP_CHECK_VALUE(step > 0, "slice step must be positive");
  auto clip = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t start = args.has(2) ? clip(args.integer(2)) : 0;
  const int64_t end = std::max(args.has(3) ? clip(args.integer(3)) : size, start);
  return {start, (end - start + step - 1) / step, step};
}

ViewSpec slice_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), args.name());
  const Range range = range_of(args, self->size(dim));
  ViewSpec spec = same_as(self);
  spec.offset += range.start * self->stride(dim);
  spec.sizes[dim] = range.length;
  spec.strides[dim] *= range.step;
  return spec;
}

// Gradients of views that pick elements: zeros of the input's shape with the gradient put in place.
Tensor select_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const int64_t dim = wrap_dim(b.integer(1), static_cast<int64_t>(shape.size()));
  const int64_t index = b.integer(2) < 0 ? b.integer(2) + shape[dim] : b.integer(2);
  Dims strides = contiguous_strides(shape);
  const int64_t offset = index * strides[dim];
  strides.erase(dim);
  return embed(b.grad(), shape, strides, offset);
}

Tensor slice_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const int64_t dim = wrap_dim(b.integer(1), static_cast<int64_t>(shape.size()));
  const Range range = range_of(b, shape[dim]);
  Dims strides = contiguous_strides(shape);
  const int64_t offset = range.start * strides[dim];
  strides[dim] *= range.step;
  return embed(b.grad(), shape, strides, offset);
}

ViewSpec diagonal_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const Diagonal d = diagonal_of(self.sizes(), self.strides(), args.integer(1), args.integer(2),
                                 args.integer(3), args.name());
  return {d.sizes, d.strides, self->offset() + d.offset, self.dtype()};
}

Tensor diagonal_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const Diagonal d = diagonal_of(shape, contiguous_strides(shape), b.integer(1), b.integer(2),
                                 b.integer(3), "diagonal");
  return embed(b.grad(), shape, d.strides, d.offset);
}

struct Windows {
  int64_t dim, count, size, step;
};

Windows windows_of(IntSpan sizes, int64_t dimension, int64_t size, int64_t step) {
  const int64_t ndim = static_cast<int64_t>(sizes.size());
  const int64_t dim = wrap_dim(dimension, ndim, "unfold");
  const int64_t length = ndim ? sizes[dim] : 1;
  WISP_CHECK(size >= 0 && size <= length, "maximum size for tensor at dimension ", dim, " is ",
             length, " but size is ", size);
  WISP_CHECK(step > 0, "step is ", step, " but must be > 0");
  return {dim, (length - size) / step + 1, size, step};
}

ViewSpec unfold_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const Windows w = windows_of(self.sizes(), args.integer(1), args.integer(2), args.integer(3));
  ViewSpec spec = same_as(self);
  const int64_t stride = self.ndim() ? self->stride(w.dim) : 1;
  if (self.ndim()) {
    spec.sizes[w.dim] = w.count;
    spec.strides[w.dim] = stride * w.step;
  }
  spec.sizes.push_back(w.size);
  spec.strides.push_back(stride);
  return spec;
}

Tensor unfold_grad(const Backward& b) {
  const IntSpan shape = b.shape(0);
  const Windows w = windows_of(shape, b.integer(1), b.integer(2), b.integer(3));
  Dims strides = contiguous_strides(shape);
  const int64_t stride = shape.empty() ? 1 : strides[w.dim];
  if (!shape.empty()) strides[w.dim] *= w.step;
  strides.push_back(stride);
  return embed(b.grad(), shape, strides, 0);
}

ViewSpec as_strided_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  const IntSpan sizes = args.integers(1), strides = args.integers(2);
  const int64_t offset = args.integer(3);
  WISP_CHECK(sizes.size() == strides.size(), "as_strided(): mismatch in length of strides ",
             strides, " and shape ", sizes);
  for (int64_t stride : strides) {
    WISP_CHECK(
        stride >= 0,
        "as_strided(): Negative strides are not supported at the moment, got strides: ", strides);
  }
  WISP_CHECK(offset >= 0, "as_strided(): storage_offset must be non-negative, got ", offset);
  count_elements(sizes);
  const int64_t reach = extent(sizes, strides);
  int64_t end = 0;
  const bool overflow = __builtin_add_overflow(reach, offset, &end);
  const int64_t capacity = static_cast<int64_t>(self->storage().bytes() / self->item_size());
  WISP_CHECK(!overflow && (reach == 0 || end <= capacity), "as_strided(): sizes ", sizes,
             ", strides ", strides, ", storage offset ", offset, " need a storage of ", end,
             " elements; this one has ", capacity);
  return {Dims(sizes), Dims(strides), offset, self.dtype()};
}

// Where places of the input share an element of memory, each has its part of the gradient of that
// element.
Tensor as_strided_grad(const Backward& b) {
  const Tensor grad = invoke<"_as_strided_grad">(b.grad(), b[1], b[2], b[3], b[4], b[5], b[6]);
  if (!overlaps_itself(b.integers(4), b.integers(5))) return grad;
  const Tensor ones = full(b.integers(4), 1, grad.dtype());
  return div(grad, invoke<"_as_strided_grad">(ones, b[4], b[5], b[6], b[4], b[5], b[6]));
}

ViewSpec as_real_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors");
  ViewSpec spec = same_as(self);
  for (int64_t& stride : spec.strides) stride *= 2;
  spec.sizes.push_back(2);
  spec.strides.push_back(1);
  spec.offset *= 2;
  spec.dtype = to_real(self.dtype());
  return spec;
}

ViewSpec as_complex_spec(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(
      self.dtype() == DType::float32 || self.dtype() == DType::float64,
      "view_as_complex is only supported for float and double tensors, but got a tensor of dtype ",
      name(self.dtype()));
  WISP_CHECK(self.ndim() > 0 && self.size(-1) == 2, "Tensor must have a last dimension of size 2");
  WISP_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  ViewSpec spec = same_as(self);
  spec.sizes.pop_back();
  spec.strides.pop_back();
  for (size_t i = 0; i < spec.sizes.size(); ++i) {  // nobody takes a step in a dimension of size 1
    WISP_CHECK(spec.strides[i] % 2 == 0 || spec.sizes[i] == 1,
               "Tensor must have a stride divisible by 2 for all but last dimension");
    spec.strides[i] /= 2;
  }
  WISP_CHECK(spec.offset % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  spec.offset /= 2;
  spec.dtype = to_complex(self.dtype());
  return spec;
}

OpDef view_op(OpDef def) {
  if (def.jvp == Jvp::unset) def.jvp = Jvp::linear;
  if (def.batch == Batch::unset) def.batch = Batch::loop;
  return def;
}

void register_reshaping(Registry& r) {
  r.add(view_op(
      {.schema = "view(Tensor self, int[] size) -> Tensor",
       .doc =
           "The same elements in another shape, without copying. One size may be -1.\n\n>>> wisp.arange(4).view(2, -1)\ntensor([[0, 1],\n        [2, 3]])",
       .view = view_spec,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
       .onnx = "Reshape",
       .homes = home::method}));
  r.add(view_op(
      {.schema = "view.dtype(Tensor self, Dtype dtype) -> Tensor",
       .doc =
           "The same bytes read as another dtype.\n\n>>> wisp.tensor([1.]).view(wisp.int32)\ntensor([1065353216], dtype=wisp.int32)",
       .view = view_dtype_spec,
       .jvp = Jvp::none,
       .onnx = "BitCast",
       .homes = home::method}));
  r.add(view_op(
      {.schema = "expand(Tensor self, int[] size) -> Tensor",
       .doc =
           "Repeats dimensions of size 1 without copying; -1 keeps a dimension.\n\n>>> wisp.tensor([[1], [2]]).expand(2, 3)\ntensor([[1, 1, 1],\n        [2, 2, 2]])",
       .view = expand_spec,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return sum_to_size(b.grad(), b.shape(0)); }}},
       .onnx = "Expand",
       .homes = home::method}));
  r.add(view_op(
      {.schema = "squeeze(Tensor self) -> Tensor",
       .doc =
           "Drops all dimensions of size 1.\n\n>>> wisp.ones(1, 2, 1).squeeze().shape\nwisp.Size([2])",
       .view =
           [](const Args& args) {
             return squeeze_where(args.tensor(0), [](int64_t) { return true; });
           },
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
       .onnx = "Squeeze",
       .traits = trait::in_place}));
  r.add(view_op(
      {.schema = "squeeze.dim(Tensor self, int dim) -> Tensor",
       .doc =
           "Drops a dimension if it has size 1.\n\n>>> wisp.ones(1, 2, 1).squeeze(0).shape\nwisp.Size([2, 1])",
       .view = squeeze_dim_spec,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
       .onnx = "Squeeze",
       .traits = trait::in_place,
       .node = "SqueezeBackward1"}));
  r.add(view_op(
      {.schema = "squeeze.dims(Tensor self, int[] dim) -> Tensor",
       .doc =
           "Drops the given dimensions where they have size 1.\n\n>>> wisp.ones(1, 2, 1).squeeze((0, 1)).shape\nwisp.Size([2, 1])",
       .view = squeeze_dims_spec,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
       .onnx = "Squeeze",
       .traits = trait::in_place,
       .node = "SqueezeBackward2"}));
  r.add(view_op(
      {.schema = "unsqueeze(Tensor self, int dim) -> Tensor",
       .doc =
           "Inserts a dimension of size 1.\n\n>>> wisp.ones(2).unsqueeze(0).shape\nwisp.Size([1, 2])",
       .view = unsqueeze_spec,
       .vjp = {{"self", "self.shape",
                [](const Backward& b) { return reshape(b.grad(), b.shape(0)); }}},
       .onnx = "Unsqueeze",
       .traits = trait::in_place}));
}

void register_reordering(Registry& r) {
  r.add(view_op(
      {.schema = "transpose(Tensor self, int dim0, int dim1) -> Tensor",
       .doc =
           "Swaps two dimensions.\n\n>>> wisp.ones(2, 3).transpose(0, 1).shape\nwisp.Size([3, 2])",
       .view = transpose_spec,
       .vjp = {{"self", "dim0 dim1",
                [](const Backward& b) { return transpose(b.grad(), b.integer(1), b.integer(2)); }}},
       .onnx = "Transpose",
       .traits = trait::in_place}));
  r.alias("swapaxes", "transpose");
  r.alias("swapdims", "transpose");
  r.add(view_op(
      {.schema = "t(Tensor self) -> Tensor",
       .doc =
           "The transposed matrix; tensors of fewer dimensions as they are.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).t()\ntensor([[1, 3],\n        [2, 4]])",
       .view = t_spec,
       .vjp = {{"self", "", [](const Backward& b) { return t(b.grad()); }}},
       .onnx = "Transpose",
       .traits = trait::in_place}));
  r.add(view_op(
      {.schema = "permute(Tensor self, int[] dims) -> Tensor",
       .doc =
           "The dimensions in another order.\n\n>>> wisp.ones(2, 3, 4).permute(2, 0, 1).shape\nwisp.Size([4, 2, 3])",
       .view = permute_spec,
       .vjp = {{"self", "dims", permute_grad}},
       .onnx = "Transpose"}));
}

void register_picking(Registry& r) {
  r.add(view_op(
      {.schema = "select(Tensor self, int dim, int index) -> Tensor",
       .doc =
           "The slice at `index` along a dimension, which is dropped.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).select(1, 0)\ntensor([1, 3])",
       .view = select_spec,
       .vjp = {{"self", "self.shape dim index", select_grad}},
       .onnx = "Gather"}));
  r.add(view_op(
      {.schema =
           "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
       .doc = "Every `step`-th element from `start` to `end` along a dimension.",
       .view = slice_spec,
       .vjp = {{"self", "self.shape dim start end step", slice_grad}},
       .onnx = "Slice",
       .homes = home::internal}));
  r.add(view_op(
      {.schema = "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
       .doc =
           "The diagonal of two dimensions, as a new last dimension.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).diagonal()\ntensor([1, 4])",
       .view = diagonal_spec,
       .vjp = {{"self", "self.shape offset dim1 dim2", diagonal_grad}},
       .onnx = "+ GatherElements"}));
  r.add(view_op(
      {.schema = "unfold(Tensor self, int dimension, int size, int step) -> Tensor",
       .doc =
           "All windows of `size` elements along a dimension, as a new last dimension.\n\n>>> wisp.arange(4).unfold(0, 2, 1)\ntensor([[0, 1],\n        [1, 2],\n        [2, 3]])",
       .view = unfold_spec,
       .vjp = {{"self", "self.shape dimension size step", unfold_grad}},
       .onnx = "+ Gather",
       .homes = home::method}));
}

void register_as_strided(Registry& r) {
  r.add(view_op({.schema = "alias(Tensor self) -> Tensor",
                 .doc = "The same view again, as a tensor of its own.",
                 .view = [](const Args& args) { return same_as(args.tensor(0)); },
                 .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }}},
                 .onnx = "Identity",
                 .homes = home::internal}));
  r.add(view_op(
      {.schema =
           "_as_strided(Tensor self, int[] size, int[] stride, int storage_offset, int[] self_size, int[] self_stride, int self_offset) -> Tensor",
       .doc =
           "as_strided with the input's own geometry, which its derivative needs.\n\n>>> wisp.arange(4)._as_strided((2,), (2,), 0, (4,), (1,), 0)\ntensor([0, 2])",
       .view = as_strided_spec,
       .vjp = {{"self", "size stride storage_offset self_size self_stride self_offset",
                as_strided_grad}},
       .onnx = "+ Gather",
       .traits = trait::in_place,
       .homes = home::method,
       .node = "AsStridedBackward0"}));
  r.add(
      {.schema =
           "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
       .doc =
           "A view with any sizes, strides and storage offset.\n\n>>> wisp.arange(4).as_strided((2, 2), (1, 1))\ntensor([[0, 1],\n        [1, 2]])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& self = args.tensor(0);
             const int64_t offset = args.has(3) ? args.integer(3) : self->offset();
             const Dims sizes(self.sizes()), strides(self.strides());
             outs.push(invoke<"_as_strided">(self, args[1], args[2], offset, sizes, strides,
                                             self->offset()));
           },
       .onnx = "+ Gather"});
  r.add(view_op(
      {.schema = "view_as_real(Tensor self) -> Tensor",
       .doc =
           "Complex numbers as pairs of real ones, in a new last dimension.\n\n>>> wisp.view_as_real(wisp.tensor([1+2j]))\ntensor([[1., 2.]])",
       .view = as_real_spec,
       .vjp = {{"self", "",
                [](const Backward& b) { return view_as_complex(contiguous(b.grad())); }}},
       .onnx = "+ pairs of real numbers",
       .homes = home::function}));
  r.add(view_op(
      {.schema = "view_as_complex(Tensor self) -> Tensor",
       .doc =
           "Pairs of real numbers in the last dimension as complex ones.\n\n>>> wisp.view_as_complex(wisp.tensor([[1., 2.]]))\ntensor([1.+2.j])",
       .view = as_complex_spec,
       .vjp = {{"self", "", [](const Backward& b) { return view_as_real(b.grad()); }}},
       .onnx = "+ pairs of real numbers",
       .homes = home::function}));
}

}  // namespace

void register_view(Registry& r) {
  register_reshaping(r);
  register_reordering(r);
  register_picking(r);
  register_as_strided(r);
}

}  // namespace wisp::ops
