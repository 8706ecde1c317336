// A = Q R, and Q as Householder reflections H_1 ... H_k with H_i = I - tau_i v_i v_i^H, where v_i
// is 0 above i, 1 at i and column i of A below.
#include <algorithm>

#include "cpu/factor.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

enum class QrMode { reduced, complete, r };

QrMode qr_mode(std::string_view mode) {
  if (mode == "reduced") return QrMode::reduced;
  if (mode == "complete") return QrMode::complete;
  WISP_CHECK(mode == "r", "qr received unrecognized mode '", mode,
             "' but expected one of 'reduced' (default), 'r', or 'complete'");
  return QrMode::r;
}

void infer_qr(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_matrices("linalg.qr", a);
  check_math_dtype("linalg.qr", a);
  const QrMode mode = qr_mode(infer.string(1));
  const int64_t m = a.size(-2), n = a.size(-1), k = mode == QrMode::complete ? m : std::min(m, n);
  if (mode == QrMode::r) {
    infer.push({0}, a.dtype());
  } else {
    push_columns(infer, batch_of(a), m, k, a.dtype());
  }
  push_columns(infer, batch_of(a), k, n, a.dtype());
}

// Working memory and results of one piece of a batch.
template <class T>
class QrSolver {
 public:
  QrSolver(int64_t m, int64_t n, int64_t k, bool want_q)
      : m_(m), n_(n), k_(k), want_q_(want_q), a_(m * n), tau_(std::min(m, n)) {}

  void operator()(const cpu::Matrix& in, T* q, T* r) {
    const int64_t reflections = std::min(m_, n_);
    lapack::load(in, a_.data(), m_);
    if (reflections)
      lapack::factor_qr(int_(m_), int_(n_), a_.data(), int_(m_), tau_.data(), factor_);
    for (int64_t j = 0; j < n_; ++j) {
      const int64_t rows = std::min(j + 1, std::min(k_, m_));
      std::copy_n(a_.data() + j * m_, rows, r + j * k_);
      std::fill_n(r + j * k_ + rows, k_ - rows, T(0));
    }
    if (!want_q_ || !m_ || !k_) return;
    std::copy_n(a_.data(), m_ * std::min(n_, k_), q);
    lapack::expand_qr(int_(m_), int_(k_), int_(reflections), q, int_(m_), tau_.data(), expand_);
  }

 private:
  static int int_(int64_t n) { return lapack::to_int(n); }
  const int64_t m_, n_, k_;
  const bool want_q_;
  cpu::Scratch<T> a_, tau_;
  lapack::Work factor_, expand_;
};

void qr_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &q = call.out(0), &r = call.out(1);
  const Matrices in(a);
  const int64_t m = a.size(-2), n = a.size(-1), k = r.size(-2);
  const bool want_q = qr_mode(call.string(1)) != QrMode::r;
  visit<dtypes::math>(a.dtype(), "linalg.qr", [&]<class T>() {
    over_batch(in.count(), 2 * m * n * std::max(k, int64_t(1)), [&](int64_t begin, int64_t end) {
      QrSolver<T> solver(m, n, k, want_q);
      for (int64_t i = begin; i < end; ++i)
        solver(in[i], want_q ? matrix_at<T>(q, i) : nullptr, matrix_at<T>(r, i));
    });
  });
}

// triu(M) + triu(M)^H with the real part of the diagonal once.
Tensor upper_both(const Tensor& m) {
  const Tensor off = triu(m, 1), middle = diag_embed(real(diagonal(m, 0, -2, -1)));
  return add(add(off, adjoint(off)), middle);
}

// For a tall A: with C = Q^H dA R^-1, dR = T R where T is upper triangular with real diagonal and
// T + T^H = C + C^H; dQ = dA R^-1 - Q T.
Tensor tall_qr_grad(const Tensor& q, const Tensor& r, const Tensor& gQ, const Tensor& gR) {
  Tensor m;
  if (gR.defined()) m = matmul(gR, adjoint(r));
  if (gQ.defined()) {
    const Tensor turn = matmul(adjoint(q), gQ);
    m = m.defined() ? sub(m, turn) : neg(turn);
  }
  Tensor grad = matmul(q, upper_both(m));
  if (gQ.defined()) grad = add(grad, gQ);
  return solve_triangular(adjoint(r), grad, false, false);
}

