// Windows over the last dimensions of an image: weighted sums (average pooling, interpolation and
// their transposes) and largest elements (max pooling).
#pragma once

#include <vector>

#include "base/dtype.h"

namespace wisp::cpu {

constexpr int max_window_dims = 3;

// Along one dimension: the input elements that make each output element. Their numbers grow with
// that of the output element, so that what an input element goes to is consecutive too.
struct Taps {
  int64_t in = 0, out = 0;
  int64_t most = 0;                   // of the counts below
  std::vector<int32_t> start, count;  // per output element; starts are in order
  std::vector<double> weight;         // weight[o * most + k] of input element start[o] + k
};
// What the gradient flows back through: input and output exchanged.
Taps transposed(const Taps& taps);

// Windows [start, end) with a weight each: a mean divides by their size.
struct PoolWindow {
  int64_t kernel, stride, padding;
  int64_t out;
  bool count_padding;  // the divisor is the size of the window, not of its part inside the input
  bool sum;            // no divisor at all
};
Taps pool_taps(int64_t in, const PoolWindow& window);
// As many windows as there are output elements, as equal in size as they can be.
Taps adaptive_taps(int64_t in, int64_t out);

enum class Interpolation : uint8_t { nearest, nearest_exact, linear, cubic };
struct Resize {
  Interpolation mode;
  bool align_corners, antialias;
  double scale;  // output size / input size as the caller gave it; 0: follows from the sizes
};
Taps resize_taps(int64_t in, int64_t out, const Resize& resize);

// An image of `outer` samples: planes one after the other, or the channels of a pixel next to each
// other.
struct ImageShape {
  int64_t outer;
  int64_t channels;   // 1 if planes are counted in `outer`
  int64_t parts = 1;  // so many samples are blocks of channels of one image
};

// All memory is consecutive, of `dtype`, float32 or float64.
struct ResampleCall {
  DType dtype;
  ImageShape shape;
  std::vector<Taps> taps;  // one per dimension of the image, at most three
  const char* x;
  char* y;
};
void resample(const ResampleCall& call);

// Along one dimension: windows of max pooling, all inside the input.
struct Windows {
  int64_t in = 0, out = 0, dilation = 1;
  int64_t stride = 0;  // 0 if they do not lie evenly apart
  std::vector<int32_t> start, count;
};
Windows pool_windows(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation);
Windows adaptive_windows(int64_t in, int64_t out);
// Windows at pseudo-random places that cover the input evenly; `sample` is in [0, 1).
template <class T>
Windows fractional_windows(int64_t in, int64_t out, int64_t kernel, T sample);

// Consecutive memory of `dtype`, floating or int64. Indices count the elements of a plane.
struct MaxPoolCall {
  DType dtype;
  ImageShape shape;
  std::vector<Windows> windows;  // one per dimension
  const char* x;
  char* y;
  int64_t* index;  // null if it is not wanted
};
void max_pool(const MaxPoolCall& call);

// x_grad[plane, index] += grad, with x_grad set to zero first; floating. Fails if an index lies
// outside its plane.
struct PoolScatterCall {
  DType dtype;
  ImageShape shape;
  int64_t in, out;  // elements of a plane
  const int64_t* index;
  const char* grad;
  char* x_grad;
};
void pool_scatter(const PoolScatterCall& call);

}  // namespace wisp::cpu
