// Factorisations A = L L^H, P L U and L D L^T, and inverses.
#include <algorithm>

#include "cpu/factor.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

int64_t cube(int64_t n) { return n * n * n; }

void check_square_math(std::string_view who, const Tensor& a) {
  check_square(who, a);
  check_math_dtype(who, a);
}

// --- Cholesky

void infer_cholesky(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square_math("linalg.cholesky", a);
  // U^H U = A has L = U^T of the conjugate of A: by rows it is L by columns.
  if (infer.boolean(1)) {
    push_batch(infer, batch_of(a), {a.size(-2), a.size(-1)}, a.dtype());
  } else {
    push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  }
  infer.push(batch_of(a), DType::int32);
}

// Sets what lies above (or below) the diagonal to zero.
template <class T>
void clear_triangle(bool above, int64_t n, T* a) {
  for (int64_t j = 0; j < n; ++j) {
    above ? std::fill_n(a + j * n, j, T(0)) : std::fill_n(a + j * n + j + 1, n - j - 1, T(0));
  }
}

// LAPACK need not notice NaN.
template <class T>
int32_t first_nan(int64_t n, const T* a) {
  for (int64_t j = 0; j < n; ++j) {
    if (a[j * n + j] != a[j * n + j]) return static_cast<int32_t>(j + 1);
  }
  return 0;
}

template <class T>
void cholesky_matrices(const Call& call, bool upper) {
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  int32_t* info = call.out(1).data<int32_t>();
  over_batch(in.count(), cube(n) / 3, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* a = matrix_at<T>(call.out(), i);
      lapack::load(upper ? transposed(in[i]) : in[i], a, n);
      info[i] = n ? lapack::factor_cholesky(lapack::to_int(n), a, lapack::to_int(n)) : 0;
      if (info[i] == 0) info[i] = first_nan(n, a);
      clear_triangle(true, n, a);
    }
  });
}

void cholesky_kernel(const Call& call) {
  visit<dtypes::math>(call.out().dtype(), "linalg.cholesky",
                      [&]<class T>() { cholesky_matrices<T>(call, call.boolean(1)); });
  if (call.boolean(2)) check_info(call.out(1), "linalg.cholesky_ex");
}

// The lower triangle with half of the diagonal.
Tensor half_tril(const Tensor& t) {
  return sub(tril(t), mul(diag_embed(diagonal(t, 0, -2, -1)), 0.5));
}

Tensor hermitian_part(const Tensor& t) { return mul(add(t, adjoint(t)), 0.5); }

// With X = L^-1 dA L^-H: dL = L half_tril(X).
Tensor cholesky_grad(const Tensor& factor, const Tensor& grad, bool upper) {
  const Tensor L = upper ? adjoint(factor) : factor, gL = upper ? adjoint(grad) : grad;
  const Tensor gX = half_tril(matmul(adjoint(L), gL));
  const Tensor half = solve_triangular(adjoint(L), gX, true);
  return hermitian_part(solve_triangular(L, half, false, false));
}

// --- the inverse of L L^H

void infer_cholesky_inverse(Infer& infer) {
  const Tensor& factor = infer.tensor(0);
  check_square_math("cholesky_inverse", factor);
  push_columns(infer, batch_of(factor), factor.size(-2), factor.size(-1), factor.dtype());
}

template <class T>
void cholesky_inverse_matrices(const Call& call, bool upper, int32_t* info) {
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  over_batch(in.count(), cube(n), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      T* a = matrix_at<T>(call.out(), k);
      lapack::load(in[k], a, n);
      info[k] = n ? lapack::potri(upper ? 'U' : 'L', lapack::to_int(n), a, lapack::to_int(n)) : 0;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = j + 1; i < n; ++i) {
          T &low = a[j * n + i], &high = a[i * n + j];
          const T &from = upper ? high : low, value = from;
          if constexpr (lapack::is_complex<T>) {
            (upper ? low : high) = conj(value);
          } else {
            (upper ? low : high) = value;
          }
        }
      }
    }
  });
}