// A wide A = [X Y] = Q [U V]: X = Q U is square and V = Q^H Y.
Tensor wide_qr_grad(const Tensor& q, const Tensor& r, const Tensor& gQ, const Tensor& gR) {
  const int64_t m = r.size(-2), rest = r.size(-1) - m;
  const Tensor U = narrow(r, -1, 0, m), V = narrow(r, -1, m, rest);
  if (!gR.defined()) {
    const int64_t pad[] = {0, rest};
    return constant_pad_nd(tall_qr_grad(q, U, gQ, gR), pad, 0);
  }
  const Tensor gU = narrow(gR, -1, 0, m), gV = narrow(gR, -1, m, rest);
  const Tensor turn = matmul(q, matmul(V, adjoint(gV)));
  const Tensor parts[] = {tall_qr_grad(q, U, gQ.defined() ? add(gQ, turn) : turn, gU),
                          matmul(q, gV)};
  return cat(parts, -1);
}

Tensor qr_grad(const Backward& b) {
  const QrMode how = qr_mode(b.string(1));
  WISP_CHECK(how != QrMode::r,
             "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
             "Please use linalg.qr(A, mode='reduced') if you are going to differentiate through "
             "linalg.qr.");
  const Tensor &q = b.out(0), &r = b.out(1), &gQ = b.grad(0), &gR = b.grad(1);
  const int64_t m = q.size(-2), n = r.size(-1);
  WISP_CHECK(how != QrMode::complete || m <= n,
             "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
  return m >= n ? tall_qr_grad(q, r, gQ, gR) : wide_qr_grad(q, r, gQ, gR);
}

// --- geqrf

void infer_geqrf(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  WISP_CHECK(a.ndim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented("geqrf", a.dtype());
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  push_batch(infer, batch_of(a), {std::min(a.size(-2), a.size(-1))}, a.dtype());
}

void geqrf_kernel(const Call& call) {
  const Tensor& a = call.tensor(0);
  const Matrices in(a);
  const int64_t m = a.size(-2), n = a.size(-1);
  visit<dtypes::math>(a.dtype(), "geqrf", [&]<class T>() {
    over_batch(a.numel() ? in.count() : 0, 2 * m * n * n, [&](int64_t begin, int64_t end) {
      lapack::Work work;
      for (int64_t i = begin; i < end; ++i) {
        T* out = matrix_at<T>(call.out(), i);
        lapack::load(in[i], out, m);
        lapack::factor_qr(lapack::to_int(m), lapack::to_int(n), out, lapack::to_int(m),
                          vector_at<T>(call.out(1), i), work);
      }
    });
  });
}

// --- householder_product

void check_reflections(std::string_view who, const Tensor& a, const Tensor& tau) {
  WISP_CHECK(a.ndim() - tau.ndim() == 1, who,
             ": Expected tau to have one dimension less than input, but got tau.ndim equal to ",
             tau.ndim(), " and input.ndim is equal to ", a.ndim());
  WISP_CHECK(same(batch_of(a), batch_of(tau, 1)), who,
             ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
             batch_of(tau, 1));
  WISP_CHECK(a.dtype() == tau.dtype(), who, ": tau dtype ", legacy_name(tau.dtype()),
             " does not match input dtype ", legacy_name(a.dtype()));
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented("householder_product", a.dtype());
}

void infer_householder(Infer& infer) {
  const char* who = "torch.linalg.householder_product";
  const Tensor &a = infer.tensor(0), &tau = infer.tensor(1);
  WISP_CHECK(a.ndim() >= 2, who, ": input must have at least 2 dimensions.");
  WISP_CHECK(a.size(-2) >= a.size(-1), who,
             ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  WISP_CHECK(tau.ndim() >= 1 && a.size(-1) >= tau.size(-1), who,
             ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  check_reflections(who, a, tau);
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
}

void householder_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), taus = consecutive(call.tensor(1));
  const Matrices in(a);
  const int64_t m = a.size(-2), n = a.size(-1), k = taus.size(-1);
  visit<dtypes::math>(a.dtype(), "householder_product", [&]<class T>() {
    over_batch(a.numel() ? in.count() : 0, 4 * m * n * lead_of(k), [&](int64_t begin, int64_t end) {
      lapack::Work work;
      for (int64_t i = begin; i < end; ++i) {
        T* out = matrix_at<T>(call.out(), i);
        lapack::load(in[i], out, m);
        lapack::expand_qr(lapack::to_int(m), lapack::to_int(n), lapack::to_int(k), out,
                          lapack::to_int(m), vector_at<T>(taus, i), work);
      }
    });
  });
}

struct ReflectionGrads {
  Tensor a, tau;
};

// Q is H_1 ... H_k applied to the first n unit vectors, `grad` its gradient. The gradient of H_i is
// (H_1 ... H_{i-1})^H grad (H_{i+1} ... H_k E)^H: the left part grows as i does, the right parts
// are made from the end and kept.
ReflectionGrads reflection_grads(const Tensor& a, const Tensor& tau, const Tensor& grad) {
  const int64_t k = tau.size(-1), m = grad.size(-2), n = grad.size(-1);
  const Tensor vs = add(tril(narrow(a, -1, 0, k), -1), eye(m, k, a.dtype()));
  auto column = [&](int64_t i) { return narrow(vs, -1, i, 1); };
  auto factor = [&](int64_t i) { return unsqueeze(narrow(tau, -1, i, 1), -1); };
  auto reflect = [](const Tensor& v, const Tensor& scale, const Tensor& x) {
    return sub(x, mul(scale, matmul(v, matmul(adjoint(v), x))));
  };
  Tensors right(static_cast<size_t>(k) + 1);
  right[k] = expand(eye(m, n, a.dtype()), grad.sizes());
  for (int64_t i = k; i-- > 0;) right[i] = reflect(column(i), factor(i), right[i + 1]);
  Tensors v_grads, tau_grads;
  Tensor left = grad;
  for (int64_t i = 0; i < k; ++i) {
    const Tensor v = column(i), t = factor(i), &other = right[i + 1];
    const Tensor gHv = matmul(left, matmul(adjoint(other), v));
    const Tensor gHhv = matmul(other, matmul(adjoint(left), v));
    v_grads.push_back(neg(add(mul(conj(t), gHv), mul(t, gHhv))));
    tau_grads.push_back(neg(select(matmul(adjoint(v), gHv), -1, 0)));
    left = reflect(v, conj(t), left);
  }
  ReflectionGrads out;
  if (k == 0) return {zeros_like(a), zeros_like(tau)};
  const int64_t pad[] = {0, a.size(-1) - k};
  out.a = constant_pad_nd(tril(cat(v_grads, -1), -1), pad, 0);
  out.tau = cat(tau_grads, -1);
  return out;
}

ReflectionGrads householder_grads(const Backward& b) {
  return reflection_grads(b.tensor(0), b.tensor(1), b.grad());
}

// --- ormqr

void infer_ormqr(Infer& infer) {
  const char* who = "torch.ormqr";
  const Tensor &a = infer.tensor(0), &tau = infer.tensor(1), &other = infer.tensor(2);
  const bool left = infer.boolean(3);
  WISP_CHECK(a.ndim() >= 2, who, ": input must have at least 2 dimensions.");
  WISP_CHECK(other.ndim() >= 2, who, ": other must have at least 2 dimensions.");
  const int64_t rows = left ? other.size(-2) : other.size(-1);
  const char* dim = left ? "-2" : "-1";
  WISP_CHECK(tau.ndim() >= 1 && rows >= tau.size(-1), who, ": other.shape[", dim,
             "] must be greater than or equal to tau.shape[-1]");
  WISP_CHECK(rows == a.size(-2), who, ": other.shape[", dim, "] must be equal to input.shape[-2]");
  WISP_CHECK(tau.size(-1) <= a.size(-1), who,
             ": tau.shape[-1] must be less than or equal to input.shape[-1]");
  check_reflections(who, a, tau);
  WISP_CHECK(a.ndim() == other.ndim() && same(batch_of(a), batch_of(other)), who,
             ": batch dimensions of other should be equal to input.shape[:-2], but got ",
             batch_of(other));
  WISP_CHECK(other.dtype() == a.dtype(), who, ": other dtype ", legacy_name(other.dtype()),
             " does not match input dtype ", legacy_name(a.dtype()));
  push_columns(infer, batch_of(other), other.size(-2), other.size(-1), other.dtype());
}

void ormqr_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), taus = consecutive(call.tensor(1)), &out = call.out();
  const Matrices in(a), others(call.tensor(2));
  const int64_t rows = a.size(-2), k = taus.size(-1), m = out.size(-2), n = out.size(-1);
  const char side = call.boolean(3) ? 'L' : 'R';
  visit<dtypes::math>(a.dtype(), "ormqr", [&]<class T>() {
    const char trans = !call.boolean(4) ? 'N' : lapack::is_complex<T> ? 'C' : 'T';
    over_batch(out.numel() ? in.count() : 0, 4 * m * n * lead_of(k),
               [&](int64_t begin, int64_t end) {
                 cpu::Scratch<T> reflections(rows * a.size(-1));
                 lapack::Work work;
                 for (int64_t i = begin; i < end; ++i) {
                   T* c = matrix_at<T>(out, i);
                   lapack::load(others[i], c, m);
                   lapack::load(in[i], reflections.data(), rows);
                   if (k == 0) continue;
                   lapack::ormqr(side, trans, lapack::to_int(m), lapack::to_int(n),
                                 lapack::to_int(k), reflections.data(), lapack::to_int(rows),
                                 vector_at<T>(taus, i), c, lapack::to_int(m), work);
                 }
               });
  });
}

