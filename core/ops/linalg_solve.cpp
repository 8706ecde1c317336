// Linear equations: with any square matrix, a triangular one, or one factorised before.
#include <algorithm>

#include "cpu/factor.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

void check_equation(std::string_view who, const Tensor& a, const Tensor& b, bool left) {
  check_matrices(who, b, "B");
  WISP_CHECK(left ? a.size(-2) == b.size(-2) : a.size(-1) == b.size(-1), who,
             ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
             a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
}

Dims joint_batch(const Tensor& a, const Tensor& b) { return broadcast(batch_of(a), batch_of(b)); }

// X A = B is solved as A^T X^T = B^T: X^T by columns is X by rows.
void push_solution(Infer& infer, IntSpan batch, const Tensor& b, bool left) {
  if (left) {
    push_columns(infer, batch, b.size(-2), b.size(-1), b.dtype());
  } else {
    push_batch(infer, batch, {b.size(-2), b.size(-1)}, b.dtype());
  }
}

// In place: LAPACK knows no product with a conjugated matrix that is not transposed too.
template <class T>
void conjugate(T* data, int64_t count) {
  if constexpr (lapack::is_complex<T>) {
    for (int64_t i = 0; i < count; ++i) data[i] = conj(data[i]);
  }
}

// Solves with the factors of A: op(A) X = B with op '-', or '^H' if adjoint; or X op(A) = B.
template <class T>
void solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, const Tensor& out,
                    bool left, bool adjoint) {
  const IntSpan batch = batch_of(out);
  const Matrices factors(lu, batch), sides(b, batch);
  const Matrices exchanged(as_columns(pivots), batch);
  const int64_t n = lu.size(-1), count = out.numel() ? sides.count() : 0;
  const int64_t nrhs = left ? out.size(-1) : out.size(-2);
  const bool conjugated = adjoint && !left;
  const char trans = left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T');
  over_batch(count, 2 * n * n * nrhs, [&](int64_t begin, int64_t end) {
    const ColumnReader<T> columns(n * n);
    const int size = lapack::to_int(n);
    for (int64_t i = begin; i < end; ++i) {
      T* x = matrix_at<T>(out, i);
      lapack::load(left ? sides[i] : transposed(sides[i]), x, n);
      if (conjugated) conjugate(x, n * nrhs);
      lapack::solve_lu(trans, size, lapack::to_int(nrhs), columns(factors[i]), size,
                       reinterpret_cast<int32_t*>(exchanged[i].data), x, size);
      if (conjugated) conjugate(x, n * nrhs);
    }
  });
}

// --- solve: result, LU, pivots and info of A and B with as many columns as they like

void infer_solve(Infer& infer) {
  const char* who = "linalg.solve";
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  check_math_dtype(who, a);
  check_square(who, a);
  check_same_type(who, a, b);
  check_equation(who, a, b, infer.boolean(2));
  push_solution(infer, joint_batch(a, b), b, infer.boolean(2));
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  push_batch(infer, batch_of(a), {a.size(-1)}, DType::int32);
  infer.push(batch_of(a), DType::int32);
}

void solve_kernel(const Call& call) {
  const Tensor &lu = call.out(1), &pivots = call.out(2);
  factor_lu(call.tensor(0), lu, pivots, call.out(3));
  visit<dtypes::math>(lu.dtype(), "linalg.solve", [&]<class T>() {
    solve_factored<T>(lu, pivots, call.tensor(1), call.out(), call.boolean(2), false);
  });
}

// A^H Y = G, or Y A^H = G: with the factors at hand, unless the derivative of this is wanted.
Tensor solve_adjoint(const Backward& b) {
  const bool left = b.boolean(2);
  if (rules_are_differentiated()) return solve(adjoint(b.tensor(0)), b.grad(), left);
  return lu_solve(b.out(1), b.out(2), b.grad(), left, true);
}

Tensor solve_a_grad(const Backward& b) {
  const Tensor gB = solve_adjoint(b), x = adjoint(b.out(0));
  return sum_to_size(neg(b.boolean(2) ? matmul(gB, x) : matmul(x, gB)), b.shape(0));
}

Tensor solve_b_grad(const Backward& b) { return sum_to_size(solve_adjoint(b), b.shape(1)); }

