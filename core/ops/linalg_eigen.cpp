// Eigenvalues and eigenvectors.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

// Eigenvectors may be turned by any e^(i phi); a loss that notices has no derivative.
void check_gauge(const char* who, const Tensor& diagonal_part) {
  if (!is_complex(diagonal_part.dtype())) return;
  GradMode no_grad(false);
  const Tensor turn = imag(diagonal_part);
  const Tensor close = isclose(turn, zeros_like(turn), 1e-2, 1e-2, false);
  WISP_CHECK(all(close).item().truth(), who,
             ": The eigenvectors in the complex case are specified up to multiplication by e^{i "
             "phi}. The specified loss function depends on this quantity, so it is ill-defined.");
}

// lambda_j - lambda_i, with ones on the diagonal.
Tensor gaps(const Tensor& values) {
  const Tensor gap = sub(unsqueeze(values, -2), unsqueeze(values, -1));
  return add(gap, eye(values.size(-1), values.size(-1), values.dtype()));
}

Tensor without_diagonal(const Tensor& t) { return sub(t, diag_embed(diagonal(t, 0, -2, -1))); }

// --- hermitian matrices

char triangle_of(std::string_view uplo) {
  const char letter =
      uplo.size() == 1 ? static_cast<char>(std::toupper(static_cast<unsigned char>(uplo[0]))) : 0;
  WISP_CHECK(letter == 'L' || letter == 'U', "Expected UPLO argument to be 'L' or 'U', but got ",
             uplo);
  return letter;
}

void infer_eigh(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square("linalg.eigh", a);
  triangle_of(infer.string(1));
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented("linalg.eigh", a.dtype());
  push_batch(infer, batch_of(a), {a.size(-1)}, to_real(a.dtype()));
  if (infer.boolean(2)) {
    push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  } else {
    infer.push({0}, a.dtype());
  }
}

template <class T>
bool triangle_is_finite(char uplo, int64_t n, const T* a) {
  for (int64_t j = 0; j < n; ++j) {
    const T *begin = uplo == 'L' ? a + j * n + j : a + j * n,
            *end = uplo == 'L' ? a + j * n + n : a + j * n + j + 1;
    if (!std::all_of(begin, end, is_finite<T>)) return false;
  }
  return true;
}

template <class T>
void eigh_matrices(const Call& call, char uplo, int32_t* info) {
  using Real = lapack::Real<T>;
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  const bool vectors = call.boolean(2);
  over_batch(n ? in.count() : 0, 10 * n * n * n, [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> copy(vectors ? 0 : n * n);
    lapack::Work work;
    for (int64_t i = begin; i < end; ++i) {
      T* a = vectors ? matrix_at<T>(call.out(1), i) : copy.data();
      Real* values = vector_at<Real>(call.out(0), i);
      lapack::load(in[i], a, n);
      // LAPACK may not come back from NaN.
      info[i] = triangle_is_finite(uplo, n, a)
                    ? lapack::syevd(vectors ? 'V' : 'N', uplo, lapack::to_int(n), a,
                                    lapack::to_int(n), values, work)
                    : 1;
    }
  });
}

void eigh_kernel(const Call& call) {
  const Tensor& a = call.tensor(0);
  const Tensor info = Tensor::empty(batch_of(a), DType::int32);
  std::fill_n(info.data<int32_t>(), info.numel(), 0);
  visit<dtypes::math>(a.dtype(), "linalg.eigh", [&]<class T>() {
    eigh_matrices<T>(call, triangle_of(call.string(1)), info.data<int32_t>());
  });
  check_info(info, "linalg.eigh");
}

