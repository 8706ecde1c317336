// The rows of pooling and interpolation, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// Samples between the pixels of a plane: their four neighbours (x inside y), each with an offset,
// which is negative outside the plane, and a weight; if wanted, also how the weights change with
// the coordinates x and y.
template <class T>
struct Neighbours {
  int32_t* offsets[4];
  T* weights[4];
  T* slopes[2][4];  // null: not wanted
};
template <class T>
struct PlanePlaces {
  const T* at;  // x, y, x, y ... in [-1, 1]
  int64_t count, height, width;
  bool align_corners, kept_inside;
};

template <class T>
struct WindowKernels {
  // y = weight * x, or y += weight * x.
  void (*add_scaled)(T* y, const T* x, T weight, int64_t n, bool first) = nullptr;
  // y[o] = sum of weight[o * most + k] * x[start[o] + k] over k < count[o].
  void (*weigh)(T* y, const T* x, const int32_t* start, const int32_t* count, const T* weight,
                int64_t most, int64_t n) = nullptr;
  // y = sum of weight[i] * row index[i] of the table over i < count; without weights, plain sums.
  void (*add_rows)(T* y, const T* table, const int64_t* index, const T* weight, int64_t count,
                   int64_t columns) = nullptr;
  // y[i] += weight[i] * x[offset[i]] where the offset is not negative.
  void (*add_picked)(T* y, const T* x, const int32_t* offset, const T* weight, int64_t n) = nullptr;
  // y[i] = the sum of that over four offsets.
  void (*pick_four)(T* y, const T* x, const Neighbours<T>& neighbours, int64_t n) = nullptr;
  void (*find_neighbours)(const PlanePlaces<T>& places, const Neighbours<T>& out) = nullptr;
};

// A row of results of max pooling, all channels of a pixel at a time.
template <class T>
struct PixelRow {
  T* y;
  int64_t* index;         // may be null
  const T* const* lines;  // those that windows reach over, `channels` elements per pixel
  const int32_t* rows;    // their numbers, for the index: `width` pixels each
  int64_t row_count, width;
  const int32_t *start, *count;  // of the windows along the row
  int64_t dilation, n, channels;
  T lowest;  // of windows without elements
};

template <class T>
struct MaxKernels {
  // best = max(best, x), NaN counting as largest.
  void (*larger)(T* best, const T* x, int64_t n) = nullptr;
  // The same, noting `here` where x is taken.
  void (*larger_at)(T* best, int32_t* at, const T* x, int32_t here, int64_t n) = nullptr;
  // The largest of each window of a row.
  void (*largest)(T* y, const T* x, const int32_t* start, const int32_t* count, int64_t dilation,
                  int64_t stride, int64_t n) = nullptr;
  void (*largest_pixels)(const PixelRow<T>& row) = nullptr;
};

struct WindowTable {
  WindowKernels<float> f32;
  WindowKernels<double> f64;
  MaxKernels<float> max_f32;
  MaxKernels<double> max_f64;
  MaxKernels<int64_t> max_i64;
};
const WindowTable& window_table();

template <class T>
const WindowKernels<T>& window_kernels() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return window_table().f32;
  } else {
    return window_table().f64;
  }
}

}  // namespace wisp::cpu
