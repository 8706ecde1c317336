#include "cpu/layer_norm.h"

#include <cmath>

#include "cpu/kernels/fold.h"
#include "cpu/stream.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 512;  // elements that stay in the first-level cache from loop to loop
constexpr int64_t rows_together = 4;
// Rows of no more elements are written one after the other: weight and bias stay in the nearest
// cache, and the processor fetches what lies ahead only where memory is passed through in order.
constexpr int64_t short_row = 2048;

template <class T>
const T* at(const char* data, int64_t i) {
  return data ? reinterpret_cast<const T*>(data) + i : nullptr;
}
template <class T>
T* at(char* data, int64_t i) {
  return data ? reinterpret_cast<T*>(data) + i : nullptr;
}

// Calls f(begin, end) for pieces of n elements.
template <class F>
WISP_INLINE void for_pieces(int64_t n, F f) {
  for (int64_t begin = 0; begin < n; begin += piece)
    f(begin, begin + piece < n ? begin + piece : n);
}

// Where a piece of a result is put: past the caches, if it is larger than those, by way of a
// buffer.
template <class T>
class Written {
 public:
  WISP_INLINE Written(T* out, int64_t n, bool streams)
      : place(streams ? buffer_ : out), out_(out), n_(n), streams_(streams) {}
  WISP_INLINE ~Written() {
    if (!streams_) return;
    stream_copy(reinterpret_cast<char*>(out_), reinterpret_cast<const char*>(buffer_),
                static_cast<size_t>(n_) * sizeof(T));
  }
  Written(const Written&) = delete;
  T* const place;

 private:
  alignas(64) T buffer_[piece];
  T* out_;
  int64_t n_;
  bool streams_;
};

template <class T>
struct Moments {
  T mean, rstd;
};
// Not inlined: the sums need all registers, and wait for each other where they do not get them.
template <class T>
__attribute__((noinline)) Moments<T> moments_of(const T* x, int64_t n, double eps) {
  const T mean = static_cast<T>(sum_of(x, n, [](T v) { return v; }) / static_cast<double>(n));
  const double squares = sum_of(x, n, [mean](T v) { return (v - mean) * (v - mean); });
  return {mean, static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps))};
}

template <class T>
WISP_INLINE void normalise(T* y, const T* x, const T* weight, const T* bias, int64_t begin,
                           int64_t end, const Moments<T>& of, bool streams) {
  const Written<T> to(y + begin, end - begin, streams);
  T* z = to.place - begin;
  if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) z[i] = (x[i] - of.mean) * of.rstd * weight[i] + bias[i];
    return;
  }
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) z[i] = (x[i] - of.mean) * of.rstd;
  for (int64_t i = begin; weight && i < end; ++i) z[i] *= weight[i];
  for (int64_t i = begin; bias && i < end; ++i) z[i] += bias[i];
}

// Some rows together, piece by piece: weight and bias are in the nearest cache for all of them.
template <class T>
void rows(const LayerNormCall& call, int64_t begin, int64_t end) {
  const int64_t n = call.columns;
  const T *weight = at<T>(call.weight, 0), *bias = at<T>(call.bias, 0);
  for (int64_t first = begin; first < end; first += rows_together) {
    const int64_t count = end - first < rows_together ? end - first : rows_together;
    const T* x = at<T>(call.x, first * n);
    T* y = at<T>(call.y, first * n);
    Moments<T> moments[rows_together];
    for (int64_t r = 0; r < count; ++r) {
      moments[r] = moments_of(x + r * n, n, call.eps);
      *at<T>(call.mean, first + r) = moments[r].mean;
      *at<T>(call.rstd, first + r) = moments[r].rstd;
    }
    auto write = [&](int64_t r, int64_t from, int64_t to) {
      normalise(y + r * n, x + r * n, weight, bias, from, to, moments[r], call.streams);
    };
    for (int64_t r = 0; r < count && n <= short_row; ++r)
      for_pieces(n, [&](int64_t from, int64_t to) { write(r, from, to); });
    if (n <= short_row) continue;
    for_pieces(n, [&](int64_t from, int64_t to) {
      for (int64_t r = 0; r < count; ++r) write(r, from, to);
    });
  }
}