void cholesky_inverse_kernel(const Call& call) {
  const Tensor info = Tensor::empty(batch_of(call.tensor(0)), DType::int32);
  visit<dtypes::math>(call.out().dtype(), "cholesky_inverse", [&]<class T>() {
    cholesky_inverse_matrices<T>(call, call.boolean(1), info.data<int32_t>());
  });
  check_info(info, "cholesky_inverse");
}

// A = L L^H, X = A^-1: gA = -X gX X, gL = (gA + gA^H) L.
Tensor cholesky_inverse_grad(const Backward& b) {
  const Tensor &factor = b.tensor(0), &inverse = b.out();
  const Tensor gA = neg(matmul(matmul(inverse, b.grad()), inverse));
  const Tensor both = add(gA, adjoint(gA));
  return b.boolean(1) ? matmul(factor, both) : matmul(both, factor);
}

// --- P L U

void infer_lu_factor(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  WISP_CHECK(a.ndim() >= 2,
             "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", a.sizes(),
             " instead");
  WISP_CHECK(infer.boolean(1),
             "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented("linalg.lu_factor", a.dtype());
  const int64_t m = a.size(-2), n = a.size(-1);
  push_columns(infer, batch_of(a), m, n, a.dtype());
  push_batch(infer, batch_of(a), {std::min(m, n)}, DType::int32);
  infer.push(batch_of(a), DType::int32);
}

template <class T>
void lu_matrices(const Tensor& input, const Tensor& lu, const Tensor& pivots, const Tensor& info) {
  const Matrices in(input);
  const int64_t m = input.size(-2), n = input.size(-1), ld = lead_of(m);
  int32_t* codes = info.data<int32_t>();
  over_batch(in.count(), m * n * std::min(m, n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* a = matrix_at<T>(lu, i);
      lapack::load(in[i], a, ld);
      codes[i] = m && n ? lapack::factor_lu(lapack::to_int(m), lapack::to_int(n), a,
                                            lapack::to_int(ld), vector_at<int32_t>(pivots, i))
                        : 0;
    }
  });
}

void lu_factor_kernel(const Call& call) {
  factor_lu(call.tensor(0), call.out(0), call.out(1), call.out(2));
  if (call.boolean(2)) check_info(call.out(2), "torch.linalg.lu_factor_ex");
}

// The first k rows, or columns, and the rest.
Tensor first_rows(const Tensor& t, int64_t k) { return narrow(t, -2, 0, k); }
Tensor rest_rows(const Tensor& t, int64_t k) { return narrow(t, -2, k, t.size(-2) - k); }
Tensor first_cols(const Tensor& t, int64_t k) { return narrow(t, -1, 0, k); }
Tensor rest_cols(const Tensor& t, int64_t k) { return narrow(t, -1, k, t.size(-1) - k); }
Tensor unit_lower(const Tensor& lu, int64_t k) {
  return add(tril(first_cols(lu, k), -1), eye(lu.size(-2), k, lu.dtype()));
}

// X = L1^-1 dA1 U1^-1 for the leading square blocks; dL1 = L1 tril(X, -1), dU1 = triu(X) U1. What
// is left of a wide U2 = L1^-1 A2 or a tall L2 = A2 U1^-1 follows them. P is applied at the end.
Tensor lu_grad(const Backward& b) {
  const Tensor &lu = b.out(0), &grad = b.grad();
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor L = unit_lower(lu, k), U = triu(first_rows(lu, k));
  const Tensor L1 = first_rows(L, k), U1 = first_cols(U, k);
  const Tensor gL = tril(first_cols(grad, k), -1), gU = triu(first_rows(grad, k));
  Tensor low = matmul(adjoint(L1), first_rows(gL, k));
  Tensor high = matmul(first_cols(gU, k), adjoint(U1));
  if (n > k) low = sub(low, matmul(rest_cols(gU, k), adjoint(rest_cols(U, k))));
  if (m > k) high = sub(high, matmul(adjoint(rest_rows(L, k)), rest_rows(gL, k)));
  const Tensor gX = add(tril(low, -1), triu(high));
  Tensor gA = solve_triangular(adjoint(L1), gX, true, true, true);
  gA = solve_triangular(adjoint(U1), gA, false, false);
  if (n > k) {
    const Tensor right = solve_triangular(adjoint(L1), rest_cols(gU, k), true, true, true);
    const Tensor parts[] = {gA, right};
    gA = cat(parts, -1);
  }
  if (m > k) {
    const Tensor below = solve_triangular(adjoint(U1), rest_rows(gL, k), false, false);
    const Tensor parts[] = {gA, below};
    gA = cat(parts, -2);
  }
  return matmul(lu_unpack(lu, b.out(1), false, true)[0], gA);
}

