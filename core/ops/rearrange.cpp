// The same elements at other places: flipped, rolled, repeated, triangles and diagonals.
#include "cpu/rearrange.h"

#include <algorithm>

#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace wisp::ops {

namespace {

cpu::Operand operand_of(const Tensor& t) { return {t->bytes(), t.strides(), t.dtype()}; }

void infer_flip(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  wrap_dims(infer.integers(1), self.ndim(), "flip");
  TensorSpec& spec = infer.push(self.sizes(), self.dtype(), self.device());
  if (!self.is_contiguous()) spec.strides = preserved_strides(self.sizes(), self.strides());
}

// Reads flipped dimensions from their end, with negative strides.
void flip_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  if (self.numel() == 0) return;
  Dims strides(self.strides());
  int64_t offset = 0;
  for (int64_t dim : wrap_dims(call.integers(1), self.ndim(), "flip")) {
    if (self.ndim() == 0) break;
    offset += (self->size(dim) - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  char* start = self->bytes() + offset * static_cast<int64_t>(self->item_size());
  cpu::copy(out.sizes(), operand_of(out), {start, strides, self.dtype()});
}

Tensor flip_one(const Tensor& self, int64_t dim) { return flip(self, {&dim, 1}); }

void rot90_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const IntSpan dims = args.integers(2);
  WISP_CHECK(dims.size() == 2,
             "rot90(): expected total rotation dims == 2, but got dims = ", dims.size());
  WISP_CHECK(self.ndim() >= 2,
             "rot90(): expected total dims >= 2, but got total dims = ", self.ndim());
  const int64_t a = wrap_dim(dims[0], self.ndim(), "rot90"),
                b = wrap_dim(dims[1], self.ndim(), "rot90");
  WISP_CHECK(a != b, "rot90(): expected rotation dims to be different, but got dim0 = ", dims[0],
             " and dim1 = ", dims[1]);
  switch (((args.integer(1) % 4) + 4) % 4) {
    case 1:
      return outs.push(transpose(flip_one(self, b), a, b));
    case 2:
      return outs.push(flip(self, Dims{a, b}));
    case 3:
      return outs.push(transpose(flip_one(self, a), a, b));
    default:
      return outs.push(clone(self));
  }
}

void infer_roll(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const IntSpan shifts = infer.integers(1), dims = infer.integers(2);
  WISP_CHECK(!shifts.empty(), "roll(): `shifts` required");
  WISP_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1),
             "roll(): shifts and dimensions must align. shifts: ", shifts.size(),
             ", dims:", dims.size());
  for (int64_t dim : dims) {
    WISP_CHECK_INDEX(self.ndim() > 0, "Dimension specified as ", dim,
                     " but tensor has no dimensions");
    wrap_dim(dim, self.ndim(), "roll");
  }
  infer.push(self.sizes(), self.dtype(), self.device());
}

struct Region {
  Dims sizes;
  char *out, *in;
};

// Cuts the region in two along each shifted dimension in turn, then copies the parts across.
void roll_region(const Tensor& out, const Tensor& self, IntSpan starts, int64_t dim,
                 Region region) {
  while (dim < self.ndim() && starts[dim] == 0) ++dim;
  if (dim == self.ndim()) {
    cpu::copy(region.sizes, {region.out, out.strides(), out.dtype()},
              {region.in, self.strides(), self.dtype()});
    return;
  }
  const int64_t item = static_cast<int64_t>(self->item_size()), size = self->size(dim),
                start = starts[dim];
  Region head = region, tail = region;
  head.sizes[dim] = size - start;
  head.out += start * out->stride(dim) * item;
  tail.sizes[dim] = start;
  tail.in += (size - start) * self->stride(dim) * item;
  roll_region(out, self, starts, dim + 1, head);
  roll_region(out, self, starts, dim + 1, tail);
}

void roll_kernel(const Call& call) {
  Tensor self = call.tensor(0), out = call.out();
  const IntSpan shifts = call.integers(1), dims = call.integers(2);
  if (self.numel() == 0) return;
  if (dims.empty()) {  // as if there were one dimension
    const int64_t all[] = {self.numel()}, one[] = {1};
    if (!self.is_contiguous()) {
      Tensor flat = Tensor::empty(self.sizes(), self.dtype());
      cpu::copy(self.sizes(), operand_of(flat), operand_of(self));
      self = flat;
    }
    self = self.alias(all, one, self->offset());
    out = out.alias(all, one, out->offset());
  }
  if (self.ndim() == 0) return cpu::copy(self.sizes(), operand_of(out), operand_of(self));
  Dims starts(self.ndim(), 0);  // where the first element of a dimension goes
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int64_t dim = dims.empty() ? 0 : wrap_dim(dims[i], self.ndim()), size = self->size(dim);
    starts[dim] = ((starts[dim] + shifts[i] % size) % size + size) % size;
  }
  roll_region(out, self, starts, 0, {Dims(self.sizes()), out->bytes(), self->bytes()});
}

