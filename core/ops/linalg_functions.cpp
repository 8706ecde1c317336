// Functions of matrices (powers, the exponential) and equations between tensors.
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/gemm.h"
#include "ops/families.h"
#include "ops/linalg.h"
#include "ops/ops_linalg.h"
#include "ops/promotion.h"

namespace wisp::ops {

namespace {

// --- matrix_power

// By squaring: as many products as the exponent has bits, and as it has ones.
Tensor power(Tensor base, uint64_t n) {
  Tensor result;
  for (; n; n >>= 1) {
    if (n & 1) result = result.defined() ? matmul(result, base) : base;
    if (n > 1) base = matmul(base, base);
  }
  return result;
}

void matrix_power_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  check_square("linalg.matrix_power", a);
  const int64_t n = args.integer(1);
  // The identity, as a function of A all the same.
  const int64_t size = a.size(-1);
  if (n == 0) return outs.push(add(triu(a, size), eye(size, size, a.dtype())));
  if (n == 1) return outs.push(clone(a));
  const uint64_t times = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  outs.push(power(n < 0 ? inv(a) : a, times));
}

// --- matrix_exp

void infer_matrix_exp(Infer& infer) {
  const Tensor& a = infer.tensor(0);
  check_matrices("linalg.matrix_exp", a);
  WISP_CHECK(is_differentiable(a.dtype()),
             "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ",
             legacy_name(a.dtype()));
  check_square("linalg.matrix_exp", a);
  infer.push(a.sizes(), a.dtype());
}

// A Taylor polynomial of degree width^2, evaluated in blocks of `width` terms; good enough for
// matrices whose norm is up to `reach`.
struct Taylor {
  int width;
  double reach;
};
// Where norm^(n + 1) / (n + 1)! reaches the rounding error.
constexpr Taylor taylor_single[] = {{2, 0.09}, {3, 0.8}, {4, 2.0}};
constexpr Taylor taylor_double[] = {{2, 1.4e-3}, {3, 0.1}, {4, 0.78}};

constexpr auto inverse_factorial = [] {
  std::array<double, 17> values{1};
  double factorial = 1;
  for (size_t n = 1; n < values.size(); ++n) values[n] = 1 / (factorial *= static_cast<double>(n));
  return values;
}();

// exp of one matrix of n by n after the other.
template <class T>
class Exponential {
 public:
  using Real = lapack::Real<T>;
  explicit Exponential(int64_t n) : n_(n), size_(n * n), memory_(6 * n * n) {}

  // In place. exp(A) = exp(A / 2^s)^(2^s).
  void operator()(T* a) {
    const double size = norm(a);
    if (!std::isfinite(size)) {
      std::fill_n(a, size_, T(static_cast<Real>(std::nan(""))));
      return;
    }
    const auto& choices = sizeof(Real) == 4 ? taylor_single : taylor_double;
    const Taylor* taylor = choices;
    while (taylor != choices + 2 && size > taylor->reach) ++taylor;
    const int halvings =
        size > taylor->reach ? static_cast<int>(std::ceil(std::log2(size / taylor->reach))) : 0;
    const Real scale = static_cast<Real>(std::ldexp(1.0, -halvings));
    for (int64_t i = 0; i < size_; ++i) power(1)[i] = a[i] * T(scale);
    polynomial(taylor->width);
    for (int i = 0; i < halvings; ++i) {
      multiply(sum_, sum_, spare_);
      std::swap(sum_, spare_);
    }
    std::copy_n(sum_, size_, a);
  }

 private:
  T* power(int k) { return memory_.data() + (k - 1) * size_; }

  // The largest sum of a row: a bound of what the polynomial can grow to.
  double norm(const T* a) const {
    double largest = 0;
    for (int64_t i = 0; i < n_; ++i) {
      double total = 0;
      for (int64_t j = 0; j < n_; ++j) {
        if constexpr (lapack::is_complex<T>) {
          total += std::hypot(double(a[i * n_ + j].re), double(a[i * n_ + j].im));
        } else {
          total += std::abs(double(a[i * n_ + j]));
        }
      }
      if (!(total <= largest)) largest = total;  // NaN too
      if (std::isnan(largest)) return largest;
    }
    return largest;
  }

  void multiply(const T* a, const T* b, T* out) const {
    if (n_ <= tiny) return multiply_tiny(a, b, out);
    auto matrix = [&](const T* data) {
      return cpu::Matrix{reinterpret_cast<char*>(const_cast<T*>(data)), n_, n_, n_, 1};
    };
    cpu::gemm(dtype_of<T>, matrix(a), matrix(b), matrix(out));
  }

