// gather and scatter, and writing into copies of views.
#include "cpu/scatter.h"

#include <limits>

#include "base/element.h"
#include "ops/families.h"
#include "ops/into_zeros.h"
#include "ops/number.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// A 0-d tensor counts as a vector of one.
Dims at_least_1d(IntSpan sizes) { return sizes.empty() ? Dims{1} : Dims(sizes); }

// Checks dim and index of a call on self, of argument 0; the index is argument 2.
void check_index(const Args& args) {
  const Tensor &self = args.tensor(0), &index = args.tensor(2);
  const int64_t dim = wrap_dim(args.integer(1), self.ndim(), args.name());
  if (index.numel() == 0) return;
  WISP_CHECK(index.dtype() == DType::int64 || index.dtype() == DType::int32, args.name(),
             "(): Expected dtype int32/int64 for index, but got ", name(index.dtype()));
  const Dims sizes = at_least_1d(self.sizes()), wanted = at_least_1d(index.sizes());
  WISP_CHECK(wanted.size() == sizes.size(), args.name(),
             "(): Index tensor must have the same number of dimensions as self tensor, got ",
             index.ndim(), " and ", self.ndim());
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    WISP_CHECK(i == dim || wanted[i] <= sizes[i], args.name(), "(): Expected index ", index.sizes(),
               " to be no larger than self ", self.sizes(), " apart from dimension ", dim);
  }
}

void check_src(const Args& args) {
  const Tensor &self = args.tensor(0), &index = args.tensor(2), &src = args.tensor(3);
  WISP_CHECK(self.dtype() == src.dtype(), args.name(),
             "(): Expected self.dtype to be equal to src.dtype, got ", name(self.dtype()), " and ",
             name(src.dtype()));
  if (index.numel() == 0) return;
  const Dims wanted = at_least_1d(index.sizes()), given = at_least_1d(src.sizes());
  bool fits = wanted.size() == given.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i) fits = wanted[i] <= given[i];
  WISP_CHECK(fits, args.name(), "(): Expected index ", index.sizes(),
             " to be no larger size than src ", src.sizes());
}

// The lines of a gather or scatter; keeps what they point to.
class LineJob {
 public:
  explicit LineJob(const Call& call)
      : sizes_(at_least_1d(call.tensor(2).sizes())),
        index_(call.tensor(2).dtype() == DType::int64 ? apart_from(call.out(), call.tensor(2))
                                                      : consecutive(call.tensor(2), DType::int64)),
        strides_(at_least_1d(index_.strides())) {
    const Tensor& self = call.tensor(0);
    const int64_t dim = wrap_dim(call.integer(1), self.ndim());
    lines = {.sizes = sizes_,
             .dim = dim,
             .length = self.ndim() ? self->size(dim) : 1,
             .index = {index_->bytes(), strides_, DType::int64},
             .what = call.name()};
    // In place, a bad index must not leave half of the others written.
    if (!empty() && call.out().is_same(self)) cpu::check_lines(lines);
  }
  LineJob(const LineJob&) = delete;
  bool empty() const { return index_.numel() == 0; }
  cpu::IndexedLines lines;

 private:
  Dims sizes_;
  Tensor index_;
  Dims strides_;
};

// A tensor's memory with at least one dimension.
struct Vector {
  explicit Vector(const Tensor& t)
      : strides(at_least_1d(t.strides())), operand{t->bytes(), strides, t.dtype()} {}
  Vector(const Vector&) = delete;
  Dims strides;
  cpu::Operand operand;
};

void infer_gather(Infer& infer) {
  check_index(infer);
  const Tensor& self = infer.tensor(0);
  infer.push(infer.tensor(2).sizes(), self.dtype(), self.device());
}

void gather_kernel(const Call& call) {
  const LineJob job(call);
  if (job.empty()) return;
  cpu::gather(job.lines, Vector(call.out()).operand, Vector(call.tensor(0)).operand);
}

Tensor gather_grad(const Backward& b) {
  return put_into_zeros<"scatter_add">(b, b.integer(1), b.tensor(2), b.grad());
}

void infer_scatter_src(Infer& infer) {
  check_index(infer);
  check_src(infer);
  const Tensor& self = infer.tensor(0);
  infer.push(self.sizes(), self.dtype(), self.device());
}

void infer_scatter_value(Infer& infer) {
  check_index(infer);
  const Tensor& self = infer.tensor(0);
  check_fits(infer.name(), infer.scalar(3), self.dtype());
  infer.push(self.sizes(), self.dtype(), self.device());
}

