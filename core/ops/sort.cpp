// Sorting, and elements by their rank: topk, kthvalue, median, mode, quantiles.
#include "cpu/sort.h"

#include <cmath>

#include "cpu/select.h"
#include "ops/families.h"
#include "ops/into_zeros.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// The same tensor with dimension `dim` last.
Tensor moved_last(const Tensor& t, int64_t dim) {
  Dims sizes(t.sizes()), strides(t.strides());
  if (t.ndim() == 0 || dim == t.ndim() - 1) return t;
  const int64_t size = sizes[dim], stride = strides[dim];
  sizes.erase(dim);
  strides.erase(dim);
  sizes.push_back(size);
  strides.push_back(stride);
  return t.alias(sizes, strides, t->offset());
}

int64_t length_of(const Tensor& self, int64_t dim) { return self.ndim() ? self->size(dim) : 1; }

// Calls f(rows, values, indices) with memory in which the rows along `dim` are consecutive.
void on_rows(const Call& call, int64_t dim, auto f) {
  const Tensor& self = call.tensor(0);
  const Tensor rows = consecutive(moved_last(self, dim));
  const Tensor values = moved_last(call.out(0), dim), indices = moved_last(call.out(1), dim);
  const bool direct = values.is_contiguous() && indices.is_contiguous();
  const Tensor to_values = direct ? values : Tensor::empty(values.sizes(), values.dtype());
  const Tensor to_indices = direct ? indices : Tensor::empty(indices.sizes(), indices.dtype());
  f(rows, to_values, to_indices);
  if (direct) return;
  copy_raw(values, to_values);
  copy_raw(indices, to_indices);
}

cpu::Rows rows_of(const Tensor& rows, const Tensor& values, const Tensor& indices) {
  const int64_t n = rows.ndim() ? rows.size(-1) : 1;
  return {.dtype = rows.dtype(),
          .rows = n ? rows.numel() / n : 0,
          .n = n,
          .in = rows->bytes(),
          .values = values->bytes(),
          .indices = indices.data<int64_t>()};
}

void check_sortable(const Args& args) {
  const DType dtype = args.tensor(0).dtype();
  WISP_CHECK(!is_complex(dtype), args.name(), "(): complex numbers have no order, got ",
             name(dtype));
}

void push_values_and_indices(Infer& infer, IntSpan shape) {
  const Tensor& self = infer.tensor(0);
  infer.push(shape, self.dtype(), self.device());
  infer.push(shape, DType::int64, self.device());
}

template <int dim>
void infer_sort(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_sortable(infer);
  wrap_dim(infer.integer(dim), self.ndim(), infer.name());
  push_values_and_indices(infer, self.sizes());
}

template <int dim_argument>
void sort_kernel(const Call& call) {
  const int64_t dim = wrap_dim(call.integer(dim_argument), call.tensor(0).ndim());
  const bool descending = call.boolean(dim_argument + 1);
  on_rows(call, dim, [&](const Tensor& rows, const Tensor& values, const Tensor& indices) {
    const cpu::Rows job = rows_of(rows, values, indices);
    cpu::sort_rows(job.dtype, job.rows, job.n, descending, job.in, job.values, job.indices);
  });
}

// The gradient of picked elements, put back where they came from.
Tensor put_back(const Backward& b, int64_t dim) {
  return put_into_zeros<"scatter.src">(b, dim, b.out(1), b.grad());
}

// The same where the dimension was dropped.
Tensor put_back_reduced(const Backward& b, int64_t dim_argument, bool keepdim) {
  const IntSpan shape = b.shape(0);
  if (keepdim || shape.empty()) return put_back(b, b.integer(static_cast<int>(dim_argument)));
  const int64_t dim =
      wrap_dim(b.integer(static_cast<int>(dim_argument)), static_cast<int64_t>(shape.size()));
  return put_into_zeros<"scatter.src">(b, dim, unsqueeze(b.out(1), dim), unsqueeze(b.grad(), dim));
}