  // Where calling the general product costs more than the product.
  static constexpr int64_t tiny = 6;
  void multiply_tiny(const T* a, const T* b, T* out) const {
    for (int64_t i = 0; i < n_; ++i) {
      T* row = out + i * n_;
      for (int64_t j = 0; j < n_; ++j) row[j] = a[i * n_] * b[j];
      for (int64_t k = 1; k < n_; ++k) {
        for (int64_t j = 0; j < n_; ++j) row[j] = row[j] + a[i * n_ + k] * b[k * n_ + j];
      }
    }
  }

  // Adds the terms from `first` on, `count` of them, divided by A^first.
  void add_terms(T* out, int first, int count) {
    for (int k = 1; k < count; ++k) {
      const T factor(static_cast<Real>(inverse_factorial[static_cast<size_t>(first + k)]));
      for (int64_t i = 0; i < size_; ++i) out[i] = out[i] + power(k)[i] * factor;
    }
    const T constant(static_cast<Real>(inverse_factorial[static_cast<size_t>(first)]));
    for (int64_t i = 0; i < n_; ++i) out[i * n_ + i] = out[i * n_ + i] + constant;
  }

  // Horner's rule in A^width.
  void polynomial(int width) {
    sum_ = power(5);
    spare_ = power(6);
    for (int k = 2; k <= width; ++k) multiply(power(k - 1), power(1), power(k));
    const T last(static_cast<Real>(inverse_factorial[static_cast<size_t>(width * width)]));
    for (int64_t i = 0; i < size_; ++i) sum_[i] = power(width)[i] * last;
    for (int first = width * (width - 1); first >= 0; first -= width) {
      add_terms(sum_, first, width);
      if (first == 0) return;
      multiply(sum_, power(width), spare_);
      std::swap(sum_, spare_);
    }
  }

