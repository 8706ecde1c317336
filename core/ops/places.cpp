// Lists of positions, and what is done at them: repeated elements, triangles, diagonals.
#include <algorithm>
#include <numeric>

#include "base/element.h"
#include "ops/families.h"
#include "ops/number.h"
#include "ops/ops.h"
#include "ops/raw.h"
#include "tensor/contents.h"

namespace wisp::ops {

namespace {

// --- repeat_interleave

Tensor as_counts(const Tensor& repeats) { return consecutive(repeats, DType::int64); }

// repeat_interleave(repeats, *, output_size): 0 as often as repeats[0] says, 1 ...
void infer_repeated_indices(Infer& infer) {
  const Tensor& repeats = infer.tensor(0);
  WISP_CHECK(repeats.ndim() == 1, "repeat_interleave only accept 1D vector as repeat");
  if (repeats.dtype() != DType::int64 && repeats.dtype() != DType::int32)
    fail_not_implemented("repeat_interleave_cpu", repeats.dtype());
  repeats->check_readable("repeat_interleave()");
  contents_read = true;
  const Tensor counts = as_counts(repeats);
  const int64_t *begin = counts.data<int64_t>(), *end = begin + counts.numel();
  WISP_CHECK(std::all_of(begin, end, [](int64_t n) { return n >= 0; }),
             "repeats can not be negative");
  const int64_t total = std::accumulate(begin, end, int64_t(0));
  WISP_CHECK(!infer.has(1) || infer.integer(1) == total,
             "repeat_interleave(): allocated size does not match required size: expected ", total,
             ", got ", infer.has(1) ? infer.integer(1) : 0);
  infer.push({total}, repeats.dtype(), repeats.device());
}

void repeated_indices_kernel(const Call& call) {
  const Tensor counts = as_counts(call.tensor(0));
  visit<dtypes::integral>(call.out().dtype(), "repeat_interleave", [&]<class T>() {
    T* out = call.out().data<T>();
    for (int64_t i = 0; i < counts.numel(); ++i)
      out = std::fill_n(out, counts.data<int64_t>()[i], static_cast<T>(i));
  });
}

// The dimension whose elements are repeated: all of them in one row if none is given.
struct Repeated {
  Tensor row;
  int64_t dim;
};
Repeated repeated_along(const Args& args) {
  const Tensor& self = args.tensor(0);
  if (!args.has(2)) return {flatten(self), 0};
  const int64_t dim = args.integer(2);
  WISP_CHECK_INDEX(self.ndim() > 0, "Dimension specified as ", dim,
                   " but tensor has no dimensions");
  return {self, wrap_dim(dim, self.ndim(), args.name())};
}

// repeat_interleave.self(self, repeats, dim, *, output_size)
void repeat_by_tensor(const Args& args, TensorList& outs) {
  const auto [row, dim] = repeated_along(args);
  const int64_t size = row.size(dim);
  Tensor repeats = args.tensor(1);
  if (repeats.ndim() == 0 || (repeats.ndim() == 1 && repeats.numel() == 1)) {
    repeats = expand(flatten(repeats), IntSpan(&size, 1));
  } else {
    WISP_CHECK(repeats.ndim() != 1 || repeats.numel() == size,
               "repeats must have the same size as input along dim, but got repeats.size(0) = ",
               repeats.numel(), " and input.size(", dim, ") = ", size);
  }
  outs.push(index_select(row, dim, invoke<"repeat_interleave">(repeats, args[3])));
}

void repeat_by_number(const Args& args, TensorList& outs) {
  const int64_t repeats = args.integer(1);
  WISP_CHECK(repeats >= 0, "Repeats must be non-negative");
  const auto [row, dim] = repeated_along(args);
  const int64_t total = row.size(dim) * repeats;
  WISP_CHECK(!args.has(3) || args.integer(3) == total,
             "repeat_interleave: Invalid output_size, expected ", total, " but got ",
             args.has(3) ? args.integer(3) : 0);
  Dims spread(row.sizes());
  spread.insert(dim + 1, repeats);
  Dims merged(row.sizes());
  merged[dim] = total;
  const Tensor copies = expand(unsqueeze(row, dim + 1), spread);
  outs.push(reshape(invoke<"clone">(copies, MemoryFormat::contiguous), merged));
}

void register_repeats(Registry& r) {
  r.add(
      {.schema = "repeat_interleave(Tensor repeats, *, int? output_size=None) -> Tensor",
       .doc =
           "Each index as often as its count says.\n\n>>> wisp.repeat_interleave(wisp.tensor([1, 0, 2]))\ntensor([0, 2, 2])",
       .infer = infer_repeated_indices,
       .kernel = repeated_indices_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "+ several nodes",
       .homes = home::function});
  r.add(
      {.schema =
           "repeat_interleave.self(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
       .doc = "Each element along a dimension as often as its count says.\n\n"
              ">>> wisp.tensor([5, 6]).repeat_interleave(wisp.tensor([1, 2]))\ntensor([5, 6, 6])",
       .body = repeat_by_tensor,
       .onnx = "Gather"});
  r.add(
      {.schema =
           "repeat_interleave.number(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
       .doc = "Each element along a dimension `repeats` times.\n\n"
              ">>> wisp.repeat_interleave(wisp.tensor([5, 6]), 2)\ntensor([5, 5, 6, 6])",
       .body = repeat_by_number,
       .onnx = "Tile"});
}

// --- tril_indices, triu_indices(row, col, offset, *, dtype, device)

// The part of a matrix on one side of a diagonal. Sizes and offsets may be any: sums of them are
// wide.
template <bool lower>
struct Triangle {
  using Wide = __int128;
  int64_t rows, cols, offset;

