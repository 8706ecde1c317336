// Determinants, from P L U.
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

void push_factors(Infer& infer, const Tensor& a) {
  push_columns(infer, batch_of(a), a.size(-2), a.size(-1), a.dtype());
  push_batch(infer, batch_of(a), {a.size(-1)}, DType::int32);
}

void infer_det(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square("linalg.det", a);
  check_math_dtype("linalg.det", a);
  infer.push(batch_of(a), a.dtype());
  push_factors(infer, a);
}

bool odd_exchanges(const int32_t* pivots, int64_t n) {
  bool odd = false;
  for (int64_t i = 0; i < n; ++i) odd ^= pivots[i] != i + 1;
  return odd;
}

void det_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &out = call.out(0), &lu = call.out(1), &pivots = call.out(2);
  factor_lu(a, lu, pivots, Tensor::empty(batch_of(a), DType::int32));
  const int64_t n = a.size(-1);
  visit<dtypes::math>(a.dtype(), "linalg.det", [&]<class T>() {
    over_batch(out.numel(), n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* factors = matrix_at<T>(lu, i);
        T product(odd_exchanges(vector_at<int32_t>(pivots, i), n) ? -1 : 1);
        for (int64_t j = 0; j < n; ++j) product = product * factors[j * n + j];
        out.data<T>()[i] = product;
      }
    });
  });
}

Tensor spread(const Tensor& values, int64_t n) {
  Dims sizes(values.sizes());
  sizes.push_back(n);
  return diag_embed(expand(unsqueeze(values, -1), sizes));
}

double precision_of(DType dtype) {
  return to_real(dtype) == DType::float32 ? std::numeric_limits<float>::epsilon()
                                          : std::numeric_limits<double>::epsilon();
}

// 1 or -1 for every matrix.
Tensor sign_of(const Tensor& pivots) {
  const int64_t n = pivots.size(-1), last = -1;
  const Tensor kept = invoke<"arange.start">(1, n + 1);
  const Tensor count = sum(ne(pivots, kept), IntSpan(&last, 1));
  return sub(Scalar(1), mul(invoke<"remainder">(count, 2), 2));
}

// A singular matrix has a derivative too (its cofactors): that of a matrix nearby, of which U has
// `step` where it had a zero on its diagonal. For second derivatives the step is larger: they
// divide by its square.
Tensor nudge(const Tensor& diag, double step) {
  return diag_embed(mul(to(eq(diag, 0), diag.dtype()), step));
}

// d det A = det A tr(A^-1 dA).
Tensor det_grad(const Backward& b) {
  const Tensor &a = b.tensor(0), &det_a = b.out(0), &lu = b.out(1), &pivots = b.out(2);
  const int64_t n = a.size(-1);
  if (a.numel() == 0) return zeros_like(a);
  const Tensor diag = diagonal(detach(lu), 0, -2, -1);
  // Inside vmap one answer for all samples is that for singular ones, which holds for both.
  const bool regular = diag->is_readable() && !any(eq(diag, 0)).item().truth();
  if (rules_are_differentiated()) {
    Tensor near = a, value = det_a;
    if (!regular) {
      const Tensors parts = lu_unpack(detach(lu), pivots, true, true);
      const Tensor step = nudge(diag, std::cbrt(precision_of(a.dtype())));
      near = add(a, matmul(parts[0], matmul(parts[1], step)));
      value = det(near);
    }
    return solve(adjoint(near), spread(mul(b.grad(), conj(value)), n));
  }
  if (regular) return lu_solve(lu, pivots, spread(mul(b.grad(), conj(det_a)), n), true, true);
  const Tensor near = add(lu, nudge(diag, precision_of(a.dtype())));
  const Tensor value = mul(prod(diagonal(near, 0, -2, -1), -1), sign_of(pivots));
  return lu_solve(near, pivots, spread(mul(b.grad(), conj(value)), n), true, true);
}

// --- slogdet

void infer_slogdet(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_square("linalg.slogdet", a);
  check_math_dtype("linalg.slogdet", a);
  infer.push(batch_of(a), a.dtype());
  infer.push(batch_of(a), to_real(a.dtype()));
  push_factors(infer, a);
}

template <class T>
struct SignAndLog {
  T sign;
  lapack::Real<T> log;
};

template <class T>
SignAndLog<T> parts_of(T value) {
  if constexpr (lapack::is_complex<T>) {
    const auto size = std::hypot(value.re, value.im);
    if (size == 0) return {T(0), std::log(size)};
    return {T(value.re / size, value.im / size), std::log(size)};
  } else {
    return {T(value > 0 ? 1 : value < 0 ? -1 : 0), std::log(std::abs(value))};
  }
}

