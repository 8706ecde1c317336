#include "cpu/gemm.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/parallel.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/copy.h"
#include "cpu/gemm_blas.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/odometer.h"
#include "cpu/packed_gemm.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

Matrix transposed(const Matrix& m) { return {m.data, m.cols, m.rows, m.col, m.row}; }

double work_of(const Matrix& a, const Matrix& c) {
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.cols);
}

// A copy with consecutive rows, each padded with zeros so that whole vectors can be read.
template <class T>
class Packed {
 public:
  explicit Packed(const Matrix& m)
      : stride_((m.cols + gemm_kernels_of<T>().width - 1) / gemm_kernels_of<T>().width *
                gemm_kernels_of<T>().width),
        data_(m.rows * stride_ <= inline_size ? inline_ : heap_.emplace(m.rows * stride_).data()) {
    const T* source = reinterpret_cast<const T*>(m.data);
    if (m.col == 1) {
      gemm_kernels_of<T>().pack(source, m.row, data_, stride_, m.rows, m.cols);
    } else if (m.row == 1) {
      gemm_kernels_of<T>().transpose(source, m.col, data_, stride_, m.rows, m.cols);
      pad(m);
    } else {
      gather(source, m);
      pad(m);
    }
  }
  const T* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  void gather(const T* source, const Matrix& m) {
    for (int64_t i = 0; i < m.rows; ++i) {
      T* row = data_ + i * stride_;
      for (int64_t j = 0; j < m.cols; ++j) row[j] = source[i * m.row + j * m.col];
    }
  }
  void pad(const Matrix& m) {
    for (int64_t i = 0; i < m.rows && stride_ > m.cols; ++i) {
      std::fill(data_ + i * stride_ + m.cols, data_ + (i + 1) * stride_, T(0));
    }
  }

  static constexpr int64_t inline_size = 4096;
  int64_t stride_;
  std::optional<Scratch<T>> heap_;
  T inline_[inline_size];
  T* data_;
};

template <class T>
void small_product(const Matrix& a, const Matrix& b, const Matrix& c, T alpha, T beta) {
  const auto& kernel = gemm_kernels_of<T>();
  const T* ap = reinterpret_cast<const T*>(a.data);
  T* cp = reinterpret_cast<T*>(c.data);
  if (b.col == 1 && (kernel.masks || b.cols % kernel.width == 0)) {
    kernel.small(ap, a.row, a.col, reinterpret_cast<const T*>(b.data), b.row, cp, c.row, a.rows,
                 b.cols, a.cols, alpha, beta);
    return;
  }
  const Packed<T> packed(b);
  kernel.small(ap, a.row, a.col, packed.data(), packed.stride(), cp, c.row, a.rows, b.cols, a.cols,
               alpha, beta);
}

// Whether rows of a product that is not small are shared out, each thread working on the right
// matrix as it is. By measurement on processors with AVX-512: as long as a panel of that stays in
// the first-level cache, this is as fast as what BLAS does, or faster.
bool prefers_rows(const Matrix& a, const Matrix& c) {
  const auto& kernel = kernels().gemm_f32;
  return kernel.masks && c.cols % kernel.width == 0 && a.cols <= 128 &&
         work_of(a, c) <= 4 * small_gemm_work;
}

void product_by_rows(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta) {
  const auto& kernel = kernels().gemm_f32;
  std::optional<Packed<float>> packed;
  if (b.col != 1) packed.emplace(b);
  const float* bp = packed ? packed->data() : reinterpret_cast<const float*>(b.data);
  const int64_t b_row = packed ? packed->stride() : b.row;
  const float* ap = reinterpret_cast<const float*>(a.data);
  float* cp = reinterpret_cast<float*>(c.data);
  const int64_t pieces = a.rows >= 32 ? 4 : 2;
  parallel_for(a.rows, (a.rows + pieces - 1) / pieces, [&](int64_t begin, int64_t end) {
    kernel.small(ap + begin * a.row, a.row, a.col, bp, b_row, cp + begin * c.row, c.row,
                 end - begin, b.cols, a.cols, alpha, beta);
  });
}

