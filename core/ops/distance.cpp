// Distances between points, and the vector product.
#include "cpu/distance.h"

#include <cmath>

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- cdist(x1, x2, p, compute_mode)

// Beyond this many points on either side a matrix product pays.
constexpr int64_t few_points = 25;

bool uses_product(const Args& args, int64_t rows, int64_t others) {
  if (args.real(2) != 2) return false;
  const std::string_view mode = args.string(3);
  if (mode == "use_mm_for_euclid_dist") return true;
  return mode == "use_mm_for_euclid_dist_if_necessary" &&
         (rows > few_points || others > few_points);
}

void check_mode(std::string_view mode) {
  const bool known = mode == "use_mm_for_euclid_dist" ||
                     mode == "use_mm_for_euclid_dist_if_necessary" ||
                     mode == "donot_use_mm_for_euclid_dist";
  WISP_CHECK_VALUE(known, mode, " is not a valid value for compute_mode");
}

IntSpan batch_of(IntSpan sizes) { return sizes.first(sizes.size() - 2); }

Dims with_batch(IntSpan batch, int64_t rows, int64_t cols) {
  Dims sizes(batch);
  sizes.push_back(rows);
  sizes.push_back(cols);
  return sizes;
}

void infer_cdist(Infer& infer) {
  const Tensor &x1 = infer.tensor(0), &x2 = infer.tensor(1);
  for (int i = 0; i < 2; ++i) {
    const Tensor& x = infer.tensor(i);
    WISP_CHECK(is_floating(x.dtype()), "cdist(): only supports floating-point dtypes, X", i + 1,
               " got: ", legacy_name(x.dtype()));
    WISP_CHECK(x.ndim() >= 2, "cdist(): only supports at least 2D tensors, X", i + 1,
               " got: ", x.ndim(), "D");
    if (!contains(dtypes::real_math, x.dtype())) fail_not_implemented("cdist", x.dtype());
  }
  WISP_CHECK(x1.size(-1) == x2.size(-1),
             "cdist(): X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
             " X2: ", x2.size(-1));
  WISP_CHECK(x1.dtype() == x2.dtype(), "cdist(): expected scalar type ", legacy_name(x1.dtype()),
             " but found ", legacy_name(x2.dtype()));
  WISP_CHECK(infer.real(2) >= 0, "cdist(): only supports non-negative p values");
  check_mode(infer.string(3));
  const Dims batch = broadcast(batch_of(x1.sizes()), batch_of(x2.sizes()));
  infer.push(with_batch(batch, x1.size(-2), x2.size(-2)), x1.dtype(), x1.device());
}

void cdist_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const int64_t rows = out.size(-2), others = out.size(-1), cols = call.tensor(0).size(-1);
  const IntSpan batch = batch_of(out.sizes());
  const Tensor x1 = consecutive(call.tensor(0), with_batch(batch, rows, cols), out.dtype());
  const Tensor x2 = consecutive(call.tensor(1), with_batch(batch, others, cols), out.dtype());
  const cpu::Distances job{
      out.dtype(), out.numel() / (rows * others), rows, others, cols, x1->bytes(), x2->bytes(),
      out->bytes()};
  if (uses_product(call, rows, others)) return cpu::euclidean_distances(job);
  cpu::distances(job, call.real(2));
}

// grad / distance^(p - 1), and 0 where points coincide: there the distance has no slope.
Tensor weights(const Backward& b, double p) {
  const Tensor zero = eq(b.out(), 0), divisor = where(zero, Scalar(1), b.out());
  return where(zero, Scalar(0), div(b.grad(), p == 2 ? divisor : pow(divisor, p - 1)));
}

// The gradient with respect to the steps between points, for each pair.
Tensor step_grad(const Backward& b, const Tensor& step, double p) {
  const Tensor grad = unsqueeze(b.grad(), -1);
  if (p == 1) return mul(sgn(step), grad);
  if (std::isinf(p)) return mul(mul(sgn(step), eq(abs(step), unsqueeze(b.out(), -1))), grad);
  const Tensor weight = unsqueeze(weights(b, p), -1);
  if (p == 2) return mul(step, weight);
  const Tensor zero = eq(step, 0), size = where(zero, Scalar(1), abs(step));
  return mul(mul(where(zero, Scalar(0), pow(size, p - 1)), sgn(step)), weight);
}

// The gradient with respect to x1[i] - x2[j], for each pair.
Tensor pair_grad(const Backward& b) {
  return step_grad(b, sub(unsqueeze(b.tensor(0), -2), unsqueeze(b.tensor(1), -3)), b.real(2));
}

// _cdist_grad(grad, own, other, distance, p, first): the gradient of x1 if `first`, else of x2, for
// the broadcast batch.

void infer_cdist_grad(Infer& infer) {
  const Tensor &grad = infer.tensor(0), &own = infer.tensor(1);
  infer.push(with_batch(batch_of(grad.sizes()), own.size(-2), own.size(-1)), own.dtype(),
             own.device());
}

