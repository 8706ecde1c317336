// Indexing along one dimension with a vector of indices: index_select and what writes that way.
#include "cpu/index.h"
#include "cpu/scratch.h"
#include "ops/families.h"
#include "ops/into_zeros.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// The dimension of argument 1, and its size; a 0-d tensor counts as a vector of one.
struct Dim {
  Dim(const Args& args, IntSpan sizes)
      : at(wrap_dim(args.integer(1), static_cast<int64_t>(sizes.size()), args.name())),
        size(sizes.empty() ? 1 : sizes[at]) {}
  int64_t at, size;
};

void check_vector(const Args& args, bool long_only) {
  const Tensor& index = args.tensor(2);
  WISP_CHECK_INDEX(index.ndim() <= 1, args.name(),
                   "(): Index is supposed to be a vector, but got dim: ", index.ndim(),
                   " with type: ", legacy_name(index.dtype()), " and size: ", index.sizes());
  WISP_CHECK(index.dtype() == DType::int64 || (!long_only && index.dtype() == DType::int32),
             args.name(), "(): Expected dtype ", long_only ? "int64" : "int32 or int64",
             " for index, but got ", name(index.dtype()));
}

// The places of all slices that the index names. `offsets` has room for one per index.
cpu::Places slices(const Tensor& self, int64_t dim, const Tensor& index, bool wraps,
                   std::span<int64_t> offsets) {
  const Tensor vector = consecutive(index, DType::int64);
  const bool scalar = self.ndim() == 0;
  const cpu::Axis axis{.dim = dim,
                       .size = scalar ? 1 : self->size(dim),
                       .stride = scalar ? 1 : self->stride(dim),
                       .wraps = wraps};
  std::fill(offsets.begin(), offsets.end(), 0);
  cpu::add_offsets(offsets, vector.data<int64_t>(), axis);
  cpu::Places places{.lead_sizes = {},
                     .lead_strides = {},
                     .offsets = offsets,
                     .trail_sizes = {},
                     .trail_strides = {}};
  for (int64_t i = 0; i < self.ndim(); ++i) {
    if (i == dim) continue;
    (i < dim ? places.lead_sizes : places.trail_sizes).push_back(self->size(i));
    (i < dim ? places.lead_strides : places.trail_strides).push_back(self->stride(i));
  }
  return places;
}

void infer_index_select(Infer& infer) {
  const Tensor &self = infer.tensor(0), &index = infer.tensor(2);
  const Dim dim(infer, self.sizes());
  check_vector(infer, false);
  WISP_CHECK(self.ndim() > 0 || index.numel() == 1,
             "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
             " value(s)");
  Dims shape(self.sizes());
  if (self.ndim() > 0) shape[dim.at] = index.numel();
  infer.push(shape, self.dtype(), self.device());
}

void index_select_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &index = call.tensor(2);
  const cpu::Scratch<int64_t> offsets(index.numel());
  const Dim dim(call, self.sizes());
  cpu::pick(slices(self, dim.at, index, false, offsets), self->item_size(), self->bytes(),
            call.out()->bytes());
}

Tensor index_select_grad(const Backward& b) {
  return put_into_zeros<"index_add">(b, b.integer(1), b.tensor(2), b.grad());
}

// `source` has self's shape but for the indexed dimension, which is as long as the index.
void check_source(const Infer& infer, ErrorKind kind) {
  const Tensor &self = infer.tensor(0), &index = infer.tensor(2), &source = infer.tensor(3);
  const Dim dim(infer, self.sizes());
  WISP_CHECK(self.dtype() == source.dtype(), infer.name(), "(): self (", legacy_name(self.dtype()),
             ") and source (", legacy_name(source.dtype()), ") must have the same scalar type");
  const int64_t given = source.ndim() ? (dim.at < source.ndim() ? source->size(dim.at) : 1) : 1;
  if (index.numel() != given)
    fail(kind, infer.name(), "(): Number of indices (", index.numel(),
         ") should be equal to source.size(dim): (", given, "), for dim: ", dim.at);
  Dims expected(self.sizes());
  if (self.ndim() > 0) expected[dim.at] = index.numel();
  const bool both_single = self.ndim() <= 1 && source.ndim() <= 1;
  WISP_CHECK(
      both_single || same(source.sizes(), expected),
      "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
      self.sizes(), " source.shape = ", source.sizes());
}