Tensor roll_grad(const Backward& b) {
  Dims back;
  for (int64_t shift : b.integers(1)) back.push_back(-shift);
  return invoke<"roll">(b.grad(), back, b.integers(2));
}

// Sizes with ones in front up to `ndim` dimensions.
Dims padded_front(IntSpan sizes, size_t ndim) {
  Dims padded(ndim, 1);
  std::copy(sizes.begin(), sizes.end(), padded.end() - static_cast<int64_t>(sizes.size()));
  return padded;
}

void infer_repeat(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const IntSpan repeats = infer.integers(1);
  WISP_CHECK(
      repeats.size() >= static_cast<size_t>(self.ndim()),
      "repeat(): Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  Dims sizes = padded_front(self.sizes(), repeats.size());
  for (size_t i = 0; i < repeats.size(); ++i) sizes[i] *= repeats[i];
  count_elements(sizes);
  infer.push(sizes, self.dtype(), self.device());
}

// Every dimension as two: the copies, then the elements of one copy.
Dims with_copies(IntSpan repeats, IntSpan sizes) {
  Dims both;
  for (size_t i = 0; i < repeats.size(); ++i) {
    both.push_back(repeats[i]);
    both.push_back(sizes[i]);
  }
  return both;
}

void repeat_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const IntSpan repeats = call.integers(1);
  if (out.numel() == 0) return;
  const Dims sizes = padded_front(self.sizes(), repeats.size());
  Dims steps(repeats.size(), 0), copy_steps(repeats.size());
  std::copy(self.strides().begin(), self.strides().end(), steps.end() - self.ndim());
  for (size_t i = 0; i < repeats.size(); ++i) copy_steps[i] = out->stride(i) * sizes[i];
  const Dims from = with_copies(Dims(repeats.size(), 0), steps),
             to = with_copies(copy_steps, out.strides());
  cpu::copy(with_copies(repeats, sizes), {out->bytes(), to, out.dtype()},
            {self->bytes(), from, self.dtype()});
}

Tensor repeat_grad(const Backward& b) {
  const IntSpan repeats = b.integers(1), shape = b.shape(0);
  const Dims sizes = padded_front(shape, repeats.size());
  Dims copies;
  for (size_t i = 0; i < repeats.size(); ++i) copies.push_back(static_cast<int64_t>(2 * i));
  if (count_elements(repeats) == 0) return zeros(shape, b.input_dtype(0));
  if (copies.empty()) return b.grad();
  return reshape(sum(reshape(b.grad(), with_copies(repeats, sizes)), copies), shape);
}

void infer_triangle(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(self.ndim() >= 2, infer.name(), "(): input tensor must have at least 2 dimensions");
  infer.push(self.sizes(), self.dtype(), self.device());
}

template <cpu::Triangle which>
void triangle_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  if (out.numel() == 0) return;
  cpu::keep_triangle(self.sizes(), operand_of(out), operand_of(self), which, call.integer(1));
}

struct Embedding {
  Dims sizes;       // of the result
  Diagonal places;  // of the elements in it
};

Embedding embedding(const Args& args, IntSpan sizes, int64_t offset) {
  const int64_t ndim = static_cast<int64_t>(sizes.size()) + 1;
  const int64_t dim1 = wrap_dim(args.integer(2), ndim, args.name()),
                dim2 = wrap_dim(args.integer(3), ndim, args.name());
  WISP_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical ", args.integer(2), ", ",
             args.integer(3));
  const int64_t length = sizes.back() + std::abs(offset);
  Embedding result{Dims(sizes.first(sizes.size() - 1)), {}};
  result.sizes.insert(std::min(dim1, dim2), length);
  result.sizes.insert(std::max(dim1, dim2), length);
  result.places =
      diagonal_of(result.sizes, contiguous_strides(result.sizes), offset, dim1, dim2, args.name());
  return result;
}

void infer_diag_embed(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK_INDEX(self.ndim() > 0,
                   "diag_embed(): Dimension out of range: a 0-d tensor has no diagonal to place");
  infer.push(embedding(infer, self.sizes(), infer.integer(1)).sizes, self.dtype(), self.device());
}

void diag_embed_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const Diagonal places = embedding(call, self.sizes(), call.integer(1)).places;
  const int64_t item = static_cast<int64_t>(out->item_size());
  std::memset(out->bytes(), 0, static_cast<size_t>(out.numel() * item));
  cpu::copy(self.sizes(), {out->bytes() + places.offset * item, places.strides, out.dtype()},
            operand_of(self));
}