void cdist_grad_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const DType dtype = out.dtype();
  const IntSpan batch = batch_of(out.sizes());
  const int64_t rows = out.size(-2), others = call.tensor(2).size(-2), cols = out.size(-1);
  const Tensor own = consecutive(call.tensor(1), with_batch(batch, rows, cols), dtype);
  const Tensor other = consecutive(call.tensor(2), with_batch(batch, others, cols), dtype);
  const Tensor grad = consecutive(call.tensor(0), dtype),
               distance = consecutive(call.tensor(3), dtype);
  const bool first = call.boolean(5);
  cpu::distance_grads({.points = {dtype, out.numel() / (rows * cols), rows, others, cols,
                                  own->bytes(), other->bytes(), out->bytes()},
                       .grad = grad->bytes(),
                       .distance = distance->bytes(),
                       .row_step = first ? others : 1,
                       .col_step = first ? 1 : rows},
                      call.real(4));
}

// Of x1 if `first`, else of x2.
Tensor cdist_grad(const Backward& b, bool first) {
  const Tensor &x1 = b.tensor(0), &x2 = b.tensor(1);
  const Tensor& own = first ? x1 : x2;
  if (b.real(2) == 0 || b.grad().numel() == 0) return zeros_like(own);
  if (uses_product(b, x1.size(-2), x2.size(-2))) {
    const Tensor weight = first ? weights(b, 2) : transpose(weights(b, 2), -2, -1);
    const int64_t last[] = {-1};
    const Tensor grad = sub(mul(own, sum(weight, last, true)), matmul(weight, first ? x2 : x1));
    return sum_to_size(grad, own.sizes());
  }
  if (!rules_are_differentiated()) {
    const Tensor full =
        invoke<"_cdist_grad">(b.grad(), own, first ? x2 : x1, b.out(), b.real(2), first);
    return sum_to_size(full, own.sizes());
  }
  const int64_t over[] = {first ? -2 : -3};
  const Tensor grad = sum_to_size(sum(pair_grad(b), over), own.sizes());
  return first ? grad : neg(grad);
}

// --- cross

void infer_cross(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  WISP_CHECK(a.ndim() == b.ndim(),
             "linalg.cross(): inputs must have the same number of dimensions.");
  const int64_t dim = wrap_dim(infer.integer(2), a.ndim(), "cross");
  WISP_CHECK(a.ndim() > 0 && a->size(dim) == 3 && b->size(dim) == 3,
             "linalg.cross(): inputs dimension ", dim, " must have length 3. Got ",
             a.ndim() ? a->size(dim) : 0, " and ", a.ndim() ? b->size(dim) : 0);
  WISP_CHECK(a.dtype() == b.dtype(), "linalg.cross(): expected scalar type ",
             legacy_name(a.dtype()), " but found ", legacy_name(b.dtype()));
  if (a.dtype() == DType::bool_) fail_not_implemented("cross", a.dtype());
  infer.push(broadcast(a.sizes(), b.sizes()), a.dtype(), a.device());
}

void cross_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1), &out = call.out();
  if (out.numel() == 0) return;
  const size_t dim = static_cast<size_t>(wrap_dim(call.integer(2), out.ndim()));
  Dims sizes(out.sizes()),
      strides[3] = {Dims(out.strides()), expanded_strides(a.sizes(), a.strides(), out.sizes()),
                    expanded_strides(b.sizes(), b.strides(), out.sizes())};
  std::array<int64_t, 3> steps;
  for (size_t k = 0; k < 3; ++k) {
    steps[k] = strides[k][dim];
    strides[k].erase(dim);
  }
  sizes.erase(dim);
  cpu::cross(sizes, {out->bytes(), strides[0], out.dtype()}, {a->bytes(), strides[1], out.dtype()},
             {b->bytes(), strides[2], out.dtype()}, steps);
}

Tensor cross_along(const Tensor& a, const Tensor& b, int64_t dim) {
  return invoke<"cross.linalg">(a, b, dim);
}

// Without a dimension: the first of length 3.
void cross_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  if (args.has(2)) return outs.push(cross_along(a, args.tensor(1), args.integer(2)));
  for (int64_t dim = 0; dim < a.ndim(); ++dim) {
    if (a->size(dim) == 3) return outs.push(cross_along(a, args.tensor(1), dim));
  }
  fail(ErrorKind::runtime, "cross(): no dimension of size 3 in input");
}

// --- pdist(self, p)

void infer_pdist(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(self.ndim() == 2, "pdist only supports 2D tensors, got: ", self.ndim(), "D");
  WISP_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  if (!contains(dtypes::real_math, self.dtype())) fail_not_implemented("pdist", self.dtype());
  WISP_CHECK(infer.real(1) >= 0, "pdist only supports non-negative p values");
  const int64_t n = self.size(0);
  infer.push({n > 0 ? n * (n - 1) / 2 : 0}, self.dtype(), self.device());
}

cpu::PointPairs point_pairs(const Tensor& points) {
  return {points.dtype(), points.size(0), points.size(1), points->bytes()};
}

void pdist_kernel(const Call& call) {
  const Tensor points = consecutive(call.tensor(0), call.out().dtype());
  cpu::pair_distances(point_pairs(points), call.real(1), call.out()->bytes());
}