// --- lu_unpack

void check_pivots(const char* who, const Tensor& lu, const Tensor& pivots) {
  WISP_CHECK(pivots.dtype() == DType::int32, who,
             ": LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this "
             "function is intended to be used with the output produced by torch.linalg.lu_factor");
  Dims wanted(batch_of(lu));
  wanted.push_back(std::min(lu.size(-2), lu.size(-1)));
  WISP_CHECK(same(pivots.sizes(), wanted), who,
             ": LU_pivots must have one pivot per row of the matrices: expected shape ", wanted,
             ", got ", pivots.sizes());
}

void infer_lu_unpack(Infer& infer) {
  const Tensor &lu = infer.tensor(0), &pivots = infer.tensor(1);
  check_matrices("torch.lu_unpack", lu, "LU_data");
  if (!contains(dtypes::math, lu.dtype())) fail_not_implemented("lu_unpack", lu.dtype());
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  if (infer.boolean(3)) {
    check_pivots("torch.lu_unpack", lu, pivots);
    push_batch(infer, batch_of(lu), {m, m}, lu.dtype());
  } else {
    infer.push({0}, lu.dtype());
  }
  if (infer.boolean(2)) {
    push_batch(infer, batch_of(lu), {m, k}, lu.dtype());
    push_batch(infer, batch_of(lu), {k, n}, lu.dtype());
  } else {
    infer.push({0}, lu.dtype());
    infer.push({0}, lu.dtype());
  }
}

// Row i was exchanged with row pivots[i], one after the other.
template <class T>
void write_permutation(const int32_t* pivots, int64_t k, int64_t m, T* out) {
  cpu::Scratch<int64_t> order(m);
  for (int64_t i = 0; i < m; ++i) order[i] = i;
  for (int64_t i = 0; i < k; ++i) {
    WISP_CHECK(pivots[i] >= 1 && pivots[i] <= m,
               "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.");
    std::swap(order[i], order[pivots[i] - 1]);
  }
  std::fill_n(out, m * m, T(0));
  for (int64_t i = 0; i < m; ++i) out[order[i] * m + i] = T(1);
}

template <class T>
void write_triangles(const cpu::Matrix& lu, int64_t k, T* lower, T* upper) {
  const T* data = reinterpret_cast<const T*>(lu.data);
  auto at = [&](int64_t i, int64_t j) { return data[i * lu.row + j * lu.col]; };
  for (int64_t i = 0; i < lu.rows; ++i) {
    for (int64_t j = 0; j < k; ++j) lower[i * k + j] = i > j ? at(i, j) : T(i == j ? 1 : 0);
  }
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < lu.cols; ++j) upper[i * lu.cols + j] = i <= j ? at(i, j) : T(0);
  }
}

void lu_unpack_kernel(const Call& call) {
  const Tensor& lu = call.tensor(0);
  const Matrices in(lu);
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  const Tensor pivots = call.boolean(3) ? consecutive(call.tensor(1)) : Tensor();
  visit<dtypes::math>(lu.dtype(), "lu_unpack", [&]<class T>() {
    over_batch(in.count(), m * lu.size(-1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (call.boolean(3))
          write_permutation<T>(vector_at<int32_t>(pivots, i), k, m, matrix_at<T>(call.out(0), i));
        if (call.boolean(2))
          write_triangles<T>(in[i], k, matrix_at<T>(call.out(1), i), matrix_at<T>(call.out(2), i));
      }
    });
  });
}

