// Singular values, and what is made of them: pseudoinverses and ranks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

void infer_svd(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_matrices("linalg.svd", a);
  check_math_dtype("linalg.svd", a);
  const bool full = infer.boolean(1), vectors = infer.boolean(2);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  if (vectors) {
    push_columns(infer, batch_of(a), m, full ? m : k, a.dtype());
  } else {
    infer.push({0}, a.dtype());
  }
  push_batch(infer, batch_of(a), {k}, to_real(a.dtype()));
  if (vectors) {
    push_columns(infer, batch_of(a), full ? n : k, n, a.dtype());
  } else {
    infer.push({0}, a.dtype());
  }
}

template <class T>
void fill_eye(int64_t rows, int64_t cols, T* out) {
  std::fill_n(out, rows * cols, T(0));
  for (int64_t i = 0; i < std::min(rows, cols); ++i) out[i * rows + i] = T(1);
}

constexpr int32_t not_finite = -4;  // as LAPACK says it: argument 4

template <class T>
void svd_matrices(const Call& call, int32_t* info) {
  using Real = lapack::Real<T>;
  const Tensor &a = call.tensor(0), &u = call.out(0), &s = call.out(1), &vh = call.out(2);
  const Matrices in(a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const bool vectors = call.boolean(2);
  const char job = !vectors ? 'N' : call.boolean(1) ? 'A' : 'S';
  const int64_t vh_rows = vectors ? vh.size(-2) : 1;
  over_batch(in.count(), 20 * m * n * lead_of(k), [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> copy(m * n);
    lapack::Work work;
    for (int64_t i = begin; i < end; ++i) {
      T *left = vectors ? matrix_at<T>(u, i) : nullptr,
        *right = vectors ? matrix_at<T>(vh, i) : nullptr;
      Real* values = vector_at<Real>(s, i);
      lapack::load(in[i], copy.data(), m);
      info[i] = 0;
      if (!std::all_of(copy.begin(), copy.end(), is_finite<T>)) {
        info[i] = not_finite;
      } else if (k > 0) {
        info[i] =
            lapack::gesdd(job, lapack::to_int(m), lapack::to_int(n), copy.data(), lapack::to_int(m),
                          values, left, lapack::to_int(m), right, lapack::to_int(vh_rows), work);
      } else if (vectors) {
        fill_eye(m, u.size(-1), left);
        fill_eye(vh_rows, n, right);
      }
    }
  });
}

void svd_kernel(const Call& call) {
  const Tensor& a = call.tensor(0);
  const Tensor info = Tensor::empty(batch_of(a), DType::int32);
  visit<dtypes::math>(a.dtype(), "linalg.svd",
                      [&]<class T>() { svd_matrices<T>(call, info.data<int32_t>()); });
  check_info(info, "linalg.svd");
}

Tensor skew(const Tensor& t) { return sub(t, adjoint(t)); }

// Singular vectors may be turned, in pairs, by any e^(i phi); a loss that notices has no
// derivative.
void check_gauge(const Tensor& u_turn, const Tensor& v_turn) {
  const Tensor& some = u_turn.defined() ? u_turn : v_turn;
  if (!is_complex(some.dtype())) return;
  GradMode no_grad(false);
  Tensor sum = diagonal(some, 0, -2, -1);
  if (u_turn.defined() && v_turn.defined()) sum = add(sum, diagonal(v_turn, 0, -2, -1));
  const Tensor turn = imag(sum);
  WISP_CHECK(all(isclose(turn, zeros_like(turn), 1e-2, 1e-2, false)).item().truth(),
             "svd_backward: The singular vectors in the complex case are specified up to "
             "multiplication by e^{i phi}. The specified loss function depends on this quantity, "
             "so it is ill-defined.");
}

struct Svd {
  Tensor u, s, vh;
};

// The thin part of what was computed, or all of it anew if it was values only.
Svd thin_svd(const Backward& b) {
  if (!b.boolean(2)) {
    const Tensors parts = invoke_many<"_linalg_svd">(b.tensor(0), false, true);
    return {parts[0], parts[1], parts[2]};
  }
  const int64_t k = b.out(1).size(-1);
  return {narrow(b.out(0), -1, 0, k), b.out(1), narrow(b.out(2), -2, 0, k)};
}

// What the gradients of U and V say within the space U and V span:
// (skew(U^H gU) S + S skew(V^H gV)) / (s_j^2 - s_i^2) beside the diagonal; on it gS and, for
// complex numbers, the turn of a pair of vectors against each other.
Tensor svd_inner_grad(const Svd& svd, const Tensor& gU, const Tensor& gS, const Tensor& gVh) {
  const Tensor row = unsqueeze(svd.s, -2), column = unsqueeze(svd.s, -1);
  Tensor u_turn, v_turn, inner;
  if (gU.defined()) {
    u_turn = skew(matmul(adjoint(svd.u), gU));
    inner = mul(u_turn, row);
  }
  if (gVh.defined()) {
    v_turn = skew(matmul(svd.vh, adjoint(gVh)));
    const Tensor part = mul(column, v_turn);
    inner = inner.defined() ? add(inner, part) : part;
  }
  check_gauge(u_turn, v_turn);
  const int64_t k = svd.s.size(-1);
  const Tensor gap = mul(sub(row, column), add(row, column));
  inner = div(inner, add(gap, eye(k, k, svd.s.dtype())));
  inner = sub(inner, diag_embed(diagonal(inner, 0, -2, -1)));
  if (gS.defined()) inner = add(inner, diag_embed(gS));
  if (u_turn.defined() && is_complex(u_turn.dtype()))
    inner = add(inner, diag_embed(div(diagonal(u_turn, 0, -2, -1), mul(svd.s, 2))));
  return inner;
}

Tensor svd_grad(const Backward& b) {
  const Svd svd = thin_svd(b);
  const Tensor &u = svd.u, &vh = svd.vh, &gS = b.grad(1);
  if (!b.has_grad(0) && !b.has_grad(2)) return matmul(mul(u, unsqueeze(gS, -2)), vh);
  const int64_t m = u.size(-2), n = vh.size(-1), k = svd.s.size(-1);
  const Tensor gU = b.has_grad(0) ? narrow(b.grad(0), -1, 0, k) : Tensor();
  const Tensor gVh = b.has_grad(2) ? narrow(b.grad(2), -2, 0, k) : Tensor();
  Tensor left = matmul(u, svd_inner_grad(svd, gU, gS, gVh));
  // Outside of that space vectors move freely.
  if (m > k && gU.defined()) {
    const Tensor scaled = div(gU, unsqueeze(svd.s, -2));
    left = add(left, sub(scaled, matmul(u, matmul(adjoint(u), scaled))));
  }
  Tensor grad = matmul(left, vh);
  if (n > k && gVh.defined()) {
    const Tensor scaled = div(gVh, unsqueeze(svd.s, -1));
    grad = add(grad, matmul(u, sub(scaled, matmul(matmul(scaled, adjoint(vh)), vh))));
  }
  return grad;
}

void check_driver(const Args& args, int index) {
  WISP_CHECK(
      !args.has(index), "torch.", args.name(),
      ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
}

void svd_body(const Args& args, TensorList& outs) {
  check_driver(args, 2);
  for (const Tensor& part : invoke_many<"_linalg_svd">(args.tensor(0), args.boolean(1), true))
    outs.push(part);
}

void svdvals_body(const Args& args, TensorList& outs) {
  check_driver(args, 1);
  const Tensor& a = args.tensor(0);
  const bool vectors = differentiated(a);
  outs.push(invoke_many<"_linalg_svd">(a, false, vectors)[1]);
}

// The older form returns V, and zeros where vectors are not wanted.
void old_svd_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  WISP_CHECK(a.ndim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ",
             a.ndim(), " dimensions instead");
  const bool some = args.boolean(1), vectors = args.boolean(2);
  if (vectors) {
    const Tensors parts = invoke_many<"_linalg_svd">(a, !some, true);
    outs.push(parts[0]);
    outs.push(parts[1]);
    return outs.push(adjoint(parts[2]));
  }
  const int64_t m = a.size(-2), n = a.size(-1);
  outs.push(zeros(with_last(batch_of(a), {m, m}), a.dtype()));
  outs.push(invoke<"linalg_svdvals">(a));
  outs.push(zeros(with_last(batch_of(a), {n, n}), a.dtype()));
}

// --- tolerances: singular values up to max(atol, rtol * largest) count as zero

Tensor epsilon_limit(const Tensor& a) {
  const double epsilon = to_real(a.dtype()) == DType::float32
                             ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
  return full(IntSpan(), epsilon * static_cast<double>(std::max(a.size(-2), a.size(-1))),
              to_real(a.dtype()));
}

void check_limit(const Args& args, int index, const char* name) {
  if (!args[index].is_tensor()) return;
  const Tensor& limit = args.tensor(index);
  WISP_CHECK(!is_complex(limit.dtype()), "torch.", args.name(), ": ", name,
             " tensor of complex type is not supported. Got ", legacy_name(limit.dtype()));
}

Tensor as_tensor(const Arg& arg, DType dtype) {
  return arg.is_tensor() ? arg.tensor() : full(IntSpan(), arg.scalar(), dtype);
}

// Where neither is given, rtol is the precision of the dtype; where atol is, it counts alone.
Tensor limit_of(const Args& args, int atol, int rtol, const Tensor& a, const Tensor& largest) {
  check_limit(args, atol, "atol");
  check_limit(args, rtol, "rtol");
  const DType dtype = to_real(a.dtype());
  const Tensor absolute = args.has(atol) ? as_tensor(args[atol], dtype) : zeros(IntSpan(), dtype);
  Tensor relative;
  if (args.has(rtol)) {
    relative = as_tensor(args[rtol], dtype);
  } else if (args.has(atol)) {
    relative = where(gt(absolute, 0), Operand(Scalar(0.0)), epsilon_limit(a));
  } else {
    relative = epsilon_limit(a);
  }
  return invoke<"maximum">(absolute, mul(relative, largest));
}

// --- pinv

struct Spectrum {
  Tensor u, values, vh;
};

Spectrum spectrum_of(const Tensor& a, bool hermitian) {
  if (!hermitian) {
    const Tensors parts = invoke_many<"_linalg_svd">(a, false, true);
    return {parts[0], parts[1], parts[2]};
  }
  const Tensors parts = invoke_many<"_linalg_eigh">(a, "L", true);
  return {parts[1], parts[0], adjoint(parts[1])};
}

void check_pinv(const Infer& infer, const Tensor& a) {
  WISP_CHECK(a.ndim() >= 2 && contains(dtypes::math, a.dtype()), "linalg.pinv(",
             legacy_name(a.dtype()), "{", a.sizes(),
             "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble "
             "types");
  check_limit(infer, 1, "atol");
  check_limit(infer, 2, "rtol");
  if (infer.boolean(3)) check_square("linalg.pinv", a);
}

void infer_pinv(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_pinv(infer, a);
  push_batch(infer, batch_of(a), {a.size(-1), a.size(-2)}, a.dtype());
}

// Calls operators: its derivative is not theirs, which fails where singular values repeat.
void pinv_kernel(const Call& call) {
  const Tensor& a = call.tensor(0);
  if (a.numel() == 0) return;
  GradMode no_grad(false);
  const Spectrum spectrum = spectrum_of(a, call.boolean(3));
  const Tensor size = abs(spectrum.values);
  const int64_t last = -1;
  const Tensor limit = limit_of(call, 1, 2, a, amax(size, IntSpan(&last, 1)));
  const Tensor inverse =
      where(gt(size, unsqueeze(limit, -1)), reciprocal(spectrum.values), Operand(Scalar(0.0)));
  const Tensor result =
      matmul(mul(adjoint(spectrum.vh), unsqueeze(inverse, -2)), adjoint(spectrum.u));
  WISP_CHECK(same(result.sizes(), call.out().sizes()),
             "linalg.pinv: the tolerances do not fit the batch of matrices");
  copy_raw(call.out(), result);
}

void pinv_rcond_body(const Args& args, TensorList& outs) {
  outs.push(invoke<"linalg_pinv">(args.tensor(0), 0.0, args[1], args.boolean(2)));
}

// --- matrix_rank

Tensor rank_of(const Args& args, const Tensor& a, int atol, int rtol, bool hermitian) {
  check_matrices("torch.linalg.matrix_rank", a, "input");
  if (hermitian) check_square("torch.linalg.matrix_rank", a, "input");
  check_limit(args, atol, "atol");
  WISP_CHECK(contains(dtypes::math, a.dtype()),
             "This function doesn't handle types other than float and double");
  if (a.numel() == 0) return zeros(batch_of(a), DType::int64);
  GradMode no_grad(false);
  const Tensor values = hermitian ? abs(invoke<"linalg_eigvalsh">(a)) : invoke<"linalg_svdvals">(a);
  const int64_t last = -1;
  const Tensor largest = amax(values, IntSpan(&last, 1));
  const Tensor limit = unsqueeze(limit_of(args, atol, rtol, a, largest), -1);
  return sum(gt(values, limit), IntSpan(&last, 1));
}

void rank_body(const Args& args, TensorList& outs) {
  outs.push(rank_of(args, args.tensor(0), 1, 2, args.boolean(3)));
}

void rank_tol_body(const Args& args, TensorList& outs) {
  outs.push(invoke<"linalg_matrix_rank">(args.tensor(0), args[1], 0.0, args.boolean(2)));
}

void register_values(Registry& r) {
  r.add(
      {.schema =
           "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor Vh)",
       .doc = "`linalg.svd`, with values only unless `compute_uv`.",
       .infer = infer_svd,
       .kernel = svd_kernel,
       .vjp = {{"A", "A full_matrices compute_uv result result1 result2", svd_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .homes = home::internal,
       .node = "LinalgSvdBackward0"});
  r.add(
      {.schema =
           "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
       .doc =
           "The singular value decomposition `A = U diag(S) Vh`, values descending. U and Vh are square if `full_matrices`, else they have only the vectors that belong to S.\n\n>>> wisp.linalg.svd(wisp.tensor([[0., 2.], [1., 0.]])).S\ntensor([2., 1.])",
       .body = svd_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
       .doc =
           "The singular values of `linalg.svd`.\n\n>>> wisp.linalg.svdvals(wisp.tensor([[0., 2.], [1., 0.]]))\ntensor([2., 1.])",
       .body = svdvals_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
       .doc =
           "`linalg.svd` by an older name: returns V, thin if `some`; zeros for U and V unless `compute_uv`.\n\n>>> wisp.svd(wisp.tensor([[0., 2.], [1., 0.]])).S\ntensor([2., 1.])",
       .body = old_svd_body,
       .onnx = "+ a loop",
       .traits = trait::out});
}

void register_pinv(Registry& r) {
  r.add(
      {.schema =
           "linalg_pinv(Tensor self, *, Tensor|Scalar? atol=None, Tensor|Scalar? rtol=None, bool hermitian=False) -> Tensor",
       .doc =
           "The pseudoinverse (Moore-Penrose) of matrices; singular values up to `max(atol, rtol * largest)` count as zero.\n\n>>> wisp.linalg.pinv(wisp.tensor([[2., 0.], [0., 0.]]))\ntensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])",
       .infer = infer_pinv,
       .kernel = pinv_kernel,
       .vjp = {{"self", "self result",
                [](const Backward& b) { return pinv_grad(b.tensor(0), b.out(), b.grad()); }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_pinv.rcond(Tensor self, Tensor|Scalar rcond, bool hermitian=False) -> Tensor",
       .doc =
           "The same, with NumPy's name for rtol.\n\n>>> wisp.linalg.pinv(wisp.tensor([[2., 0.], [0., 0.]]), 1e-3)\ntensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])",
       .body = pinv_rcond_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
       .doc =
           "`linalg.pinv` by an older name.\n\n>>> wisp.pinverse(wisp.tensor([[2., 0.], [0., 4.]]))\ntensor([[0.5000, 0.0000],\n        [0.0000, 0.2500]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"linalg_pinv">(args.tensor(0), 0.0, args.real(1)));
           },
       .onnx = "+ a loop"});
}

void register_rank(Registry& r) {
  r.add(
      {.schema =
           "linalg_matrix_rank(Tensor self, *, Tensor|Scalar? atol=None, Tensor|Scalar? rtol=None, bool hermitian=False) -> Tensor",
       .doc =
           "How many singular values exceed `max(atol, rtol * largest)`.\n\n>>> wisp.linalg.matrix_rank(wisp.tensor([[1., 2.], [2., 4.]]))\ntensor(1)",
       .body = rank_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema =
           "linalg_matrix_rank.tol(Tensor self, Tensor|Scalar tol, bool hermitian=False) -> Tensor",
       .doc =
           "The same, with NumPy's name for atol.\n\n>>> wisp.linalg.matrix_rank(wisp.tensor([[1., 0.], [0., 0.1]]), 0.5)\ntensor(1)",
       .body = rank_tol_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace

// dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P.
Tensor pinv_grad(const Tensor& a, const Tensor& p, const Tensor& grad) {
  const Tensor ph = adjoint(p), gh = adjoint(grad);
  const Tensor one = neg(matmul(ph, matmul(grad, ph)));
  const Tensor two = matmul(matmul(sub(gh, matmul(a, matmul(p, gh))), p), ph);
  const Tensor three = matmul(ph, matmul(p, sub(gh, matmul(matmul(gh, p), a))));
  return add(one, add(two, three));
}

void register_linalg_svd(Registry& r) {
  register_values(r);
  register_pinv(r);
  register_rank(r);
}

}  // namespace wisp::ops