// dV = V (K o V^H dA V) with K_ij = 1 / (lambda_j - lambda_i); only the skew part of V^H gV counts.
Tensor eigh_grad(const Backward& b) {
  Tensor values = b.out(0), vectors = b.out(1);
  if (!b.boolean(2)) {
    const Tensors full = invoke_many<"_linalg_eigh">(b.tensor(0), b.string(1), true);
    values = full[0];
    vectors = full[1];
  }
  const Tensor back = adjoint(vectors);
  if (!b.has_grad(1)) return matmul(mul(vectors, unsqueeze(b.grad(0), -2)), back);
  const Tensor turn = matmul(back, b.grad(1));
  check_gauge("linalg_eigh_backward", diagonal(turn, 0, -2, -1));
  const Tensor skew = mul(sub(turn, adjoint(turn)), 0.5);
  Tensor inner = without_diagonal(div(skew, gaps(values)));
  if (b.has_grad(0)) inner = add(inner, diag_embed(b.grad(0)));
  return matmul(vectors, matmul(inner, back));
}

// --- any square matrix

void infer_eig(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square("linalg.eig", a);
  check_math_dtype("linalg.eig", a);
  const DType dtype = to_complex(a.dtype());
  push_batch(infer, batch_of(a), {a.size(-1)}, dtype);
  if (infer.boolean(1)) {
    push_columns(infer, batch_of(a), a.size(-2), a.size(-1), dtype);
  } else {
    infer.push({0}, dtype);
  }
}

// Pairs of conjugate eigenvalues share two columns: real and imaginary part of the first.
template <class R>
void unpack_pairs(int64_t n, const Complex<R>* values, const R* packed, Complex<R>* out) {
  for (int64_t j = 0; j < n; ++j) {
    const R* column = packed + j * n;
    if (values[j].im == 0 || j + 1 == n) {
      for (int64_t i = 0; i < n; ++i) out[j * n + i] = {column[i], R(0)};
      continue;
    }
    for (int64_t i = 0; i < n; ++i) {
      out[j * n + i] = {column[i], column[n + i]};
      out[(j + 1) * n + i] = {column[i], -column[n + i]};
    }
    ++j;
  }
}

template <class T>
void eig_matrices(const Call& call, int32_t* info) {
  using C = Complex<lapack::Real<T>>;
  const Matrices in(call.tensor(0));
  const int64_t n = call.tensor(0).size(-1);
  const bool vectors = call.boolean(1);
  over_batch(n ? in.count() : 0, 25 * n * n * n, [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> a(n * n), packed(vectors && !lapack::is_complex<T> ? n * n : 0);
    lapack::Work work;
    const int size = lapack::to_int(n);
    for (int64_t i = begin; i < end; ++i) {
      lapack::load(in[i], a.data(), n);
      WISP_CHECK(std::all_of(a.begin(), a.end(), is_finite<T>),
                 "torch.linalg.eig: input tensor should not contain infs or NaNs.");
      C *values = vector_at<C>(call.out(0), i),
        *out = vectors ? matrix_at<C>(call.out(1), i) : nullptr;
      if constexpr (lapack::is_complex<T>) {
        info[i] = lapack::geev(size, a.data(), size, values, out, size, work);
      } else {
        info[i] = lapack::geev(size, a.data(), size, values, vectors ? packed.data() : nullptr,
                               size, work);
        if (vectors) unpack_pairs(n, values, packed.data(), out);
      }
    }
  });
}

void eig_kernel(const Call& call) {
  const Tensor& a = call.tensor(0);
  const Tensor info = Tensor::empty(batch_of(a), DType::int32);
  std::fill_n(info.data<int32_t>(), info.numel(), 0);
  visit<dtypes::math>(a.dtype(), "linalg.eig",
                      [&]<class T>() { eig_matrices<T>(call, info.data<int32_t>()); });
  check_info(info, "torch.linalg.eig");
}

