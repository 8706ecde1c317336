// Cutting a tensor into several views.
#include <algorithm>

#include "ops/families.h"
#include "ops/ops.h"
#include "tensor/contents.h"

namespace wisp::ops {

namespace {

int64_t split_dim(const Args& args, int dim_argument) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0, args.name(), " expects at least a 1-dimensional tensor");
  return wrap_dim(args.integer(dim_argument), self.ndim(), args.name());
}

// Pieces of the given sizes one after the other.
void cut(const Tensor& self, int64_t dim, IntSpan sizes, std::vector<ViewSpec>& pieces) {
  int64_t start = 0;
  pieces.reserve(sizes.size());
  for (int64_t size : sizes) {
    ViewSpec spec{Dims(self.sizes()), Dims(self.strides()),
                  self->offset() + start * self->stride(dim), self.dtype()};
    spec.sizes[dim] = size;
    pieces.push_back(std::move(spec));
    start += size;
  }
}

// Pieces of one size; the last may be smaller.
Dims even_sizes(int64_t total, int64_t size) {
  Dims sizes;
  for (int64_t start = 0; start < total; start += size)
    sizes.push_back(std::min(size, total - start));
  if (sizes.empty()) sizes.push_back(0);
  return sizes;
}

void split_views(const Args& args, std::vector<ViewSpec>& pieces) {
  const Tensor& self = args.tensor(0);
  const int64_t dim = split_dim(args, 2), size = args.integer(1), total = self->size(dim);
  WISP_CHECK(size >= 0, "split expects split_size be non-negative, but got split_size=", size);
  WISP_CHECK(size > 0 || total == 0,
             "split_size can only be 0 if dimension size is 0, but got dimension size of ", total);
  cut(self, dim, even_sizes(total, size), pieces);
}

void split_sizes_views(const Args& args, std::vector<ViewSpec>& pieces) {
  const Tensor& self = args.tensor(0);
  const int64_t dim = split_dim(args, 2);
  const IntSpan sizes = args.integers(1);
  int64_t sum = 0;
  for (int64_t size : sizes) {
    WISP_CHECK(
        size >= 0,
        "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=",
        sizes);
    sum += size;
  }
  WISP_CHECK(sum == self->size(dim), "split_with_sizes expects split_sizes to sum exactly to ",
             self->size(dim), " (input tensor's size at dimension ", dim,
             "), but got split_sizes=", sizes);
  cut(self, dim, sizes, pieces);
}

void unbind_views(const Args& args, std::vector<ViewSpec>& pieces) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK_INDEX(self.ndim() > 0, "Dimension specified as ", args.integer(1),
                   " but tensor has no dimensions");
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), args.name());
  pieces.reserve(static_cast<size_t>(self->size(dim)));
  for (int64_t i = 0; i < self->size(dim); ++i) {
    ViewSpec spec{Dims(self.sizes()), Dims(self.strides()), self->offset() + i * self->stride(dim),
                  self.dtype()};
    spec.sizes.erase(dim);
    spec.strides.erase(dim);
    pieces.push_back(std::move(spec));
  }
}

// The gradients of the pieces, with zeros for those that have none.
std::vector<Tensor> all_grads(const Backward& b, int64_t dim, IntSpan sizes) {
  std::vector<Tensor> grads;
  for (int i = 0; i < b.grad_count(); ++i) {
    if (b.has_grad(i)) {
      grads.push_back(b.grad(i));
      continue;
    }
    Dims shape(b.shape(0));
    if (sizes.empty()) {
      shape.erase(dim);
    } else {
      shape[dim] = sizes[i];
    }
    grads.push_back(zeros(shape, b.input_dtype(0)));
  }
  return grads;
}

Tensor join(const Backward& b, IntSpan sizes) {
  const int64_t dim = wrap_dim(b.integer(2), static_cast<int64_t>(b.shape(0).size()));
  return cat(all_grads(b, dim, sizes), dim);
}

Tensor split_grad(const Backward& b) {
  const int64_t dim = wrap_dim(b.integer(2), static_cast<int64_t>(b.shape(0).size()));
  return join(b, even_sizes(b.shape(0)[dim], b.integer(1)));
}

Tensor split_sizes_grad(const Backward& b) { return join(b, b.integers(1)); }

Tensor unbind_grad(const Backward& b) {
  const int64_t dim = wrap_dim(b.integer(1), static_cast<int64_t>(b.shape(0).size()));
  return stack(all_grads(b, dim, {}), dim);
}

void push_all(TensorList& outs, std::vector<Tensor> tensors) {
  for (Tensor& t : tensors) outs.push(std::move(t));
}

