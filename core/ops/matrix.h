// Tensors as stacks of matrices, for the kernels of matrix products.
#pragma once

#include "cpu/gemm.h"
#include "dispatch/op_def.h"
#include "ops/raw.h"

namespace wisp::ops {

// The last two dimensions.
inline cpu::Matrix matrix_of(const Tensor& t) {
  const int64_t n = t.ndim();
  return {t->bytes(), t->size(n - 2), t->size(n - 1), t->stride(n - 2), t->stride(n - 1)};
}
inline cpu::Matrix transposed(const cpu::Matrix& m) {
  return {m.data, m.cols, m.rows, m.col, m.row};
}
// One column, and one row.
inline cpu::Matrix column_of(const Tensor& t) {
  return {t->bytes(), t->size(0), 1, t->stride(0), 1};
}
inline cpu::Matrix row_of(const Tensor& t) { return {t->bytes(), 1, t->size(0), 1, t->stride(0)}; }

// Fills `out` with what a product is added to. A row for all rows of a small result is the common
// case.
inline void start_with(const Tensor& out, const Tensor& term) {
  const int64_t cols = out.ndim() > 0 ? out.size(-1) : 1;
  const bool row = term.ndim() == 1 && term.numel() == cols && cols <= 64;
  if (!row || !term.is_contiguous() || !out.is_contiguous() || out.dtype() != term.dtype())
    return copy_raw(out, term);
  const size_t bytes = static_cast<size_t>(cols) * out->item_size();
  char *at = out->bytes(), *end = at + static_cast<size_t>(out.numel()) * out->item_size();
  for (; at < end; at += bytes) std::memcpy(at, term->bytes(), bytes);
}

inline void check_same_dtype(const Args& args, const Tensor& a, const Tensor& b) {
  WISP_CHECK(a.dtype() == b.dtype(), args.name(),
             "(): expected m1 and m2 to have the same dtype, but got: ", name(a.dtype()),
             " != ", name(b.dtype()));
}
inline void check_number_dtype(const Args& args, DType dtype) {
  if (WISP_UNLIKELY(dtype == DType::bool_)) fail_not_implemented(args.name(), dtype);
}
// Rows and columns of two matrices, which may be the last two dimensions of stacks.
inline void check_product(const Args& args, int64_t m, int64_t k, int64_t k2, int64_t n) {
  WISP_CHECK(k == k2, args.name(), "(): mat1 and mat2 shapes cannot be multiplied (", m, "x", k,
             " and ", k2, "x", n, ")");
}

}  // namespace wisp::ops