void diag_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() == 1 || self.ndim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
             self.ndim(), "D");
  outs.push(self.ndim() == 1 ? diag_embed(self, args.integer(1))
                             : clone(diagonal(self, args.integer(1))));
}

void tile_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const IntSpan dims = args.integers(1);
  outs.push(
      repeat(self, padded_front(dims, std::max(dims.size(), static_cast<size_t>(self.ndim())))));
}

void trace_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() == 2, "trace: expected a matrix, but got tensor with dim ", self.ndim());
  outs.push(sum(diagonal(self)));
}

// Powers 0 to n - 1 of every element, along a new last dimension: running products of 1 and
// repeated elements.
Tensor powers(const Tensor& x, int64_t n) {
  const Tensor column = unsqueeze(x, -1);
  if (n < 3) return pow(column, invoke<"arange">(n));
  Dims sizes(column.sizes());
  const Tensor one = ones(sizes, x.dtype() == DType::bool_ ? DType::int64 : x.dtype());
  sizes.back() = n - 1;
  const Tensor parts[] = {one, expand(column, sizes)};
  return cumprod(cat(parts, -1), -1);
}

void vander_body(const Args& args, TensorList& outs) {
  const Tensor& x = args.tensor(0);
  WISP_CHECK(x.ndim() == 1, "vander(): x must be a one-dimensional tensor.");
  const int64_t n = args.has(1) ? args.integer(1) : x.numel();
  WISP_CHECK(n >= 0, "vander(): N must be non-negative.");
  outs.push(args.boolean(2) ? powers(x, n) : flip_one(powers(x, n), 1));
}

void linalg_vander_body(const Args& args, TensorList& outs) {
  const Tensor& x = args.tensor(0);
  const int64_t n = args.has(1) ? args.integer(1) : x.ndim() ? x.size(-1) : 1;
  WISP_CHECK(n > 1, "linalg.vander(): N must be greater than 1.");
  outs.push(powers(x.ndim() ? x : unsqueeze(x, 0), n));
}