// y = beta * y + alpha * A x for rows of A that are consecutive.
template <class T>
void times_vector_by_rows(const Matrix& a, const Matrix& x, const Matrix& y, T alpha, T beta,
                          int64_t grain) {
  const T* ap = reinterpret_cast<const T*>(a.data);
  const T* xp = reinterpret_cast<const T*>(x.data);
  T* yp = reinterpret_cast<T*>(y.data);
  std::optional<Scratch<T>> gathered;
  if (x.row != 1 && x.rows > 1) {
    gathered.emplace(x.rows);
    for (int64_t i = 0; i < x.rows; ++i) (*gathered)[i] = xp[i * x.row];
    xp = gathered->data();
  }
  const bool far = GemmKernels<T>::is_far(a.rows * a.cols);
  parallel_for(a.rows, grain, [&](int64_t begin, int64_t end) {
    gemm_kernels_of<T>().gemv_rows(ap + begin * a.row, a.row, xp, yp + begin * y.row, y.row,
                                   end - begin, a.cols, alpha, beta, far);
  });
}

// The same for consecutive columns.
template <class T>
void times_vector_by_columns(const Matrix& a, const Matrix& x, const Matrix& y, T alpha, T beta,
                             int64_t grain) {
  const T* ap = reinterpret_cast<const T*>(a.data);
  const T* xp = reinterpret_cast<const T*>(x.data);
  T* yp = reinterpret_cast<T*>(y.data);
  const bool scatter = y.row != 1;
  const Scratch<T> gathered(scatter ? y.rows : 0);
  T* sums = scatter ? gathered.data() : yp;
  for (int64_t i = 0; i < y.rows && scatter && beta != T(0); ++i) sums[i] = yp[i * y.row];
  // Long pieces of columns: they are read one after the other, far apart.
  const int64_t piece = std::clamp<int64_t>(a.rows / 8, 64, 1024);
  parallel_for(a.rows, std::max<int64_t>(grain, piece), [&](int64_t begin, int64_t end) {
    gemm_kernels_of<T>().gemv_columns(ap + begin, a.col, xp, x.row, sums + begin, end - begin,
                                      a.cols, alpha, beta);
  });
  for (int64_t i = 0; i < y.rows && scatter; ++i) yp[i * y.row] = sums[i];
}

template <class T>
void times_vector(const Matrix& a, const Matrix& x, const Matrix& y, T alpha, T beta) {
  // Small pieces, so that all threads have their share, but together enough to wake them for.
  const bool alone = a.rows * a.cols <= 1 << 16;
  const int64_t grain = alone ? a.rows : std::max<int64_t>(8, (1 << 14) / a.cols / 16 * 16);
  if (a.col == 1 || a.cols == 1) return times_vector_by_rows<T>(a, x, y, alpha, beta, grain);
  if (a.row == 1 || a.rows == 1) return times_vector_by_columns<T>(a, x, y, alpha, beta, grain);
  const Scratch<T> dense(a.rows * a.cols);
  const Matrix copy{reinterpret_cast<char*>(dense.data()), a.rows, a.cols, a.cols, 1};
  const int64_t sizes[] = {a.rows, a.cols}, from[] = {a.row, a.col}, to[] = {a.cols, 1};
  cpu::copy(sizes, {copy.data, to, dtype_of<T>}, {a.data, from, dtype_of<T>});
  times_vector_by_rows<T>(copy, x, y, alpha, beta, grain);
}

// What alpha and beta are for matrices of T.
template <class T>
using Factor = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

constexpr double integer_grain_work = 1 << 18;  // multiplications a thread makes at once

// A product without terms: beta * C.
template <class T>
void scale(const Matrix& c, Factor<T> beta) {
  T* data = reinterpret_cast<T*>(c.data);
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      T& value = data[i * c.row + j * c.col];
      value = beta == Factor<T>(0) ? T(0) : static_cast<T>(value * beta);
    }
  }
}

// C's rows are consecutive. They are shared out, or its columns where those are far more.
void integer_product(int64_t item, const Matrix& a, const Matrix& b, const Matrix& c, int64_t alpha,
                     int64_t beta) {
  if (c.cols == 1 && c.rows > 1 && c.row == 1 && a.col != 1) {  // a row is faster
    return integer_product(item, transposed(b), transposed(a), transposed(c), alpha, beta);
  }
  const auto kernel = kernels().integer_gemm[std::countr_zero(static_cast<size_t>(item))];
  const bool tall = 4 * c.rows >= c.cols;
  const int64_t n = tall ? c.rows : c.cols, multiple = tall ? 32 : 128;
  const double each = work_of(a, c) / static_cast<double>(n);
  const auto grain = std::max(multiple, static_cast<int64_t>(integer_grain_work / each));
  parallel_for(n, even_grain(n, grain, multiple), [&](int64_t begin, int64_t end) {
    const int64_t row = tall ? begin * item : 0, col = tall ? 0 : begin * item;
    kernel({.a = a.data + row * a.row,
            .a_row = a.row,
            .a_col = a.col,
            .b = b.data + col * b.col,
            .b_row = b.row,
            .b_col = b.col,
            .c = c.data + row * c.row + col,
            .c_row = c.row,
            .rows = tall ? end - begin : c.rows,
            .cols = tall ? c.cols : end - begin,
            .depth = a.cols,
            .alpha = alpha,
            .beta = beta});
  });
}

