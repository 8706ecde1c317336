// Counting elements by value or by interval.
#include <cmath>

#include "base/parallel.h"
#include "cpu/count.h"
#include "cpu/index.h"
#include "cpu/scratch.h"
#include "cpu/search.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// _bincount(self, size): how often each number below `size` occurs.
void infer_bincount(Infer& infer) {
  WISP_CHECK(infer.integer(1) >= 0, "bincount(): size must not be negative");
  infer.push({infer.integer(1)}, DType::int64);
}

void bincount_kernel(const Call& call) {
  const Tensor places = consecutive(call.tensor(0), DType::int64);
  const int64_t size = call.integer(1);
  WISP_CHECK_INDEX(
      cpu::count_values(places.data<int64_t>(), places.numel(), call.out().data<int64_t>(), size),
      "bincount(): a number is out of range for ", size, " counts");
}

// bincount(self, weights, minlength)
void bincount_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const int64_t least = args.integer(2);
  WISP_CHECK(least >= 0, "minlength should be >= 0");
  if (!is_integral(self.dtype())) fail_not_implemented("bincount_cpu", self.dtype());
  constexpr const char* want = "bincount only supports 1-d non-negative integral inputs.";
  WISP_CHECK(self.ndim() == 1, want);
  if (self.numel() == 0) {
    outs.push(zeros(IntSpan(&least, 1), DType::int64));
    return;
  }
  const Tensor places = to(self, DType::int64);
  const Tensors extremes = invoke_many<"aminmax">(places);
  WISP_CHECK(extremes[0].item().integer() >= 0, want);
  const int64_t size = std::max(extremes[1].item().integer() + 1, least);
  if (!args.has(1)) {
    outs.push(invoke<"_bincount">(places, size));
    return;
  }
  const Tensor& given = args.tensor(1);
  WISP_CHECK(given.ndim() == 1 && given.numel() == self.numel(),
             "weights should be 1-d and have the same length as input");
  const Tensor weights =
      to(detach(given), given.dtype() == DType::float32 ? DType::float32 : DType::float64);
  outs.push(scatter_add(zeros(IntSpan(&size, 1), weights.dtype()), 0, places, weights));
}

// --- Histograms: points are the rows of a matrix, with one list of edges per column

// _histogramdd(self, bins, uniform, weight, density)
void check_histogramdd(const Args& args) {
  const Tensor& self = args.tensor(0);
  if (!contains(dtypes::real_math, self.dtype())) fail_not_implemented("histogramdd", self.dtype());
  WISP_CHECK(self.ndim() >= 2, "histogramdd: input tensor should have at least 2 dimensions");
  WISP_CHECK(static_cast<int64_t>(args.tensors(1).size()) == self.size(-1),
             "histogramdd: expected ", self.size(-1), " sequences of bin edges for a ",
             self.size(-1), "-dimensional histogram but got ", args.tensors(1).size());
  for (const Tensor& edges : args.tensors(1)) {
    WISP_CHECK(edges.dtype() == self.dtype(),
               "histogramdd: input tensor and bins tensors should have the same dtype, but got "
               "input with dtype ",
               name(self.dtype()), " and bins with dtype ", name(edges.dtype()));
    WISP_CHECK(edges.ndim() == 1, "histogramdd: bins tensor should have one dimension, but got ",
               edges.ndim(), " dimensions");
    WISP_CHECK(edges.numel() > 0, "histogramdd: bins tensor should have at least 1 element");
  }
  if (!args.has(3)) return;
  const Tensor& weight = args.tensor(3);
  WISP_CHECK(weight.dtype() == self.dtype(),
             "histogramdd: if weight tensor is provided, input tensor and weight tensor should "
             "have the same dtype, but got input(",
             name(self.dtype()), "), and weight(", name(weight.dtype()), ")");
  const IntSpan points = self.sizes().first(static_cast<size_t>(self.ndim() - 1));
  WISP_CHECK(same(weight.sizes(), points),
             "histogramdd: if weight tensor is provided it should have the same shape as the "
             "input tensor excluding its innermost dimension, but got input with shape ",
             self.sizes(), " and weight with shape ", weight.sizes());
}

void infer_histogramdd(Infer& infer) {
  check_histogramdd(infer);
  Dims shape;
  for (const Tensor& edges : infer.tensors(1)) shape.push_back(edges.numel() - 1);
  infer.push(shape, infer.tensor(0).dtype(), infer.tensor(0).device());
}

