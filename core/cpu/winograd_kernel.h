// Convolutions of windows of 3x3 by Winograd's method: a tile of 2x2 results is made of 16 products
// per pair of channels, one for each pair of points at which polynomials are evaluated, instead of
// 36; a tile of 4x4 of 36 instead of 144. What is compiled once per instruction set: the
// evaluations.
#pragma once

#include <cstdint>

namespace wisp::cpu {

namespace winograd {

constexpr int taps = 3;  // of the window

}  // namespace winograd

// A block of channels of one image: those of a pixel are next to each other.
struct WinogradImage {
  float* data;
  int64_t height, width;
  int64_t row, pixel;  // strides in elements
};

// What is done to results: a bias is added, then an image that lies as theirs does, unless they are
// null; then what is below zero becomes zero.
struct WinogradTail {
  const float* bias;
  const float* other;
  bool relu;
};

// The method with tiles of one size. All take one tile of one block of channels. Its `top` row and
// `left` column may lie outside of the image, as may its end: zeros are read there, and nothing is
// written. Numbers that belong to one point are `plane` elements apart from those of the next.
struct WinogradKernel {
  int64_t tile = 0;   // results along one dimension
  int64_t lanes = 0;  // channels of a block
  int64_t panel = 0;  // columns of a matrix that products take at once
  int64_t points() const { return tile + winograd::taps - 1; }
  int64_t planes() const { return points() * points(); }
  // Evaluates the pixels, `points` along either dimension, that a tile of results is made of.
  void (*image)(const WinogradImage& from, int64_t top, int64_t left, float* to,
                int64_t plane) = nullptr;
  // Evaluates a tile of pixels that stand for a window: the gradient of results, where that of a
  // weight is wanted.
  void (*window)(const WinogradImage& from, int64_t top, int64_t left, float* to,
                 int64_t plane) = nullptr;
  // Evaluates a window of 3x3 taps, each of a block of channels, one tap after the other, or from
  // the last to the first.
  void (*weight)(const float* from, bool turned, float* to, int64_t plane) = nullptr;
  // From products to a tile of results.
  void (*result)(const float* from, int64_t plane, const WinogradImage& to, int64_t top,
                 int64_t left, const WinogradTail& tail) = nullptr;
  // From products to the gradient of 3x3 taps, as `weight` takes them.
  void (*weight_result)(const float* from, int64_t plane, float* to) = nullptr;
};

struct WinogradKernels {
  WinogradKernel small, large;  // tiles of 2x2 and of 4x4
};

}  // namespace wisp::cpu