void infer_topk(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_sortable(infer);
  const int64_t dim = wrap_dim(infer.integer(2), self.ndim(), "topk"), k = infer.integer(1);
  WISP_CHECK(k >= 0 && k <= length_of(self, dim), "topk(): selected index k out of range: k is ", k,
             " for ", length_of(self, dim), " elements");
  Dims shape(self.sizes());
  if (self.ndim() > 0) shape[dim] = k;
  push_values_and_indices(infer, shape);
}

void topk_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const int64_t dim = wrap_dim(call.integer(2), self.ndim());
  const int64_t k = self.ndim() ? call.integer(1) : 1;
  on_rows(call, dim, [&](const Tensor& rows, const Tensor& values, const Tensor& indices) {
    cpu::topk_rows(rows_of(rows, values, indices), k, call.boolean(3));
  });
}

// Results with one element per row along argument `dim_argument`; keepdim is the argument behind
// it.
template <int dim_argument>
void infer_pick(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_sortable(infer);
  const int64_t dim = wrap_dim(infer.integer(dim_argument), self.ndim(), infer.name());
  WISP_CHECK_INDEX(length_of(self, dim) > 0, infer.name(), "(): Expected reduction dim ", dim,
                   " to have non-zero size.");
  Dims shape(self.sizes());
  if (self.ndim() > 0) shape[dim] = 1;
  if (self.ndim() > 0 && !infer.boolean(dim_argument + 1)) shape.erase(dim);
  push_values_and_indices(infer, shape);
}

void infer_kthvalue(Infer& infer) {
  infer_pick<2>(infer);
  const Tensor& self = infer.tensor(0);
  const int64_t dim = wrap_dim(infer.integer(2), self.ndim()), k = infer.integer(1);
  WISP_CHECK(k >= 1 && k <= length_of(self, dim),
             "kthvalue(): selected number k out of range for dimension ", dim, ": k is ", k,
             " for ", length_of(self, dim), " elements");
}

// The rows of a call that picks one element of each.
cpu::Rows picked_rows(const Call& call, int dim_argument, Tensor& keep) {
  const Tensor& self = call.tensor(0);
  keep = consecutive(moved_last(self, wrap_dim(call.integer(dim_argument), self.ndim())));
  return rows_of(keep, call.out(0), call.out(1));
}

void kthvalue_kernel(const Call& call) {
  Tensor keep;
  cpu::kth_rows(picked_rows(call, 2, keep), call.integer(1) - 1);
}

template <bool skip_nan>
void median_dim_kernel(const Call& call) {
  Tensor keep;
  cpu::median_rows(picked_rows(call, 1, keep), skip_nan);
}

void mode_kernel(const Call& call) {
  Tensor keep;
  cpu::mode_rows(picked_rows(call, 1, keep));
}

void infer_median(Infer& infer) {
  if (is_complex(infer.tensor(0).dtype()))
    fail_not_implemented(infer.name(), infer.tensor(0).dtype());
  infer.push(IntSpan(), infer.tensor(0).dtype(), infer.tensor(0).device());
}

template <bool skip_nan>
void median_kernel(const Call& call) {
  // In whatever order they lie.
  const Tensor& self = call.tensor(0);
  const Tensor rows = is_dense(self.sizes(), self.strides()) ? self : consecutive(self);
  const Tensor& out = call.out();
  if (rows.numel() == 0) {  // NaN, or for integers what NaN converts to
    visit<dtypes::all_real>(out.dtype(), "median",
                            [&]<class T>() { *out.data<T>() = convert<T>(std::nan("")); });
    return;
  }
  int64_t index;
  cpu::median_rows({rows.dtype(), 1, rows.numel(), rows->bytes(), out->bytes(), &index}, skip_nan);
}

// All elements that equal the median share its gradient.
Tensor median_grad(const Backward& b) {
  const Tensor &self = b.tensor(0), &median = b.out();
  const Tensor chosen = logical_or(eq(self, median), logical_and(isnan(self), isnan(median)));
  return where(chosen, div(b.grad(), sum(chosen)), Scalar(0));
}

struct Quantiles {
  Tensor sorted;  // rows last
  Tensor q;       // a vector
};