// dV = V (V^-1 dA V o K) up to a scaling of columns that keeps their length one.
Tensor eig_grad(const Backward& b) {
  Tensor values = b.out(0), vectors = b.out(1);
  if (!b.boolean(1)) {
    const Tensors full = invoke_many<"_linalg_eig">(b.tensor(0), true);
    values = full[0];
    vectors = full[1];
  }
  const Tensor back = adjoint(vectors);
  Tensor grad;
  if (!b.has_grad(1)) {
    grad = solve(back, mul(unsqueeze(b.grad(0), -1), back));
  } else {
    const Tensor turn = matmul(back, b.grad(1)), on_diagonal = diagonal(turn, 0, -2, -1);
    check_gauge("linalg_eig_backward", on_diagonal);
    const Tensor scaled = mul(vectors, unsqueeze(real(on_diagonal), -2));
    Tensor inner = without_diagonal(div(sub(turn, matmul(back, scaled)), conj(gaps(values))));
    if (b.has_grad(0)) inner = add(inner, diag_embed(b.grad(0)));
    grad = solve(back, matmul(inner, back));
  }
  return is_complex(b.input_dtype(0)) ? grad : real(grad);
}

// Values alone are found without vectors, unless their derivative will need them.

void register_hermitian(Registry& r) {
  r.add(
      {.schema =
           "_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
       .doc = "`linalg.eigh`, with no eigenvectors unless `compute_v`.",
       .infer = infer_eigh,
       .kernel = eigh_kernel,
       .vjp = {{"A", "A UPLO compute_v result result1", eigh_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .homes = home::internal,
       .node = "LinalgEighBackward0"});
  r.add(
      {.schema =
           "linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
       .doc =
           "Eigenvalues, ascending, and orthonormal eigenvectors (columns) of hermitian matrices, of which only the lower (\"L\") or upper (\"U\") triangle is read.\n\n>>> wisp.linalg.eigh(wisp.tensor([[2., 0.], [0., 1.]])).eigenvalues\ntensor([1., 2.])",
       .body =
           [](const Args& args, TensorList& outs) {
             for (const Tensor& part :
                  invoke_many<"_linalg_eigh">(args.tensor(0), args.string(1), true))
               outs.push(part);
           },
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor",
       .doc =
           "The eigenvalues of `linalg.eigh`.\n\n>>> wisp.linalg.eigvalsh(wisp.tensor([[2., 1.], [1., 2.]]))\ntensor([1., 3.])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& a = args.tensor(0);
             outs.push(invoke<"_linalg_eigh">(a, args.string(1), differentiated(a)));
           },
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

void register_general(Registry& r) {
  r.add(
      {.schema =
           "_linalg_eig(Tensor A, bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
       .doc = "`linalg.eig`, with no eigenvectors unless `compute_v`.",
       .infer = infer_eig,
       .kernel = eig_kernel,
       .vjp = {{"A", "A compute_v result result1", eig_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- no eigenvalue operator",
       .homes = home::internal,
       .node = "LinalgEigBackward0"});
  r.add(
      {.schema = "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
       .doc =
           "Eigenvalues and eigenvectors (columns of length one) of square matrices; always complex.\n\n>>> wisp.linalg.eig(wisp.tensor([[0., 1.], [-1., 0.]])).eigenvalues\ntensor([0.+1.j, 0.-1.j])",
       .body =
           [](const Args& args, TensorList& outs) {
             for (const Tensor& part : invoke_many<"_linalg_eig">(args.tensor(0), true))
               outs.push(part);
           },
       .onnx = "- no eigenvalue operator",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_eigvals(Tensor self) -> Tensor",
       .doc =
           "The eigenvalues of `linalg.eig`.\n\n>>> wisp.linalg.eigvals(wisp.tensor([[0., 1.], [-1., 0.]]))\ntensor([0.+1.j, 0.-1.j])",
       .body =
           [](const Args& args, TensorList& outs) {
             const Tensor& a = args.tensor(0);
             outs.push(invoke<"_linalg_eig">(a, differentiated(a)));
           },
       .onnx = "- no eigenvalue operator",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace

void register_linalg_eigen(Registry& r) {
  register_hermitian(r);
  register_general(r);
}

}  // namespace wisp::ops
