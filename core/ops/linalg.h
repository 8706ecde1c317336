// Stacks of matrices for the kernels of linear algebra: checks, layouts, and walking over them.
#pragma once

#include <cmath>

#include "base/parallel.h"
#include "cpu/lapack.h"
#include "dispatch/op_def.h"
#include "ops/matrix.h"

namespace wisp::ops {

namespace lapack = cpu::lapack;

// --- arguments. Messages start with `who`: "linalg.inv: The input tensor A ..."

void check_matrices(std::string_view who, const Tensor& t, const char* what = "A");
void check_square(std::string_view who, const Tensor& t, const char* what = "A");
// float32, float64 or complex.
void check_math_dtype(std::string_view who, const Tensor& t);
void check_same_type(std::string_view who, const Tensor& a, const Tensor& b);

// All dimensions but the last two, or the last.
inline IntSpan batch_of(const Tensor& t, int64_t last = 2) {
  return t.sizes().first(static_cast<size_t>(t.ndim() - last));
}
Dims with_last(IntSpan batch, std::initializer_list<int64_t> last);

// A result of matrices stored column by column, as LAPACK writes them; and one of rows.
TensorSpec& push_columns(Infer& infer, IntSpan batch, int64_t rows, int64_t cols, DType dtype);
TensorSpec& push_batch(Infer& infer, IntSpan batch, std::initializer_list<int64_t> last,
                       DType dtype);

// Fails with the text that belongs to the first entry of `info` that is not zero. `who` decides
// which: it is the function that was called, "linalg.inv".
void check_info(const Tensor& info, std::string_view who);
// The same as an operator, for composites: they see no memory.
void require_success(const Tensor& info, const char* who);

// The gradient of A, given its pseudoinverse P and that one's gradient.
Tensor pinv_grad(const Tensor& a, const Tensor& p, const Tensor& grad);

// --- kernels

// The distance of columns: LAPACK wants at least 1.
inline int64_t lead_of(int64_t rows) { return std::max<int64_t>(rows, 1); }

// P L U of every matrix of `a`, with LAPACK's codes.
void factor_lu(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& info);

// The matrices of a tensor in the order of `batch`, repeated along dimensions it lacks.
class Matrices {
 public:
  explicit Matrices(const Tensor& t) : Matrices(t, batch_of(t)) {}
  Matrices(const Tensor& t, IntSpan batch);
  cpu::Matrix operator[](int64_t i) const;
  int64_t count() const { return count_; }

 private:
  cpu::Matrix first_;
  Dims sizes_, strides_;  // in bytes
  int64_t count_;
};

// f(begin, end) over a batch: in parallel if there is enough to do. `work` is about the number of
// operations on one matrix.
template <class F>
void over_batch(int64_t count, int64_t work, F f) {
  constexpr int64_t piece = 1 << 16, each = 256;  // what every matrix takes besides
  parallel_for(count, std::max<int64_t>(1, piece / (work + each)), f);
}

// Matrix number i of a result made by push_columns or push_batch.
template <class T>
T* matrix_at(const Tensor& t, int64_t i) {
  const int64_t n = t.ndim();
  return t.data<T>() + i * t->size(n - 2) * t->size(n - 1);
}
template <class T>
T* vector_at(const Tensor& t, int64_t i) {
  return t.data<T>() + i * t->size(t.ndim() - 1);
}

// Matrices that are only read, column by column: in place if they are stored so, else a copy.
template <class T>
class ColumnReader {
 public:
  explicit ColumnReader(int64_t elements) : copy_(elements) {}
  T* operator()(const cpu::Matrix& matrix) const {
    if (matrix.row == 1 && matrix.col == matrix.rows) return reinterpret_cast<T*>(matrix.data);
    lapack::load(matrix, copy_.data(), lead_of(matrix.rows));
    return copy_.data();
  }

 private:
  cpu::Scratch<T> copy_;
};

template <class T>
bool is_finite(T value) {
  if constexpr (lapack::is_complex<T>) {
    return std::isfinite(value.re) && std::isfinite(value.im);
  } else {
    return std::isfinite(value);
  }
}

// Vectors as matrices of one column.
inline Tensor as_columns(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  sizes.push_back(1);
  strides.push_back(1);
  return t.alias(sizes, strides, t->offset());
}

}  // namespace wisp::ops
