#include "cpu/softmax.h"

#include <cmath>

#include "cpu/kernels/exp_sum.h"

namespace wisp::cpu {

namespace {

// What one element becomes, given the largest one and the reciprocal or logarithm of the sum.
template <class T, bool log>
WISP_INLINE T normalised(T x, T largest, T scale) {
  return log ? (x - largest) - scale : vmath::exp(x - largest) * scale;
}
template <class T, bool log>
WISP_INLINE T scale_of(double sum) {
  if (!(sum < std::numeric_limits<double>::infinity())) return std::numeric_limits<T>::quiet_NaN();
  return static_cast<T>(log ? std::log(sum) : 1 / sum);
}

template <class T, bool log>
void row(void* out, const void* in, int64_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T largest = largest_of(x, n);
  if constexpr (log) {
    const T scale = scale_of<T, log>(exponential_sum(x, n, largest));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = normalised<T, log>(x[i], largest, scale);
  } else {
    const T scale = scale_of<T, log>(exponentials(y, x, n, largest));
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

template <class T>
SoftmaxStats stats(const void* in, int64_t n) {
  const auto all = ExpSum<T>::of(static_cast<const T*>(in), n);
  return {all.largest, all.sum};
}

template <class T, bool log>
void apply(void* out, const void* in, int64_t n, const SoftmaxStats& stats) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  const T largest = static_cast<T>(stats.largest), scale = scale_of<T, log>(stats.sum);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = normalised<T, log>(x[i], largest, scale);
}

// --- Derivatives: y (grad - sum(grad y)), and grad - exp(y) sum(grad)

template <class T, bool log>
WISP_INLINE T derived(T grad, T y, T sum) {
  return log ? grad - vmath::exp(y) * sum : (grad - sum) * y;
}

template <class T, bool log>
double grad_sum(const void* grads, const void* results, int64_t n) {
  const T *grad = static_cast<const T*>(grads), *y = static_cast<const T*>(results);
  if constexpr (log) return sum_plain(grad, n);
  T products[exp_piece];
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += exp_piece) {
    const int64_t count = n - begin < exp_piece ? n - begin : exp_piece;
    for (int64_t i = 0; i < count; ++i) products[i] = grad[begin + i] * y[begin + i];
    sum += sum_plain(products, count);
  }
  return sum;
}

template <class T, bool log>
void apply_grad(void* out, const void* grads, const void* results, int64_t n, double total) {
  const T *grad = static_cast<const T*>(grads), *y = static_cast<const T*>(results),
          sum = static_cast<T>(total);
  T* x_grad = static_cast<T*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) x_grad[i] = derived<T, log>(grad[i], y[i], sum);
}

template <class T, bool log>
void row_grad(void* out, const void* grads, const void* results, int64_t n) {
  apply_grad<T, log>(out, grads, results, n, grad_sum<T, log>(grads, results, n));
}

// --- Neighbouring lines

constexpr int64_t rows_at_once = 64;  // added up in the element type; what they give, in double

// Calls f(first, count) for rows, four at a time, the last of them one by one; counts are
// constants.
template <class F>
WISP_INLINE void for_fours(int64_t rows, F f) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) f(r, std::integral_constant<int64_t, 4>());
  for (; r < rows; ++r) f(r, std::integral_constant<int64_t, 1>());
}

template <class T, bool log>
void columns(void* out, const void* in, int64_t n, int64_t rows, int64_t step) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  T largest[max_softmax_columns], scale[max_softmax_columns], part[max_softmax_columns];
  double sum[max_softmax_columns];
  for (int64_t i = 0; i < n; ++i) {
    largest[i] = -std::numeric_limits<T>::infinity();
    sum[i] = 0;
  }
  for_fours(rows, [&](int64_t r, auto count) {
    const T* line = x + r * step;
    for (int64_t i = 0; i < n; ++i) {
      T most = largest[i];
      for (int64_t k = 0; k < count; ++k)
        most = line[i + k * step] > most ? line[i + k * step] : most;
      largest[i] = most;
    }
  });
  for (int64_t first = 0; first < rows; first += rows_at_once) {
    for (int64_t i = 0; i < n; ++i) part[i] = 0;
    for (int64_t r = first; r < rows && r < first + rows_at_once; ++r) {
      const T* line = x + r * step;
      T* kept = y + r * step;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        const T exponential = vmath::exp_below(line[i] - largest[i]);
        part[i] += exponential;
        if constexpr (!log) kept[i] = exponential;
      }
    }
    for (int64_t i = 0; i < n; ++i) sum[i] += static_cast<double>(part[i]);
  }
  for (int64_t i = 0; i < n; ++i) scale[i] = scale_of<T, log>(sum[i]);
  for (int64_t r = 0; r < rows; ++r) {
    const T* line = x + r * step;
    T* to = y + r * step;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i)
      to[i] = log ? (line[i] - largest[i]) - scale[i] : to[i] * scale[i];
  }
}

template <class T, bool log>
void columns_grad(void* out, const void* grads, const void* results, int64_t n, int64_t rows,
                  int64_t step) {
  const T *grad = static_cast<const T*>(grads), *y = static_cast<const T*>(results);
  T* x_grad = static_cast<T*>(out);
  double total[max_softmax_columns];
  T sum[max_softmax_columns];
  for (int64_t i = 0; i < n; ++i) total[i] = 0;
  for (int64_t first = 0; first < rows; first += rows_at_once) {
    for (int64_t i = 0; i < n; ++i) sum[i] = 0;
    for_fours(rows - first < rows_at_once ? rows - first : rows_at_once,
              [&](int64_t r, auto count) {
                const T *g = grad + (first + r) * step, *v = y + (first + r) * step;
                for (int64_t i = 0; i < n; ++i) {
                  T part = 0;
                  for (int64_t k = 0; k < count; ++k)
                    part += log ? g[i + k * step] : g[i + k * step] * v[i + k * step];
                  sum[i] += part;
                }
              });
    for (int64_t i = 0; i < n; ++i) total[i] += static_cast<double>(sum[i]);
  }
  for (int64_t i = 0; i < n; ++i) sum[i] = static_cast<T>(total[i]);
  for (int64_t r = 0; r < rows; ++r) {
    const T *g = grad + r * step, *v = y + r * step;
    T* d = x_grad + r * step;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] = derived<T, log>(g[i], v[i], sum[i]);
  }
}

template <class T, bool log>
SoftmaxKernel make_softmax() {
  return {row<T, log>, row_grad<T, log>, columns<T, log>,  columns_grad<T, log>,
          stats<T>,    apply<T, log>,    grad_sum<T, log>, apply_grad<T, log>};
}

}  // namespace

namespace WISP_ISA {

void fill_softmax(Kernels& table) {
  for_each_type<dtypes::real_math>([&]<class T>() {
    table.softmax[0][int(dtype_of<T>)] = make_softmax<T, false>();
    table.softmax[1][int(dtype_of<T>)] = make_softmax<T, true>();
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
