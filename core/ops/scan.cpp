// Running sums, products, extremes and the like along one dimension.
#include "ops/scan.h"

#include <limits>

#include "cpu/products.h"
#include "cpu/scan.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

using cpu::Scan;

namespace {

int64_t dim_of(const Args& args, int i, IntSpan sizes) {
  return wrap_dim(args.integer(i), static_cast<int64_t>(sizes.size()), args.name());
}

// --- Kernels

template <int dtype>
void infer_scan(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  dim_of(infer, 1, self.sizes());
  const DType natural = is_differentiable(self.dtype()) ? self.dtype() : DType::int64;
  const DType wanted = dtype ? infer.dtype_or_none(dtype).value_or(natural) : natural;
  if (wanted == DType::bool_) fail_not_implemented(infer.name(), wanted);
  infer.push(self.sizes(), wanted, self.device());
}

// A matrix in the order of its columns, in the dtype to compute in, and so large that a copy costs.
bool is_turned(const Tensor& self, const Tensor& out, DType compute) {
  return self.ndim() == 2 && self.dtype() == compute && out.dtype() == compute &&
         self.size(0) > 1 && self.size(1) > 1 && self.strides()[0] == 1 &&
         self.strides()[1] >= self.size(0) && !share_memory(*self.impl(), *out.impl());
}

// Computes in `compute` and leaves the result in out.
void run_scan(const Call& call, Scan op, DType compute, bool reverse, const Tensor& out,
              int64_t* places = nullptr) {
  const Tensor& given = call.tensor(0);
  if (!places && is_turned(given, out, compute)) {
    return cpu::scan_turned({.op = op,
                             .dtype = compute,
                             .lines = cpu::lines_of(out.sizes(), dim_of(call, 1, out.sizes())),
                             .in = given->bytes(),
                             .out = out->bytes(),
                             .reverse = reverse},
                            given.strides()[1] * static_cast<int64_t>(given->item_size()));
  }
  const Tensor self = consecutive(call.tensor(0), compute);
  const Tensor result = out.dtype() == compute ? out : Tensor::empty(out.sizes(), compute);
  cpu::scan({.op = op,
             .dtype = compute,
             .lines = cpu::lines_of(self.sizes(), dim_of(call, 1, self.sizes())),
             .in = self->bytes(),
             .out = result->bytes(),
             .places = places,
             .reverse = reverse});
  if (!result.is_same(out)) copy_raw(out, result);
}

template <Scan op, bool reverse = false>
void scan_kernel(const Call& call) {
  run_scan(call, op, math_dtype(call.out().dtype()), reverse, call.out());
}

template <Scan op>
void extreme_kernel(const Call& call) {
  run_scan(call, op, math_dtype(call.tensor(0).dtype()), false, call.out(0),
           call.out(1).data<int64_t>());
}

void linear_scan_kernel(const Call& call) {
  const DType compute = math_dtype(call.out().dtype());
  const Tensor self = consecutive(call.tensor(0), compute),
               factor = consecutive(call.tensor(1), compute);
  const Tensor result =
      call.out().dtype() == compute ? call.out() : Tensor::empty(self.sizes(), compute);
  cpu::linear_scan({.dtype = compute,
                    .lines = cpu::lines_of(self.sizes(), dim_of(call, 2, self.sizes())),
                    .x = self->bytes(),
                    .a = factor->bytes(),
                    .y = result->bytes(),
                    .reverse = call.boolean(3)});
  if (!result.is_same(call.out())) copy_raw(call.out(), result);
}

// --- Derivatives

// A tensor of this shape that holds `part` from position `at` of a dimension on, and zeros
// elsewhere.
Tensor placed(const Tensor& part, IntSpan shape, int64_t dim, int64_t at) {
  const Dims strides = contiguous_strides(shape);
  return embed(part, shape, strides, at * strides[dim]);
}

// Every element moved one place along a dimension; the first becomes 0, the last is dropped.
Tensor shifted(const Tensor& t, int64_t dim) {
  return placed(slice(t, dim, 0, t->size(dim) - 1), t.sizes(), dim, 1);
}

// 1 at one position of a dimension, 0 elsewhere.
Tensor one_at(const Tensor& like, int64_t dim, int64_t at) {
  Dims sizes(like.sizes());
  sizes[dim] = 1;
  return placed(ones(sizes, like.dtype()), like.sizes(), dim, at);
}

// The product of what comes before each element, given the running product.
Tensor product_before(const Tensor& running, int64_t dim) {
  return add(shifted(running, dim), one_at(running, dim, 0));
}

// y_i = x_0 ... x_i moves with x_j by (x_0 ... x_(j-1)) (x_(j+1) ... x_i): the gradients of all y_i
// with i >= j, each times what lies between, are a linear recurrence from the end. Nothing is
// divided.
Tensor cumprod_grad(const Backward& b) {
  if (b.shape(0).empty() || b.grad().numel() == 0) return b.grad();
  const int64_t dim = dim_of(b, 1, b.shape(0));
  const Tensor self = to(b.tensor(0), b.grad().dtype());
  return mul(conj(product_before(b.out(), dim)), linear_scan(b.grad(), conj(self), dim, true));
}

// y_i = log(e^x_0 + ... + e^x_i) moves with x_j by e^(x_j - y_i). All exponents stay below 0: first
// from y_i down to y_j, step by step, then from there to x_j.
Tensor logcumsumexp_grad(const Backward& b) {
  if (b.shape(0).empty() || b.grad().numel() == 0) return b.grad();
  const int64_t dim = dim_of(b, 1, b.shape(0)), n = b.shape(0)[dim];
  const Scalar nothing = -std::numeric_limits<double>::infinity();
  auto ratio = [&](const Tensor& low, const Tensor& high) {
    return conj(exp(where(eq(low, nothing), nothing, sub(low, high))));
  };
  const Tensor &self = b.tensor(0), &result = b.out();
  const Tensor steps = ratio(slice(result, dim, 0, n - 1), slice(result, dim, 1, n));
  const Tensor sums = linear_scan(b.grad(), placed(steps, b.shape(0), dim, 1), dim, true);
  return mul(sums, ratio(self, result));
}

Tensor cumextreme_grad(const Backward& b) {
  if (b.shape(0).empty()) return b.grad();
  return scatter_add(zeros(b.shape(0), b.grad().dtype()), b.integer(1), b.out(1), b.grad());
}

Tensor linear_scan_self_grad(const Backward& b) {
  return linear_scan(b.grad(), conj(b.tensor(1)), b.integer(2), !b.boolean(3));
}

// A factor scales the value of the element visited before.
Tensor linear_scan_factor_grad(const Backward& b) {
  const int64_t dim = dim_of(b, 2, b.shape(1));
  const Tensor passed = linear_scan_self_grad(b);
  if (b.boolean(3)) return mul(shifted(passed, dim), conj(b.out()));
  return mul(passed, conj(shifted(b.out(), dim)));
}

// --- Entries

OpDef scanning(OpDef def) {
  if (def.jvp == Jvp::unset) def.jvp = Jvp::transposed;
  def.batch = Batch::loop;
  return def;
}

void register_sums(Registry& r) {
  r.add(scanning(
      {.schema = "cumsum(Tensor self, int dim, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The running sum along a dimension.\n\n>>> wisp.cumsum(wisp.tensor([1., 2., 3.]), 0)\ntensor([1., 3., 6.])",
       .infer = infer_scan<2>,
       .kernel = scan_kernel<Scan::sum>,
       .vjp = {{"self", "dim",
                [](const Backward& b) { return invoke<"_cumsum_reverse">(b.grad(), b[1]); }}},
       .jvp = Jvp::linear,
       .onnx = "CumSum",
       .traits = trait::in_place | trait::out}));
  r.add(scanning(
      {.schema = "_cumsum_reverse(Tensor self, int dim) -> Tensor",
       .doc = "The running sum from the end of a dimension: the derivative of cumsum.",
       .infer = infer_scan<0>,
       .kernel = scan_kernel<Scan::sum, true>,
       .vjp = {{"self", "dim", [](const Backward& b) { return cumsum(b.grad(), b.integer(1)); }}},
       .jvp = Jvp::linear,
       .onnx = "CumSum",
       .homes = home::internal}));
  r.add(scanning(
      {.schema = "logcumsumexp(Tensor self, int dim) -> Tensor",
       .doc =
           "The logarithm of the running sum of exponentials along a dimension.\n\n>>> wisp.logcumsumexp(wisp.tensor([0., 0., 0.]), 0)\ntensor([0.0000, 0.6931, 1.0986])",
       .infer =
           [](Infer& infer) {
             infer_scan<0>(infer);
             if (!is_differentiable(infer.tensor(0).dtype()))
               fail_not_implemented(infer.name(), infer.tensor(0).dtype());
           },
       .kernel = scan_kernel<Scan::logsumexp>,
       .vjp = {{"self", "self dim result", logcumsumexp_grad}},
       .onnx = "+ several nodes",
       .traits = trait::out}));
}

void register_products(Registry& r) {
  r.add(scanning(
      {.schema = "cumprod(Tensor self, int dim, *, Dtype? dtype=None) -> Tensor",
       .doc =
           "The running product along a dimension.\n\n>>> wisp.cumprod(wisp.tensor([1., 2., 3.]), 0)\ntensor([1., 2., 6.])",
       .infer = infer_scan<2>,
       .kernel = scan_kernel<Scan::prod>,
       .vjp = {{"self", "self dim result", cumprod_grad}},
       .onnx = "+ several nodes",
       .traits = trait::in_place | trait::out}));
  r.add(scanning(
      {.schema = "_linear_scan(Tensor self, Tensor factor, int dim, bool reverse=False) -> Tensor",
       .doc =
           "y[i] = self[i] + factor[i] * y[i - 1] along a dimension; in reverse, y[i] = self[i] + factor[i + 1] * y[i + 1].",
       .infer =
           [](Infer& infer) {
             const Tensor &self = infer.tensor(0), &factor = infer.tensor(1);
             WISP_CHECK(same(self.sizes(), factor.sizes()), infer.name(),
                        "(): expected equal shapes, got ", self.sizes(), " and ", factor.sizes());
             dim_of(infer, 2, self.sizes());
             infer.push(self.sizes(), promote(self.dtype(), factor.dtype()), self.device());
           },
       .kernel = linear_scan_kernel,
       .vjp = {{"self", "factor dim reverse", linear_scan_self_grad},
               {"factor", "factor dim reverse result", linear_scan_factor_grad}},
       .onnx = "- backward only",
       .homes = home::internal}));
}

void product_of_others_kernel(const Call& call) {
  const Tensor& out = call.out();
  const DType dtype = math_dtype(out.dtype());
  const Tensor self = consecutive(call.tensor(0), dtype);
  const Tensor result = out.dtype() == dtype ? out : Tensor::empty(out.sizes(), dtype);
  const int64_t n = self.size(-1);
  cpu::product_of_others(dtype, n ? self.numel() / n : 0, n, self->bytes(), result->bytes());
  if (!result.is_same(out)) copy_raw(out, result);
}

void register_product_of_others(Registry& r) {
  r.add({.schema = "_product_of_others(Tensor self) -> Tensor",
         .doc = "For every element the product of all others along the last dimension.",
         .infer =
             [](Infer& infer) {
               const Tensor& self = infer.tensor(0);
               infer.push(self.sizes(), self.dtype(), self.device());
             },
         .kernel = product_of_others_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- backward only",
         .homes = home::internal});
}

void infer_cumextreme(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  if (is_complex(self.dtype())) fail_not_implemented(infer.name(), self.dtype());
  dim_of(infer, 1, self.sizes());
  infer.push(self.sizes(), self.dtype(), self.device());
  infer.push(self.sizes(), DType::int64, self.device());
}

void register_extremes_so_far(Registry& r) {
  r.add(scanning(
      {.schema = "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       .doc =
           "The largest element so far along a dimension, and its (last) position.\n\n>>> wisp.cummax(wisp.tensor([1., 3., 2.]), 0).values\ntensor([1., 3., 3.])",
       .infer = infer_cumextreme,
       .kernel = extreme_kernel<Scan::max>,
       .vjp = {{"self", "self.shape dim result1", cumextreme_grad}},
       .onnx = "+ several nodes",
       .traits = trait::out}));
  r.add(scanning(
      {.schema = "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
       .doc =
           "The smallest element so far along a dimension, and its (last) position.\n\n>>> wisp.cummin(wisp.tensor([3., 1., 2.]), 0).values\ntensor([3., 1., 1.])",
       .infer = infer_cumextreme,
       .kernel = extreme_kernel<Scan::min>,
       .vjp = {{"self", "self.shape dim result1", cumextreme_grad}},
       .onnx = "+ several nodes",
       .traits = trait::out}));
}

}  // namespace

Tensor product_of_others(const Tensor& self, int64_t dim) {
  if (self.numel() == 0) return self;
  const int64_t at = wrap_dim(dim, self.ndim());
  const bool one_kernel =
      !rules_are_differentiated() && at == self.ndim() - 1 && is_floating(self.dtype());
  if (one_kernel) return invoke<"_product_of_others">(self);
  const Tensor after = linear_scan(one_at(self, at, self->size(at) - 1), self, at, true);
  return mul(product_before(cumprod(self, at), at), after);
}

void register_scan(Registry& r) {
  register_sums(r);
  register_products(r);
  register_product_of_others(r);
  register_extremes_so_far(r);
}

}  // namespace wisp::ops
