// Images sampled at given places.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

enum class Sampling : int64_t { linear, nearest, cubic };
enum class Outside : int64_t { zeros, border, reflection };

// All memory is consecutive, of `dtype`, float32 or float64: images (batch, channels, sizes...),
// places (batch, samples, dims) with x first, results (batch, channels, samples).
struct GridSampleCall {
  DType dtype;
  int64_t batch, channels, samples;
  int64_t dims;
  int64_t sizes[3];  // of an image, x last
  Sampling sampling;
  Outside outside;
  bool align_corners;
  const char *images, *places;
  char* out;
};
void grid_sample(const GridSampleCall& call);

// The gradients of images and places, of which those that are not wanted are null; images are read
// for those of places only.
struct GridSampleGrads {
  GridSampleCall call;  // out is not used
  const char* grad;
  char *image_grads, *place_grads;
};
void grid_sample_grads(const GridSampleGrads& job);

}  // namespace wisp::cpu