void scatter_into(const Tensor& target, const LineJob& job, cpu::Combine how, const Tensor& src) {
  const Tensor values = src.dtype() == target.dtype() ? src : consecutive(src, target.dtype());
  cpu::scatter(job.lines, how, Vector(target).operand, Vector(values).operand);
}

// One value for all places.
void scatter_number(const Tensor& target, const LineJob& job, cpu::Combine how, Scalar value) {
  Element element(value, target.dtype());
  cpu::scatter(job.lines, how, Vector(target).operand, {element.bytes, {}, target.dtype()});
}

template <cpu::Combine how>
void scatter_kernel(const Call& call) {
  const LineJob job(call);
  const Tensor src = apart_from(call.out(), call.tensor(3));
  update(call.out(), call.tensor(0), how != cpu::Combine::copy, [&](const Tensor& target) {
    if (!job.empty()) scatter_into(target, job, how, src);
  });
}

void scatter_value_kernel(const Call& call) {
  const LineJob job(call);
  update(call.out(), call.tensor(0), false, [&](const Tensor& target) {
    if (!job.empty()) scatter_number(target, job, cpu::Combine::copy, call.scalar(3));
  });
}

// The gradient of self where it was overwritten: nothing.
Tensor cleared(const Backward& b) { return scatter_value(b.grad(), b.integer(1), b.tensor(2), 0); }

// The gradient of a source of which the index covers the first elements in each dimension.
Tensor in_source(const Tensor& grad, IntSpan shape) {
  if (same(grad.sizes(), shape)) return grad;
  if (grad.numel() == 0) return zeros(shape, grad.dtype());
  if (static_cast<size_t>(grad.ndim()) != shape.size()) return reshape(grad, shape);
  return embed(grad, shape, contiguous_strides(shape), 0);
}

Tensor source_grad(const Backward& b) {
  return in_source(gather(b.grad(), b.integer(1), b.tensor(2)), b.shape(3));
}