  int64_t n_, size_;
  cpu::Scratch<T> memory_;  // A to A^4 and two sums
  T *sum_ = nullptr, *spare_ = nullptr;
};

void matrix_exp_kernel(const Call& call) {
  const Tensor &a = call.tensor(0), &out = call.out();
  if (a.numel() == 0) return;
  const DType dtype = math_dtype(a.dtype());
  const Tensor result = dtype == out.dtype() ? out : Tensor::empty(out.sizes(), dtype);
  copy_raw(result, a);
  const int64_t n = a.size(-1);
  visit<dtypes::math>(dtype, "linalg.matrix_exp", [&]<class T>() {
    over_batch(a.numel() / (n * n), 16 * n * n * n, [&](int64_t begin, int64_t end) {
      Exponential<T> exponential(n);
      for (int64_t i = begin; i < end; ++i) exponential(matrix_at<T>(result, i));
    });
  });
  if (!result.is_same(out)) copy_raw(out, result);
}

// exp of [[A^H, G], [0, A^H]] has the derivative of exp at A^H in direction G at the upper right.
Tensor matrix_exp_grad(const Backward& b) {
  const Tensor ah = adjoint(b.tensor(0));
  const int64_t n = ah.size(-1);
  const Tensor upper[] = {ah, b.grad()}, lower[] = {zeros_like(ah), ah};
  const Tensor rows[] = {cat(upper, -1), cat(lower, -1)};
  const Tensor result = invoke<"linalg_matrix_exp">(cat(rows, -2));
  return narrow(narrow(result, -2, 0, n), -1, n, n);
}

// --- tensorinv, tensorsolve

int64_t product(IntSpan sizes) {
  int64_t total = 1;
  for (int64_t size : sizes) total *= size;
  return total;
}

void tensorinv_body(const Args& args, TensorList& outs) {
  const Tensor& a = args.tensor(0);
  const int64_t ind = args.integer(1);
  WISP_CHECK(ind > 0, "Expected a strictly positive integer for 'ind', but got ", ind);
  const size_t split = static_cast<size_t>(std::min(ind, a.ndim()));
  const IntSpan first = a.sizes().first(split), rest = a.sizes().subspan(split);
  const int64_t rows = product(first), cols = product(rest);
  WISP_CHECK(rows == cols,
             "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
             "prod(self.shape[:ind]), but got ",
             cols, " != ", rows);
  const int64_t square[] = {rows, cols};
  Dims sizes(rest);
  for (int64_t size : first) sizes.push_back(size);
  const Tensors inverse = invoke_many<"linalg_inv_ex">(reshape(a, square));
  require_success(inverse[1], "inv");
  outs.push(reshape(inverse[0], sizes));
}

// The dimensions named move to the end.
Tensor moved_last(const Tensor& a, IntSpan dims) {
  Dims order, last;
  for (int64_t dim : dims) last.push_back(wrap_dim(dim, a.ndim()));
  for (int64_t i = 0; i < a.ndim(); ++i) {
    if (std::find(last.begin(), last.end(), i) == last.end()) order.push_back(i);
  }
  for (int64_t dim : last) order.push_back(dim);
  return permute(a, order);
}

void tensorsolve_body(const Args& args, TensorList& outs) {
  const Tensor& b = args.tensor(1);
  const Tensor a = args.has(2) ? moved_last(args.tensor(0), args.integers(2)) : args.tensor(0);
  const size_t split = static_cast<size_t>(std::min(b.ndim(), a.ndim()));
  const IntSpan first = a.sizes().first(split), rest = a.sizes().subspan(split);
  const int64_t rows = product(first), cols = product(rest);
  WISP_CHECK(rows == cols,
             "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
             "prod(self.shape[:other.ndim]), but got ",
             cols, " != ", rows);
  const int64_t square[] = {rows, cols}, flat[] = {-1};
  outs.push(reshape(solve(reshape(a, square), reshape(b, flat)), Dims(rest)));
}

void register_powers(Registry& r) {
  r.add(
      {.schema = "linalg_matrix_power(Tensor self, int n) -> Tensor",
       .doc =
           "The n-th power of square matrices; of the inverse if n is negative.\n\n>>> wisp.linalg.matrix_power(wisp.tensor([[1., 1.], [0., 1.]]), 3)\ntensor([[1., 3.],\n        [0., 1.]])",
       .body = matrix_power_body,
       .onnx = "+ a composition of MatMul",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "matrix_power(Tensor self, int n) -> Tensor",
       .doc =
           "`linalg.matrix_power` by an older name.\n\n>>> wisp.matrix_power(wisp.tensor([[1., 1.], [0., 1.]]), 2)\ntensor([[1., 2.],\n        [0., 1.]])",
       .body = matrix_power_body,
       .onnx = "+ a composition of MatMul",
       .traits = trait::out});
  r.add(
      {.schema = "linalg_matrix_exp(Tensor self) -> Tensor",
       .doc =
           "The exponential `I + A + A A / 2 + ...` of square matrices.\n\n>>> wisp.linalg.matrix_exp(wisp.tensor([[0., 1.], [0., 0.]]))\ntensor([[1., 1.],\n        [0., 1.]])",
       .infer = infer_matrix_exp,
       .kernel = matrix_exp_kernel,
       .vjp = {{"self", "self", matrix_exp_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "+ a composition of MatMul",
       .homes = home::linalg});
  r.add(
      {.schema = "matrix_exp(Tensor self) -> Tensor",
       .doc =
           "`linalg.matrix_exp` by an older name.\n\n>>> wisp.matrix_exp(wisp.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])",
       .body = [](const Args& args,
                  TensorList& outs) { outs.push(invoke<"linalg_matrix_exp">(args.tensor(0))); },
       .onnx = "+ a composition of MatMul"});
}

}  // namespace

void register_linalg_functions(Registry& r) {
  register_powers(r);
  r.add(
      {.schema = "linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
       .doc =
           "The diagonals of matrices, as a view.\n\n>>> wisp.linalg.diagonal(wisp.tensor([[1., 2.], [3., 4.]]))\ntensor([1., 4.])",
       .body =
           [](const Args& args, TensorList& outs) {
             outs.push(diagonal(args.tensor(0), args.integer(1), args.integer(2), args.integer(3)));
           },
       .onnx = "+ GatherElements",
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
       .doc =
           "The inverse of a tensor as a map from its last dimensions to its first `ind`.\n\n>>> wisp.linalg.tensorinv(wisp.eye(6).reshape(6, 2, 3), ind=1).shape\nwisp.Size([2, 3, 6])",
       .body = tensorinv_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
  r.add(
      {.schema = "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
       .doc =
           "X with `tensordot(A, X, X.ndim) = B`; `dims` of A are moved to its end first.\n\n>>> wisp.linalg.tensorsolve(wisp.eye(6).reshape(2, 3, 6), wisp.ones(2, 3))\ntensor([1., 1., 1., 1., 1., 1.])",
       .body = tensorsolve_body,
       .onnx = "+ a loop",
       .traits = trait::out,
       .homes = home::linalg});
}

}  // namespace wisp::ops