void check_quantile(const Args& args) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(contains(dtypes::real_math, self.dtype()), args.name(),
             "() input tensor must be either float or double dtype, got ", name(self.dtype()));
  WISP_CHECK(self.numel() > 0, args.name(), "() input tensor must be non-empty");
  const std::string_view how = args.string(4);
  WISP_CHECK(
      how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
      args.name(),
      "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", how);
  if (args[1].is_tensor()) {
    const Tensor& q = args.tensor(1);
    WISP_CHECK(q.ndim() <= 1, args.name(), "() q must be a scalar or 1D tensor, got ", q.ndim(),
               " dimensions");
    WISP_CHECK(q.dtype() == self.dtype(), args.name(),
               "() q tensor must be same dtype as the input tensor, got ", name(q.dtype()), " and ",
               name(self.dtype()));
    const Tensor inside = logical_and(ge(q, 0), le(q, 1));
    WISP_CHECK(!q->is_readable() || sum(inside).item().integer() == q.numel(), args.name(),
               "() q values must be in the range [0, 1]");
  } else {
    const double q = args.real(1);
    WISP_CHECK(q >= 0 && q <= 1, args.name(), "() q must be in the range [0, 1] but got ", q);
  }
}

// Rows to take quantiles of, sorted along the last dimension, and the wanted fractions.
Quantiles sorted_rows(const Args& args) {
  const Tensor& self = args.tensor(0);
  const int64_t all = -1;
  Tensor rows = reshape(self, {&all, 1});
  if (args.has(2) && self.ndim() > 0) {
    const int64_t dim = wrap_dim(args.integer(2), self.ndim(), args.name());
    Dims order;
    for (int64_t i = 0; i < self.ndim(); ++i) {
      if (i != dim) order.push_back(i);
    }
    order.push_back(dim);
    rows = permute(self, order);
  }
  const Tensor q =
      args[1].is_tensor() ? args.tensor(1) : full(IntSpan(), args.scalar(1), self.dtype());
  return {invoke_many<"sort">(rows, -1)[0], reshape(q, {&all, 1})};
}

// Where in its sorted row each quantile is, as a fraction: shape (rows..., quantiles).
Tensor ranks_of(const Quantiles& quantiles, bool skip_nan) {
  const Tensor& sorted = quantiles.sorted;
  const int64_t n = sorted.size(-1), last = sorted.ndim() - 1;
  Dims shape(sorted.sizes());
  shape[last] = quantiles.q.numel();
  if (skip_nan) {
    const Tensor numbers = sum(to(eq(sorted, sorted), sorted.dtype()), IntSpan(&last, 1), true);
    return expand(mul(quantiles.q, clamp(sub(numbers, 1), 0)), shape);
  }
  const Tensor has_nan = isnan(unsqueeze(select(sorted, last, n - 1), last));
  const Tensor ranks = mul(quantiles.q, static_cast<double>(n - 1));
  return expand(where(has_nan, Scalar(static_cast<double>(n - 1)), ranks), shape);
}

Tensor interpolate(const Tensor& sorted, const Tensor& ranks, std::string_view how) {
  auto at = [&](const Tensor& rank) { return gather(sorted, -1, to(rank, DType::int64)); };
  if (how == "lower") return at(floor(ranks));
  if (how == "higher") return at(ceil(ranks));
  if (how == "nearest") return at(round(ranks));
  const Tensor below = floor(ranks);
  const Tensor weight = how == "midpoint" ? full_like(ranks, 0.5) : sub(ranks, below);
  return lerp(at(below), at(ceil(ranks)), weight);
}