Tensor lu_unpack_grad(const Backward& b) {
  if (!b.boolean(2)) return {};  // L and U were not asked for, and P has no derivative
  const IntSpan sizes = b.shape(0);
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = std::min(m, n);
  Tensor grad;
  if (b.has_grad(1)) {
    const int64_t wide[] = {0, n - k};
    grad = constant_pad_nd(tril(b.grad(1), -1), wide, 0);
  }
  if (b.has_grad(2)) {
    const int64_t tall[] = {0, 0, 0, m - k};
    const Tensor upper = constant_pad_nd(triu(b.grad(2)), tall, 0);
    grad = grad.defined() ? add(grad, upper) : upper;
  }
  return grad;
}

void lu_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  WISP_CHECK(a.ndim() >= 2,
             "linalg.lu: Expected tensor with 2 or more dimensions. Got size: ", a.sizes(),
             " instead");
  const Tensors factors = invoke_many<"linalg_lu_factor_ex">(a, args.boolean(1));
  for (const Tensor& part : lu_unpack(factors[0], factors[1], true, true)) outs.push(part);
}

void lu_factor_body(const Args& args, TensorList& outs) {
  const Tensors factors = invoke_many<"linalg_lu_factor_ex">(args.tensor(0), args.boolean(1));
  require_success(factors[2], "torch.linalg.lu_factor");
  outs.push(factors[0]);
  outs.push(factors[1]);
}

// --- L D L^T

void infer_ldl_factor(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square_math("torch.linalg.ldl_factor_ex", a);
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  push_batch(infer, batch_of(a), {a.size(-1)}, DType::int32);
  infer.push(batch_of(a), DType::int32);
}

template <class T>
void ldl_matrices(const Call& call, bool hermitian) {
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  int32_t* info = call.out(2).data<int32_t>();
  over_batch(in.count(), cube(n) / 3, [&](int64_t begin, int64_t end) {
    lapack::Work work;
    for (int64_t i = begin; i < end; ++i) {
      T* a = matrix_at<T>(call.out(), i);
      lapack::load(in[i], a, n);
      clear_triangle(true, n, a);
      const int size = lapack::to_int(n);
      info[i] =
          n ? lapack::sytrf(hermitian, size, a, size, vector_at<int32_t>(call.out(1), i), work) : 0;
    }
  });
}

void ldl_factor_kernel(const Call& call) {
  visit<dtypes::math>(call.out().dtype(), "linalg.ldl_factor",
                      [&]<class T>() { ldl_matrices<T>(call, call.boolean(1)); });
  if (call.boolean(2)) check_info(call.out(2), "torch.linalg.ldl_factor_ex");
}

void ldl_factor_body(const Args& args, TensorList& outs) {
  const Tensors factors = invoke_many<"linalg_ldl_factor_ex">(args.tensor(0), args.boolean(1));
  require_success(factors[2], "torch.linalg.ldl_factor");
  outs.push(factors[0]);
  outs.push(factors[1]);
}

// --- inverses

void infer_inv(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square_math("linalg.inv", a);
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  infer.push(batch_of(a), DType::int32);
}

// Solves A X = I; a singular matrix leaves infinities and NaNs.
template <class T>
void inv_matrices(const Call& call) {
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  int32_t* info = call.out(1).data<int32_t>();
  over_batch(n ? in.count() : 0, 2 * cube(n), [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> lu(n * n);
    cpu::Scratch<int32_t> pivots(n);
    const int size = lapack::to_int(n);
    for (int64_t i = begin; i < end; ++i) {
      T* out = matrix_at<T>(call.out(), i);
      lapack::load(in[i], lu.data(), n);
      std::fill_n(out, n * n, T(0));
      for (int64_t j = 0; j < n; ++j) out[j * n + j] = T(1);
      info[i] = lapack::factor_lu(size, size, lu.data(), size, pivots.data());
      lapack::solve_lu('N', size, size, lu.data(), size, pivots.data(), out, size);
    }
  });
  if (n == 0) std::fill_n(info, in.count(), 0);
}