  explicit Triangle(const Args& args)
      : rows(args.integer(0)), cols(args.integer(1)), offset(args.integer(2)) {}

  // The columns of a row.
  std::pair<int64_t, int64_t> span(int64_t row) const {
    const Wide diagonal = static_cast<Wide>(row) + offset + (lower ? 1 : 0);
    const int64_t edge = static_cast<int64_t>(std::clamp<Wide>(diagonal, 0, cols));
    return lower ? std::pair(int64_t{0}, edge) : std::pair(edge, cols);
  }
  // The rows that have columns.
  int64_t begin() const { return lower && cols > 0 ? row_at(-static_cast<Wide>(offset)) : 0; }
  int64_t end() const {
    if (cols == 0) return 0;
    return lower ? rows : row_at(static_cast<Wide>(cols) - offset);
  }
  // From the thin end on, rows grow by a column each until they are full.
  int64_t count() const {
    const int64_t filled = end() - begin();
    if (filled == 0) return 0;
    const auto [from, to] = span(lower ? begin() : end() - 1);
    const Wide thin = to - from, growing = std::min<Wide>(filled, cols - thin);
    const Wide count = (filled - growing) * cols + growing * (2 * thin + growing - 1) / 2;
    WISP_CHECK(count <= std::numeric_limits<int64_t>::max() / 2, "a triangle of ", rows, " x ",
               cols, " has too many elements");
    return static_cast<int64_t>(count);
  }