// Whether B stands for one column per matrix of A.
bool is_vector(const Tensor& a, const Tensor& b) {
  return b.ndim() == 1 || (a.ndim() - 1 == b.ndim() && same(b.sizes(), batch_of(a, 1)));
}

Tensors solve_any(const Args& args) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  check_math_dtype("linalg.solve", a);
  check_square("linalg.solve", a);
  const bool vector = is_vector(a, b);
  Tensors results =
      invoke_many<"_linalg_solve_ex">(a, vector ? unsqueeze(b, -1) : b, args.boolean(2));
  if (vector) results[0] = select(results[0], -1, 0);
  return results;
}

void solve_ex_body(const Args& args, TensorList& outs) {
  const Tensors results = solve_any(args);
  if (args.boolean(3)) require_success(results[3], "torch.linalg.solve_ex");
  outs.push(results[0]);
  outs.push(results[3]);
}

void solve_body(const Args& args, TensorList& outs) {
  const Tensors results = solve_any(args);
  require_success(results[3], "torch.linalg.solve");
  outs.push(results[0]);
}

// --- lu_solve

void infer_lu_solve(Infer& infer) {
  const char* who = "linalg.lu_solve";
  const Tensor &lu = infer.tensor(0), &pivots = infer.tensor(1), &b = infer.tensor(2);
  check_math_dtype(who, lu);
  check_square(who, lu, "LU");
  WISP_CHECK(lu.dtype() == b.dtype(), who,
             ": Expected LU and B to have the same dtype, but found LU of type ",
             legacy_name(lu.dtype()), " and B of type ", legacy_name(b.dtype()), " instead");
  WISP_CHECK(pivots.dtype() == DType::int32, who,
             ": pivots should be a Tensor of scalar type torch.int32");
  check_equation(who, lu, b, infer.boolean(3));
  WISP_CHECK(same(pivots.sizes(), batch_of(lu, 1)), who,
             ": Number of pivots per batch should be same as the dimension of the matrix");
  push_solution(infer, joint_batch(lu, b), b, infer.boolean(3));
}

void lu_solve_kernel(const Call& call) {
  const Tensor &lu = call.tensor(0), pivots = consecutive(call.tensor(1));
  const int32_t* rows = pivots.data<int32_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    WISP_CHECK(rows[i] >= 1 && rows[i] <= lu.size(-1),
               "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass "
               "the result of lu_factor?");
  }
  visit<dtypes::math>(lu.dtype(), "linalg.lu_solve", [&]<class T>() {
    solve_factored<T>(lu, pivots, call.tensor(2), call.out(), call.boolean(3), call.boolean(4));
  });
}

Tensor lu_solve_b_grad(const Backward& b) {
  return sum_to_size(lu_solve(b.tensor(0), b.tensor(1), b.grad(), b.boolean(3), !b.boolean(4)),
                     b.shape(2));
}

// The gradient of A = P L U, then those of its triangles.
Tensor lu_solve_lu_grad(const Backward& b) {
  const Tensor &lu = b.tensor(0), &pivots = b.tensor(1), &x = b.out();
  const bool left = b.boolean(3), by_adjoint = b.boolean(4);
  const Tensor gB = lu_solve(lu, pivots, b.grad(), left, !by_adjoint);
  const Tensor g = by_adjoint ? (left ? matmul(x, adjoint(gB)) : matmul(adjoint(gB), x))
                              : (left ? matmul(gB, adjoint(x)) : matmul(adjoint(x), gB));
  const Tensors parts = lu_unpack(lu, pivots, true, true);
  const Tensor gA = matmul(adjoint(parts[0]), neg(g));
  const Tensor lower = tril(matmul(gA, adjoint(parts[2])), -1);
  return sum_to_size(add(lower, triu(matmul(adjoint(parts[1]), gA))), lu.sizes());
}

// --- triangular matrices

void infer_solve_triangular(Infer& infer) {
  const char* who = "linalg.solve_triangular";
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  check_square(who, a);
  check_matrices(who, b, "B");
  check_same_type(who, a, b);
  check_equation(who, a, b, infer.boolean(3));
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented(who, a.dtype());
  push_columns(infer, joint_batch(a, b), b.size(-2), b.size(-1), b.dtype());
}

