// Matrix products C = beta * C + alpha * A * B.
#pragma once

#include "base/scalar.h"
#include "base/small_vector.h"

namespace wisp::cpu {

// A matrix in memory: element (i, j) is data[i * row + j * col].
struct Matrix {
  char* data;
  int64_t rows, cols;
  int64_t row, col;  // strides in elements
};

// Many products of one shape: their number in each direction, and how far A, B and C lie apart
// there (0: the same matrix each time).
struct Stack {
  Dims sizes, a, b, c;
};

// For all dtypes but bool. C must not overlap A, B or itself, and be consecutive along one of its
// dimensions. A and B may have any strides. If beta is 0, what C held is not read.
void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, Scalar alpha = 1,
          Scalar beta = 0);
void gemm(DType dtype, const Stack& stack, const Matrix& a, const Matrix& b, const Matrix& c,
          Scalar alpha = 1, Scalar beta = 0);

// Products of no more multiplications than this are made by one thread.
constexpr int64_t small_gemm_work = 64 * 64 * 64;
// Whether each row of such a product is computed alike, whatever rows are beside it. C's rows are
// consecutive.
bool is_made_by_rows(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c);
// C = A * B, or C + A * B, for some rows (maybe one) of such a product: the same to the last bit.
void gemm_of_rows(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool adds);

// Products of single rows with one B, each as it would be by itself: C[i] = beta * C[i] + A[i] * B.
// A[i] is a row at lefts[i], with steps as in `left`; rows of C are consecutive.
void gemm_of_single_rows(DType dtype, std::span<char* const> lefts, const Matrix& left,
                         const Matrix& b, char* c, bool adds);

// C = A * B + row, the row (consecutive) added to every row of C. False, and nothing is done, where
// that is no faster than to write the rows first and then to add the product with beta 1.
bool gemm_onto_row(DType dtype, const Stack& stack, const Matrix& a, const Matrix& b,
                   const Matrix& c, const char* row);

// n elements, `step` elements apart.
struct Vector {
  const char* data;
  int64_t step;
};

// Writes the sum of x[i] * y[i] to `out`, or of conj(x[i]) * y[i].
void dot(DType dtype, int64_t n, const Vector& x, const Vector& y, bool conjugate, char* out);

}  // namespace wisp::cpu
