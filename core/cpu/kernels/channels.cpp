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

// --- Blocks of channels

using Four = float __attribute__((vector_size(16)));
using FourWide = double __attribute__((vector_size(32)));
// A function would return it in another way for each instruction set.
#define WISP_WIDEN(four) __builtin_convertvector(four, FourWide)

WISP_INLINE Four load_four(const float* from) {
  Four v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <int width>
void affine_block(float* y, const float* x, const float* other, int64_t pixels, const float* scale,
                  const float* shift, const float* other_scale) {
  float a[width], b[width], c[width];
  for (int i = 0; i < width; ++i) {
    a[i] = scale[i];
    b[i] = shift[i];
    c[i] = other ? other_scale[i] : 0;
  }
  if (other) {
    for (int64_t p = 0; p < pixels; ++p, y += width, x += width, other += width) {
#pragma GCC ivdep
      for (int i = 0; i < width; ++i) y[i] = x[i] * a[i] + b[i] + other[i] * c[i];
    }
  } else {
    for (int64_t p = 0; p < pixels; ++p, y += width, x += width) {
#pragma GCC ivdep
      for (int i = 0; i < width; ++i) y[i] = x[i] * a[i] + b[i];
    }
  }
}

template <int width>
void sums_block(const float* grad, const float* x, int64_t pixels, const float* mean, double* grads,
                double* products) {
  constexpr int parts = width / 4;
  FourWide sum[parts], product[parts];
  __builtin_memcpy(sum, grads, sizeof sum);
  __builtin_memcpy(product, products, sizeof product);
  Four centre[parts];
  for (int i = 0; i < parts; ++i) centre[i] = load_four(mean + 4 * i);
  for (int64_t p = 0; p < pixels; ++p, grad += width, x += width) {
    for (int i = 0; i < parts; ++i) {
      const Four g = load_four(grad + 4 * i), d = load_four(x + 4 * i) - centre[i];
      sum[i] += WISP_WIDEN(g);
      product[i] += WISP_WIDEN(g * d);
    }
  }
  __builtin_memcpy(grads, sum, sizeof sum);
  __builtin_memcpy(products, product, sizeof product);
}

// Two pixels at a time: sums that do not wait for each other.
template <int width>
void moments_block(const float* x, int64_t pixels, double* mean, double* squares) {
  constexpr int parts = width / 4;
  FourWide sum[2 * parts] = {};
  const float* at = x;
  int64_t p = 0;
  for (; p + 2 <= pixels; p += 2, at += 2 * width) {
    for (int i = 0; i < 2 * parts; ++i) sum[i] += WISP_WIDEN(load_four(at + 4 * i));
  }
  for (int i = 0; i < parts && p < pixels; ++i) sum[i] += WISP_WIDEN(load_four(at + 4 * i));
  FourWide centre[parts], square[2 * parts] = {};
  for (int i = 0; i < parts; ++i) {
    centre[i] = (sum[i] + sum[parts + i]) / static_cast<double>(pixels);
  }
  __builtin_memcpy(mean, centre, sizeof centre);
  at = x;
  for (p = 0; p + 2 <= pixels; p += 2, at += 2 * width) {
    for (int i = 0; i < 2 * parts; ++i) {
      const FourWide d = WISP_WIDEN(load_four(at + 4 * i)) - centre[i % parts];
      square[i] += d * d;
    }
  }
  for (int i = 0; i < parts && p < pixels; ++i) {
    const FourWide d = WISP_WIDEN(load_four(at + 4 * i)) - centre[i];
    square[i] += d * d;
  }
  for (int i = 0; i < parts; ++i) square[i] += square[parts + i];
  __builtin_memcpy(squares, square, sizeof(double) * width);
}

template <int width>
ChannelBlockKernel block_kernel() {
  return {affine_block<width>, sums_block<width>, moments_block<width>};
}

#undef WISP_WIDEN

template <class T>
ChannelKernel<T> channel_kernel() {
  return {affine<T>, affine_each<T>, sums<T>, sums_each<T>};
}

}  // namespace

namespace WISP_ISA {

void fill_channels(Kernels& table) {
  table.channels_f32 = channel_kernel<float>();
  table.channels_f64 = channel_kernel<double>();
  table.channels_by_8 = block_kernel<8>();
  table.channels_by_16 = block_kernel<16>();
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
