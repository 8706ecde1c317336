// ops.h for linear algebra: what derivative rules and composites call.
#pragma once

#include "ops/ops.h"

namespace wisp::ops {

WISP_OP(Tensor, tril, (const Tensor& self, int64_t diagonal = 0), self, diagonal)
WISP_OP(Tensor, triu, (const Tensor& self, int64_t diagonal = 0), self, diagonal)
WISP_OP_AS(Tensor, prod, "prod.dim_int", (const Tensor& self, int64_t dim), self, dim)
WISP_OP_AS(Tensor, eye, "eye", (int64_t n, int64_t m, DType dtype), n, m, dtype)
WISP_OP_AS(Tensor, solve, "linalg_solve", (const Tensor& A, const Tensor& B, bool left = true), A,
           B, left)
WISP_OP_AS(Tensor, solve_triangular, "linalg_solve_triangular",
           (const Tensor& A, const Tensor& B, bool upper, bool left = true,
            bool unitriangular = false),
           A, B, upper, left, unitriangular)
WISP_OP_AS(Tensor, lu_solve, "linalg_lu_solve",
           (const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint), LU,
           pivots, B, left, adjoint)
WISP_OP_AS(Tensor, cholesky_solve, "cholesky_solve",
           (const Tensor& self, const Tensor& input2, bool upper), self, input2, upper)
WISP_OP_AS(Tensor, inv, "linalg_inv", (const Tensor& A), A)
WISP_OP_AS(Tensor, det, "linalg_det", (const Tensor& A), A)
WISP_OP_AS(Tensor, pinv, "linalg_pinv", (const Tensor& self), self)
WISP_OP_AS(Tensors, lu_unpack, "lu_unpack",
           (const Tensor& LU, const Tensor& pivots, bool unpack_data, bool unpack_pivots), LU,
           pivots, unpack_data, unpack_pivots)

}  // namespace wisp::ops
