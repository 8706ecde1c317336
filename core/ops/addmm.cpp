// Matrix products added to something: beta * self + alpha * product.
#include "ops/families.h"
#include "ops/matrix.h"
#include "ops/number.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// All of these are (self, left, right, *, beta, alpha).
constexpr int beta_at = 3, alpha_at = 4;

Scalar conj_of(const Backward& b, int i) { return b.scalar(i).conj(); }

Tensor scaled(const Tensor& t, Scalar factor) { return factor.equals(1) ? t : mul(t, factor); }

void check_result(const Infer& infer, IntSpan sizes, DType dtype) {
  const Tensor& self = infer.tensor(0);
  WISP_CHECK(self.dtype() == dtype, infer.name(),
             "(): self and mat2 must have the same dtype, but got ", legacy_name(self.dtype()),
             " and ", legacy_name(dtype));
  bool fits = self.sizes().size() <= sizes.size();
  for (size_t i = 0; fits && i < self.sizes().size(); ++i) {
    const int64_t own = self.size(-1 - static_cast<int64_t>(i)),
                  wanted = sizes[sizes.size() - 1 - i];
    fits = own == 1 || own == wanted;
  }
  WISP_CHECK(fits, infer.name(), "(): self of shape ", self.sizes(),
             " cannot be expanded to the shape of the product, ", sizes);
  check_number_dtype(infer, dtype);
  check_fits(infer.name(), infer.scalar(beta_at), dtype);
  check_fits(infer.name(), infer.scalar(alpha_at), dtype);
}

// run(target, beta) adds the product to what `target` holds: self, broadcast.
template <class F>
void add_to_self(const Call& call, Scalar beta, F run) {
  const Tensor &out = call.out(), &self = call.tensor(0);
  if (out.numel() == 0) return;
  const Tensor target = out.is_contiguous() ? out : Tensor::empty(out.sizes(), out.dtype());
  if (!beta.equals(0) && !target.is_same(self)) start_with(target, self);
  run(target, beta);
  if (!target.is_same(out)) copy_raw(out, target);
}

Tensor self_grad(const Backward& b) {
  return scaled(sum_to_size(b.grad(), b.shape(0)), conj_of(b, beta_at));
}

// --- addmm

void infer_addmm(Infer& infer) {
  const Tensor &a = infer.tensor(1), &b = infer.tensor(2);
  WISP_CHECK(a.ndim() == 2, "addmm(): mat1 must be a matrix, got ", a.ndim(), "-D tensor");
  WISP_CHECK(b.ndim() == 2, "addmm(): mat2 must be a matrix, got ", b.ndim(), "-D tensor");
  check_same_dtype(infer, a, b);
  check_product(infer, a->size(0), a->size(1), b->size(0), b->size(1));
  const int64_t sizes[] = {a->size(0), b->size(1)};
  check_result(infer, sizes, b.dtype());
  infer.push(sizes, a.dtype(), a.device());
}

void addmm_kernel(const Call& call) {
  add_to_self(call, call.scalar(beta_at), [&](const Tensor& target, Scalar beta) {
    const Tensor a = apart_from(target, call.tensor(1)), b = apart_from(target, call.tensor(2));
    cpu::gemm(target.dtype(), matrix_of(a), matrix_of(b), matrix_of(target), call.scalar(alpha_at),
              beta);
  });
}

// --- addmv

