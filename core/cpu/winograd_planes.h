// What the parts of Winograd's method share. Images are evaluated tile by tile at some points (see
// winograd_kernel.h). What belongs to a point is a plane: a matrix of tiles and channels.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfenv>

#include "base/parallel.h"
#include "cpu/conv.h"
#include "cpu/scratch.h"
#include "cpu/winograd_kernel.h"

namespace wisp::cpu::winograd {

using Method = WinogradKernel;

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// In blocks of `lanes` channels, or with the channels last.
struct Image {
  float* data;
  int64_t channels, height, width;
  bool channels_last;
  int64_t lanes;

  int64_t offset(int64_t member, int64_t channel) const {
    return member * channels * height * width + channel * (channels_last ? 1 : height * width);
  }
  // The channels from one on.
  WinogradImage part(int64_t member, int64_t channel) const {
    const int64_t pixel = channels_last ? channels : lanes;
    return {data + offset(member, channel), height, width, width * pixel, pixel};
  }
};

// Tiles that cover an image, those of all members one after the other.
struct Tiles {
  Tiles(const Method& method, const ConvShape& s, const ConvShape::Sizes& size)
      : tile(method.tile),
        down(ceil_div(size[1], tile)),
        across(ceil_div(size[2], tile)),
        count(s.batch * down * across) {}
  int64_t tile, down, across, count;

  int64_t member(int64_t i) const { return i / (down * across); }
  int64_t top(int64_t i) const { return i / across % down * tile; }
  int64_t left(int64_t i) const { return i % across * tile; }
};

// Numbers of some tiles, or of a weight, at all points: rows of channels, in panels of so many.
struct Planes {
  float* data;
  int64_t rows, channels, panel;

  // Planes that lie a power of two apart would meet in the same few lines of the caches.
  static int64_t step_of(int64_t rows, int64_t channels) { return rows * channels + 16; }
  int64_t step() const { return step_of(rows, channels); }
  // Of the panel that begins with a channel.
  int64_t width(int64_t channel) const { return std::min(panel, channels - channel); }
  float* at(int64_t row, int64_t channel) const {
    const int64_t first = channel / panel * panel;
    return data + first * rows + row * width(first) + channel - first;
  }
};

// Memory for planes, for a while. Each tile touches all of them, far apart: they need huge pages,
// which only large blocks have.
class Room {
 public:
  explicit Room(int64_t size) : memory_(std::max(size, least)) {}
  float* data() const { return memory_.data(); }

 private:
  static constexpr int64_t least = (int64_t(4) << 20) / int64_t(sizeof(float));
  Scratch<float> memory_;
};

// Work of all threads that knows whether any of them has met an operation without a result. Where
// plain sums would give infinity, this method may subtract one from the other.
class Work {
 public:
  template <class F>
  void each(int64_t count, int64_t grain, F f) {
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      std::feclearexcept(FE_INVALID);
      f(begin, end);
      if (std::fetestexcept(FE_INVALID)) invalid_.store(true, std::memory_order_relaxed);
    });
  }
  bool valid() const { return !invalid_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> invalid_{false};
};

}  // namespace wisp::cpu::winograd