template <class T>
void product(const Matrix& a, const Matrix& b, const Matrix& c, Factor<T> alpha, Factor<T> beta) {
  if (c.rows == 0 || c.cols == 0) return;
  if (a.cols == 0) return scale<T>(c, beta);
  if (c.col != 1 && c.cols > 1)
    return product<T>(transposed(b), transposed(a), transposed(c), alpha, beta);
  if constexpr (std::is_integral_v<T>) {
    integer_product(sizeof(T), a, b, c, alpha, beta);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const bool column = c.cols == 1 && c.row == 1;  // a row is faster
    column ? bfloat_product(transposed(b), transposed(a), transposed(c), alpha, beta)
           : bfloat_product(a, b, c, alpha, beta);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (c.cols == 1) return times_vector<T>(a, b, c, alpha, beta);
      if (c.rows == 1)
        return times_vector<T>(transposed(b), transposed(a), transposed(c), alpha, beta);
      if (work_of(a, c) <= small_gemm_work) return small_product<T>(a, b, c, alpha, beta);
    }
    if constexpr (std::is_same_v<T, float>) {
      if (prefers_packed(a, b, c)) return packed_gemm(a, b, c, alpha, beta);
      if (prefers_rows(a, c)) return product_by_rows(a, b, c, alpha, beta);
    }
    blas_gemm<T>(a, b, c, alpha, beta);
  }
}

// A float32 copy of a float16 matrix.
class Widened {
 public:
  explicit Widened(const Matrix& m, bool filled = true)
      : data_(m.rows * m.cols),
        matrix_{reinterpret_cast<char*>(data_.data()), m.rows, m.cols, m.cols, 1} {
    if (filled) move(matrix_, DType::float32, m, DType::float16);
  }
  const Matrix& matrix() const { return matrix_; }
  void round_to(const Matrix& m) const { move(m, DType::float16, matrix_, DType::float32); }

 private:
  static void move(const Matrix& to, DType to_dtype, const Matrix& from, DType from_dtype) {
    const int64_t sizes[] = {to.rows, to.cols}, out[] = {to.row, to.col},
                  in[] = {from.row, from.col};
    cpu::copy(sizes, {to.data, out, to_dtype}, {from.data, in, from_dtype});
  }
  Scratch<float> data_;
  Matrix matrix_;
};

void half_product(const Matrix& a, const Matrix& b, const Matrix& c, float alpha, float beta) {
  const Widened left(a), right(b), out(c, beta != 0);
  product<float>(left.matrix(), right.matrix(), out.matrix(), alpha, beta);
  out.round_to(c);
}

template <class T>
void any_product(const Matrix& a, const Matrix& b, const Matrix& c, Scalar alpha, Scalar beta) {
  if constexpr (std::is_same_v<T, Half>) {
    half_product(a, b, c, alpha.to<float>(), beta.to<float>());
  } else {
    product<T>(a, b, c, alpha.to<Factor<T>>(), beta.to<Factor<T>>());
  }
}

// Products that share B and whose A and C lie below one another are one product of more rows.
void fold(Stack& stack, Matrix& a, Matrix& c) {
  while (!stack.sizes.empty()) {
    const size_t last = stack.sizes.size() - 1;
    const int64_t size = stack.sizes[last];
    const bool below = stack.a[last] == a.rows * a.row && stack.c[last] == c.rows * c.row;
    if (size != 1 && (stack.b[last] != 0 || (!below && a.rows != 1))) return;
    if (size != 1) {
      if (a.rows == 1) a.row = stack.a[last], c.row = stack.c[last];
      a.rows *= size;
      c.rows *= size;
    }
    for (Dims* dims : {&stack.sizes, &stack.a, &stack.b, &stack.c}) dims->pop_back();
  }
}