void infer_index_add(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_vector(infer, false);
  check_source(infer, ErrorKind::runtime);
  WISP_CHECK(is_complex(self.dtype()) || !infer.scalar(4).is_complex(),
             "index_add(): alpha must not be complex for a ", legacy_name(self.dtype()), " tensor");
  infer.push(self.sizes(), self.dtype(), self.device());
}

void put_slices(const Call& call, const Tensor& source, cpu::Combine how, bool wraps) {
  const Tensor &self = call.tensor(0), &index = call.tensor(2), &out = call.out();
  const cpu::Scratch<int64_t> offsets(index.numel());
  const int64_t dim = Dim(call, self.sizes()).at;
  const Tensor values = apart_from(out, source);
  update(out, self, how != cpu::Combine::copy, [&](const Tensor& target) {
    const Tensor all = consecutive(values, target.dtype());
    const cpu::Places places = slices(target, dim, index, wraps, offsets);
    cpu::put(places, how, target.dtype(), target->bytes(), all->bytes(), values.numel() == 1);
  });
}

// alpha as an element of that dtype times the source.
Tensor scaled(const Tensor& source, Scalar alpha) {
  if (alpha.equals(1)) return source;
  GradMode no_grad(false);
  return mul(source, full(IntSpan(), alpha, source.dtype()));
}

Tensor index_add_source_grad(const Backward& b) {
  const Tensor picked = reshape(index_select(b.grad(), b.integer(1), b.tensor(2)), b.shape(3));
  const Scalar alpha = b.scalar(4);
  return alpha.equals(1) ? picked : mul(picked, alpha.conj());
}

void infer_index_copy(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_vector(infer, true);
  check_source(infer, ErrorKind::index);
  infer.push(self.sizes(), self.dtype(), self.device());
}

void infer_index_fill(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  Dim(infer, self.sizes());
  check_vector(infer, true);
  const Arg& value = infer[3];
  WISP_CHECK(!value.is_tensor() || value.as.tensor->ndim() == 0,
             "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
             value.is_tensor() ? value.as.tensor->ndim() : 0, " dimension(s).");
  const bool complex =
      value.is_tensor() ? is_complex(value.as.tensor->dtype()) : value.scalar().is_complex();
  WISP_CHECK(is_complex(self.dtype()) || !complex,
             "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  infer.push(self.sizes(), self.dtype(), self.device());
}

void index_fill_kernel(const Call& call) {
  const Scalar value = call[3].is_tensor() ? call.tensor(3).item() : call.scalar(3);
  GradMode no_grad(false);
  put_slices(call, full(IntSpan(), value, call.out().dtype()), cpu::Combine::copy, true);
}

// The gradient outside the slices that were overwritten.
Tensor cleared(const Backward& b) { return index_fill(b.grad(), b.integer(1), b.tensor(2), 0); }

// The vector of indices as one for every element of the source.
Tensor spread_index(const Tensor& index, const Tensor& source, int64_t dim) {
  Dims shape(source.ndim(), 1);
  if (source.ndim() > 0) shape[dim] = index.numel();
  return expand(reshape(index, shape), source.sizes());
}

// The mean of slices: sums, divided by how many went into each.
Tensor mean_of_slices(const Args& args, int64_t dim) {
  const Tensor &self = args.tensor(0), &index = args.tensor(2), &source = args.tensor(3);
  const bool include_self = args.boolean(5);
  const Tensor base = include_self ? self : invoke<"index_fill">(self, dim, index, Scalar(0));
  const Tensor total = invoke<"index_add">(base, dim, index, source);
  const int64_t n = self.size(dim), given = index.numel();
  const Tensor number = full(IntSpan(&n, 1), include_self ? 1 : 0, DType::int64);
  const Tensor counted =
      invoke<"index_add">(number, int64_t(0), index, ones(IntSpan(&given, 1), DType::int64));
  Dims shape(self.ndim(), 1);
  shape[dim] = n;
  const Tensor parts = reshape(clamp(counted, 1), shape);
  return is_differentiable(self.dtype()) ? div(total, parts)
                                         : div_mode(total, to(parts, self.dtype()), "floor");
}

void index_reduce_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &index = args.tensor(2), &source = args.tensor(3);
  const std::string_view reduce = args.string(4);
  WISP_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
             "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ",
             reduce, ".");
  const Dim dim(args, self.sizes());
  check_vector(args, false);
  const int64_t given = source.ndim() ? source.size(dim.at) : 1;
  WISP_CHECK(index.numel() == given, "index_reduce(): Number of indices (", index.numel(),
             ") should be equal to source.size(dim): (", given, "), for dim: ", dim.at);
  const bool in_one_dtype = self.dtype() == source.dtype() && !contains(dtypes::half, self.dtype());
  if (reduce == "mean" && self.ndim() > 0 && in_one_dtype)
    return outs.push(mean_of_slices(args, dim.at));
  outs.push(scatter_reduce(self, dim.at, spread_index(index, source, dim.at), source, reduce,
                           args.boolean(5)));
}

