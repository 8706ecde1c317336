// Putting tensors together: cat, stack and their relatives.
#include "cpu/join.h"

#include <algorithm>

#include "cpu/copy.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "tensor/arranged.h"

namespace wisp::ops {

namespace {

// From the days when there were no 0-d tensors: an empty vector joins with anything.
bool is_skipped(const Tensor& t) { return t.ndim() == 1 && t.numel() == 0; }
bool is_skipped(IntSpan sizes) { return sizes.size() == 1 && sizes[0] == 0; }

// The first tensor that has a say in the shape.
const Tensor& leading(List tensors) {
  for (const Tensor& t : tensors) {
    if (!is_skipped(t)) return t;
  }
  return tensors[0];
}

MemoryFormat common_format(List tensors) {
  MemoryFormat format = MemoryFormat::contiguous;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    if (t.is_contiguous()) return MemoryFormat::contiguous;
    format = t.ndim() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
    if (!t->is_contiguous(format)) return MemoryFormat::contiguous;
  }
  return format;
}

DType common_dtype(List tensors) {
  Promotion promotion;
  for (const Tensor& t : tensors) promotion.add(t);
  return promotion.result();
}

void check_fits(const Tensor& t, size_t position, const Tensor& first, int64_t dim) {
  WISP_CHECK(t.ndim() == first.ndim(), "cat(): Tensors must have same number of dimensions: got ",
             first.ndim(), " and ", t.ndim());
  for (int64_t i = 0; i < t.ndim(); ++i) {
    WISP_CHECK(i == dim || t->size(i) == first->size(i),
               "cat(): Sizes of tensors must match except in dimension ", dim, ". Expected size ",
               first->size(i), " but got size ", t->size(i), " for tensor number ", position,
               " in the list.");
  }
}

void infer_cat(Infer& infer) {
  const List tensors = infer.tensors(0);
  WISP_CHECK_VALUE(!tensors.empty(), "cat(): expected a non-empty list of Tensors");
  const Tensor& first = leading(tensors);
  const int64_t dim = wrap_dim(infer.integer(1), first.ndim(), "cat");
  Dims sizes(first.sizes());
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    WISP_CHECK(tensors[i].ndim() > 0, "cat(): zero-dimensional tensor (at position ", i,
               ") cannot be concatenated");
    if (is_skipped(tensors[i])) continue;
    check_fits(tensors[i], i, first, dim);
    total += tensors[i]->size(dim);
  }
  sizes[dim] = total;
  TensorSpec& spec = infer.push(sizes, common_dtype(tensors), first.device());
  const MemoryFormat format = common_format(tensors);
  if (format != MemoryFormat::contiguous) spec.strides = strides_for(format, sizes);
}

// Dimensions from the outermost in memory to the innermost.
Dims memory_order(const Tensor& t) {
  Dims order;
  for (int64_t i = 0; i < t.ndim(); ++i) order.push_back(i);
  if (!t.is_contiguous()) {  // channels last
    order.erase(1);
    order.push_back(1);
  }
  return order;
}

// Whole rows can be copied if every input lies in memory as the output does.
bool try_interleave(const Tensor& out, List tensors, int64_t dim) {
  const Dims order = memory_order(out);
  int64_t rows = 1, inner = static_cast<int64_t>(out->item_size());
  bool outside = true;
  for (int64_t d : order) {
    if (d == dim) {
      outside = false;
    } else {
      (outside ? rows : inner) *= out->size(d);
    }
  }
  const MemoryFormat format = common_format(tensors);
  std::vector<cpu::Piece> pieces;
  pieces.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    const int64_t bytes = t->size(dim) * inner;
    const bool short_rows = rows > 1 && bytes < 32;  // better copied as columns
    if (t.dtype() != out.dtype() || !t->is_contiguous(format) || !out->is_contiguous(format) ||
        short_rows)
      return false;
    pieces.push_back({t->bytes(), bytes});
  }
  cpu::interleave(out->bytes(), rows, pieces);
  return true;
}