std::string_view reduction_of(const Args& args) {
  const std::string_view reduce = args.string(4);
  const bool known = reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                     reduce == "amin";
  WISP_CHECK(known, "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  return reduce;
}

void infer_scatter_reduce(Infer& infer) {
  const std::string_view reduce = reduction_of(infer);
  WISP_CHECK(!is_complex(infer.tensor(0).dtype()) || reduce[0] != 'a', "scatter_reduce(): ", reduce,
             " is not implemented for complex numbers");
  infer_scatter_src(infer);
}

cpu::Combine combine_of(std::string_view reduce) {
  if (reduce == "prod") return cpu::Combine::multiply;
  if (reduce == "amax") return cpu::Combine::amax;
  return reduce == "amin" ? cpu::Combine::amin : cpu::Combine::add;
}

// What changes nothing when combined with anything.
Scalar identity_of(cpu::Combine how, DType dtype) {
  if (how == cpu::Combine::add) return 0;
  if (how == cpu::Combine::multiply) return 1;
  const bool low = how == cpu::Combine::amax;
  const double inf = std::numeric_limits<double>::infinity();
  if (is_differentiable(dtype)) return low ? -inf : inf;
  return visit<dtypes::bits>(dtype, "scatter_reduce", [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    return Scalar(static_cast<int64_t>(low ? Limits::min() : Limits::max()));
  });
}

// Divides every element by how many went into it.
void divide_by_count(const Tensor& target, const LineJob& job, bool include_self) {
  GradMode no_grad(false);
  const Tensor count = full(target.sizes(), include_self ? 1 : 0, DType::int64);
  scatter_number(count, job, cpu::Combine::add, 1);
  const Tensor parts = clamp(count, 1);
  copy_raw(target, is_differentiable(target.dtype()) ? div(target, parts)
                                                     : div_mode(target, parts, "floor"));
}

void scatter_reduce_kernel(const Call& call) {
  const LineJob job(call);
  const Tensor src = apart_from(call.out(), call.tensor(3));
  const std::string_view reduce = call.string(4);
  const cpu::Combine how = combine_of(reduce);
  const bool include_self = call.boolean(5);
  update(call.out(), call.tensor(0), true, [&](const Tensor& target) {
    if (job.empty()) return;
    if (!include_self)
      scatter_number(target, job, cpu::Combine::copy, identity_of(how, target.dtype()));
    scatter_into(target, job, how, src);
    if (reduce == "mean") divide_by_count(target, job, include_self);
  });
}

// The parts of a scatter_reduce call that its derivatives read.
struct Reduced {
  explicit Reduced(const Backward& b)
      : self(b.tensor(0)),
        dim(b.integer(1)),
        index(b.tensor(2)),
        src(in_index(b.tensor(3))),
        reduce(b.string(4)),
        include_self(b.boolean(5)),
        result(b.out()),
        grad(b.grad()) {}
  Tensor picked(const Tensor& t) const { return gather(t, dim, index); }
  Tensor again(const Tensor& other_self, const Tensor& other_src) const {
    return scatter_reduce(other_self, dim, index, other_src, reduce, include_self);
  }
  // How many elements each result is the mean of.
  Tensor counts() const {
    const Tensor start = include_self ? ones_like(grad) : zeros_like(grad);
    const Tensor n = scatter_add(start, dim, index, ones(index.sizes(), grad.dtype()));
    return masked_fill(n, eq(n, 0), 1);
  }
  // The gradient shared out among all that equal the result.
  Tensor shared() const {
    const Tensor wins = to(eq(src, picked(result)), grad.dtype());
    const Tensor n = scatter_add(to(eq(self, result), grad.dtype()), dim, index, wins);
    return div(grad, masked_fill(n, eq(n, 0), 1));
  }
  // The part of src that the index covers.
  Tensor in_index(const Tensor& whole) const {
    if (index.numel() == 0 || same(whole.sizes(), index.sizes())) return whole;
    if (whole.ndim() != index.ndim()) return reshape(whole, index.sizes());
    return as_strided(contiguous(whole), index.sizes(), contiguous_strides(whole.sizes()), 0);
  }

  const Tensor& self;
  int64_t dim;
  const Tensor& index;
  Tensor src;
  std::string_view reduce;
  bool include_self;
  const Tensor& result;
  const Tensor& grad;
};

Tensor reduced_self_grad(const Reduced& r) {
  if (r.reduce == "mean") return div(r.grad, r.counts());
  if (r.reduce == "prod") {
    const Tensor nonzero_self = masked_fill(r.self, eq(r.self, 0), 1);
    return mul(r.grad, conj(div(r.again(nonzero_self, r.src), nonzero_self)));
  }
  if (r.reduce == "sum") return r.grad;
  return where(eq(r.self, r.result), r.shared(), Scalar(0));
}

// A product by one of its factors: the others multiplied, which a single zero must not hide.
Tensor prod_src_grad(const Reduced& r) {
  const Tensor is_zero = eq(r.src, 0);
  const Tensor zero_count =
      scatter_add(zeros_like(r.self), r.dim, r.index, to(is_zero, r.self.dtype()));
  const Tensor only_zero = logical_and(is_zero, eq(r.picked(zero_count), 1));
  const Tensor others = r.again(r.self, masked_fill(r.src, only_zero, 1));
  const Tensor divided = div(r.picked(r.result), masked_fill(r.src, is_zero, 1));
  return mul(r.picked(r.grad), conj(where(only_zero, r.picked(others), divided)));
}

Tensor reduced_src_grad(const Reduced& r) {
  if (r.reduce == "mean") return r.picked(div(r.grad, r.counts()));
  if (r.reduce == "prod") return prod_src_grad(r);
  if (r.reduce == "sum") return r.picked(r.grad);
  return where(eq(r.src, r.picked(r.result)), r.picked(r.shared()), Scalar(0));
}

Tensor scatter_reduce_self_grad(const Backward& b) {
  if (b.tensor(2).numel() == 0) return b.grad();
  const Tensor grad = reduced_self_grad(Reduced(b));
  return b.boolean(5) ? grad : scatter_value(grad, b.integer(1), b.tensor(2), 0);
}

Tensor scatter_reduce_src_grad(const Backward& b) {
  if (b.tensor(2).numel() == 0) return zeros_like(b.tensor(3));
  return in_source(reduced_src_grad(Reduced(b)), b.tensor(3).sizes());
}

// The older spelling: scatter(..., reduce='add') and 'multiply'.
Tensor scatter_with(const Args& args, const Tensor& src) {
  const std::string_view reduce = args.string(4);
  WISP_CHECK(reduce == "add" || reduce == "multiply",
             "reduce argument must be either add or multiply.");
  const char* name = reduce == "add" ? "sum" : "prod";
  return scatter_reduce(args.tensor(0), args.integer(1), args.tensor(2), src, name);
}

// Indices with negative ones counted from the end, as gather() wants them.
Tensor from_the_start(const Tensor& indices, int64_t size) {
  return where(lt(indices, Scalar(int64_t{0})), add(indices, Scalar(size)), indices);
}

void take_along_dim_body(const Args& args, TensorList& outs) {
  const Tensor &self = args.tensor(0), &indices = args.tensor(1);
  WISP_CHECK(indices.dtype() == DType::int64,
             "take_along_dim(): dtype of indices should be Long but got ",
             legacy_name(indices.dtype()));
  if (!args.has(2)) {
    const int64_t all = -1;
    outs.push(invoke<"take">(self, reshape(indices, {&all, 1})));
    return;
  }
  WISP_CHECK(
      self.ndim() == indices.ndim(),
      "take_along_dim(): input and indices should have the same number of dimensions, but got ",
      self.ndim(), " dimensions for input, and ", indices.ndim(), " dimensions for indices");
  const int64_t dim = wrap_dim(args.integer(2), self.ndim(), "take_along_dim");
  Dims self_sizes(self.sizes()), index_sizes(indices.sizes());
  if (self.ndim() > 0) self_sizes[dim] = index_sizes[dim] = 1;
  self_sizes = broadcast(self_sizes, index_sizes);
  index_sizes = self_sizes;
  if (self.ndim() > 0) {
    self_sizes[dim] = self->size(dim);
    index_sizes[dim] = indices->size(dim);
  }
  const int64_t size = self.ndim() > 0 ? self->size(dim) : 1;
  outs.push(
      gather(expand(self, self_sizes), dim, expand(from_the_start(indices, size), index_sizes)));
}

// A copy of self with src in one of its views.
Tensor with_view(const Tensor& self, const Tensor& src, auto make_view) {
  const Tensor result = clone(self);
  const Tensor region = make_view(result);
  WISP_CHECK(same(src.sizes(), region.sizes()),
             "expected src to have a size equal to the slice of self. src size = ", src.sizes(),
             ", slice size = ", region.sizes());
  copy_(region, src);
  return result;
}

OpDef scattering(OpDef def) {
  if (!def.body) {
    if (def.jvp == Jvp::unset) def.jvp = Jvp::linear;
    def.batch = Batch::loop;
  }
  if (!def.onnx[0]) def.onnx = "ScatterElements";
  def.traits |= trait::in_place | trait::out;
  if (!def.body) def.traits |= trait::writes_self;
  return def;
}

void register_gather(Registry& r) {
  r.add(
      {.schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
       .doc =
           "Elements picked along a dimension: out[i][j] = self[index[i][j]][j] for dim 0. Gradients are dense whatever "
           "`sparse_grad` says.\n\n"
           ">>> wisp.gather(wisp.tensor([[1, 2], [3, 4]]), 1, wisp.tensor([[0, 0], [1, 0]]))\n"
           "tensor([[1, 1],\n        [4, 3]])",
       .infer = infer_gather,
       .kernel = gather_kernel,
       .vjp = {{"self", "self.shape dim index", gather_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "GatherElements",
       .traits = trait::out});
  r.add(
      {.schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
       .doc =
           "gather() with broadcasting: what argmax, argsort and the like found along a dimension.\n\n"
           ">>> wisp.take_along_dim(wisp.tensor([[10, 30, 20]]), wisp.tensor([[0, 2, 1]]), dim=1)\n"
           "tensor([[10, 20, 30]])",
       .body = take_along_dim_body,
       .onnx = "GatherElements",
       .traits = trait::out});
}

void register_plain_scatter(Registry& r) {
  r.add(scattering(
      {.schema = "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       .doc =
           "A copy of `self` with elements of `src` written along a dimension: out[index[i][j]][j] = src[i][j] "
           "for dim 0. Where an index repeats, the last one stays.\n\n"
           ">>> wisp.zeros(2, 3).scatter(1, wisp.tensor([[2], [0]]), wisp.tensor([[5.], [6.]]))\n"
           "tensor([[0., 0., 5.],\n        [6., 0., 0.]])",
       .infer = infer_scatter_src,
       .kernel = scatter_kernel<cpu::Combine::copy>,
       .vjp = {{"self", "dim index", cleared}, {"src", "dim index src.shape", source_grad}}}));
  r.add(scattering(
      {.schema = "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
       .doc = "The same with one value for all places.\n\n"
              ">>> wisp.zeros(2, 3).scatter(1, wisp.tensor([[2], [0]]), 1)\n"
              "tensor([[0., 0., 1.],\n        [1., 0., 0.]])",
       .infer = infer_scatter_value,
       .kernel = scatter_value_kernel,
       .vjp = {{"self", "dim index", cleared}},
       .jvp = Jvp::elementwise,
       .node = "ScatterBackward1"}));
  r.add(scattering(
      {.schema =
           "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
       .doc =
           "Elements of `src` added ('add') to those of `self`, or multiplied ('multiply') with them; see "
           "scatter_reduce.\n\n"
           ">>> wisp.ones(3).scatter(0, wisp.tensor([0, 0]), wisp.tensor([2., 3.]), reduce='multiply')\n"
           "tensor([6., 1., 1.])",
       .body = [](const Args& args, TensorList& outs) {
         outs.push(scatter_with(args, args.tensor(3)));
       }}));
  r.add(scattering(
      {.schema =
           "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
       .doc =
           "The same with one value for all places.\n\n"
           ">>> wisp.ones(3).scatter(0, wisp.tensor([0, 0]), 2, reduce='add')\ntensor([5., 1., 1.])",
       .body = [](const Args& args, TensorList& outs) {
         const Tensor &self = args.tensor(0), &index = args.tensor(2);
         outs.push(scatter_with(args, full(index.sizes(), args.scalar(3), self.dtype())));
       }}));
}

void register_reducing_scatter(Registry& r) {
  r.add(scattering(
      {.schema = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       .doc =
           "A copy of `self` to which elements of `src` are added along a dimension. Where an index repeats, "
           "all are added, in order.\n\n"
           ">>> wisp.zeros(3).scatter_add(0, wisp.tensor([0, 0, 2]), wisp.tensor([1., 2., 3.]))\n"
           "tensor([3., 0., 3.])",
       .infer = infer_scatter_src,
       .kernel = scatter_kernel<cpu::Combine::add>,
       .vjp = {{"self", "", [](const Backward& b) { return b.grad(); }},
               {"src", "dim index src.shape", source_grad}}}));
  r.add(scattering(
      {.schema = "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
                 "bool include_self=True) -> Tensor",
       .doc =
           "A copy of `self` whose elements are combined with those of `src` by 'sum', 'prod', 'mean', 'amax' "
           "or 'amin'; without `include_self`, the elements written to start empty.\n\n"
           ">>> wisp.zeros(2).scatter_reduce(0, wisp.tensor([0, 0, 1]), wisp.tensor([1., 3., -1.]), 'amax')\n"
           "tensor([3., 0.])",
       .infer = infer_scatter_reduce,
       .kernel = scatter_reduce_kernel,
       .vjp = {{"self", "self dim index src reduce include_self result", scatter_reduce_self_grad},
               {"src", "self dim index src reduce include_self result", scatter_reduce_src_grad}},
       .jvp = Jvp::transposed}));
}

void register_view_scatter(Registry& r) {
  r.add(
      {.schema =
           "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
       .doc =
           "A copy of `self` with `src` in the slice from `start` to `end`.\n\n"
           ">>> wisp.slice_scatter(wisp.zeros(4), wisp.ones(2), 0, 1, 3)\ntensor([0., 1., 1., 0.])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(with_view(args.tensor(0), args.tensor(1), [&](const Tensor& t) {
               return invoke<"slice">(t, args[2], args[3], args[4], args[5]);
             }));
           },
       .onnx = "ScatterElements",
       .traits = trait::out});
  r.add(
      {.schema = "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
       .doc =
           "A copy of `self` with `src` at an index of a dimension.\n\n"
           ">>> wisp.select_scatter(wisp.zeros(2, 2), wisp.ones(2), 0, 1)\ntensor([[0., 0.],\n        [1., 1.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(with_view(args.tensor(0), args.tensor(1), [&](const Tensor& t) {
               return select(t, args.integer(2), args.integer(3));
             }));
           },
       .onnx = "ScatterElements",
       .traits = trait::out});
  r.add(
      {.schema =
           "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
       .doc =
           "A copy of `self` with `src` on a diagonal.\n\n"
           ">>> wisp.diagonal_scatter(wisp.zeros(2, 2), wisp.ones(2))\ntensor([[1., 0.],\n        [0., 1.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(with_view(args.tensor(0), args.tensor(1), [&](const Tensor& t) {
               return invoke<"diagonal">(t, args[2], args[3], args[4]);
             }));
           },
       .onnx = "ScatterElements",
       .traits = trait::out});
}

}  // namespace

void register_scatter(Registry& r) {
  register_gather(r);
  register_plain_scatter(r);
  register_reducing_scatter(r);
  register_view_scatter(r);
}

}  // namespace wisp::ops