void register_flips(Registry& r) {
  r.add(
      {.schema = "flip(Tensor self, int[] dims) -> Tensor",
       .doc =
           "Reverses the order of elements along the given dimensions.\n\n>>> wisp.flip(wisp.tensor([1, 2, 3]), (0,))\ntensor([3, 2, 1])",
       .infer = infer_flip,
       .kernel = flip_kernel,
       .vjp = {{"self", "dims", [](const Backward& b) { return flip(b.grad(), b.integers(1)); }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Slice"});
  r.add(
      {.schema = "fliplr(Tensor self) -> Tensor",
       .doc =
           "The columns in reverse order.\n\n>>> wisp.fliplr(wisp.tensor([[1, 2]]))\ntensor([[2, 1]])",
       .body =
           [](const Args& args, TensorList& outs) {
             WISP_CHECK(args.tensor(0).ndim() >= 2, "fliplr(): Input must be >= 2-d.");
             outs.push(flip_one(args.tensor(0), 1));
           },
       .onnx = "Slice"});
  r.add(
      {.schema = "flipud(Tensor self) -> Tensor",
       .doc = "The rows in reverse order.\n\n>>> wisp.flipud(wisp.tensor([1, 2]))\ntensor([2, 1])",
       .body =
           [](const Args& args, TensorList& outs) {
             WISP_CHECK(args.tensor(0).ndim() >= 1, "flipud(): Input must be >= 1-d.");
             outs.push(flip_one(args.tensor(0), 0));
           },
       .onnx = "Slice"});
  r.add(
      {.schema = "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
       .doc =
           "Rotates two dimensions by `k` quarter turns, from the first towards the second.\n\n>>> wisp.rot90(wisp.tensor([[1, 2], [3, 4]]))\ntensor([[2, 4],\n        [1, 3]])",
       .body = rot90_body,
       .onnx = "Transpose"});
  r.add(
      {.schema = "roll(Tensor self, int[1] shifts, int[1]? dims=[]) -> Tensor",
       .doc =
           "Shifts elements along dimensions; what leaves at one end enters at the other. Without `dims`, of the flattened tensor.\n\n>>> wisp.roll(wisp.tensor([1, 2, 3]), 1)\ntensor([3, 1, 2])",
       .infer = infer_roll,
       .kernel = roll_kernel,
       .vjp = {{"self", "shifts dims", roll_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Concat"});
}

void register_repeats(Registry& r) {
  r.add(
      {.schema = "repeat(Tensor self, int[] repeats) -> Tensor",
       .doc =
           "Copies of the tensor side by side along each dimension.\n\n>>> wisp.tensor([1, 2]).repeat(2, 2)\ntensor([[1, 2, 1, 2],\n        [1, 2, 1, 2]])",
       .infer = infer_repeat,
       .kernel = repeat_kernel,
       .vjp = {{"self", "self.shape repeats", repeat_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Tile",
       .homes = home::method});
  r.add(
      {.schema = "tile(Tensor self, int[] dims) -> Tensor",
       .doc =
           "Like repeat, but fewer numbers than dimensions count for the last ones.\n\n>>> wisp.tile(wisp.tensor([[1, 2]]), (2,))\ntensor([[1, 2, 1, 2]])",
       .body = tile_body,
       .onnx = "Tile"});
  r.add(
      {.schema = "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
       .doc =
           "The powers of a vector's elements as columns, highest first.\n\n>>> wisp.vander(wisp.tensor([1, 2, 3]))\ntensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])",
       .body = vander_body,
       .onnx = "Pow",
       .homes = home::function});
  r.add(
      {.schema = "vander.linalg(Tensor x, *, int? N=None) -> Tensor",
       .doc =
           "The powers 0 to N - 1 of every element, along a new last dimension.\n\n>>> wisp.linalg.vander(wisp.tensor([2, 3]), N=3)\ntensor([[1, 2, 4],\n        [1, 3, 9]])",
       .body = linalg_vander_body,
       .onnx = "Pow",
       .homes = home::linalg});
}

void register_triangles(Registry& r) {
  r.add(
      {.schema = "tril(Tensor self, int diagonal=0) -> Tensor",
       .doc =
           "The lower triangle of matrices; elements above the diagonal become 0.\n\n>>> wisp.tril(wisp.ones(2, 3))\ntensor([[1., 0., 0.],\n        [1., 1., 0.]])",
       .infer = infer_triangle,
       .kernel = triangle_kernel<cpu::Triangle::lower>,
       .vjp = {{"self", "diagonal",
                [](const Backward& b) { return invoke<"tril">(b.grad(), b.integer(1)); }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Trilu",
       .traits = trait::in_place | trait::out});
  r.add(
      {.schema = "triu(Tensor self, int diagonal=0) -> Tensor",
       .doc =
           "The upper triangle of matrices; elements below the diagonal become 0.\n\n>>> wisp.triu(wisp.ones(2, 3))\ntensor([[1., 1., 1.],\n        [0., 1., 1.]])",
       .infer = infer_triangle,
       .kernel = triangle_kernel<cpu::Triangle::upper>,
       .vjp = {{"self", "diagonal",
                [](const Backward& b) { return invoke<"triu">(b.grad(), b.integer(1)); }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Trilu",
       .traits = trait::in_place | trait::out});
}

void register_diagonals(Registry& r) {
  r.add(
      {.schema = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
       .doc =
           "Matrices with the last dimension on their diagonal and zeros elsewhere.\n\n>>> wisp.diag_embed(wisp.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])",
       .infer = infer_diag_embed,
       .kernel = diag_embed_kernel,
       .vjp = {{"self", "offset dim1 dim2",
                [](const Backward& b) {
                  return diagonal(b.grad(), b.integer(1), b.integer(2), b.integer(3));
                }}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ ScatterElements"});
  r.add(
      {.schema = "diag(Tensor self, int diagonal=0) -> Tensor",
       .doc =
           "A vector on the diagonal of a matrix, or the diagonal of a matrix as a vector.\n\n>>> wisp.diag(wisp.tensor([[1, 2], [3, 4]]))\ntensor([1, 4])",
       .body = diag_body,
       .onnx = "+ GatherElements",
       .traits = trait::out});
  r.add(
      {.schema = "diagflat(Tensor self, int offset=0) -> Tensor",
       .doc =
           "All elements on the diagonal of a matrix.\n\n>>> wisp.diagflat(wisp.tensor([1, 2]), 1)\ntensor([[0, 1, 0],\n        [0, 0, 2],\n        [0, 0, 0]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(diag_embed(flatten(args.tensor(0)), args.integer(1)));
           },
       .onnx = "+ ScatterElements"});
  r.add(
      {.schema = "trace(Tensor self) -> Tensor",
       .doc =
           "The sum of a matrix's diagonal.\n\n>>> wisp.trace(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor(5.)",
       .body = trace_body,
       .onnx = "+ ReduceSum of its diagonal"});
}

}  // namespace

void register_rearrange(Registry& r) {
  register_flips(r);
  register_repeats(r);
  register_triangles(r);
  register_diagonals(r);
}

}  // namespace wisp::ops
