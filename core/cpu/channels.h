// Lines of channels: a consecutive tensor of `batch` members with `channels` lines of `length`
// elements each. What normalisations over batches and groups are made of.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

struct Channels {
  DType dtype;  // float32 or float64, of everything below but sums
  int64_t batch, channels, length;
  bool per_member;  // coefficients are batch x channels, else the same channels for all members
  // Not 0: float32 images in blocks of so many channels (see tensor/arranged.h).
  int block = 0;
  // Whether images in blocks are bfloat16, for computing in float32. Nothing else is done to them
  // on the way (see below: addend, relu, made).
  bool bfloat16 = false;
  int64_t lines() const { return batch * channels; }
  int64_t coefficient(int64_t line) const { return per_member ? line : line % channels; }
};

// y = x * scale + shift, and + other * other_scale unless that is null. What follows it is done to
// each piece while it is in the cache: + addend unless that is null, then relu.
struct ChannelAffine {
  Channels shape;
  const char *x, *scale, *shift, *other, *other_scale;
  char* y;
  const char* addend = nullptr;
  bool relu = false;
};
void channel_affine(const ChannelAffine& call);

// Per line the sums of g and of g * (x - mean). If lines are single elements and means are those of
// channels, they are per channel instead: see channel_sum_count.
//
// If `made` is not null, g is made on the way and written there: grad, + addend unless that is
// null, and 0 where relu's output is not positive. `made` may be grad.
struct ChannelSums {
  Channels shape;
  const char *grad, *x, *mean;
  double *grads, *products;
  const char *addend = nullptr, *output = nullptr;
  char* made = nullptr;
};
void channel_sums(const ChannelSums& call);

// Mean and variance (of everything, not of a sample) of every channel of images in blocks, or of
// that many groups of neighbouring channels in every member.
struct ChannelMoments {
  Channels shape;
  const char* x;
  char *mean, *var;
  int64_t groups = 0;
};
void channel_moments(const ChannelMoments& call);

// How many of each: lines, or channels.
inline int64_t channel_sum_count(const Channels& shape) {
  const bool columns = shape.length == 1 && !shape.per_member && !shape.block;
  return columns ? shape.channels : shape.lines();
}

// Of images in blocks: `pixels` rows of the channels of one block.
struct ChannelBlockKernel {
  void (*affine)(float* y, const float* x, const float* other, int64_t pixels, const float* scale,
                 const float* shift, const float* other_scale) = nullptr;
  // Adds to both sums of every channel.
  void (*sums)(const float* grad, const float* x, int64_t pixels, const float* mean, double* grads,
               double* products) = nullptr;
  // Means, and sums of squared distances from them.
  void (*moments)(const float* x, int64_t pixels, double* mean, double* squares) = nullptr;
};

template <class T>
struct ChannelKernel {
  // other may be null. Coefficients of one line:
  void (*affine)(T* y, const T* x, const T* other, int64_t n, T scale, T shift,
                 T other_scale) = nullptr;
  // ... and of one element each.
  void (*affine_each)(T* y, const T* x, const T* other, int64_t n, const T* scale, const T* shift,
                      const T* other_scale) = nullptr;
  void (*sums)(const T* grad, const T* x, int64_t n, T mean, double* grads,
               double* products) = nullptr;
  // Adds what `rows` rows of n channels give to 2n sums.
  void (*sums_each)(const T* grad, const T* x, int64_t rows, int64_t row, int64_t n, const T* mean,
                    double* grads, double* products) = nullptr;
};

}  // namespace wisp::cpu
