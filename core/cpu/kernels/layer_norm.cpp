#include "cpu/layer_norm.h"

#include <cmath>

#include "cpu/kernels/fold.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1024;  // elements whose products stay in the first-level cache

template <class T>
const T* at(const char* data, int64_t i) {
  return data ? reinterpret_cast<const T*>(data) + i : nullptr;
}
template <class T>
T* at(char* data, int64_t i) {
  return data ? reinterpret_cast<T*>(data) + i : nullptr;
}

template <class T>
void row(const LayerNormCall& call, int64_t index) {
  const int64_t n = call.columns;
  const T *x = at<T>(call.x, index * n), *weight = at<T>(call.weight, 0),
          *bias = at<T>(call.bias, 0);
  T* y = at<T>(call.y, index * n);
  const T mean = static_cast<T>(sum_of(x, n, [](T v) { return v; }) / static_cast<double>(n));
  const double squares = sum_of(x, n, [mean](T v) { return (v - mean) * (v - mean); });
  const T rstd = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + call.eps));
  *at<T>(call.mean, index) = mean;
  *at<T>(call.rstd, index) = rstd;
  if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
  for (int64_t i = 0; weight && i < n; ++i) y[i] *= weight[i];
  for (int64_t i = 0; bias && i < n; ++i) y[i] += bias[i];
}

// With g = grad * weight and the normalised z: (g - mean(g) - z mean(g z)) rstd.
template <class T>
void row_grad(const LayerNormGradCall& call, int64_t index) {
  const int64_t n = call.columns;
  const T *x = at<T>(call.x, index * n), *grad = at<T>(call.grad, index * n),
          *weight = at<T>(call.weight, 0);
  T* out = at<T>(call.x_grad, index * n);
  const T mean = *at<T>(call.mean, index), rstd = *at<T>(call.rstd, index);
  double sum = 0, sum_z = 0;
  T g[piece], gz[piece];
  for (int64_t begin = 0; begin < n; begin += piece) {
    const int64_t count = n - begin < piece ? n - begin : piece;
    for (int64_t i = 0; i < count; ++i)
      g[i] = weight ? grad[begin + i] * weight[begin + i] : grad[begin + i];
    for (int64_t i = 0; i < count; ++i) gz[i] = g[i] * ((x[begin + i] - mean) * rstd);
    sum += sum_of(g, count, [](T v) { return v; });
    sum_z += sum_of(gz, count, [](T v) { return v; });
  }
  const T mean_g = static_cast<T>(sum / static_cast<double>(n));
  const T mean_gz = static_cast<T>(sum_z / static_cast<double>(n));
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T weighted = weight ? grad[i] * weight[i] : grad[i];
    out[i] = (weighted - mean_g - (x[i] - mean) * rstd * mean_gz) * rstd;
  }
}

template <class T>
void add_parameter_grads(const LayerNormGradCall& call, int64_t index, void* weights,
                         void* biases) {
  const int64_t n = call.columns;
  T *weight_grad = static_cast<T*>(weights), *bias_grad = static_cast<T*>(biases);
  const T *grad = at<T>(call.grad, index * n), *x = at<T>(call.x, index * n);
  const T mean = *at<T>(call.mean, index), rstd = *at<T>(call.rstd, index);
  if (weight_grad && bias_grad) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      weight_grad[i] += grad[i] * ((x[i] - mean) * rstd);
      bias_grad[i] += grad[i];
    }
    return;
  }
  for (int64_t i = 0; weight_grad && i < n; ++i) weight_grad[i] += grad[i] * ((x[i] - mean) * rstd);
  for (int64_t i = 0; bias_grad && i < n; ++i) bias_grad[i] += grad[i];
}

}  // namespace

namespace WISP_ISA {

void fill_layer_norm(Kernels& table) {
  for_each_type<dtypes::real_math>([&]<class T>() {
    table.layer_norm[int(dtype_of<T>)] = {row<T>, row_grad<T>, add_parameter_grads<T>};
  });
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