// Channels of images that all lie in blocks of the same width (see tensor/arranged.h): the blocks
// of a member follow each other as planes would.
bool try_arranged(const Tensor& out, List tensors) {
  if (!can_arrange(out)) return false;
  std::vector<Arranged> uses;
  std::vector<cpu::Piece> pieces;
  uses.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    const Arranged& use = uses.emplace_back(t);
    if (!use.exists() || !use.is_image(t) || t.dtype() != out.dtype() ||
        use.order().pixels != uses[0].order().pixels || use.order().block != uses[0].order().block)
      return false;
    pieces.push_back({use.data(), t.numel() / t->size(0) * static_cast<int64_t>(t->item_size())});
  }
  const Arrangement& order = uses[0].order();
  cpu::interleave(arrange(out, {out->size(1), order.pixels, order.block}), out->size(0), pieces);
  return true;
}

void cat_kernel(const Call& call) {
  const Tensor& out = call.out();
  const List tensors = call.tensors(0);
  const int64_t dim = wrap_dim(call.integer(1), out.ndim());
  if (dim == 1 && leading(tensors)->storage().is_arranged() && try_arranged(out, tensors)) return;
  if (out.numel() == 0 || try_interleave(out, tensors, dim)) return;
  char* at = out->bytes();
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    cpu::copy(t.sizes(), {at, out.strides(), out.dtype()}, {t->bytes(), t.strides(), t.dtype()});
    at += t->size(dim) * out->stride(dim) * static_cast<int64_t>(out->item_size());
  }
}

// The saved sizes of a list: each tensor's number of dimensions, then its sizes.
void cat_grad(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads) {
  const Tensor& grad = b.grad();
  const int64_t dim = wrap_dim(b.integer(1), grad.ndim());
  IntSpan saved = b.shapes(0);
  int64_t start = 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    const IntSpan sizes = saved.subspan(1, static_cast<size_t>(saved[0]));
    saved = saved.subspan(1 + sizes.size());
    if (is_skipped(sizes)) {
      if (wanted[i]) grads[i] = zeros(sizes, grad.dtype());
      continue;
    }
    if (wanted[i]) grads[i] = narrow(grad, dim, start, sizes[dim]);
    start += sizes[dim];
  }
}