 private:
  int64_t row_at(Wide row) const { return static_cast<int64_t>(std::clamp<Wide>(row, 0, rows)); }
};

template <bool lower>
void infer_triangle(Infer& infer) {
  WISP_CHECK(infer.integer(0) >= 0, "row must be non-negative, got ", infer.integer(0));
  WISP_CHECK(infer.integer(1) >= 0, "col must be non-negative, got ", infer.integer(1));
  const DType dtype = infer.dtype_or_none(3).value_or(DType::int64);
  if (!is_integral(dtype)) fail_not_implemented(infer.name(), dtype);
  infer.push({2, Triangle<lower>(infer).count()}, dtype, infer.device(4));
}

template <bool lower>
void triangle_kernel(const Call& call) {
  const Tensor& out = call.out();
  visit<dtypes::integral>(out.dtype(), call.name(), [&]<class T>() {
    T *rows = out.data<T>(), *cols = rows + out.size(1);
    const Triangle<lower> triangle(call);
    for (int64_t row = triangle.begin(); row < triangle.end(); ++row) {
      const auto [from, to] = triangle.span(row);
      rows = std::fill_n(rows, to - from, static_cast<T>(row));
      for (int64_t col = from; col < to; ++col) *cols++ = static_cast<T>(col);
    }
  });
}

OpDef triangle(OpDef def) {
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  def.onnx = "+ a constant";
  def.traits = trait::factory;
  def.homes = home::function;
  return def;
}

void register_triangles(Registry& r) {
  r.add(triangle(
      {.schema =
           "tril_indices(int row, int col, int offset=0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "Rows and columns of a lower triangle, row by row.\n\n"
              ">>> wisp.tril_indices(2, 2)\ntensor([[0, 1, 1],\n        [0, 0, 1]])",
       .infer = infer_triangle<true>,
       .kernel = triangle_kernel<true>}));
  r.add(triangle(
      {.schema =
           "triu_indices(int row, int col, int offset=0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "Rows and columns of an upper triangle, row by row.\n\n"
              ">>> wisp.triu_indices(2, 2)\ntensor([[0, 0, 1],\n        [0, 1, 1]])",
       .infer = infer_triangle<false>,
       .kernel = triangle_kernel<false>}));
}

// --- nonzero_static(self, *, size, fill_value)

void nonzero_static_body(const Args& args, TensorList& outs) {
  const int64_t size = args.integer(1);
  WISP_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  const Tensor found = nonzero(args.tensor(0));
  const int64_t rows = std::min(size, found.size(0));
  const Dims missing{size - rows, found.size(1)};
  const Tensor parts[] = {slice(found, 0, 0, rows), full(missing, args.integer(2), DType::int64)};
  outs.push(cat(parts));
}

// --- fill_diagonal(self, fill_value, wrap)

void infer_fill_diagonal(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(self.ndim() >= 2, "dimensions must larger than 1");
  if (self.ndim() > 2) {
    for (int64_t size : self.sizes()) {
      WISP_CHECK(size == self->size(0), "all dimensions of input must be of equal length");
    }
  }
  check_fits("fill_diagonal_", infer.scalar(1), self.dtype());
  TensorSpec& spec = infer.push(self.sizes(), self.dtype(), self.device());
  if (!self.is_contiguous()) spec.strides = preserved_strides(self.sizes(), self.strides());
}

void fill_diagonal_kernel(const Call& call) {
  update(call.out(), call.tensor(0), false, [&](const Tensor& t) {
    const int64_t height = t->size(0), width = t->size(1);
    // A tall matrix starts over below a free row.
    const int64_t rows = call.boolean(2) && t.ndim() == 2 ? height : std::min(height, width);
    int64_t step = 0;
    for (int64_t dim = 1; dim < t.ndim(); ++dim) step += t->stride(dim);
    const Element value(call.scalar(1), t.dtype());
    const size_t item = t->item_size();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t col = row % (width + 1);
      const int64_t place = (row * t->stride(0) + col * step) * static_cast<int64_t>(item);
      if (col < width) std::memcpy(t->bytes() + place, value.bytes, item);
    }
  });
}

void register_diagonal(Registry& r) {
  r.add(
      {.schema = "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
       .doc =
           "The first `size` rows of nonzero(), filled up with `fill_value`.\n\n"
           ">>> wisp.nonzero_static(wisp.tensor([0, 1, 1]), size=3)\ntensor([[ 1],\n        [ 2],\n        [-1]])",
       .body = nonzero_static_body,
       .onnx = "+ Pad of NonZero",
       .traits = trait::out});
  r.add({.schema = "fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor",
         .doc = "Overwrites the main diagonal; `wrap` goes on below it in tall matrices.\n\n"
                ">>> wisp.zeros(2, 2).fill_diagonal_(5)\ntensor([[5., 0.],\n        [0., 5.]])",
         .infer = infer_fill_diagonal,
         .kernel = fill_diagonal_kernel,
         .vjp = {{"self", "wrap",
                  [](const Backward& b) {
                    return invoke<"fill_diagonal">(b.grad(), 0, b.boolean(2));
                  }}},
         .jvp = Jvp::elementwise,
         .batch = Batch::loop,
         .onnx = "+ ScatterND",
         .traits = trait::in_place | trait::in_place_only | trait::writes_self,
         .homes = home::method});
}

}  // namespace

void register_places(Registry& r) {
  register_repeats(r);
  register_triangles(r);
  register_diagonal(r);
}

}  // namespace wisp::ops
