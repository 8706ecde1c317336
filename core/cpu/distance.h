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

// out = a x b along a dimension of length 3, whose strides are given apart; sizes and the operands'
// strides are those of all others.
void cross(IntSpan sizes, const Operand& out, const Operand& a, const Operand& b,
           const std::array<int64_t, 3>& steps);

}  // namespace wisp::cpu
