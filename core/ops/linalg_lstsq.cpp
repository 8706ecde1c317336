// Least squares.
#include <algorithm>
#include <limits>

#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

namespace {

using lapack::Driver;

Driver driver_of(const Args& args, int index) {
  const std::string_view name = args.has(index) ? args.string(index) : "gelsy";
  constexpr std::string_view names[] = {"gels", "gelsy", "gelsd", "gelss"};
  const auto* found = std::find(std::begin(names), std::end(names), name);
  WISP_CHECK(found != std::end(names),
             "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  return static_cast<Driver>(found - std::begin(names));
}

bool finds_values(Driver driver) { return driver == Driver::gelsd || driver == Driver::gelss; }

void infer_lstsq(Infer& infer) {
  const Tensor &a = infer.tensor(0), &b = infer.tensor(1);
  const Driver driver = driver_of(infer, 3);
  const Dims batch = broadcast(batch_of(a), batch_of(b));
  const int64_t m = a.size(-2), n = a.size(-1), nrhs = b.size(-1);
  push_columns(infer, batch, n, nrhs, a.dtype());
  push_batch(infer, batch, {nrhs}, to_real(a.dtype()));
  infer.push(driver == Driver::gels ? IntSpan() : IntSpan(batch), DType::int64);
  push_batch(infer, batch, {finds_values(driver) ? std::min(m, n) : 0}, to_real(a.dtype()));
}

template <class T>
lapack::Real<T> squares(const T* data, int64_t count) {
  lapack::Real<T> total = 0;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (lapack::is_complex<T>) {
      total += data[i].re * data[i].re + data[i].im * data[i].im;
    } else {
      total += data[i] * data[i];
    }
  }
  return total;
}

template <class T>
void lstsq_matrices(const Call& call, Driver driver, int32_t* info) {
  using Real = lapack::Real<T>;
  const Tensor &a = call.tensor(0), &out = call.out();
  const IntSpan batch = batch_of(out);
  const Matrices in(a, batch), sides(call.tensor(1), batch);
  const int64_t m = a.size(-2), n = a.size(-1), nrhs = out.size(-1), k = std::min(m, n);
  const int64_t rows = lead_of(std::max(m, n));
  const Real rcond = call.has(2)
                         ? static_cast<Real>(call.real(2))
                         : std::numeric_limits<Real>::epsilon() * static_cast<Real>(std::max(m, n));
  over_batch(in.count(), 4 * m * n * lead_of(k), [&](int64_t begin, int64_t end) {
    cpu::Scratch<T> matrix(m * n), x(rows * nrhs);
    cpu::Scratch<Real> values(k);
    lapack::Work work;
    auto size = [](int64_t s) { return lapack::to_int(s); };
    for (int64_t i = begin; i < end; ++i) {
      int rank = 0;
      std::fill_n(x.data(), rows * nrhs, T(0));
      lapack::load(in[i], matrix.data(), lead_of(m));
      lapack::load(sides[i], x.data(), rows);
      info[i] = 0;
      if (k && nrhs && driver == Driver::gels) {
        info[i] = lapack::gels(size(m), size(n), size(nrhs), matrix.data(), size(m), x.data(),
                               size(rows), work);
      } else if (k && nrhs) {
        info[i] = lapack::gels_rank(driver, size(m), size(n), size(nrhs), matrix.data(), size(m),
                                    x.data(), size(rows), values.data(), rcond, &rank, work);
      } else if (n > m) {
        std::fill_n(x.data(), rows * nrhs, T(0));
      }
      for (int64_t j = 0; j < nrhs; ++j) {
        const T* column = x.data() + j * rows;
        std::copy_n(column, n, matrix_at<T>(out, i) + j * n);
        call.out(1).data<Real>()[i * nrhs + j] = squares(column + n, std::max<int64_t>(m - n, 0));
      }
      if (driver != Driver::gels) call.out(2).data<int64_t>()[i] = rank;
      if (finds_values(driver)) std::copy_n(values.data(), k, call.out(3).data<Real>() + i * k);
    }
  });
}

void lstsq_kernel(const Call& call) {
  const Tensor info = Tensor::empty(batch_of(call.out()), DType::int32);
  visit<dtypes::math>(call.out().dtype(), "linalg.lstsq", [&]<class T>() {
    lstsq_matrices<T>(call, driver_of(call, 3), info.data<int32_t>());
  });
  check_info(info, "torch.linalg.lstsq");
}

// R = A X - B; the residuals are the sums of |R|^2 of every column. A^H R = 0, so X need not move.
Tensor scaled_residual(const Backward& b) {
  const Tensor difference = sub(matmul(b.tensor(0), b.out()), b.tensor(1));
  return mul(mul(difference, 2), unsqueeze(b.grad(1), -2));
}

Tensor lstsq_a_grad(const Backward& b) {
  const Tensor& a = b.tensor(0);
  Tensor grad;
  if (b.has_grad(0)) grad = pinv_grad(a, pinv(a), matmul(b.grad(0), adjoint(b.tensor(1))));
  if (b.has_grad(1)) {
    const Tensor part = matmul(scaled_residual(b), adjoint(b.out()));
    grad = grad.defined() ? add(grad, part) : part;
  }
  return sum_to_size(grad, b.shape(0));
}

Tensor lstsq_b_grad(const Backward& b) {
  Tensor grad;
  if (b.has_grad(0)) grad = matmul(adjoint(pinv(b.tensor(0))), b.grad(0));
  if (b.has_grad(1)) {
    const Tensor part = neg(scaled_residual(b));
    grad = grad.defined() ? add(grad, part) : part;
  }
  return sum_to_size(grad, b.shape(1));
}

void check_lstsq(const Tensor& a, const Tensor& b, bool vector) {
  const char* who = "torch.linalg.lstsq";
  WISP_CHECK(vector ? a.size(-2) == b.size(-1) : a.size(-2) == b.size(-2), who,
             vector ? ": input.size(-2) should match other.size(-1)"
                    : ": input.size(-2) should match other.size(-2)");
  WISP_CHECK(a.dtype() == b.dtype(), who,
             ": Expected input and other to have the same dtype, but got input's dtype ",
             legacy_name(a.dtype()), " and other's dtype ", legacy_name(b.dtype()));
  if (!contains(dtypes::math, a.dtype())) fail_not_implemented("linalg.lstsq", a.dtype());
}

// Residuals are reported only where there are more rows than unknowns and all of those are found.
void lstsq_body(const Args& args, TensorList& outs) {
  const char* who = "torch.linalg.lstsq";
  const Tensor &a = args.tensor(0), &b = args.tensor(1);
  WISP_CHECK(a.ndim() >= 2, who, ": input must have at least 2 dimensions.");
  WISP_CHECK(b.ndim() >= 1, who, ": other must have at least 1 dimension.");
  const int64_t difference = a.ndim() - b.ndim();
  WISP_CHECK(difference == 0 || difference == 1, who,
             ": input.dim() must be greater or equal to other.dim() and (input.dim() - "
             "other.dim()) <= 1");
  const bool vector = difference == 1;
  check_lstsq(a, b, vector);
  const Driver driver = driver_of(args, 3);
  const Tensors parts =
      invoke_many<"_linalg_lstsq">(a, vector ? unsqueeze(b, -1) : b, args[2], args[3]);
  const int64_t n = a.size(-1), none[] = {0};
  const DType real_dtype = to_real(a.dtype());
  bool residuals = a.size(-2) > n && driver != Driver::gelsy && parts[1].numel() > 0;
  if (residuals && finds_values(driver)) residuals = all(eq(parts[2], Scalar(n))).item().truth();
  outs.push(vector ? select(parts[0], -1, 0) : parts[0]);
  outs.push(residuals ? parts[1] : zeros(none, real_dtype));
  outs.push(driver == Driver::gels ? zeros(none, DType::int64) : parts[2]);
  outs.push(finds_values(driver) ? detach(parts[3]) : zeros(none, real_dtype));
}

}  // namespace

void register_linalg_lstsq(Registry& r) {
  r.add(
      {.schema =
           "_linalg_lstsq(Tensor self, Tensor b, float? rcond=None, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
       .doc = "`linalg.lstsq` of matrices, with residuals whatever the rank.",
       .infer = infer_lstsq,
       .kernel = lstsq_kernel,
       .vjp = {{"self", "self b result", lstsq_a_grad}, {"b", "self b result", lstsq_b_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- no operator for equations",
       .homes = home::internal,
       .node = "LinalgLstsqBackward0"});
  r.add(
      {.schema =
           "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
       .doc =
           "X for which the columns of `A X - B` are shortest. `driver` is LAPACK's: \"gels\" for full rank, else \"gelsy\" (the default), \"gelsd\" or \"gelss\", for which singular values up to `rcond` times the largest count as zero.\n\n>>> wisp.linalg.lstsq(wisp.tensor([[1.], [1.]]), wisp.tensor([[1.], [3.]])).solution\ntensor([[2.0000]])",
       .body = lstsq_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace wisp::ops