void infer_stack(Infer& infer) {
  const List tensors = infer.tensors(0);
  WISP_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const Tensor& first = tensors[0];
  const int64_t dim = wrap_dim(infer.integer(1), first.ndim() + 1, "stack");
  for (size_t i = 1; i < tensors.size(); ++i) {
    WISP_CHECK(same(tensors[i].sizes(), first.sizes()),
               "stack expects each tensor to be equal size, but got ", first.sizes(),
               " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  }
  Dims sizes(first.sizes());
  sizes.insert(dim, static_cast<int64_t>(tensors.size()));
  infer.push(sizes, common_dtype(tensors), first.device());
}

// Whole rows are copied if all lie in memory one after the other, as the rows of a batch do.
bool try_stack_rows(const Tensor& out, List tensors, int64_t dim) {
  const int64_t rows = count_elements(out.sizes().first(static_cast<size_t>(dim)));
  const int64_t bytes = tensors[0].numel() / rows * static_cast<int64_t>(out->item_size());
  if (!out.is_contiguous() || (rows > 1 && bytes < 32)) return false;
  std::vector<cpu::Piece> pieces;
  pieces.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    if (t.dtype() != out.dtype() || !t.is_contiguous()) return false;
    pieces.push_back({t->bytes(), bytes});
  }
  cpu::interleave(out->bytes(), rows, pieces);
  return true;
}

void stack_kernel(const Call& call) {
  const Tensor& out = call.out();
  const List tensors = call.tensors(0);
  const int64_t dim = wrap_dim(call.integer(1), out.ndim());
  if (out.numel() == 0 || try_stack_rows(out, tensors, dim)) return;
  Dims strides(out.strides());
  strides.erase(dim);
  char* at = out->bytes();
  for (const Tensor& t : tensors) {
    cpu::copy(t.sizes(), {at, strides, out.dtype()}, {t->bytes(), t.strides(), t.dtype()});
    at += out->stride(dim) * static_cast<int64_t>(out->item_size());
  }
}

void stack_grad(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads) {
  for (size_t i = 0; i < grads.size(); ++i) {
    if (wanted[i]) grads[i] = select(b.grad(), b.integer(1), static_cast<int64_t>(i));
  }
}

void check_not_empty(const Args& args) {
  WISP_CHECK(!args.tensors(0).empty(), args.name(), " expects a non-empty TensorList");
}

void hstack_body(const Args& args, TensorList& outs) {
  check_not_empty(args);
  const Tensors wide = invoke_many<"atleast_1d.list">(args.tensors(0));
  outs.push(cat(wide, wide[0].ndim() == 1 ? 0 : 1));
}

void vstack_body(const Args& args, TensorList& outs) {
  check_not_empty(args);
  outs.push(cat(invoke_many<"atleast_2d.list">(args.tensors(0)), 0));
}

void dstack_body(const Args& args, TensorList& outs) {
  check_not_empty(args);
  outs.push(cat(invoke_many<"atleast_3d.list">(args.tensors(0)), 2));
}

// Vectors become columns.
void column_stack_body(const Args& args, TensorList& outs) {
  check_not_empty(args);
  Tensors columns;
  for (const Tensor& t : args.tensors(0)) {
    const int64_t column[] = {t.numel(), 1};
    columns.push_back(t.ndim() <= 1 ? reshape(t, column) : t);
  }
  outs.push(cat(columns, 1));
}

struct Block {
  int64_t rows, cols;
};

// 0-d and 1-d tensors count as one row.
Block block_of(IntSpan sizes) {
  if (sizes.size() == 2) return {sizes[0], sizes[1]};
  return {1, sizes.empty() ? 1 : sizes[0]};
}

void infer_block_diag(Infer& infer) {
  const List tensors = infer.tensors(0);
  Block total{0, 0};
  for (size_t i = 0; i < tensors.size(); ++i) {
    WISP_CHECK(tensors[i].ndim() <= 2,
               "block_diag(): Input tensors must have 2 or fewer dimensions. Input ", i, " has ",
               tensors[i].ndim(), " dimensions");
    const Block block = block_of(tensors[i].sizes());
    total.rows += block.rows;
    total.cols += block.cols;
  }
  if (tensors.empty()) total.rows = 1;
  // 0-d tensors count like any other here, not less.
  DType dtype = tensors.empty() ? default_dtype() : tensors[0].dtype();
  for (const Tensor& t : tensors) dtype = promote(dtype, t.dtype());
  infer.push({total.rows, total.cols}, dtype);
}

void block_diag_kernel(const Call& call) {
  const Tensor& out = call.out();
  std::memset(out->bytes(), 0, static_cast<size_t>(out.numel()) * out->item_size());
  char* at = out->bytes();
  for (const Tensor& t : call.tensors(0)) {
    const Block block = block_of(t.sizes());
    const int64_t steps[] = {t.ndim() == 2 ? t->stride(0) : 0, t.ndim() == 0 ? 0 : t.stride(-1)};
    const int64_t sizes[] = {block.rows, block.cols};
    cpu::copy(sizes, {at, out.strides(), out.dtype()}, {t->bytes(), steps, t.dtype()});
    at += (block.rows * out->stride(0) + block.cols) * static_cast<int64_t>(out->item_size());
  }
}

void block_diag_grad(const Backward& b, std::span<const bool> wanted, std::vector<Tensor>& grads) {
  IntSpan saved = b.shapes(0);
  Block at{0, 0};
  for (size_t i = 0; i < grads.size(); ++i) {
    const IntSpan sizes = saved.subspan(1, static_cast<size_t>(saved[0]));
    saved = saved.subspan(1 + sizes.size());
    const Block block = block_of(sizes);
    if (wanted[i])
      grads[i] =
          reshape(narrow(narrow(b.grad(), 0, at.rows, block.rows), 1, at.cols, block.cols), sizes);
    at.rows += block.rows;
    at.cols += block.cols;
  }
}

void check_mesh(List tensors) {
  WISP_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  for (const Tensor& t : tensors) {
    WISP_CHECK(t.ndim() <= 1,
               "meshgrid(): Expected 0D or 1D tensor in the tensor list but got shape ", t.sizes());
    WISP_CHECK(t.dtype() == tensors[0].dtype(),
               "meshgrid expects all tensors to have the same dtype");
  }
}

void meshgrid_body(const Args& args, TensorList& outs) {
  const List tensors = args.tensors(0);
  check_mesh(tensors);
  const std::string_view indexing = args.has(1) ? args.string(1) : "ij";
  WISP_CHECK(indexing == "ij" || indexing == "xy",
             "meshgrid(): indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const bool swapped = indexing == "xy" && tensors.size() >= 2;
  auto axis = [&](size_t i) { return swapped && i < 2 ? 1 - i : i; };
  Dims shape(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) shape[axis(i)] = tensors[i].numel();
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims own(tensors.size(), 1);
    own[axis(i)] = tensors[i].numel();
    outs.push(expand(reshape(tensors[i], own), shape));
  }
}

void cartesian_prod_body(const Args& args, TensorList& outs) {
  const List tensors = args.tensors(0);
  for (const Tensor& t : tensors) {
    WISP_CHECK(t.ndim() == 1, "cartesian_prod(): Expect a 1D vector, but got shape ", t.sizes());
  }
  if (tensors.size() == 1) {
    outs.push(tensors[0]);
    return;
  }
  Tensors columns = invoke_many<"meshgrid">(tensors);
  for (Tensor& column : columns) column = flatten(column);
  outs.push(stack(columns, 1));
}

// Indices of all choices of r out of n, in lexicographic order, r after r.
std::vector<int64_t> choices(int64_t n, int64_t r, bool replacement) {
  std::vector<int64_t> all, choice(static_cast<size_t>(r), 0);
  for (int64_t i = 0; i < r && !replacement; ++i) choice[i] = i;
  if (n == 0 || (!replacement && r > n)) return all;
  while (true) {
    all.insert(all.end(), choice.begin(), choice.end());
    int64_t at = r - 1;  // the last place that can still grow
    while (at >= 0 && choice[at] == (replacement ? n - 1 : n - r + at)) --at;
    if (at < 0) return all;
    ++choice[at];
    for (int64_t i = at + 1; i < r; ++i) choice[i] = choice[i - 1] + !replacement;
  }
}

void combinations_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t r = args.integer(1);
  WISP_CHECK(self.ndim() == 1, "combinations(): Expect a 1D vector, but got shape ", self.sizes());
  WISP_CHECK(r >= 0, "combinations(): Expect a non-negative number, but got ", r);
  if (r == 0) {
    outs.push(Tensor::empty({0}, self.dtype()));
    return;
  }
  const std::vector<int64_t> indices = choices(self.numel(), r, args.boolean(2));
  Tensor index = Tensor::empty({static_cast<int64_t>(indices.size())}, DType::int64);
  std::copy(indices.begin(), indices.end(), index.data<int64_t>());
  const int64_t shape[] = {index.numel() / r, r};
  outs.push(reshape(invoke<"index_select">(self, 0, index), shape));
}