void infer_addmv(Infer& infer) {
  const Tensor &self = infer.tensor(0), &mat = infer.tensor(1), &vec = infer.tensor(2);
  WISP_CHECK(mat.ndim() == 2 && vec.ndim() == 1 && self.ndim() <= 1,
             "addmv(): vector + matrix @ vector expected, got ", self.ndim(), ", ", mat.ndim(),
             ", ", vec.ndim());
  WISP_CHECK(mat->size(1) == vec->size(0) && (self.numel() == 1 || self.numel() == mat->size(0)),
             "addmv(): size mismatch, got input (", self.numel(), "), mat (", mat->size(0), "x",
             mat->size(1), "), vec (", vec->size(0), ")");
  WISP_CHECK(mat.dtype() == vec.dtype() && mat.dtype() == self.dtype(),
             "addmv(): input tensors must have the same dtype, but got ", legacy_name(self.dtype()),
             ", ", legacy_name(mat.dtype()), ", and ", legacy_name(vec.dtype()));
  const int64_t sizes[] = {mat->size(0)};
  check_result(infer, sizes, vec.dtype());
  infer.push(sizes, mat.dtype(), mat.device());
}

void addmv_kernel(const Call& call) {
  add_to_self(call, call.scalar(beta_at), [&](const Tensor& target, Scalar beta) {
    const Tensor mat = apart_from(target, call.tensor(1)), vec = apart_from(target, call.tensor(2));
    cpu::gemm(target.dtype(), matrix_of(mat), column_of(vec), column_of(target),
              call.scalar(alpha_at), beta);
  });
}

// --- addr

// Unlike the others it takes mixed dtypes, and bools, of which it gives the logical sum of
// products.
void infer_addr(Infer& infer) {
  const Tensor &self = infer.tensor(0), &a = infer.tensor(1), &b = infer.tensor(2);
  WISP_CHECK(a.ndim() == 1, "addr(): Expected 1-D argument vec1, but got ", a.ndim(), "-D");
  WISP_CHECK(b.ndim() == 1, "addr(): Expected 1-D argument vec2, but got ", b.ndim(), "-D");
  Promotion promotion;
  for (int i = 0; i < 3; ++i) promotion.add(infer.tensor(i));
  const DType dtype = promotion.result();
  for (int i : {beta_at, alpha_at}) {
    const char* which = i == beta_at ? "beta" : "alpha";
    WISP_CHECK(is_differentiable(dtype) || infer.scalar(i).is_integer(),
               "addr(): For integral input tensors, argument ", which,
               " must not be a floating point number.");
    WISP_CHECK(dtype == DType::bool_ || infer.scalar(i).category() != Category::boolean,
               "addr(): Boolean ", which, " only supported for Boolean results.");
    check_fits("addr", infer.scalar(i), dtype);
  }
  const int64_t sizes[] = {a->size(0), b->size(0)};
  WISP_CHECK(self.ndim() <= 2 && same(broadcast(sizes, self.sizes()), sizes),
             "addr(): self of shape ", self.sizes(),
             " cannot be expanded to the shape of the product, ", sizes);
  infer.push(sizes, dtype, self.device());
}

void addr_kernel(const Call& call) {
  const Tensor& out = call.out();
  if (out.numel() == 0) return;
  const bool logical = out.dtype() == DType::bool_;
  const DType dtype = logical ? DType::uint8 : out.dtype();
  auto factor = [&](int i) {
    return logical ? Scalar(int64_t(call.scalar(i).truth())) : call.scalar(i);
  };
  const Tensor a = consecutive(call.tensor(1), dtype), b = consecutive(call.tensor(2), dtype);
  const Tensor target = Tensor::empty(out.sizes(), dtype);
  const Scalar beta = factor(beta_at);
  if (!beta.equals(0)) copy_raw(target, call.tensor(0));
  cpu::gemm(dtype, column_of(a), row_of(b), matrix_of(target), factor(alpha_at), beta);
  copy_raw(out, target);
}

// --- baddbmm, addbmm