// The gradient of all of Q in Q C, Q^H C, C Q or C Q^H.
ReflectionGrads ormqr_grads(const Backward& b) {
  const Tensor &other = b.tensor(2), &grad = b.grad();
  const bool left = b.boolean(3), transposed = b.boolean(4);
  const Tensor gQ =
      left ? (transposed ? matmul(other, adjoint(grad)) : matmul(grad, adjoint(other)))
           : (transposed ? matmul(adjoint(grad), other) : matmul(adjoint(other), grad));
  return reflection_grads(b.tensor(0), b.tensor(1), gQ);
}

void qr_body(const Args& args, TensorList& outs) {
  const char* mode = args.boolean(1) ? "reduced" : "complete";
  for (const Tensor& part : invoke_many<"linalg_qr">(args.tensor(0), mode)) outs.push(part);
}

void register_qr(Registry& r) {
  r.add(
      {.schema = "linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
       .doc =
           "Q with orthonormal columns and an upper triangular R whose product is A. `mode`: \"reduced\", \"complete\" (Q is square) or \"r\" (Q is not computed).\n\n>>> wisp.linalg.qr(wisp.tensor([[3., 5.], [4., 0.]])).R\ntensor([[-5., -3.],\n        [ 0., -4.]])",
       .infer = infer_qr,
       .kernel = qr_kernel,
       .vjp = {{"A", "mode result result1", qr_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
       .doc =
           "`linalg.qr` by an older name: reduced if `some`, else complete.\n\n>>> wisp.qr(wisp.tensor([[3., 5.], [4., 0.]])).R\ntensor([[-5., -3.],\n        [ 0., -4.]])",
       .body = qr_body,
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema = "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
       .doc =
           "R of `linalg.qr`, and below its diagonal the Householder reflections whose product is Q.\n\n>>> wisp.geqrf(wisp.tensor([[3.], [4.]])).a\ntensor([[-5.0000],\n        [ 0.5000]])",
       .infer = infer_geqrf,
       .kernel = geqrf_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out});
}

void register_reflections(Registry& r) {
  r.add(
      {.schema = "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
       .doc =
           "The first columns of the product of Householder reflections, as `geqrf` returns them.\n\n>>> wisp.linalg.householder_product(wisp.tensor([[0.], [1.]]), wisp.tensor([1.]))\ntensor([[ 0.],\n        [-1.]])",
       .infer = infer_householder,
       .kernel = householder_kernel,
       .vjp = {{"input", "input tau", [](const Backward& b) { return householder_grads(b).a; }},
               {"tau", "input tau", [](const Backward& b) { return householder_grads(b).tau; }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "orgqr(Tensor self, Tensor input2) -> Tensor",
       .doc =
           "`linalg.householder_product` by an older name.\n\n>>> wisp.orgqr(wisp.tensor([[0.], [1.]]), wisp.tensor([1.]))\ntensor([[ 0.],\n        [-1.]])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(invoke<"linalg_householder_product">(args.tensor(0), args.tensor(1)));
           },
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema =
           "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
       .doc =
           "The product of all of Q, given as Householder reflections, with another matrix: `Q C`, `C Q`, or with `Q^H`.\n\n>>> a, tau = wisp.geqrf(wisp.tensor([[3.], [4.]]))\n>>> wisp.ormqr(a, tau, wisp.tensor([[3.], [4.]]), transpose=True)\ntensor([[-5.],\n        [ 0.]])",
       .infer = infer_ormqr,
       .kernel = ormqr_kernel,
       .vjp = {{"self", "self input2 input3 left transpose",
                [](const Backward& b) { return ormqr_grads(b).a; }},
               {"input2", "self input2 input3 left transpose",
                [](const Backward& b) { return ormqr_grads(b).tau; }},
               {"input3", "self input2 left transpose",
                [](const Backward& b) {
                  return invoke<"ormqr">(b.tensor(0), b.tensor(1), b.grad(), b.boolean(3),
                                         !b.boolean(4));
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .traits = trait::out});
}

}  // namespace

void register_linalg_qr(Registry& r) {
  register_qr(r);
  register_reflections(r);
}

}  // namespace wisp::ops
