// What the families of linear algebra share.
#include "ops/linalg.h"

#include "ops/families.h"
#include "ops/ops_linalg.h"

namespace wisp::ops {

void check_matrices(std::string_view who, const Tensor& t, const char* what) {
  WISP_CHECK(t.ndim() >= 2, who, ": The input tensor ", what, " must have at least 2 dimensions.");
}

void check_square(std::string_view who, const Tensor& t, const char* what) {
  check_matrices(who, t, what);
  WISP_CHECK(t.size(-1) == t.size(-2), who, ": ", what,
             " must be batches of square matrices, but they are ", t.size(-2), " by ", t.size(-1),
             " matrices");
}

void check_math_dtype(std::string_view who, const Tensor& t) {
  WISP_CHECK(is_differentiable(t.dtype()), who,
             ": Expected a floating point or complex tensor as input. Got ",
             legacy_name(t.dtype()));
  WISP_CHECK_KIND(not_implemented, !contains(dtypes::half, t.dtype()), who,
                  ": Low precision dtypes not supported. Got ", legacy_name(t.dtype()));
}

void check_same_type(std::string_view who, const Tensor& a, const Tensor& b) {
  WISP_CHECK(a.dtype() == b.dtype(), who,
             ": Expected A and B to have the same dtype, but found A of type ",
             legacy_name(a.dtype()), " and B of type ", legacy_name(b.dtype()), " instead");
}

Dims with_last(IntSpan batch, std::initializer_list<int64_t> last) {
  Dims sizes(batch);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}

TensorSpec& push_batch(Infer& infer, IntSpan batch, std::initializer_list<int64_t> last,
                       DType dtype) {
  return infer.push(with_last(batch, last), dtype);
}

TensorSpec& push_columns(Infer& infer, IntSpan batch, int64_t rows, int64_t cols, DType dtype) {
  TensorSpec& spec = push_batch(infer, batch, {rows, cols}, dtype);
  spec.strides = contiguous_strides(spec.sizes);
  const size_t n = spec.sizes.size();
  spec.strides[n - 2] = 1;
  spec.strides[n - 1] = lead_of(rows);
  return spec;
}

Matrices::Matrices(const Tensor& t, IntSpan batch) : first_(matrix_of(t)), sizes_(batch) {
  const size_t own = static_cast<size_t>(t.ndim() - 2);
  strides_ = expanded_strides(t.sizes().first(own), t.strides().first(own), batch);
  for (int64_t& stride : strides_) stride *= static_cast<int64_t>(t->item_size());
  count_ = 1;
  for (int64_t size : batch) count_ *= size;
}

cpu::Matrix Matrices::operator[](int64_t i) const {
  cpu::Matrix matrix = first_;
  for (size_t dim = sizes_.size(); dim-- > 0 && i > 0;) {
    matrix.data += i % sizes_[dim] * strides_[dim];
    i /= sizes_[dim];
  }
  return matrix;
}

// --- failures

namespace {

bool mentions(std::string_view who, std::string_view what) {
  return who.find(what) != std::string_view::npos;
}

// Why LAPACK gave up on a matrix; who was called tells what it tried.
std::string reason(std::string_view who, int info) {
  if (info < 0 && mentions(who, "svd"))
    return "The algorithm failed to converge because the input matrix contained non-finite values.";
  if (mentions(who, "inv"))
    return str("The diagonal element ", info,
               " is zero, the inversion could not be completed because the input matrix is "
               "singular.");
  if (mentions(who, "solve")) return "The solver failed because the input matrix is singular.";
  if (mentions(who, "cholesky"))
    return str(
        "The factorization could not be completed because the input is not positive-definite (the "
        "leading minor of order ",
        info, " is not positive-definite).");
  if (mentions(who, "svd"))
    return str(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
        "many repeated singular values (error code: ",
        info, ").");
  if (mentions(who, "eig"))
    return str(
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
        "many repeated eigenvalues (error code: ",
        info, ").");
  if (mentions(who, "lstsq"))
    return str(
        "The least squares solution could not be computed because the input matrix does not have "
        "full rank (error code: ",
        info, ").");
  if (mentions(who, "lu_factor"))
    return str(
        "U[", info, ",", info,
        "] is zero and using it on lu_solve would result in a division by zero. If you still want "
        "to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)");
  return str("D[", info, ",", info, "] is zero: the factors cannot be used to solve equations.");
}

}  // namespace

void check_info(const Tensor& info, std::string_view who) {
  const int32_t* codes = info.data<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (codes[i] == 0) continue;
    // A factorisation with a zero on its diagonal is an answer all the same.
    const ErrorKind kind = mentions(who, "_factor") ? ErrorKind::runtime : ErrorKind::linalg;
    const std::string where = info.ndim() > 0 ? str("(Batch element ", i, "): ") : "";
    fail(kind, who, ": ", where, reason(who, codes[i]));
  }
}

void require_success(const Tensor& info, const char* who) {
  invoke<"_linalg_check_errors">(info, who);
}

void register_linalg(Registry& r) {
  r.add(
      {.schema = "_linalg_check_errors(Tensor info, str api_name) -> Tensor",
       .doc = "Fails if one of LAPACK's codes is not zero, on behalf of the function named.",
       .infer = [](Infer& infer) { infer.push(infer.tensor(0).sizes(), infer.tensor(0).dtype()); },
       .kernel =
           [](const Call& call) {
             const Tensor info = consecutive(call.tensor(0));
             check_info(info, call.string(1));
             copy_raw(call.out(), info);
           },
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "+ nothing",
       .homes = home::internal});
  register_linalg_factor(r);
  register_linalg_qr(r);
  register_linalg_solve(r);
  register_linalg_lstsq(r);
  register_linalg_det(r);
  register_linalg_eigen(r);
  register_linalg_svd(r);
  register_linalg_norm(r);
  register_linalg_functions(r);
}

}  // namespace wisp::ops