template <class T>
void count_cells(const Tensor& points, const std::vector<Tensor>& edges, cpu::Binning how,
                 const Tensor& weight, const Tensor& out) {
  std::vector<cpu::BinAxis<T>> axes;
  for (const Tensor& axis : edges) axes.push_back({axis.data<T>(), axis.numel() - 1});
  const int64_t dims = static_cast<int64_t>(axes.size()), n = dims ? points.numel() / dims : 0;
  const cpu::Scratch<int64_t> cells(n);
  cpu::cells_of(points.data<T>(), n, axes.data(), dims, how, cells.data());
  std::vector<double> sums(static_cast<size_t>(out.numel()), 0.0);
  const T* weights = weight.defined() ? weight.data<T>() : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    if (cells[i] >= 0) sums[cells[i]] += weights ? static_cast<double>(weights[i]) : 1.0;
  }
  for (int64_t i = 0; i < out.numel(); ++i) out.data<T>()[i] = static_cast<T>(sums[i]);
}

void histogramdd_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const Tensor points = consecutive(call.tensor(0));
  const Tensor weight = call.has(3) ? consecutive(call.tensor(3)) : Tensor();
  std::vector<Tensor> edges;
  for (const Tensor& axis : call.tensors(1)) edges.push_back(consecutive(axis));
  constexpr cpu::Binning ways[] = {cpu::Binning::search, cpu::Binning::linear,
                                   cpu::Binning::linear_checked};
  const cpu::Binning how = ways[call.integer(2)];
  visit<dtypes::real_math>(out.dtype(), "histogramdd",
                           [&]<class T>() { count_cells<T>(points, edges, how, weight, out); });
}

enum BinningCode : int64_t { by_search = 0, by_line = 1, by_checked_line = 2 };

Tensor as_column(const Tensor& t) {
  const Dims shape{t.numel(), 1};
  return reshape(t, shape);
}

Tensor count_in(const Tensor& self, const Tensor& edges, BinningCode how,
                const Tensor& weight = {}) {
  const Tensor axes[] = {edges};
  return invoke<"_histogramdd">(as_column(self), std::span<const Tensor>(axes),
                                static_cast<int64_t>(how),
                                weight.defined() ? flatten(weight) : weight);
}

struct Range {
  double low, high;
  void widen(double by) {
    if (low != high) return;
    low -= by;
    high += by;
  }
};

Range range_of(const Tensor& self) {
  if (self.numel() == 0) return {0, 1};
  return {invoke<"min">(self).item().real(), invoke<"max">(self).item().real()};
}

// histc(self, bins, min, max)
void histc_body(const Args& args, TensorList& outs) {
  const Tensor self = detach(args.tensor(0));
  if (!is_floating(self.dtype())) fail_not_implemented("histogram_cpu", self.dtype());
  const int64_t bins = args.integer(1);
  WISP_CHECK(bins > 0, "histc(): bins must be > 0, but got ", bins);
  Range range{args.real(2), args.real(3)};
  if (range.low == range.high && self.numel() > 0) range = range_of(self);
  range.widen(1);
  WISP_CHECK(std::isfinite(range.low) && std::isfinite(range.high), "histc(): range of [",
             range.low, ", ", range.high, "] is not finite");
  WISP_CHECK(range.low < range.high, "histc(): max must be larger than min");
  const DType wide = contains(dtypes::half, self.dtype()) ? DType::float32 : self.dtype();
  const Tensor edges = invoke<"linspace">(range.low, range.high, bins + 1, wide);
  outs.push(to(count_in(to(self, wide), edges, by_line), self.dtype()));
}

// Counts per unit of length that add up to 1.
Tensor as_density(const Tensor& counts, const Tensor& edges) {
  return div(div(counts, sum(counts)), diff(edges));
}

void check_histogram(const Args& args, int weight) {
  const Tensor& self = args.tensor(0);
  if (!contains(dtypes::real_math, self.dtype())) fail_not_implemented("histogramdd", self.dtype());
  if (!args.has(weight)) return;
  WISP_CHECK(same(args.tensor(weight).sizes(), self.sizes()),
             "histogram(): if weight tensor is provided it should have the same shape as the input "
             "tensor, but got input with shape ",
             self.sizes(), " and weight with shape ", args.tensor(weight).sizes());
}