// Of pieces that hold nothing there could be any number.
void check_count(int64_t pieces, int64_t total) {
  constexpr int64_t most_empty = 1 << 20;
  WISP_CHECK(pieces - total <= most_empty, "expected at most ", most_empty,
             " pieces that are empty, but a dimension of ", total, " is to be cut into ", pieces);
}

void chunk_body(const Args& args, TensorList& outs) {
  const int64_t chunks = args.integer(1), dim = split_dim(args, 2),
                total = args.tensor(0)->size(dim);
  WISP_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  if (total == 0) {
    check_count(chunks, total);
    return push_all(outs, split_with_sizes(args.tensor(0), Dims(chunks, 0), dim));
  }
  const Arg pieces[] = {args.tensor(0), total / chunks + (total % chunks != 0), dim};
  call(op_def<"split">(), pieces, outs);
}

// Sections of nearly equal size: the first `total % sections` are one longer.
void split_evenly(const Tensor& self, int64_t sections, int64_t dim, TensorList& outs) {
  WISP_CHECK(sections > 0, "number of sections must be larger than 0, got ", sections);
  const int64_t total = self->size(dim);
  check_count(sections, total);
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t size = total / sections + (i < total % sections);
    outs.push(slice(self, dim, start, start + size));
    start += size;
  }
}

// Cut in front of each index, by the rules of Python's slices.
void split_at(const Tensor& self, IntSpan indices, int64_t dim, TensorList& outs) {
  int64_t start = 0;
  for (int64_t index : indices) {
    outs.push(slice(self, dim, start, index));
    start = index;
  }
  outs.push(slice(self, dim, start, self->size(dim)));
}

int64_t tensor_split_dim(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0,
             "tensor_split expected at least a 1-dimensional tensor, but got a tensor with ",
             self.ndim(), " dims");
  return wrap_dim(args.integer(2), self.ndim(), "tensor_split");
}

void tensor_split_tensor_body(const Args& args, TensorList& outs) {
  const int64_t dim = tensor_split_dim(args);
  const Tensor& where = args.tensor(1);
  WISP_CHECK(
      where.ndim() <= 1,
      "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, ",
      "but got a tensor with ", where.ndim(), " dims");
  WISP_CHECK(where.dtype() == DType::int64,
             "tensor_split expected tensor_indices_or_sections to have dtype of long, but got ",
             legacy_name(where.dtype()));
  where->check_readable("tensor_split()");
  contents_read = true;
  if (where.ndim() == 0) return split_evenly(args.tensor(0), where.item().integer(), dim, outs);
  const Tensor indices = contiguous(where);
  split_at(args.tensor(0), {indices.data<int64_t>(), static_cast<size_t>(indices.numel())}, dim,
           outs);
}

// hsplit, vsplit and dsplit: NumPy's names for dimensions 1 (0 of a vector), 0 and 2.
int64_t named_split_dim(const Args& args) {
  const char first = args.name()[0];
  const int64_t ndim = args.tensor(0).ndim(), least = first == 'h' ? 1 : first == 'v' ? 2 : 3;
  WISP_CHECK(ndim >= least, "torch.", args.name(), " requires a tensor with at least ", least,
             " dimension", least > 1 ? "s" : "", ", but got a tensor with ", ndim, " dimensions!");
  return first == 'v' || ndim == 1 ? 0 : first == 'h' ? 1 : 2;
}

void named_split_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t dim = named_split_dim(args), sections = args.integer(1);
  WISP_CHECK(sections != 0 && self->size(dim) % sections == 0, "torch.", args.name(),
             " attempted to split along dimension ", dim, ", but the size of the dimension ",
             self->size(dim), " is not divisible by the split_size ", sections, "!");
  split_evenly(self, sections, dim, outs);
}

void named_split_at_body(const Args& args, TensorList& outs) {
  split_at(args.tensor(0), args.integers(1), named_split_dim(args), outs);
}

