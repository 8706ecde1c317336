// Matrix products.
#include "cpu/gemm.h"

#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

cpu::Matrix matrix_of(const Tensor& t) {
  return {t->bytes(), t->size(0), t->size(1), t->stride(0), t->stride(1)};
}

void infer_mm(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  WISP_CHECK(a.ndim() == 2, "mm(): self must be a matrix, got a tensor of shape ", a.sizes());
  WISP_CHECK(b.ndim() == 2, "mm(): mat2 must be a matrix, got a tensor of shape ", b.sizes());
  WISP_CHECK(a.dtype() == b.dtype(), "mm(): expected m1 and m2 to have the same dtype, but got: ",
             name(a.dtype()), " != ", name(b.dtype()));
  WISP_CHECK(a->size(1) == b->size(0), "mm(): mat1 and mat2 shapes cannot be multiplied (", a->size(0), "x",
             a->size(1), " and ", b->size(0), "x", b->size(1), ")");
  infer.push({a->size(0), b->size(1)}, a.dtype(), a.device());
}

void mm_kernel(const Call& call) {
  cpu::gemm(call.out().dtype(), matrix_of(call.tensor(0)), matrix_of(call.tensor(1)), matrix_of(call.out()), 1, 0);
}

}  // namespace

void register_matmul(Registry& r) {
  r.add({.schema = "mm(Tensor self, Tensor mat2) -> Tensor",
         .doc = "The product of two matrices.\n\n>>> wisp.mm(wisp.ones(2, 3), wisp.ones(3, 1))\ntensor([[3.],\n        [3.]])",
         .infer = infer_mm,
         .kernel = mm_kernel,
         .vjp = {{"self", "mat2", [](const Backward& b) { return mm(b.grad(), conj(t(b.tensor(1)))); }},
                 {"mat2", "self", [](const Backward& b) { return mm(conj(t(b.tensor(0))), b.grad()); }}},
         .jvp = Jvp::bilinear,
         .batch = Batch::loop,
         .onnx = "MatMul",
         .traits = trait::out});
}

}  // namespace wisp::ops