OpDef along_dim(OpDef def) {
  if (!def.body) {
    if (def.jvp == Jvp::unset) def.jvp = Jvp::linear;
    def.batch = Batch::loop;
  }
  return def;
}

}  // namespace

void register_index_dim(Registry& r) {
  r.add(along_dim(
      {.schema = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
       .doc = "The slices along a dimension that a vector of indices names.\n\n"
              ">>> wisp.index_select(wisp.tensor([[1, 2], [3, 4]]), 1, wisp.tensor([1, 1, 0]))\n"
              "tensor([[2, 2, 1],\n        [4, 4, 3]])",
       .infer = infer_index_select,
       .kernel = index_select_kernel,
       .vjp = {{"self", "self.shape dim index", index_select_grad}},
       .onnx = "Gather",
       .traits = trait::out}));
  r.add(along_dim(
      {.schema =
           "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
       .doc =
           "A copy of `self` to whose slices `alpha * source` is added. Slices named several times add up.\n\n"
           ">>> wisp.zeros(3).index_add(0, wisp.tensor([0, 0, 2]), wisp.tensor([1., 2., 3.]))\n"
           "tensor([3., 0., 3.])",
       .infer = infer_index_add,
       .kernel =
           [](const Call& c) {
             put_slices(c, scaled(c.tensor(3), c.scalar(4)), cpu::Combine::add, false);
           },
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"source", "dim index source.shape alpha", index_add_source_grad}},
       .onnx = "ScatterElements",
       .traits = trait::in_place | trait::writes_self | trait::out}));
  r.add(along_dim(
      {.schema = "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
       .doc = "A copy of `self` in which the slices that the index names are those of `source`.\n\n"
              ">>> wisp.zeros(3).index_copy(0, wisp.tensor([2, 0]), wisp.tensor([1., 2.]))\n"
              "tensor([2., 0., 1.])",
       .infer = infer_index_copy,
       .kernel = [](const Call& c) { put_slices(c, c.tensor(3), cpu::Combine::copy, false); },
       .vjp = {{"self", "dim index", cleared},
               {"source", "dim index source.shape",
                [](const Backward& b) {
                  return reshape(index_select(b.grad(), b.integer(1), b.tensor(2)), b.shape(3));
                }}},
       .onnx = "ScatterElements",
       .traits = trait::in_place | trait::writes_self | trait::out}));
  r.add(along_dim(
      {.schema = "index_fill(Tensor self, int dim, Tensor index, Tensor|Scalar value) -> Tensor",
       .doc = "A copy of `self` in which the slices that the index names hold `value`.\n\n"
              ">>> wisp.zeros(3).index_fill(0, wisp.tensor([0, 2]), 5)\ntensor([5., 0., 5.])",
       .infer = infer_index_fill,
       .kernel = index_fill_kernel,
       .vjp = {{"self", "dim index", cleared},
               {"value", "dim index",
                [](const Backward& b) { return sum(sub(b.grad(), cleared(b))); }}},
       .jvp = Jvp::transposed,
       .onnx = "ScatterElements",
       .traits = trait::in_place | trait::writes_self}));
  r.add(along_dim(
      {.schema = "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
                 "bool include_self=True) -> Tensor",
       .doc =
           "A copy of `self` whose slices are combined with those of `source` by 'prod', 'mean', 'amax' or "
           "'amin'; without `include_self`, the slices named start empty.\n\n"
           ">>> wisp.ones(2).index_reduce(0, wisp.tensor([0, 0]), wisp.tensor([2., 3.]), 'prod')\n"
           "tensor([6., 1.])",
       .body = index_reduce_body,
       .onnx = "ScatterElements",
       .traits = trait::in_place | trait::out}));
}

}  // namespace wisp::ops