template <bool skip_nan>
void quantile_body(const Args& args, TensorList& outs) {
  check_quantile(args);
  const Tensor& self = args.tensor(0);
  const Quantiles quantiles = sorted_rows(args);
  Tensor result = interpolate(quantiles.sorted, ranks_of(quantiles, skip_nan), args.string(4));
  // Quantiles go first, or away if only one was asked for as a number.
  const bool several = args[1].is_tensor() && args.tensor(1).ndim() > 0;
  const int64_t last = result.ndim() - 1;
  if (several) {
    Dims order{last};
    for (int64_t i = 0; i < last; ++i) order.push_back(i);
    result = permute(result, order);
  } else {
    result = select(result, last, 0);
  }
  if (args.boolean(3) && self.ndim() > 0) {
    const int64_t lead = several ? 1 : 0;
    if (args.has(2)) {
      result = unsqueeze(result, wrap_dim(args.integer(2), self.ndim()) + lead);
    } else {
      for (int64_t i = 0; i < self.ndim(); ++i) result = unsqueeze(result, lead);
    }
  }
  outs.push(result);
}

void argsort_body(const Args& args, int dim, TensorList& outs) {
  outs.push(std::move(invoke_many<"sort">(detach(args.tensor(0)), args[dim], args[dim + 1])[1]));
}

OpDef ranking(OpDef def) {
  if (!def.body) {
    def.jvp = Jvp::transposed;
    def.batch = Batch::loop;
  }
  if (!def.onnx[0]) def.onnx = "TopK";
  def.traits |= trait::out;
  return def;
}

void register_sorting(Registry& r) {
  r.add(ranking(
      {.schema =
           "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       .doc =
           "The elements in order along a dimension, and where they were. Equal ones keep their order; NaN counts "
           "as larger than everything.\n\n"
           ">>> values, indices = wisp.sort(wisp.tensor([3., 1., 2.]))\n"
           ">>> values\ntensor([1., 2., 3.])\n>>> indices\ntensor([1, 2, 0])",
       .infer = infer_sort<1>,
       .kernel = sort_kernel<1>,
       .vjp = {{"self", "self.shape dim result1",
                [](const Backward& b) { return put_back(b, b.integer(1)); }}}}));
  r.add(ranking(
      {.schema = "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
                 "(Tensor values, Tensor indices)",
       .doc = "The same: sorting is always stable.\n\n"
              ">>> wisp.sort(wisp.tensor([1, 0, 1]), stable=True).indices\ntensor([1, 0, 2])",
       .infer = infer_sort<2>,
       .kernel = sort_kernel<2>,
       .vjp = {{"self", "self.shape dim result1",
                [](const Backward& b) { return put_back(b, b.integer(2)); }}},
       .node = "SortBackward1"}));
  r.add(ranking({.schema = "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
                 .doc = "The indices that sort a tensor along a dimension.\n\n"
                        ">>> wisp.argsort(wisp.tensor([3., 1., 2.]))\ntensor([1, 2, 0])",
                 .body = [](const Args& args, TensorList& outs) { argsort_body(args, 1, outs); }}));
  r.add(ranking(
      {.schema =
           "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
       .doc = "The same: sorting is always stable.\n\n"
              ">>> wisp.argsort(wisp.tensor([1, 0, 1]), stable=True)\ntensor([1, 0, 2])",
       .body = [](const Args& args, TensorList& outs) { argsort_body(args, 2, outs); }}));
  r.add(ranking(
      {.schema = "msort(Tensor self) -> Tensor",
       .doc =
           "The elements in order along the first dimension.\n\n"
           ">>> wisp.msort(wisp.tensor([[3., 1.], [2., 5.]]))\ntensor([[2., 1.],\n        [3., 5.]])",
       .body = [](const Args& args, TensorList& outs) {
         outs.push(std::move(invoke_many<"sort">(args.tensor(0), 0)[0]));
       }}));
  r.add(ranking(
      {.schema = "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> "
                 "(Tensor values, Tensor indices)",
       .doc =
           "The k largest (or smallest) elements along a dimension, best first, and where they are. Of equal ones, "
           "the first are taken.\n\n"
           ">>> values, indices = wisp.topk(wisp.tensor([3., 1., 4., 2.]), 2)\n"
           ">>> values\ntensor([4., 3.])\n>>> indices\ntensor([2, 0])",
       .infer = infer_topk,
       .kernel = topk_kernel,
       .vjp = {{"self", "self.shape dim result1",
                [](const Backward& b) { return put_back(b, b.integer(2)); }}}}));
}

