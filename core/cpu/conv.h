// Convolutions over up to three dimensions of space.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "base/dtype.h"
#include "base/refcount.h"

namespace wisp::cpu {

// y[n, o, p] = sum over c, k of x[n, c, p * stride - padding + k * dilation] * weight[o, c, k]
// relates two images and a weight. Of the three each can be computed from the other two; a
// transposed convolution computes x. Fewer dimensions of space have ones in front.
struct ConvShape {
  static constexpr int dims = 3;
  using Sizes = std::array<int64_t, dims>;

  int64_t batch, groups;
  int64_t x_channels, y_channels;  // of all groups together
  Sizes x, y;                      // sizes in space
  Sizes kernel, stride, padding, dilation;

  int64_t x_size() const { return x[0] * x[1] * x[2]; }
  int64_t y_size() const { return y[0] * y[1] * y[2]; }
  int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
  bool operator==(const ConvShape&) const = default;
};

// Images lie in memory by channels, (n, c, space), or with the channels last, (n, space, c); the
// weight is (y_channels, x_channels / groups, kernel). All are consecutive and of the same dtype,
// any number but float16 and bfloat16. Only oneDNN takes bfloat16; then the bias is float32, and so
// is a weight that is computed: it is the sum of all pieces of the work.
struct ConvCall {
  ConvShape shape;
  DType dtype;
  bool channels_last;
  char *x, *weight, *y;
  const char* bias;  // added to the channels of the image that is computed; may be null
  // Widths of blocks of channels, if images are arranged so (for oneDNN only): see
  // tensor/arranged.h.
  int x_block = 0, y_block = 0;
  // Whether the image that is computed may be left in blocks.
  bool free_result = false;
  // Whether the weight is (y_channels, kernel, x_channels / groups) instead (for oneDNN only).
  bool weight_last = false;
  // Whether results may lose a digit: see winograd.h.
  bool less_exact = false;
  // Not null: the weight stays as it is, and what is left here comes again with it.
  Ref<Object>* kept = nullptr;
  // What may be done to y in the same step, of float32: multiply every channel by a number (that
  // is, the weight) and add another, add an image that lies as y does, and then take what is
  // above zero.
  const char *scale = nullptr, *shift = nullptr;
  const char* other = nullptr;
  bool relu = false;
  bool has_tail() const { return scale || other || relu; }
  // What channels of y are multiplied by; empty without a scale.
  std::span<const float> scales() const {
    const auto* numbers = reinterpret_cast<const float*>(scale);
    return {numbers, scale ? static_cast<size_t>(shape.y_channels) : 0};
  }
};
// What is added to the channels of y, where their weight has been multiplied by the scales.
void scale_bias(const ConvCall& call, float* scaled);

// Which of the three is computed; see ConvShape.
enum class ConvPass : uint8_t { y, x, weight };

// Whether one window covers all of x, so that images and weight are plain matrices.
bool is_product(const ConvCall& call);

// By one of the ways that are made for some convolutions only, and take blocks: Winograd's or
// oneDNN. False, with nothing done, if none knows this one.
bool conv_fast(ConvPass pass, const ConvCall& call);
// What that would do of the same call, whatever the addresses: the width of the blocks it leaves a
// free result in (0: plain order), or nothing if none knows this one.
std::optional<int> conv_result_block(ConvPass pass, const ConvCall& call);

void conv(ConvPass pass, const ConvCall& call);

}  // namespace wisp::cpu