template <class T>
void solve_triangles(const Call& call, bool upper, bool left, bool unit) {
  const Tensor &a = call.tensor(0), &out = call.out();
  const IntSpan batch = batch_of(out);
  const Matrices triangles(a, batch), sides(call.tensor(1), batch);
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  // Rows one after the other are the columns of the transpose.
  const bool by_columns = a.stride(-2) == 1 && a.stride(-1) >= k;
  const bool by_rows = !by_columns && a.stride(-1) == 1 && a.stride(-2) >= k;
  const int64_t ld = by_columns ? a.stride(-1) : by_rows ? a.stride(-2) : k;
  over_batch(out.numel() ? sides.count() : 0, m * n * k, [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> copy(by_columns || by_rows ? 0 : k * k);
    for (int64_t i = begin; i < end; ++i) {
      T *x = matrix_at<T>(out, i), *triangle = reinterpret_cast<T*>(triangles[i].data);
      lapack::load(sides[i], x, m);
      if (!by_columns && !by_rows) lapack::load(triangles[i], triangle = copy.data(), k);
      lapack::trsm(left ? 'L' : 'R', upper != by_rows ? 'U' : 'L', by_rows ? 'T' : 'N',
                   unit ? 'U' : 'N', lapack::to_int(m), lapack::to_int(n), triangle,
                   lapack::to_int(ld), x, lapack::to_int(m));
    }
  });
}

void solve_triangular_kernel(const Call& call) {
  visit<dtypes::math>(call.out().dtype(), "linalg.solve_triangular", [&]<class T>() {
    solve_triangles<T>(call, call.boolean(2), call.boolean(3), call.boolean(4));
  });
}

// Of X: that of B before it is summed over what was repeated.
Tensor triangular_adjoint(const Backward& b) {
  return solve_triangular(adjoint(b.tensor(0)), b.grad(), !b.boolean(2), b.boolean(3),
                          b.boolean(4));
}

Tensor triangular_a_grad(const Backward& b) {
  const bool upper = b.boolean(2), left = b.boolean(3);
  const int64_t skip = b.boolean(4) ? 1 : 0;
  const Tensor gB = triangular_adjoint(b), x = adjoint(b.out());
  const Tensor gA = neg(left ? matmul(gB, x) : matmul(x, gB));
  return sum_to_size(upper ? triu(gA, skip) : tril(gA, -skip), b.shape(0));
}

// solution and A of torch.triangular_solve(b, A).
void triangular_solve_body(const Args& args, TensorList& outs) {
  const Tensor &b = args.tensor(0), &a = args.tensor(1);
  const bool upper = args.boolean(2), transposed = args.boolean(3), unit = args.boolean(4);
  WISP_CHECK(b.ndim() >= 2,
             "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has ",
             b.ndim(), " dimensions instead");
  WISP_CHECK(a.ndim() >= 2,
             "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has ",
             a.ndim(), " dimensions instead");
  const Tensor matrix = transposed ? transpose(a, -2, -1) : a;
  outs.push(solve_triangular(matrix, b, upper != transposed, true, unit));
  const Dims sizes = with_last(joint_batch(b, a), {a.size(-2), a.size(-1)});
  outs.push(clone(expand(a, sizes)));
}

// --- with L of A = L L^H

void infer_cholesky_solve(Infer& infer) {
  const Tensor &b = infer.tensor(0), &factor = infer.tensor(1);
  WISP_CHECK(b.ndim() >= 2, "b should have at least 2 dimensions, but has ", b.ndim(),
             " dimensions instead");
  WISP_CHECK(factor.ndim() >= 2, "u should have at least 2 dimensions, but has ", factor.ndim(),
             " dimensions instead");
  check_square("cholesky_solve", factor);
  WISP_CHECK(factor.size(-2) == b.size(-2),
             "Incompatible matrix sizes for cholesky_solve: each A matrix is ", factor.size(-1),
             " by ", factor.size(-1), " but each b matrix is ", b.size(-2), " by ", b.size(-1));
  check_same_type("cholesky_solve", factor, b);
  check_math_dtype("cholesky_solve", b);
  push_columns(infer, joint_batch(b, factor), b.size(-2), b.size(-1), b.dtype());
}