// The means over a row of g = grad * weight and of g z, where z is the normalised row. What will be
// `written` with them (null: it is near) is asked for: that goes on in several places at once,
// which no processor sees through.
template <class T>
struct GradMeans {
  T g, gz;
};
template <class T>
WISP_INLINE GradMeans<T> grad_means(const T* grad, const T* x, const T* weight, int64_t n, T mean,
                                    T rstd, const T* written) {
  double sum = 0, sum_z = 0;
  for_pieces(n, [&](int64_t begin, int64_t end) {
    T g[piece], gz[piece];
    for (int64_t i = begin; written && i < end; i += 64 / int64_t(sizeof(T)))
      __builtin_prefetch(written + i, 1);
    for (int64_t i = begin; i < end; ++i) {
      const T weighted = weight ? grad[i] * weight[i] : grad[i];
      g[i - begin] = weighted;
      gz[i - begin] = weighted * ((x[i] - mean) * rstd);
    }
    sum += sum_of(g, end - begin, [](T v) { return v; });
    sum_z += sum_of(gz, end - begin, [](T v) { return v; });
  });
  const double count = static_cast<double>(n);
  return {static_cast<T>(sum / count), static_cast<T>(sum_z / count)};
}

// Null if all that is written stays in the caches from call to call, or goes past them.
template <class T>
WISP_INLINE const T* far_row(const LayerNormGradCall& call, int64_t row) {
  constexpr int64_t far_bytes = 8 << 20;
  const bool far = call.rows * call.columns * static_cast<int64_t>(sizeof(T)) >= far_bytes;
  return far && !call.streams ? at<T>(call.x_grad, row * call.columns) : nullptr;
}

template <class T>
WISP_INLINE void add_to_parameters(const T* grad, const T* x, int64_t begin, int64_t end, T mean,
                                   T rstd, T* weight_grad, T* bias_grad) {
  if (weight_grad && bias_grad) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      weight_grad[i] += grad[i] * ((x[i] - mean) * rstd);
      bias_grad[i] += grad[i];
    }
    return;
  }
  for (int64_t i = begin; weight_grad && i < end; ++i)
    weight_grad[i] += grad[i] * ((x[i] - mean) * rstd);
  for (int64_t i = begin; bias_grad && i < end; ++i) bias_grad[i] += grad[i];
}

// (g - mean(g) - z mean(g z)) rstd.
template <class T>
WISP_INLINE void input_grad(T* out, const T* grad, const T* x, const T* weight, int64_t begin,
                            int64_t end, T mean, T rstd, const GradMeans<T>& means, bool streams) {
  const Written<T> to(out + begin, end - begin, streams);
  T* place = to.place - begin;
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    const T weighted = weight ? grad[i] * weight[i] : grad[i];
    place[i] = (weighted - means.g - (x[i] - mean) * rstd * means.gz) * rstd;
  }
}

// What all gradients of a row are made from, and where that of the input goes.
template <class T>
struct RowGrad {
  const T *grad, *x;
  T* out;
  Moments<T> of;
  GradMeans<T> means;
};

