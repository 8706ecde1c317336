// Differences of neighbours, and integrals by the trapezoidal rule.
#include "ops/families.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// All elements along a dimension but the first, and all but the last.
Tensor but_first(const Tensor& t, int64_t dim) { return slice(t, dim, 1, t.size(dim)); }
Tensor but_last(const Tensor& t, int64_t dim) {
  return slice(t, dim, 0, std::max<int64_t>(t.size(dim) - 1, 0));
}

Tensor with_ends(const Args& args, int64_t dim) {
  const Tensor& self = args.tensor(0);
  if (!args.has(3) && !args.has(4)) return self;
  std::vector<Tensor> parts;
  if (args.has(3)) parts.push_back(args.tensor(3));
  parts.push_back(self);
  if (args.has(4)) parts.push_back(args.tensor(4));
  for (const Tensor& part : parts) {
    WISP_CHECK(part.ndim() == self.ndim(),
               "diff expects prepend or append to be the same dimension as input");
  }
  return invoke<"cat">(std::span<const Tensor>(parts), dim);
}

void diff_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() > 0, "diff(): expects input to be at least one-dimensional");
  const int64_t n = args.integer(1), dim = wrap_dim(args.integer(2), self.ndim(), args.name());
  WISP_CHECK(n >= 0, "diff(): order must be non-negative but got ", n);
  Tensor result = with_ends(args, dim);
  for (int64_t i = 0; i < n && (i == 0 || result->size(dim) > 0); ++i) {
    const Tensor later = but_first(result, dim), earlier = but_last(result, dim);
    result = result.dtype() == DType::bool_ ? logical_xor(later, earlier) : sub(later, earlier);
  }
  outs.push(result);
}

// The distances between sample points, in a shape that broadcasts with y.
Tensor distances(const Args& args, int64_t dim) {
  const Tensor &y = args.tensor(0), &x = args.tensor(1);
  WISP_CHECK(x.dtype() != DType::bool_ && y.dtype() != DType::bool_, args.name(),
             "(): received a bool input for `x` or `y`, but bool is not supported");
  if (x.ndim() != 1) {
    Dims sizes(static_cast<size_t>(std::max<int64_t>(y.ndim() - x.ndim(), 0)), 1);
    for (int64_t size : x.sizes()) sizes.push_back(size);
    return diff(reshape(x, sizes), 1, dim - y.ndim());
  }
  WISP_CHECK(x->size(0) == y->size(dim), args.name(),
             "(): There must be one `x` value for each sample point");
  Dims sizes(static_cast<size_t>(y.ndim()), 1);
  sizes[dim] = std::max<int64_t>(y->size(dim) - 1, 0);
  return reshape(diff(x), sizes);
}

int64_t integration_dim(const Args& args, int i) {
  const Tensor& y = args.tensor(0);
  WISP_CHECK_INDEX(y.ndim() > 0, args.name(), "(): Dimension specified as ", args.integer(i),
                   " but tensor has no dimensions");
  return wrap_dim(args.integer(i), y.ndim(), args.name());
}

Tensor sum_along(const Tensor& t, int64_t dim) { return sum(t, IntSpan(&dim, 1)); }

Tensor nothing(const Tensor& y, int64_t dim) {
  Dims sizes(y.sizes());
  sizes.erase(dim);
  return zeros(sizes, to_floating(y.dtype()));
}

Tensor heights(const Tensor& y, int64_t dim) { return add(but_first(y, dim), but_last(y, dim)); }

void trapezoid_x_body(const Args& args, TensorList& outs) {
  const Tensor& y = args.tensor(0);
  const int64_t dim = integration_dim(args, 2);
  if (y->size(dim) == 0) return outs.push(nothing(y, dim));
  outs.push(div(sum_along(mul(distances(args, dim), heights(y, dim)), dim), 2));
}

// With equal distances all inner heights count fully, those at the ends by half.
void trapezoid_dx_body(const Args& args, TensorList& outs) {
  const Tensor& y = args.tensor(0);
  const int64_t dim = integration_dim(args, 2);
  WISP_CHECK(y.dtype() != DType::bool_, args.name(),
             "(): received a bool input for `y`, but bool is not supported");
  if (y->size(dim) == 0) return outs.push(nothing(y, dim));
  const Tensor ends = mul(add(select(y, dim, 0), select(y, dim, -1)), 0.5);
  outs.push(mul(sub(sum_along(y, dim), ends), args.scalar(1)));
}

void cumulative_x_body(const Args& args, TensorList& outs) {
  const int64_t dim = integration_dim(args, 2);
  outs.push(div(cumsum(mul(distances(args, dim), heights(args.tensor(0), dim)), dim), 2));
}

void cumulative_dx_body(const Args& args, TensorList& outs) {
  const int64_t dim = integration_dim(args, 2);
  WISP_CHECK(args.tensor(0).dtype() != DType::bool_, args.name(),
             "(): received a bool input for `y`, but bool is not supported");
  const Scalar half = args.scalar(1).is_complex() ? Scalar(args.scalar(1).complex() / 2.0)
                                                  : Scalar(args.real(1) / 2);
  outs.push(cumsum(mul(heights(args.tensor(0), dim), half), dim));
}

}  // namespace

void register_differences(Registry& r) {
  r.add(
      {.schema =
           "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
       .doc =
           "Differences of neighbours along a dimension, taken `n` times.\n\n>>> wisp.diff(wisp.tensor([1, 4, 9]))\ntensor([3, 5])",
       .body = diff_body,
       .onnx = "+ Sub of two Slices",
       .traits = trait::out});
  r.add(
      {.schema = "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
       .doc =
           "The integral of `y` over the points `x` by the trapezoidal rule.\n\n>>> wisp.trapezoid(wisp.tensor([1., 2., 3.]), wisp.tensor([0., 1., 3.]))\ntensor(6.5000)",
       .body = trapezoid_x_body,
       .onnx = "+ sums of Slices",
       .homes = home::function});
  r.add(
      {.schema = "trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
       .doc =
           "The integral of `y` over points `dx` apart by the trapezoidal rule.\n\n>>> wisp.trapezoid(wisp.tensor([1., 2., 3.]), dx=2)\ntensor(8.)",
       .body = trapezoid_dx_body,
       .onnx = "+ sums of Slices",
       .homes = home::function});
  r.alias("trapz", "trapezoid");
  r.add(
      {.schema = "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
       .doc =
           "The running integral of `y` over the points `x` by the trapezoidal rule.\n\n>>> wisp.cumulative_trapezoid(wisp.tensor([1., 2., 3.]), wisp.tensor([0., 1., 3.]))\ntensor([1.5000, 6.5000])",
       .body = cumulative_x_body,
       .onnx = "+ CumSum of Slices",
       .homes = home::function});
  r.add(
      {.schema = "cumulative_trapezoid(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
       .doc =
           "The running integral of `y` over points `dx` apart by the trapezoidal rule.\n\n>>> wisp.cumulative_trapezoid(wisp.tensor([1., 2., 3.]))\ntensor([1.5000, 4.0000])",
       .body = cumulative_dx_body,
       .onnx = "+ CumSum of Slices",
       .homes = home::function});
}

}  // namespace wisp::ops