void cholesky_solve_kernel(const Call& call) {
  const Tensor &factor = call.tensor(1), &out = call.out();
  const IntSpan batch = batch_of(out);
  const Matrices factors(factor, batch), sides(call.tensor(0), batch);
  const int64_t n = factor.size(-1), nrhs = out.size(-1);
  const char uplo = call.boolean(2) ? 'U' : 'L';
  visit<dtypes::math>(out.dtype(), "cholesky_solve", [&]<class T>() {
    over_batch(
        out.numel() ? sides.count() : 0, n * n * (n + 2 * nrhs), [&](int64_t begin, int64_t end) {
          const ColumnReader<T> columns(n * n);
          const int size = lapack::to_int(n);
          for (int64_t i = begin; i < end; ++i) {
            T* x = matrix_at<T>(out, i);
            lapack::load(sides[i], x, n);
            lapack::potrs(uplo, size, lapack::to_int(nrhs), columns(factors[i]), size, x, size);
          }
        });
  });
}

// A = L L^H: gA = -gB X^H, gL = (gA + gA^H) L.
Tensor cholesky_solve_factor_grad(const Backward& b) {
  const Tensor& factor = b.tensor(1);
  const Tensor gB = cholesky_solve(b.grad(), factor, b.boolean(2));
  const Tensor gA = neg(matmul(gB, adjoint(b.out()))), both = add(gA, adjoint(gA));
  return sum_to_size(b.boolean(2) ? matmul(factor, both) : matmul(both, factor), b.shape(1));
}

Tensor cholesky_solve_b_grad(const Backward& b) {
  return sum_to_size(cholesky_solve(b.grad(), b.tensor(1), b.boolean(2)), b.shape(0));
}

// --- with L and D of A = L D L^T

void infer_ldl_solve(Infer& infer) {
  const char* who = "torch.linalg.ldl_solve";
  const Tensor &ld = infer.tensor(0), &pivots = infer.tensor(1), &b = infer.tensor(2);
  check_square(who, ld, "LD");
  check_math_dtype(who, ld);
  check_matrices(who, b, "B");
  WISP_CHECK(ld.dtype() == b.dtype(), who, ": LD and B must have the same dtype, but got ",
             legacy_name(ld.dtype()), " and ", legacy_name(b.dtype()));
  check_equation(who, ld, b, true);
  WISP_CHECK(is_integral(pivots.dtype()), who, ": Expected pivots to be integers. Got ",
             legacy_name(pivots.dtype()));
  WISP_CHECK(same(pivots.sizes(), batch_of(ld, 1)), who,
             ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
             pivots.sizes(), " instead");
  push_columns(infer, joint_batch(ld, b), b.size(-2), b.size(-1), b.dtype());
}

void ldl_solve_kernel(const Call& call) {
  const Tensor &ld = call.tensor(0), &out = call.out();
  const Tensor pivots = as_columns(consecutive(call.tensor(1), DType::int32));
  const int64_t n = ld.size(-1), nrhs = out.size(-1);
  const int32_t* rows = pivots.data<int32_t>();
  for (int64_t i = 0; i < pivots.numel(); ++i) {
    WISP_CHECK(rows[i] != 0 && rows[i] >= -n && rows[i] <= n,
               "torch.linalg.ldl_solve: a pivot is out of range: ", rows[i]);
  }
  const IntSpan batch = batch_of(out);
  const Matrices factors(ld, batch), exchanged(pivots, batch), sides(call.tensor(2), batch);
  visit<dtypes::math>(out.dtype(), "linalg.ldl_solve", [&]<class T>() {
    over_batch(out.numel() ? sides.count() : 0, 2 * n * n * nrhs, [&](int64_t begin, int64_t end) {
      const ColumnReader<T> columns(n * n);
      const int size = lapack::to_int(n);
      for (int64_t i = begin; i < end; ++i) {
        T* x = matrix_at<T>(out, i);
        lapack::load(sides[i], x, n);
        lapack::sytrs(call.boolean(3), size, lapack::to_int(nrhs), columns(factors[i]), size,
                      reinterpret_cast<int32_t*>(exchanged[i].data), x, size);
      }
    });
  });
}