// All gradients of as many rows as are done together, in one loop: what they give to weight and
// bias is added up in registers first. (Rows are copied: what is written might lie in them for all
// that the compiler knows.)
template <class T>
__attribute__((noinline)) void all_grads(const RowGrad<T> (&rows)[rows_together], const T* weight,
                                         int64_t begin, int64_t end, bool streams, T* weight_grad,
                                         T* bias_grad) {
  static_assert(rows_together == 4);
  const RowGrad<T> a = rows[0], b = rows[1], c = rows[2], d = rows[3];
  const int64_t n = end - begin;
  const Written<T> to_a(a.out + begin, n, streams), to_b(b.out + begin, n, streams),
      to_c(c.out + begin, n, streams), to_d(d.out + begin, n, streams);
  auto one = [&](const RowGrad<T>& row, const Written<T>& to, int64_t i, T& g_sum,
                 T& gz_sum) __attribute__((always_inline)) {
    const T g = row.grad[i], z = (row.x[i] - row.of.mean) * row.of.rstd;
    to.place[i - begin] = (g * weight[i] - row.means.g - z * row.means.gz) * row.of.rstd;
    g_sum += g;
    gz_sum += g * z;
  };
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    T g = bias_grad[i], gz = weight_grad[i];
    one(a, to_a, i, g, gz);
    one(b, to_b, i, g, gz);
    one(c, to_c, i, g, gz);
    one(d, to_d, i, g, gz);
    bias_grad[i] = g;
    weight_grad[i] = gz;
  }
}

template <class T>
void four_rows_grad(const LayerNormGradCall& call, int64_t first, T* weight_grad, T* bias_grad) {
  const int64_t n = call.columns;
  const T* weight = at<T>(call.weight, 0);
  RowGrad<T> rows[rows_together];
  for (int64_t r = 0; r < rows_together; ++r) {
    const T *grad = at<T>(call.grad, (first + r) * n), *x = at<T>(call.x, (first + r) * n),
            mean = *at<T>(call.mean, first + r), rstd = *at<T>(call.rstd, first + r);
    rows[r] = {grad,
               x,
               at<T>(call.x_grad, (first + r) * n),
               {mean, rstd},
               grad_means(grad, x, weight, n, mean, rstd, far_row<T>(call, first + r))};
  }
  for_pieces(n, [&](int64_t begin, int64_t end) {
    all_grads(rows, weight, begin, end, call.streams, weight_grad, bias_grad);
  });
}

// Some rows together: what they give to weight and bias adds up in the nearest cache.
template <class T>
void some_rows_grad(const LayerNormGradCall& call, int64_t first, int64_t count, T* weight_grad,
                    T* bias_grad) {
  const int64_t n = call.columns;
  const T *x = at<T>(call.x, first * n), *grad = at<T>(call.grad, first * n),
          *weight = at<T>(call.weight, 0), *mean = at<T>(call.mean, first),
          *rstd = at<T>(call.rstd, first);
  T* out = at<T>(call.x_grad, first * n);
  GradMeans<T> means[rows_together];
  for (int64_t r = 0; out && r < count; ++r)
    means[r] = grad_means(grad + r * n, x + r * n, weight, n, mean[r], rstd[r],
                          far_row<T>(call, first + r));
  for_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < count; ++r) {
      const T *row_grad = grad + r * n, *row = x + r * n;
      if (out) {
        input_grad(out + r * n, row_grad, row, weight, begin, end, mean[r], rstd[r], means[r],
                   call.streams);
      }
      add_to_parameters(row_grad, row, begin, end, mean[r], rstd[r], weight_grad, bias_grad);
    }
  });
}

template <class T>
void rows_grad(const LayerNormGradCall& call, int64_t begin, int64_t end, void* weight_grad,
               void* bias_grad) {
  T *of_weight = static_cast<T*>(weight_grad), *of_bias = static_cast<T*>(bias_grad);
  int64_t row = begin;
  if constexpr (std::is_same_v<T, float>) {  // for float64 it would be kernels that few use
    const bool all = call.x_grad && call.weight && weight_grad && bias_grad;
    for (; all && row + rows_together <= end; row += rows_together)
      four_rows_grad(call, row, of_weight, of_bias);
  }
  for (; row < end; row += rows_together) {
    some_rows_grad(call, row, end - row < rows_together ? end - row : rows_together, of_weight,
                   of_bias);
  }
}

}  // namespace

namespace WISP_ISA {

void fill_layer_norm(Kernels& table) {
  for_each_type<dtypes::real_math>(
      [&]<class T>() { table.layer_norm[int(dtype_of<T>)] = {rows<T>, rows_grad<T>}; });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