void inv_kernel(const Call& call) {
  visit<dtypes::math>(call.out().dtype(), "linalg.inv", [&]<class T>() { inv_matrices<T>(call); });
  if (call.boolean(1)) check_info(call.out(1), "linalg.inv_ex");
}

void inv_body(const Args& args, TensorList& outs) {
  const Tensors results = invoke_many<"linalg_inv_ex">(args.tensor(0));
  require_success(results[1], "linalg.inv");
  outs.push(results[0]);
}

void register_cholesky(Registry& r) {
  r.add(
      {.schema =
           "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
       .doc =
           "`linalg.cholesky` and, for every matrix, 0 or the order of the leading minor that is not positive-definite.\n\n>>> wisp.linalg.cholesky_ex(wisp.tensor([[4., 0.], [0., -1.]])).info\ntensor(2, dtype=wisp.int32)",
       .infer = infer_cholesky,
       .kernel = cholesky_kernel,
       .vjp = {{"self", "upper result",
                [](const Backward& b) { return cholesky_grad(b.out(), b.grad(), b.boolean(1)); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
       .doc =
           "The lower triangular L with `A = L L^H`, or the upper U with `A = U^H U`, of hermitian positive-definite matrices.\n\n>>> wisp.linalg.cholesky(wisp.tensor([[4., 2.], [2., 2.]]))\ntensor([[2., 0.],\n        [1., 1.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensors results =
                 invoke_many<"linalg_cholesky_ex">(args.tensor(0), args.boolean(1));
             require_success(results[1], "linalg.cholesky");
             outs.push(results[0]);
           },
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "cholesky(Tensor self, bool upper=False) -> Tensor",
       .doc =
           "`linalg.cholesky` by an older name.\n\n>>> wisp.cholesky(wisp.tensor([[4., 2.], [2., 2.]]), upper=True)\ntensor([[2., 1.],\n        [0., 1.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensors results =
                 invoke_many<"linalg_cholesky_ex">(args.tensor(0), args.boolean(1));
             require_success(results[1], "cholesky");
             outs.push(results[0]);
           },
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema = "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
       .doc =
           "The inverse of `L L^H`, or of `U^H U`, given the triangular factor.\n\n>>> wisp.cholesky_inverse(wisp.tensor([[2., 0.], [1., 1.]]))\ntensor([[ 0.5000, -0.5000],\n        [-0.5000,  1.0000]])",
       .infer = infer_cholesky_inverse,
       .kernel = cholesky_inverse_kernel,
       .vjp = {{"self", "self upper result", cholesky_inverse_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out});
}

void register_lu(Registry& r) {
  r.add(
      {.schema =
           "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
       .doc =
           "`linalg.lu_factor` and, for every matrix, 0 or where U has a zero on its diagonal.\n\n>>> wisp.linalg.lu_factor_ex(wisp.zeros(2, 2)).info\ntensor(1, dtype=wisp.int32)",
       .infer = infer_lu_factor,
       .kernel = lu_factor_kernel,
       .vjp = {{"A", "result result1", lu_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
       .doc =
           "L (below the diagonal, where it has ones) and U of `A = P L U` in one matrix, and the row (counted from 1) every row was exchanged with.\n\n>>> wisp.linalg.lu_factor(wisp.tensor([[1., 2.], [2., 2.]]))\nwisp.return_types.linalg_lu_factor(\nLU=tensor([[2.0000, 2.0000],\n        [0.5000, 1.0000]]),\npivots=tensor([2, 2], dtype=wisp.int32))",
       .body = lu_factor_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "_lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
       .doc = "`lu_unpack`, but P seems to depend on the matrices.",
       .infer = infer_lu_unpack,
       .kernel = lu_unpack_kernel,
       .vjp = {{"LU_data", "LU_data.shape unpack_data", lu_unpack_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .homes = home::internal,
       .node = "LuUnpackBackward0"});
  r.add(
      {.schema =
           "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
       .doc =
           "P, L and U of what `linalg.lu_factor` returned.\n\n>>> LU, pivots = wisp.linalg.lu_factor(wisp.tensor([[1., 2.], [2., 2.]]))\n>>> wisp.lu_unpack(LU, pivots).P\ntensor([[0., 1.],\n        [1., 0.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensors parts = invoke_many<"_lu_unpack">(args.tensor(0), args.tensor(1),
                                                             args.boolean(2), args.boolean(3));
             outs.push(detach(parts[0]));
             outs.push(parts[1]);
             outs.push(parts[2]);
           },
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::function});
  r.add(
      {.schema = "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
       .doc =
           "A permutation, a lower triangular matrix with ones on its diagonal and an upper triangular one whose product is A.\n\n>>> wisp.linalg.lu(wisp.tensor([[1., 2.], [2., 2.]])).U\ntensor([[2., 2.],\n        [0., 1.]])",
       .body = lu_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

void register_ldl(Registry& r) {
  r.add(
      {.schema =
           "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
       .doc =
           "`linalg.ldl_factor` and, for every matrix, 0 or where D has a zero on its diagonal.\n\n>>> wisp.linalg.ldl_factor_ex(wisp.zeros(2, 2)).info\ntensor(1, dtype=wisp.int32)",
       .infer = infer_ldl_factor,
       .kernel = ldl_factor_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- no LDL operator",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
       .doc =
           "L and D of `A = L D L^T` for symmetric matrices, or of `L D L^H` for hermitian ones, in one matrix, and how rows were exchanged.\n\n>>> wisp.linalg.ldl_factor(wisp.tensor([[2., 1.], [1., 2.]]))\nwisp.return_types.linalg_ldl_factor(\nLD=tensor([[2.0000, 0.0000],\n        [0.5000, 1.5000]]),\npivots=tensor([1, 2], dtype=wisp.int32))",
       .body = ldl_factor_body,
       .onnx = "- no LDL operator",
       .traits = trait::out,
       .homes = home::linalg});
}

void register_inv(Registry& r) {
  r.add(
      {.schema =
           "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
       .doc =
           "`linalg.inv` and, for every matrix, 0 or which diagonal element of U is zero.\n\n>>> wisp.linalg.inv_ex(wisp.eye(2)).info\ntensor(0, dtype=wisp.int32)",
       .infer = infer_inv,
       .kernel = inv_kernel,
       .vjp = {{"A", "result",
                [](const Backward& b) {
                  const Tensor inverse = adjoint(b.out());
                  return neg(matmul(inverse, matmul(b.grad(), inverse)));
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_inv(Tensor A) -> Tensor",
       .doc =
           "The inverse of square matrices; fails if one is singular.\n\n>>> wisp.linalg.inv(wisp.tensor([[1., 1.], [0., 2.]]))\ntensor([[ 1.0000, -0.5000],\n        [ 0.0000,  0.5000]])",
       .body = inv_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "inverse(Tensor self) -> Tensor",
       .doc =
           "`linalg.inv` by an older name.\n\n>>> wisp.inverse(wisp.tensor([[2., 0.], [0., 4.]]))\ntensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
       .body = inv_body,
       .onnx = "+ a loop",
       .traits = trait::out});
}

}  // namespace

void factor_lu(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& info) {
  visit<dtypes::math>(a.dtype(), "linalg.lu_factor",
                      [&]<class T>() { lu_matrices<T>(a, lu, pivots, info); });
}

void register_linalg_factor(Registry& r) {
  register_cholesky(r);
  register_lu(r);
  register_ldl(r);
  register_inv(r);
}

}  // namespace wisp::ops
