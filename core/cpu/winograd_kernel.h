// Convolutions of windows of 3x3 by Winograd's method: a tile of 4x4 results is made of 36 products
// per pair of channels, one for each pair of points at which polynomials are evaluated, instead of
// 144. What is compiled once per instruction set: the evaluations.
#pragma once

#include <cstdint>

namespace wisp::cpu {

namespace winograd {

constexpr int tile = 4;    // results along one dimension
constexpr int taps = 3;    // of the window
constexpr int points = 6;  // tile + taps - 1
constexpr int planes = points * points;

}  // namespace winograd

// A block of channels of one image: those of a pixel are next to each other.
struct WinogradImage {
  float* data;
  int64_t height, width;
  int64_t row, pixel;  // strides in elements
};

// All take one tile of one block of channels. Its `top` row and `left` column may lie outside of
// the image, as may its end: zeros are read there, and nothing is written. Numbers that belong to
// one point are `plane` elements apart from those of the next.
struct WinogradKernel {
  int64_t lanes = 0;  // channels of a block
  int64_t panel = 0;  // columns of a matrix that products take at once
  // Evaluates the 6x6 pixels that a tile of results is made of.
  void (*image)(const WinogradImage& from, int64_t top, int64_t left, float* to,
                int64_t plane) = nullptr;
  // Evaluates 4x4 pixels that stand for a window: the gradient of results, where that of a weight
  // is wanted.
  void (*window)(const WinogradImage& from, int64_t top, int64_t left, float* to,
                 int64_t plane) = nullptr;
  // Evaluates a window of 3x3 taps, each of a block of channels, one tap after the other, or from
  // the last to the first.
  void (*weight)(const float* from, bool turned, float* to, int64_t plane) = nullptr;
  // From products to 4x4 results, with a bias added unless that is null.
  void (*result)(const float* from, int64_t plane, const WinogradImage& to, int64_t top,
                 int64_t left, const float* bias) = nullptr;
  // From products to the gradient of 3x3 taps, as `weight` takes them.
  void (*weight_result)(const float* from, int64_t plane, float* to) = nullptr;
};

}  // namespace wisp::cpu