void register_general(Registry& r) {
  r.add(
      {.schema =
           "_linalg_solve_ex(Tensor A, Tensor B, bool left=True) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
       .doc = "`linalg.solve_ex` of matrices, with the factors of A.",
       .infer = infer_solve,
       .kernel = solve_kernel,
       .vjp = {{"A", "A left result result1 result2", solve_a_grad},
               {"B", "A B.shape left result1 result2", solve_b_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .homes = home::internal});
  r.add(
      {.schema =
           "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
       .doc =
           "`linalg.solve` and, for every matrix, 0 or which diagonal element of U is zero.\n\n>>> wisp.linalg.solve_ex(wisp.zeros(2, 2), wisp.ones(2)).info\ntensor(1, dtype=wisp.int32)",
       .body = solve_ex_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
       .doc =
           "X with `A X = B`, or with `X A = B` if not `left`; fails if a matrix is singular. B may be a vector.\n\n>>> wisp.linalg.solve(wisp.tensor([[2., 0.], [1., 1.]]), wisp.tensor([2., 3.]))\ntensor([1., 2.])",
       .body = solve_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
       .doc =
           "`linalg.solve` with A as `linalg.lu_factor` returned it, or its conjugate transpose.\n\n>>> LU, pivots = wisp.linalg.lu_factor(wisp.tensor([[2., 0.], [1., 1.]]))\n>>> wisp.linalg.lu_solve(LU, pivots, wisp.tensor([[2.], [3.]]))\ntensor([[1.],\n        [2.]])",
       .infer = infer_lu_solve,
       .kernel = lu_solve_kernel,
       .vjp = {{"LU", "LU pivots left adjoint result", lu_solve_lu_grad},
               {"B", "LU pivots B.shape left adjoint", lu_solve_b_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
       .doc =
           "`linalg.lu_solve` by an older name, with B first.\n\n>>> LU, pivots = wisp.linalg.lu_factor(wisp.tensor([[2., 0.], [1., 1.]]))\n>>> wisp.lu_solve(wisp.tensor([[2.], [3.]]), LU, pivots)\ntensor([[1.],\n        [2.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(lu_solve(args.tensor(1), args.tensor(2), args.tensor(0), true, false));
           },
       .onnx = "+ a loop",
       .traits = trait::out});
}

void register_special_matrices(Registry& r) {
  r.add(
      {.schema =
           "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
       .doc =
           "`linalg.solve` with the upper or lower triangle of A; `unitriangular` takes its diagonal to be ones.\n\n>>> wisp.linalg.solve_triangular(wisp.tensor([[2., 0.], [1., 1.]]), wisp.tensor([[2.], [3.]]), upper=False)\ntensor([[1.],\n        [2.]])",
       .infer = infer_solve_triangular,
       .kernel = solve_triangular_kernel,
       .vjp = {{"self", "self upper left unitriangular result", triangular_a_grad},
               {"B", "self B.shape upper left unitriangular",
                [](const Backward& b) { return sum_to_size(triangular_adjoint(b), b.shape(1)); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
       .doc =
           "`linalg.solve_triangular` by an older name, with B first; also returns a copy of A.\n\n>>> wisp.triangular_solve(wisp.tensor([[2.], [3.]]), wisp.tensor([[2., 1.], [0., 3.]])).solution\ntensor([[0.5000],\n        [1.0000]])",
       .body = triangular_solve_body,
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema = "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
       .doc =
           "X with `L L^H X = B`, or with `U^H U X = B`, given B and the triangular factor.\n\n>>> wisp.cholesky_solve(wisp.tensor([[4.], [2.]]), wisp.tensor([[2., 0.], [0., 1.]]))\ntensor([[1.],\n        [2.]])",
       .infer = infer_cholesky_solve,
       .kernel = cholesky_solve_kernel,
       .vjp = {{"self", "self.shape input2 upper", cholesky_solve_b_grad},
               {"input2", "input2 upper result", cholesky_solve_factor_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema =
           "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
       .doc =
           "`linalg.solve` with A as `linalg.ldl_factor` returned it.\n\n>>> LD, pivots = wisp.linalg.ldl_factor(wisp.tensor([[2., 1.], [1., 2.]]))\n>>> wisp.linalg.ldl_solve(LD, pivots, wisp.tensor([[3.], [3.]]))\ntensor([[1.],\n        [1.]])",
       .infer = infer_ldl_solve,
       .kernel = ldl_solve_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- no operator for equations",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace

void register_linalg_solve(Registry& r) {
  register_general(r);
  register_special_matrices(r);
}

}  // namespace wisp::ops