void check_stacks(const Infer& infer) {
  const Tensor &a = infer.tensor(1), &b = infer.tensor(2);
  WISP_CHECK(a.ndim() == 3, infer.name(), "(): batch1 must be a 3D tensor, got a tensor of shape ",
             a.sizes());
  WISP_CHECK(b.ndim() == 3, infer.name(), "(): batch2 must be a 3D tensor, got a tensor of shape ",
             b.sizes());
  WISP_CHECK(a->size(0) == b->size(0) && a->size(2) == b->size(1), infer.name(),
             "(): Expected size for first two dimensions of batch2 tensor to be: [", a->size(0),
             ", ", a->size(2), "] but got: [", b->size(0), ", ", b->size(1), "].");
  WISP_CHECK(infer.tensor(0).dtype() == a.dtype() && a.dtype() == b.dtype(), infer.name(),
             "(): Input dtypes must be the same, got: input ", name(infer.tensor(0).dtype()),
             ", batch1: ", name(a.dtype()), ", batch2: ", name(b.dtype()));
}

void infer_baddbmm(Infer& infer) {
  check_stacks(infer);
  const Tensor &a = infer.tensor(1), &b = infer.tensor(2);
  const int64_t sizes[] = {a->size(0), a->size(1), b->size(2)};
  check_result(infer, sizes, a.dtype());
  infer.push(sizes, a.dtype(), a.device());
}

void baddbmm_kernel(const Call& call) {
  add_to_self(call, call.scalar(beta_at), [&](const Tensor& target, Scalar beta) {
    const Tensor a = apart_from(target, call.tensor(1)), b = apart_from(target, call.tensor(2));
    const cpu::Stack stack{{a->size(0)}, {a->stride(0)}, {b->stride(0)}, {target->stride(0)}};
    cpu::gemm(target.dtype(), stack, matrix_of(a), matrix_of(b), matrix_of(target),
              call.scalar(alpha_at), beta);
  });
}

void infer_addbmm(Infer& infer) {
  check_stacks(infer);
  const Tensor &a = infer.tensor(1), &b = infer.tensor(2);
  const int64_t sizes[] = {a->size(1), b->size(2)};
  check_result(infer, sizes, a.dtype());
  infer.push(sizes, a.dtype(), a.device());
}

// The sum over a stack is one product whose inner dimension runs over the whole stack.
void addbmm_kernel(const Call& call) {
  add_to_self(call, call.scalar(beta_at), [&](const Tensor& target, Scalar beta) {
    const Tensor &a = call.tensor(1), &b = call.tensor(2);
    const int64_t count = a->size(0), m = a->size(1), k = a->size(2), n = b->size(2);
    const int64_t sizes[] = {m, count, k}, strides[] = {a->stride(1), a->stride(0), a->stride(2)};
    const Tensor left = Tensor::empty(sizes, a.dtype());
    copy_raw(left, a.alias(sizes, strides, a->offset()));
    const Tensor right = consecutive(apart_from(target, b));
    cpu::gemm(target.dtype(), {left->bytes(), m, count * k, count * k, 1},
              {right->bytes(), count * k, n, n, 1}, matrix_of(target), call.scalar(alpha_at), beta);
  });
}

// --- derivatives

Tensor mm_left_grad(const Backward& b) {
  return scaled(mm(b.grad(), conj(t(b.tensor(2)))), conj_of(b, alpha_at));
}
Tensor mm_right_grad(const Backward& b) {
  return scaled(mm(conj(t(b.tensor(1))), b.grad()), conj_of(b, alpha_at));
}
// With a single gradient for a whole stack it is used for each of its matrices.
Tensor bmm_left_grad(const Backward& b) {
  return scaled(matmul(b.grad(), adjoint(b.tensor(2))), conj_of(b, alpha_at));
}
Tensor bmm_right_grad(const Backward& b) {
  return scaled(matmul(adjoint(b.tensor(1)), b.grad()), conj_of(b, alpha_at));
}
Tensor mv_matrix_grad(const Backward& b) {
  return scaled(outer(b.grad(), conj(b.tensor(2))), conj_of(b, alpha_at));
}
Tensor mv_vector_grad(const Backward& b) {
  return scaled(mv(conj(t(b.tensor(1))), b.grad()), conj_of(b, alpha_at));
}
Tensor outer_left_grad(const Backward& b) {
  return scaled(mv(b.grad(), to(conj(b.tensor(2)), b.grad().dtype())), conj_of(b, alpha_at));
}
Tensor outer_right_grad(const Backward& b) {
  return scaled(mv(t(b.grad()), to(conj(b.tensor(1)), b.grad().dtype())), conj_of(b, alpha_at));
}