// histogram.bins(self, bins, *, weight, density)
void histogram_bins_body(const Args& args, TensorList& outs) {
  check_histogram(args, 2);
  const Tensor &self = args.tensor(0), &edges = args.tensor(1);
  const Tensor counts = count_in(self, edges, by_search, args.has(2) ? args.tensor(2) : Tensor());
  outs.push(args.boolean(3) ? as_density(counts, edges) : counts);
  outs.push(edges);
}

// histogram(self, bins, *, range, weight, density)
void histogram_body(const Args& args, TensorList& outs) {
  check_histogram(args, 3);
  const Tensor self = detach(args.tensor(0));
  const int64_t bins = args.integer(1);
  WISP_CHECK(bins > 0, "histogram(): bins must be > 0, but got ", bins, " for dimension 0");
  Range range = range_of(self);
  if (args.has(2)) {
    WISP_CHECK(args[2].size == 2, "histogram(): range should have 2 elements, but got ",
               args[2].size);
    range = {args[2].as.reals[0], args[2].as.reals[1]};
    WISP_CHECK(range.low <= range.high,
               "histogram(): leftmost bin edge should not exceed rightmost, but got ", range.low,
               " and ", range.high);
  }
  WISP_CHECK(std::isfinite(range.low) && std::isfinite(range.high),
             "histogram(): dimension 0's range [", range.low, ", ", range.high, "] is not finite");
  range.widen(0.5);
  const Tensor edges = invoke<"linspace">(range.low, range.high, bins + 1, self.dtype());
  const Tensor counts =
      count_in(self, edges, by_checked_line, args.has(3) ? args.tensor(3) : Tensor());
  outs.push(args.boolean(4) ? as_density(counts, edges) : counts);
  outs.push(edges);
}

}  // namespace

void register_histogram(Registry& r) {
  r.add({.schema = "_bincount(Tensor self, int size) -> Tensor",
         .doc = "How often each number below size occurs.",
         .infer = infer_bincount,
         .kernel = bincount_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- has no ONNX operator",
         .homes = home::internal});
  r.add(
      {.schema = "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
       .doc =
           "How often each number from 0 on occurs in a vector; with weights, their sum for each number.\n\n"
           ">>> wisp.bincount(wisp.tensor([1, 3, 1]))\ntensor([0, 2, 0, 1])",
       .body = bincount_body,
       .onnx = "+ several nodes",
       .traits = trait::out});
  r.add(
      {.schema = "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
       .doc =
           "Counts elements in intervals of equal length from `min` to `max` (if equal: of the elements).\n\n"
           ">>> wisp.histc(wisp.tensor([1., 2., 1.]), bins=4, min=0, max=3)\ntensor([0., 2., 1., 0.])",
       .body = histc_body,
       .onnx = "+ several nodes",
       .traits = trait::out});
  r.add(
      {.schema =
           "histogram.bins(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
       .doc =
           "Counts elements in the intervals between given edges; the last one includes its end.\n\n"
           ">>> wisp.histogram(wisp.tensor([1., 2., 1.]), wisp.tensor([0., 1., 2.])).hist\ntensor([0., 3.])",
       .body = histogram_bins_body,
       .onnx = "+ several nodes",
       .traits = trait::out});
  r.add(
      {.schema =
           "histogram(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
       .doc =
           "Counts elements, or adds up their weights, in intervals of equal length; `density` divides by the total "
           "and the length.\n\n"
           ">>> wisp.histogram(wisp.tensor([1., 2., 1.]), 4, range=(0., 4.)).hist\ntensor([0., 2., 1., 0.])",
       .body = histogram_body,
       .onnx = "+ several nodes",
       .traits = trait::out});
  r.add(
      {.schema =
           "_histogramdd(Tensor self, Tensor[] bins, int binning=0, Tensor? weight=None) -> Tensor",
       .doc =
           "Counts the points that are the rows of `self` in the cells between edges of each coordinate.\n\n"
           ">>> edges = wisp.tensor([0., 1., 2.])\n"
           ">>> wisp._C._functions['_histogramdd'](wisp.tensor([[0., 1.]]), [edges, edges])\n"
           "tensor([[0., 1.],\n        [0., 0.]])",
       .infer = infer_histogramdd,
       .kernel = histogramdd_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "+ several nodes",
       .homes = home::function});
}

}  // namespace wisp::ops
