// Distances between rows, and products of vectors in space.
#pragma once

#include <array>

#include "cpu/strided.h"

namespace wisp::cpu {

// Stacks of `rows` and `others` points with `cols` coordinates each; all memory is consecutive.
struct Distances {
  DType dtype;  // float32 or float64
  int64_t stacks, rows, others, cols;
  const char *x, *y;
  char* out;  // stacks x rows x others
};

// out[s, i, j] = the p-norm of x[s, i] - y[s, j].
void distances(const Distances& job, double p);
// The same for p = 2, by |x|^2 + |y|^2 - 2xy: faster for many points, less exact for close ones.
void euclidean_distances(const Distances& job);

// The gradient of x, where grad and distance are those of x[s, i] and y[s, j] at
// s * rows * others + i * row_step + j * col_step.
struct DistanceGrads {
  Distances points;  // out: like x
  const char *grad, *distance;
  int64_t row_step, col_step;
};
void distance_grads(const DistanceGrads& job, double p);

// Of `rows` points, all pairs: the first with the second, the first with the third ...
struct PointPairs {
  DType dtype;  // float32 or float64
  int64_t rows, cols;
  const char* x;
};
void pair_distances(const PointPairs& points, double p, char* out);
void pair_grads(const PointPairs& points, const char* grad, const char* distance, double p,
                char* out);

// --- The kernels (kernels/distance.cpp)

// `count` points, one behind the other, as seen from x.
template <class T>
struct PointAndOthers {
  const T *x, *others;
  int64_t count, cols;
};
constexpr int64_t most_slopes = 64;  // that are added up at once, in the dtype itself
template <class T>
struct DistanceKernels {
  // For p = 0, 1, 2 or infinity.
  void (*from)(const PointAndOthers<T>& at, double p, T* out) = nullptr;
  // Adds weights[j] times the step from point j (p = 2), the signs of its coordinates (p = 1), or
  // those of its longest coordinates only.
  void (*add_slopes)(const PointAndOthers<T>& at, double p, const T* weights, const T* distances,
                     T* sums) = nullptr;
};

// out = a x b along a dimension of length 3, whose strides are given apart; sizes and the operands'
// strides are those of all others.
void cross(IntSpan sizes, const Operand& out, const Operand& a, const Operand& b,
           const std::array<int64_t, 3>& steps);

}  // namespace wisp::cpu