void register_cat(Registry& r) {
  r.add(
      {.schema = "cat(Tensor[] tensors, int dim=0) -> Tensor",
       .doc =
           "Tensors one after the other along a dimension.\n\n>>> wisp.cat([wisp.tensor([1, 2]), wisp.tensor([3])])\ntensor([1, 2, 3])",
       .infer = infer_cat,
       .kernel = cat_kernel,
       .vjp = {{"tensors", "tensors.shape dim", nullptr, cat_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "Concat",
       .traits = trait::out | trait::out_casts,
       .homes = home::function});
  r.alias("concat", "cat");
  r.alias("concatenate", "cat");
  r.add(
      {.schema = "stack(Tensor[] tensors, int dim=0) -> Tensor",
       .doc =
           "Tensors of one shape along a new dimension.\n\n>>> wisp.stack([wisp.tensor([1, 2]), wisp.tensor([3, 4])])\ntensor([[1, 2],\n        [3, 4]])",
       .infer = infer_stack,
       .kernel = stack_kernel,
       .vjp = {{"tensors", "dim", nullptr, stack_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "ConcatFromSequence",
       .traits = trait::out | trait::out_casts,
       .homes = home::function});
  r.add(
      {.schema = "hstack(Tensor[] tensors) -> Tensor",
       .doc =
           "Side by side: along the columns, or vectors one after the other.\n\n>>> wisp.hstack([wisp.tensor([1, 2]), wisp.tensor([3])])\ntensor([1, 2, 3])",
       .body = hstack_body,
       .onnx = "Concat",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "vstack(Tensor[] tensors) -> Tensor",
       .doc =
           "One below the other; vectors are rows.\n\n>>> wisp.vstack([wisp.tensor([1, 2]), wisp.tensor([3, 4])])\ntensor([[1, 2],\n        [3, 4]])",
       .body = vstack_body,
       .onnx = "Concat",
       .traits = trait::out,
       .homes = home::function});
  r.alias("row_stack", "vstack");
  r.add(
      {.schema = "dstack(Tensor[] tensors) -> Tensor",
       .doc =
           "Along the third dimension.\n\n>>> wisp.dstack([wisp.tensor([1, 2]), wisp.tensor([3, 4])])\ntensor([[[1, 3],\n         [2, 4]]])",
       .body = dstack_body,
       .onnx = "Concat",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "column_stack(Tensor[] tensors) -> Tensor",
       .doc =
           "Side by side; vectors are columns.\n\n>>> wisp.column_stack([wisp.tensor([1, 2]), wisp.tensor([3, 4])])\ntensor([[1, 3],\n        [2, 4]])",
       .body = column_stack_body,
       .onnx = "Concat",
       .traits = trait::out,
       .homes = home::function});
}

}  // namespace

void register_join(Registry& r) {
  register_cat(r);
  r.add(
      {.schema = "block_diag(Tensor... tensors) -> Tensor",
       .doc =
           "A matrix with the given ones along its diagonal and zeros elsewhere.\n\n>>> wisp.block_diag(wisp.tensor([[1, 2]]), wisp.tensor([3]))\ntensor([[1, 2, 0],\n        [0, 0, 3]])",
       .infer = infer_block_diag,
       .kernel = block_diag_kernel,
       .vjp = {{"tensors", "tensors.shape", nullptr, block_diag_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "+ Pad and Concat",
       .homes = home::function});
  r.add(
      {.schema = "meshgrid(Tensor... tensors, *, str? indexing=None) -> Tensor[]",
       .doc =
           "The coordinates of a grid: each vector along a dimension of its own. With indexing=\"xy\" the first two dimensions are swapped.\n\n>>> wisp.meshgrid(wisp.tensor([1, 2]), wisp.tensor([3, 4]), indexing='ij')\n(tensor([[1, 1],\n        [2, 2]]), tensor([[3, 4],\n        [3, 4]]))",
       .body = meshgrid_body,
       .onnx = "Expand",
       .homes = home::function});
  r.add(
      {.schema = "cartesian_prod(Tensor... tensors) -> Tensor",
       .doc =
           "All ways to pick one element of each vector, as rows.\n\n>>> wisp.cartesian_prod(wisp.tensor([1, 2]), wisp.tensor([3, 4]))\ntensor([[1, 3],\n        [1, 4],\n        [2, 3],\n        [2, 4]])",
       .body = cartesian_prod_body,
       .onnx = "+ Expand and Concat",
       .homes = home::function});
  r.add(
      {.schema = "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
       .doc =
           "All ways to choose `r` elements of a vector, as rows.\n\n>>> wisp.combinations(wisp.tensor([1, 2, 3]))\ntensor([[1, 2],\n        [1, 3],\n        [2, 3]])",
       .body = combinations_body,
       .onnx = "+ Gather",
       .homes = home::function});
}

}  // namespace wisp::ops