int64_t count(const Stack& stack) {
  int64_t n = 1;
  for (int64_t size : stack.sizes) n *= size;
  return n;
}

// Where the matrices of the products from number `begin` on lie, one after the other.
Odometer<3> places(const Stack& stack, const Matrix& a, const Matrix& b, const Matrix& c,
                   int64_t begin, int64_t item) {
  Odometer<3> at{
      .counts = stack.sizes, .steps = {stack.a, stack.b, stack.c}, .at = {a.data, b.data, c.data}};
  for (Dims& steps : at.steps) {
    for (int64_t& step : steps) step *= item;
  }
  at.seek(begin);
  return at;
}

// Consecutive rows of few elements times a vector: less work than finding out what a product is.
bool is_tiny(const Matrix& a, const Matrix& x) {
  return x.cols == 1 && a.col == 1 && x.row == 1 && a.cols > 0 && a.rows * a.cols <= 1 << 10;
}

template <class T>
void tiny_products(Odometer<3> at, int64_t n, const Matrix& a, const Matrix& c, T alpha, T beta) {
  const auto multiply = gemm_kernels_of<T>().gemv_rows;
  for (; n > 0; --n, at.advance()) {
    multiply(reinterpret_cast<const T*>(at.at[0]), a.row, reinterpret_cast<const T*>(at.at[1]),
             reinterpret_cast<T*>(at.at[2]), c.row, a.rows, a.cols, alpha, beta, false);
  }
}

template <class T>
void products(const Stack& stack, const Matrix& a, const Matrix& b, const Matrix& c, Scalar alpha,
              Scalar beta) {
  const int64_t n = count(stack);
  auto run = [&](int64_t begin, int64_t end) {
    Odometer<3> at = places(stack, a, b, c, begin, sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      if (is_tiny(a, b)) return tiny_products(at, end - begin, a, c, alpha.to<T>(), beta.to<T>());
    }
    Matrix left = a, right = b, out = c;
    for (int64_t i = begin; i < end; ++i, at.advance()) {
      left.data = at.at[0], right.data = at.at[1], out.data = at.at[2];
      any_product<T>(left, right, out, alpha, beta);
    }
  };
  // A few large products are cut into pieces each; many are shared out whole.
  const double work = std::max(work_of(a, c), static_cast<double>(c.rows * c.cols)) + 64;
  if (n < 8 && work > 1e6) return run(0, n);
  parallel_for(n, std::max<int64_t>(1, static_cast<int64_t>(131072 / work)), run);
}

}  // namespace

void gemm(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, Scalar alpha,
          Scalar beta) {
  visit<dtypes::number>(dtype, "matrix product",
                        [&]<class T>() { any_product<T>(a, b, c, alpha, beta); });
}

void gemm(DType dtype, const Stack& stack, const Matrix& a, const Matrix& b, const Matrix& c,
          Scalar alpha, Scalar beta) {
  Stack rest = stack;
  Matrix left = a, out = c;
  fold(rest, left, out);
  if (rest.sizes.empty()) return gemm(dtype, left, b, out, alpha, beta);
  if (out.rows == 1 && out.cols > 1) {  // vectors are on the right
    return gemm(dtype, {rest.sizes, rest.b, rest.a, rest.c}, transposed(b), transposed(left),
                transposed(out), alpha, beta);
  }
  visit<dtypes::number>(dtype, "matrix product",
                        [&]<class T>() { products<T>(rest, left, b, out, alpha, beta); });
}

bool is_made_by_rows(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c) {
  if (c.rows < 2 || c.cols < 2 || a.cols == 0) return false;
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  if (work_of(a, c) <= small_gemm_work) return true;
  return dtype == DType::float32 &&
         (prefers_packed(a, b, c) ? packed_by_rows(a, b) : prefers_rows(a, c));
}

void gemm_of_rows(DType dtype, const Matrix& a, const Matrix& b, const Matrix& c, bool adds) {
  if (dtype == DType::float32) {
    small_product<float>(a, b, c, 1, adds ? 1 : 0);
  } else {
    small_product<double>(a, b, c, 1, adds ? 1 : 0);
  }
}

