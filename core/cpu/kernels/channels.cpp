#include "cpu/channels.h"

#include "cpu/kernels/fold.h"

namespace wisp::cpu {

namespace {

template <class T>
void affine(T* y, const T* x, const T* other, int64_t n, T scale, T shift, T other_scale) {
  if (other) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift + other[i] * other_scale;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
  }
}

template <class T>
void affine_each(T* y, const T* x, const T* other, int64_t n, const T* scale, const T* shift,
                 const T* other_scale) {
  if (other) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale[i] + shift[i] + other[i] * other_scale[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale[i] + shift[i];
  }
}

template <class T>
void sums(const T* grad, const T* x, int64_t n, T mean, double* grads, double* products) {
  constexpr int64_t piece = 1024;  // products stay in the first-level cache
  T product[piece];
  *grads = sum_of(grad, n, [](T v) { return v; });
  *products = 0;
  for (int64_t begin = 0; begin < n; begin += piece) {
    const int64_t count = n - begin < piece ? n - begin : piece;
    for (int64_t i = 0; i < count; ++i) product[i] = grad[begin + i] * (x[begin + i] - mean);
    *products += sum_of(product, count, [](T v) { return v; });
  }
}

template <class T>
void sums_each(const T* grad, const T* x, int64_t rows, int64_t row, int64_t n, const T* mean,
               double* grads, double* products) {
  for (int64_t r = 0; r < rows; ++r, grad += row, x += row) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      grads[i] += static_cast<double>(grad[i]);
      products[i] += static_cast<double>(grad[i] * (x[i] - mean[i]));
    }
  }
}

template <class T>
ChannelKernel<T> channel_kernel() {
  return {affine<T>, affine_each<T>, sums<T>, sums_each<T>};
}

}  // namespace

namespace WISP_ISA {

void fill_channels(Kernels& table) {
  table.channels_f32 = channel_kernel<float>();
  table.channels_f64 = channel_kernel<double>();
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