// _pdist_grad(grad, self, distance, p)
void infer_pdist_grad(Infer& infer) {
  const Tensor& self = infer.tensor(1);
  const int64_t pairs = self.ndim() == 2 ? self.size(0) * (self.size(0) - 1) / 2 : -1;
  WISP_CHECK(infer.tensor(0).numel() == pairs && infer.tensor(2).numel() == pairs,
             "_pdist_grad(): expected as many gradients and distances as pairs of rows");
  infer.push(self.sizes(), self.dtype(), self.device());
}

void pdist_grad_kernel(const Call& call) {
  const DType dtype = call.out().dtype();
  const Tensor grad = consecutive(call.tensor(0), dtype),
               points = consecutive(call.tensor(1), dtype),
               distance = consecutive(call.tensor(2), dtype);
  cpu::pair_grads(point_pairs(points), grad->bytes(), distance->bytes(), call.real(3),
                  call.out()->bytes());
}

Tensor pdist_grad(const Backward& b) {
  const Tensor& self = b.tensor(0);
  const double p = b.real(1);
  if (p == 0) return zeros_like(self);
  if (!rules_are_differentiated()) return invoke<"_pdist_grad">(b.grad(), self, b.out(), p);
  const int64_t n = self.size(0);
  const Tensor pairs = invoke<"triu_indices">(n, n, int64_t(1)), first = select(pairs, 0, 0),
               second = select(pairs, 0, 1);
  const Tensor step = sub(index_select(self, 0, first), index_select(self, 0, second));
  const Tensor grad = step_grad(b, step, p);
  return sub(invoke<"index_add">(zeros_like(self), int64_t(0), first, grad),
             invoke<"index_add">(zeros_like(self), int64_t(0), second, grad));
}

}  // namespace

void register_distance(Registry& r) {
  r.add(
      {.schema =
           "_cdist_grad(Tensor grad, Tensor own, Tensor other, Tensor distance, float p, bool first) -> Tensor",
       .doc = "The derivative of cdist by one of its inputs.",
       .infer = infer_cdist_grad,
       .kernel = cdist_grad_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  r.add(
      {.schema =
           "cdist(Tensor x1, Tensor x2, float p=2.0, str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
       .doc =
           "The p-norm distances between the rows of both, each with each.\n\n>>> wisp.cdist(wisp.tensor([[0., 0.]]), wisp.tensor([[3., 4.], [0., 1.]]))\ntensor([[5., 1.]])",
       .infer = infer_cdist,
       .kernel = cdist_kernel,
       .vjp = {{"x1", "x1 x2 p compute_mode result",
                [](const Backward& b) { return cdist_grad(b, true); }},
               {"x2", "x1 x2 p compute_mode result",
                [](const Backward& b) { return cdist_grad(b, false); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ norms of differences",
       .homes = home::function});
  r.add(
      {.schema = "pdist(Tensor self, float p=2) -> Tensor",
       .doc =
           "The distances between all pairs of rows: the first to the second, the first to the third ...\n\n"
           ">>> wisp.pdist(wisp.tensor([[0., 0.], [3., 4.], [0., 1.]]))\ntensor([5.0000, 1.0000, 4.2426])",
       .infer = infer_pdist,
       .kernel = pdist_kernel,
       .vjp = {{"self", "self p result", pdist_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ norms of differences",
       .homes = home::function | home::functional});
  r.add({.schema = "_pdist_grad(Tensor grad, Tensor self, Tensor distance, float p) -> Tensor",
         .doc = "The derivative of pdist.",
         .infer = infer_pdist_grad,
         .kernel = pdist_grad_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
  r.add(
      {.schema = "cross.linalg(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
       .doc =
           "The vector product along a dimension of length 3.\n\n>>> wisp.linalg.cross(wisp.tensor([1., 0., 0.]), wisp.tensor([0., 1., 0.]))\ntensor([0., 0., 1.])",
       .infer = infer_cross,
       .kernel = cross_kernel,
       .vjp = {{"self", "self.shape other dim",
                [](const Backward& b) {
                  return sum_to_size(cross_along(conj(b.tensor(1)), b.grad(), b.integer(2)),
                                     b.shape(0));
                }},
               {"other", "self other.shape dim",
                [](const Backward& b) {
                  return sum_to_size(cross_along(b.grad(), conj(b.tensor(0)), b.integer(2)),
                                     b.shape(1));
                }}},
       .jvp = Jvp::bilinear,
       .batch = Batch::loop,
       .onnx = "+ differences of products",
       .traits = trait::out,
       .homes = home::linalg,
       .node = "LinalgCrossBackward0"});
  r.add(
      {.schema = "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
       .doc =
           "The vector product along a dimension of length 3: the first one if none is given.\n\n>>> wisp.cross(wisp.tensor([1, 0, 0]), wisp.tensor([0, 1, 0]))\ntensor([0, 0, 1])",
       .body = cross_body,
       .onnx = "+ differences of products",
       .traits = trait::out});
}

}  // namespace wisp::ops