namespace {

// As times_vector_by_columns; a few rows at once, while there are that many. Returns how many.
template <class T>
size_t rows_by_columns(std::span<char* const> lefts, const Matrix& left, const Matrix& b, T* c,
                       bool adds) {
  constexpr size_t some = GemmKernels<T>::rows_at_once;
  const bool by_columns = b.col == 1 && b.row != 1 && b.rows > 1 && b.cols > 1;
  size_t done = 0;
  for (; by_columns && done + some <= lefts.size(); done += some) {
    const T* x[some];
    T* y[some];
    for (size_t r = 0; r < some; ++r) {
      x[r] = reinterpret_cast<const T*>(lefts[done + r]);
      y[r] = c + static_cast<int64_t>(done + r) * b.cols;
      if (!adds) std::fill_n(y[r], b.cols, T(0));
    }
    gemm_kernels_of<T>().gemv_columns_of_rows(reinterpret_cast<const T*>(b.data), b.row, x,
                                              left.col, y, b.cols, b.rows);
  }
  return done;
}

}  // namespace

void gemm_of_single_rows(DType dtype, std::span<char* const> lefts, const Matrix& left,
                         const Matrix& b, char* c, bool adds) {
  size_t done = 0;
  if (dtype == DType::float32)
    done = rows_by_columns(lefts, left, b, reinterpret_cast<float*>(c), adds);
  if (dtype == DType::float64)
    done = rows_by_columns(lefts, left, b, reinterpret_cast<double*>(c), adds);
  const int64_t bytes = b.cols * static_cast<int64_t>(item_size(dtype));
  for (; done < lefts.size(); ++done) {
    Matrix a = left;
    a.data = lefts[done];
    gemm(dtype, a, b, {c + static_cast<int64_t>(done) * bytes, 1, b.cols, b.cols, 1}, 1,
         adds ? 1 : 0);
  }
}

bool gemm_onto_row(DType dtype, const Stack& stack, const Matrix& a, const Matrix& b,
                   const Matrix& c, const char* row) {
  if (dtype != DType::float32 && dtype != DType::bfloat16) return false;
  Stack rest = stack;
  Matrix left = a, out = c;
  fold(rest, left, out);
  if (!rest.sizes.empty()) return false;
  if (dtype == DType::bfloat16) {
    if (out.cols == 1 || left.cols == 0) return false;
    bfloat_product(left, b, out, 1, 0, reinterpret_cast<const BFloat16*>(row));
    return true;
  }
  if (!prefers_packed(left, b, out)) return false;
  packed_gemm(left, b, out, 1, 0, reinterpret_cast<const float*>(row));
  return true;
}

namespace {

// Sums are made of pieces of this many terms, whoever computes them.
constexpr int64_t dot_piece = 1 << 15;

template <class T>
using Sum =
    std::conditional_t<detail::is_half_type<T> || std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, Complex<float>>, Complex<double>, T>>;

template <class T>
Sum<T> dot_of_piece(int64_t n, const T* x, int64_t x_step, const T* y, int64_t y_step,
                    bool conjugate) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x_step == 1 && y_step == 1) {
      T sum;
      gemm_kernels_of<T>().gemv_rows(x, n, y, &sum, 1, 1, n, T(1), T(0), false);
      return sum;
    }
  }
  Sum<T> sum(0);
  for (int64_t i = 0; i < n; ++i) {
    auto left = convert<Sum<T>>(x[i * x_step]);
    if constexpr (detail::is_complex_type<T>) left = conjugate ? conj(left) : left;
    sum = static_cast<Sum<T>>(sum + left * convert<Sum<T>>(y[i * y_step]));
  }
  return sum;
}

}  // namespace

void dot(DType dtype, int64_t n, const Vector& x, const Vector& y, bool conjugate, char* out) {
  visit<dtypes::number>(dtype, "dot", [&]<class T>() {
    const T *xp = reinterpret_cast<const T*>(x.data), *yp = reinterpret_cast<const T*>(y.data);
    const int64_t pieces = std::max<int64_t>(1, (n + dot_piece - 1) / dot_piece);
    const Scratch<Sum<T>> sums(pieces);
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t start = i * dot_piece;
        sums[i] = dot_of_piece<T>(std::min(dot_piece, n - start), xp + start * x.step, x.step,
                                  yp + start * y.step, y.step, conjugate);
      }
    });
    Sum<T> total = sums[0];
    for (int64_t i = 1; i < pieces; ++i) total = static_cast<Sum<T>>(total + sums[i]);
    *reinterpret_cast<T*>(out) = convert<T>(total);
  });
}

}  // namespace wisp::cpu