void register_ranks(Registry& r) {
  r.add(ranking(
      {.schema =
           "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc = "The k-th smallest element along a dimension, counted from 1, and where it is.\n\n"
              ">>> wisp.kthvalue(wisp.tensor([3., 1., 4., 2.]), 2).values\ntensor(2.)",
       .infer = infer_kthvalue,
       .kernel = kthvalue_kernel,
       .vjp = {{"self", "self.shape dim keepdim result1",
                [](const Backward& b) { return put_back_reduced(b, 2, b.boolean(3)); }}}}));
  r.add(ranking(
      {.schema = "median(Tensor self) -> Tensor",
       .doc =
           "The median of all elements: of an even number of them, the lower of the two in the middle.\n\n"
           ">>> wisp.median(wisp.tensor([1., 5., 2., 4.]))\ntensor(2.)",
       .infer = infer_median,
       .kernel = median_kernel<false>,
       .vjp = {{"self", "self result", median_grad}}}));
  r.add(ranking(
      {.schema =
           "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc =
           "The median along a dimension, and where it is.\n\n"
           ">>> wisp.median(wisp.tensor([[1., 5., 2.], [9., 8., 7.]]), 1).values\ntensor([2., 8.])",
       .infer = infer_pick<1>,
       .kernel = median_dim_kernel<false>,
       .vjp = {{"self", "self.shape dim keepdim result1",
                [](const Backward& b) { return put_back_reduced(b, 1, b.boolean(2)); }}},
       .node = "MedianBackward1"}));
  r.add(ranking({.schema = "nanmedian(Tensor self) -> Tensor",
                 .doc = "The median of all elements that are not NaN.\n\n"
                        ">>> wisp.nanmedian(wisp.tensor([1., wisp.nan, 3.]))\ntensor(1.)",
                 .infer = infer_median,
                 .kernel = median_kernel<true>,
                 .vjp = {{"self", "self result", median_grad}}}));
  r.add(ranking(
      {.schema =
           "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc = "The median along a dimension of the elements that are not NaN, and where it is.\n\n"
              ">>> wisp.nanmedian(wisp.tensor([[1., wisp.nan, 3.]]), 1).indices\ntensor([0])",
       .infer = infer_pick<1>,
       .kernel = median_dim_kernel<true>,
       .vjp = {{"self", "self.shape dim keepdim result1",
                [](const Backward& b) { return put_back_reduced(b, 1, b.boolean(2)); }}},
       .node = "NanmedianBackward1"}));
  r.add(ranking(
      {.schema =
           "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .doc =
           "The most frequent element along a dimension, the smallest of them if there are several, and the last "
           "place it is at.\n\n"
           ">>> wisp.mode(wisp.tensor([2, 1, 2, 1, 3]))[0]\ntensor(1)",
       .infer = infer_pick<1>,
       .kernel = mode_kernel,
       .vjp = {{"self", "self.shape dim keepdim result1",
                [](const Backward& b) { return put_back_reduced(b, 1, b.boolean(2)); }}},
       .onnx = "+ Unique"}));
}

void register_quantiles(Registry& r) {
  r.add(ranking(
      {.schema = "quantile(Tensor self, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, "
                 "str interpolation='linear') -> Tensor",
       .doc =
           "The values below which fractions `q` of the elements lie, of all elements or along a dimension. Between "
           "two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.\n\n"
           ">>> wisp.quantile(wisp.tensor([1., 2., 3., 4.]), 0.5)\ntensor(2.5000)",
       .body = quantile_body<false>}));
  r.add(ranking(
      {.schema = "nanquantile(Tensor self, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, "
                 "str interpolation='linear') -> Tensor",
       .doc = "The same of the elements that are not NaN.\n\n"
              ">>> wisp.nanquantile(wisp.tensor([1., wisp.nan, 3.]), 0.5)\ntensor(2.)",
       .body = quantile_body<true>}));
}

}  // namespace

void register_sort(Registry& r) {
  register_sorting(r);
  register_ranks(r);
  register_quantiles(r);
}

}  // namespace wisp::ops