void register_views(Registry& r) {
  r.add(
      {.schema = "split(Tensor self, int split_size, int dim=0) -> Tensor[]",
       .doc =
           "Pieces of `split_size` along a dimension, as views; the last may be smaller.\n\n>>> wisp.arange(5).split(2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))",
       .views = split_views,
       .vjp = {{"self", "self.shape split_size dim", split_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Split"});
  r.add(
      {.schema = "split.sizes(Tensor self, int[] split_size, int dim=0) -> Tensor[]",
       .doc =
           "Pieces of the given sizes along a dimension, as views.\n\n>>> wisp.arange(5).split([1, 4])\n(tensor([0]), tensor([1, 2, 3, 4]))",
       .views = split_sizes_views,
       .vjp = {{"self", "self.shape split_size dim", split_sizes_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Split",
       .node = "SplitWithSizesBackward0"});
  r.add(
      {.schema = "split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
       .doc =
           "Pieces of the given sizes along a dimension, as views.\n\n>>> wisp.arange(5).split_with_sizes([1, 4])\n(tensor([0]), tensor([1, 2, 3, 4]))",
       .views = split_sizes_views,
       .vjp = {{"self", "self.shape split_sizes dim", split_sizes_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Split"});
  r.add(
      {.schema = "unbind(Tensor self, int dim=0) -> Tensor[]",
       .doc =
           "All slices along a dimension, which is dropped, as views.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).unbind()\n(tensor([1, 2]), tensor([3, 4]))",
       .views = unbind_views,
       .vjp = {{"self", "self.shape dim", unbind_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Split"});
}

struct NamedSplit {
  const char *schema, *doc, *at_schema, *at_doc;
};

void register_named(Registry& r) {
  const NamedSplit rows[] = {
      {"hsplit(Tensor self, int sections) -> Tensor[]",
       "Equal pieces along the columns (or of a vector).\n\n>>> wisp.tensor([[1, 2], [3, 4]]).hsplit(2)\n(tensor([[1],\n        [3]]), tensor([[2],\n        [4]]))",
       "hsplit.indices(Tensor self, int[] indices) -> Tensor[]",
       "Pieces along the columns (or of a vector), cut in front of each index.\n\n>>> wisp.arange(5).hsplit([1, 3])\n(tensor([0]), tensor([1, 2]), tensor([3, 4]))"},
      {"vsplit(Tensor self, int sections) -> Tensor[]",
       "Equal pieces along the rows.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).vsplit(2)\n(tensor([[1, 2]]), tensor([[3, 4]]))",
       "vsplit.indices(Tensor self, int[] indices) -> Tensor[]",
       "Pieces along the rows, cut in front of each index.\n\n>>> wisp.tensor([[1, 2], [3, 4]]).vsplit([1])\n(tensor([[1, 2]]), tensor([[3, 4]]))"},
      {"dsplit(Tensor self, int sections) -> Tensor[]",
       "Equal pieces along the third dimension.\n\n>>> wisp.tensor([[[1, 2]]]).dsplit(2)\n(tensor([[[1]]]), tensor([[[2]]]))",
       "dsplit.indices(Tensor self, int[] indices) -> Tensor[]",
       "Pieces along the third dimension, cut in front of each index.\n\n>>> wisp.tensor([[[1, 2]]]).dsplit([1])\n(tensor([[[1]]]), tensor([[[2]]]))"},
  };
  for (const NamedSplit& row : rows) {
    r.add({.schema = row.schema, .doc = row.doc, .body = named_split_body, .onnx = "Split"});
    r.add(
        {.schema = row.at_schema, .doc = row.at_doc, .body = named_split_at_body, .onnx = "Split"});
  }
}

}  // namespace

void register_split(Registry& r) {
  register_views(r);
  r.add(
      {.schema = "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
       .doc =
           "At most `chunks` pieces of one size, as views; the last may be smaller.\n\n>>> wisp.arange(5).chunk(2)\n(tensor([0, 1, 2]), tensor([3, 4]))",
       .body = chunk_body,
       .onnx = "Split"});
  r.add(
      {.schema =
           "tensor_split.tensor(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
       .doc =
           "tensor_split with the number of sections, or the indices, in a tensor.\n\n>>> wisp.arange(5).tensor_split(wisp.tensor(2))\n(tensor([0, 1, 2]), tensor([3, 4]))",
       .body = tensor_split_tensor_body,
       .onnx = "Split"});
  r.add(
      {.schema = "tensor_split(Tensor self, int sections, int dim=0) -> Tensor[]",
       .doc =
           "This many pieces of nearly equal size, as views.\n\n>>> wisp.arange(5).tensor_split(3)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))",
       .body =
           [](const Args& args, TensorList& outs) {
             split_evenly(args.tensor(0), args.integer(1), tensor_split_dim(args), outs);
           },
       .onnx = "Split"});
  r.add(
      {.schema = "tensor_split.indices(Tensor self, int[] indices, int dim=0) -> Tensor[]",
       .doc =
           "Pieces cut in front of each index, as views.\n\n>>> wisp.arange(5).tensor_split((1, 3))\n(tensor([0]), tensor([1, 2]), tensor([3, 4]))",
       .body =
           [](const Args& args, TensorList& outs) {
             split_at(args.tensor(0), args.integers(1), tensor_split_dim(args), outs);
           },
       .onnx = "Split"});
  register_named(r);
}

}  // namespace wisp::ops