void slogdet_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &lu = call.out(2), &pivots = call.out(3);
  factor_lu(a, lu, pivots, Tensor::empty(batch_of(a), DType::int32));
  const int64_t n = a.size(-1);
  visit<dtypes::math>(a.dtype(), "linalg.slogdet", [&]<class T>() {
    over_batch(call.out().numel(), 64 * n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* factors = matrix_at<T>(lu, i);
        SignAndLog<T> total{T(odd_exchanges(vector_at<int32_t>(pivots, i), n) ? -1 : 1), 0};
        for (int64_t j = 0; j < n; ++j) {
          const SignAndLog<T> part = parts_of(factors[j * n + j]);
          total.sign = total.sign * part.sign;
          total.log += part.log;
        }
        call.out(0).data<T>()[i] = total.sign;
        call.out(1).data<lapack::Real<T>>()[i] = total.log;
      }
    });
  });
}

// d log det A = tr(A^-1 dA): its real part moves logabsdet, its imaginary part turns sign.
Tensor slogdet_grad(const Backward& b) {
  const Tensor &a = b.tensor(0), &sign = b.out(0);
  const int64_t n = a.size(-1);
  const bool turns = is_complex(a.dtype()) && b.has_grad(0);
  if (!b.has_grad(1) && !turns) return zeros_like(a);
  Tensor grad = b.grad(1);
  if (turns) {
    const Tensor turn = mul(imag(mul(sign, conj(b.grad(0)))), Scalar(std::complex<double>(0, -1)));
    grad = grad.defined() ? add(grad, turn) : turn;
  }
  const Tensor right = to(spread(grad, n), a.dtype());
  if (rules_are_differentiated()) return solve(adjoint(a), right);
  return lu_solve(b.out(2), b.out(3), right, true, true);
}

void slogdet_body(const Args& args, TensorList& outs) {
  const Tensors parts = invoke_many<"_linalg_slogdet">(args.tensor(0));
  outs.push(parts[0]);
  outs.push(parts[1]);
}

void det_body(const Args& args, TensorList& outs) {
  outs.push(invoke<"_linalg_det">(args.tensor(0)));
}

void logdet_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  check_square("logdet", a);
  const Tensors parts = invoke_many<"_linalg_slogdet">(a);
  const Tensor &sign = parts[0], &log_size = parts[1];
  if (is_complex(a.dtype())) return outs.push(add(log_size, log(sign)));
  outs.push(where(eq(sign, -1), Operand(Scalar(std::nan(""))), log_size));
}

}  // namespace

void register_linalg_det(Registry& r) {
  r.add({.schema = "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
         .doc = "`linalg.det`, with the factors it comes from.",
         .infer = infer_det,
         .kernel = det_kernel,
         .vjp = {{"A", "A result result1 result2", det_grad}},
         .jvp = Jvp::transposed,
         .batch = Batch::loop,
         .onnx = "Det",
         .homes = home::internal,
         .node = "LinalgDetBackward0"});
  r.add(
      {.schema = "linalg_det(Tensor A) -> Tensor",
       .doc =
           "The determinant of square matrices.\n\n>>> wisp.linalg.det(wisp.tensor([[2., 1.], [0., 3.]]))\ntensor(6.)",
       .body = det_body,
       .onnx = "Det",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "det(Tensor self) -> Tensor",
       .doc =
           "`linalg.det` by an older name.\n\n>>> wisp.det(wisp.tensor([[2., 1.], [0., 3.]]))\ntensor(6.)",
       .body = det_body,
       .onnx = "Det"});
  r.add(
      {.schema =
           "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
       .doc = "`linalg.slogdet`, with the factors it comes from.",
       .infer = infer_slogdet,
       .kernel = slogdet_kernel,
       .vjp = {{"A", "A result result2 result3", slogdet_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a loop",
       .homes = home::internal,
       .node = "LinalgSlogdetBackward0"});
  r.add(
      {.schema = "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
       .doc =
           "The determinant's sign (for complex matrices: its angle, as a number of size one) and the logarithm of its size.\n\n>>> wisp.linalg.slogdet(wisp.tensor([[0., 1.], [1., 0.]]))\nwisp.return_types.linalg_slogdet(\nsign=tensor(-1.),\nlogabsdet=tensor(0.))",
       .body = slogdet_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
       .doc =
           "`linalg.slogdet` by an older name.\n\n>>> wisp.slogdet(wisp.eye(2)).logabsdet\ntensor(0.)",
       .body = slogdet_body,
       .onnx = "+ a loop",
       .traits = trait::out});
  r.add(
      {.schema = "logdet(Tensor self) -> Tensor",
       .doc =
           "The logarithm of the determinant: NaN if that is negative, -inf if it is zero.\n\n>>> wisp.logdet(wisp.eye(2))\ntensor(0.)",
       .body = logdet_body,
       .onnx = "+ a loop"});
}

}  // namespace wisp::ops