// What the entries of this family have in common.
OpDef added(OpDef def) {
  def.jvp = Jvp::transposed;
  def.batch = Batch::loop;
  def.traits |= trait::in_place | trait::out;
  return def;
}

}  // namespace

void register_addmm(Registry& r) {
  r.add(added(
      {.schema =
           "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       .doc =
           "`beta * self + alpha * (mat1 @ mat2)`; with beta 0 self is not read.\n\n>>> wisp.addmm(wisp.tensor([1., 2.]), wisp.ones(1, 3), wisp.ones(3, 2))\ntensor([[4., 5.]])",
       .infer = infer_addmm,
       .kernel = addmm_kernel,
       .vjp = {{"self", "self.shape beta", self_grad},
               {"mat1", "mat2 alpha", mm_left_grad},
               {"mat2", "mat1 alpha", mm_right_grad}},
       .onnx = "Gemm",
       .traits = trait::writes_self}));
  r.add(added(
      {.schema =
           "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       .doc =
           "`beta * self + alpha * (mat @ vec)`.\n\n>>> wisp.addmv(wisp.tensor([1., 2.]), wisp.ones(2, 3), wisp.ones(3))\ntensor([4., 5.])",
       .infer = infer_addmv,
       .kernel = addmv_kernel,
       .vjp = {{"self", "self.shape beta", self_grad},
               {"mat", "vec alpha", mv_matrix_grad},
               {"vec", "mat alpha", mv_vector_grad}},
       .onnx = "+ Add of MatMul",
       .traits = trait::writes_self}));
  r.add(added(
      {.schema =
           "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       .doc =
           "`beta * self + alpha * outer(vec1, vec2)`.\n\n>>> wisp.addr(wisp.zeros(2, 2), wisp.tensor([1., 2.]), wisp.tensor([1., 10.]))\ntensor([[ 1., 10.],\n        [ 2., 20.]])",
       .infer = infer_addr,
       .kernel = addr_kernel,
       .vjp = {{"self", "self.shape beta", self_grad},
               {"vec1", "vec2 alpha", outer_left_grad},
               {"vec2", "vec1 alpha", outer_right_grad}},
       .onnx = "+ Add of Mul"}));
  r.add(added(
      {.schema =
           "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       .doc =
           "`beta * self + alpha * bmm(batch1, batch2)`.\n\n>>> wisp.baddbmm(wisp.ones(1), wisp.ones(1, 1, 3), wisp.ones(1, 3, 2))\ntensor([[[4., 4.]]])",
       .infer = infer_baddbmm,
       .kernel = baddbmm_kernel,
       .vjp = {{"self", "self.shape beta", self_grad},
               {"batch1", "batch2 alpha", bmm_left_grad},
               {"batch2", "batch1 alpha", bmm_right_grad}},
       .onnx = "+ Add of MatMul",
       .traits = trait::writes_self}));
  r.add(added(
      {.schema =
           "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
       .doc =
           "`beta * self + alpha * bmm(batch1, batch2).sum(0)`.\n\n>>> wisp.addbmm(wisp.ones(1, 2), wisp.ones(2, 1, 3), wisp.ones(2, 3, 2))\ntensor([[7., 7.]])",
       .infer = infer_addbmm,
       .kernel = addbmm_kernel,
       .vjp = {{"self", "self.shape beta", self_grad},
               {"batch1", "batch2 alpha", bmm_left_grad},
               {"batch2", "batch1 alpha", bmm_right_grad}},
       .onnx = "+ ReduceSum of MatMul",
       .traits = trait::writes_self}));
}

}  // namespace wisp::ops
