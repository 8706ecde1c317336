#include "cpu/bfloat_panels.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/bfloat_gemm.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t panel_width = BFloatPanels::width;

// A part of a panel stays in the first-level cache while all rows go over it.
constexpr int64_t steps_at_once = 192;

int64_t pairs_of(int64_t n) { return (n + 1) / 2; }

void add_tile(const float* tile, int64_t rows, int64_t cols, float* c, int64_t c_row, bool adds) {
  for (int64_t r = 0; r < rows; ++r, tile += panel_width, c += c_row)
    for (int64_t j = 0; j < cols; ++j) c[j] = adds ? c[j] + tile[j] : tile[j];
}

}  // namespace

BFloatRows::BFloatRows(int64_t rows, int64_t cols)
    : row_(2 * pairs_of(cols)), memory_(rows * row_) {
  std::fill(memory_.begin(), memory_.end(), BFloat16(0.0f));
}

void BFloatRows::round(int64_t row, const float* from, int64_t begin, int64_t end) const {
  kernels().cast[int(DType::bfloat16)][int(DType::float32)](at(row) + begin, from + begin,
                                                            end - begin);
}

BFloatPanels::BFloatPanels(const BFloat16* data, int64_t count, int64_t depth, int64_t cols,
                           bool transposed, bool packed)
    : data_(data),
      depth_(depth),
      cols_(cols),
      panels_((cols + width - 1) / width),
      transposed_(transposed),
      packed_(packed),
      memory_(packed ? count * panels_ * pairs_of(depth) * width : 0) {
  if (!packed) return;
  parallel_for(count * panels_, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pack(i / panels_, i % panels_);
  });
}

uint32_t* BFloatPanels::panel(int64_t number, int64_t index) const {
  return memory_.data() + (number * panels_ + index) * pairs_of(depth_) * width;
}

const BFloat16* BFloatPanels::columns(int64_t number, int64_t first) const {
  return data_ + number * depth_ * cols_ + first * (transposed_ ? depth_ : 1);
}

void BFloatPanels::pack(int64_t number, int64_t index) const {
  const int64_t first = index * width, n = std::min(width, cols_ - first);
  const BFloat16* from = columns(number, first);
  uint32_t* to = panel(number, index);
  const int64_t down = transposed_ ? 1 : cols_, across = transposed_ ? depth_ : 1;
  if (n < width) std::fill_n(to, pairs_of(depth_) * width, 0u);
  if (transposed_ && depth_ % 2 == 0 && reinterpret_cast<uintptr_t>(from) % sizeof(uint32_t) == 0) {
    kernels().gemm_f32.transpose(reinterpret_cast<const float*>(from), depth_ / 2,
                                 reinterpret_cast<float*>(to), width, depth_ / 2, n);
    return;
  }
  for (int64_t d = 0; d < depth_; d += 2, to += width) {
    const bool whole = d + 1 < depth_;
    for (int64_t j = 0; j < n; ++j) {
      const BFloat16* pair = from + d * down + j * across;
      to[j] = pair->bits | (whole ? static_cast<uint32_t>(pair[down].bits) << 16 : 0u);
    }
  }
}

void BFloatPanels::multiply(const BFloat16* a, int64_t a_row, int64_t rows, int64_t number,
                            int64_t first, int64_t end, float* c, int64_t c_row, bool adds) const {
  if (rows == 0) return;  // all sequences are over
  const int64_t n = end - first;
  const auto bytes = [](const auto* data) {
    return const_cast<char*>(reinterpret_cast<const char*>(data));
  };
  if (!packed_) {
    const Matrix right{bytes(columns(number, first)), depth_, n, transposed_ ? 1 : cols_,
                       transposed_ ? depth_ : 1};
    return bfloat_product_to_float({bytes(a), rows, depth_, a_row, 1}, right,
                                   {bytes(c + first), rows, n, c_row, 1}, 1, adds ? 1 : 0);
  }
  const uint32_t* right = panel(number, first / width);
  const int64_t steps = pairs_of(depth_);
  const Scratch<float> tile(n < width ? rows * width : 0);  // the kernel writes whole panels
  float* to = n < width ? tile.data() : c + first;
  const int64_t to_row = n < width ? width : c_row;
  for (int64_t p = 0; p < steps; p += steps_at_once)
    multiply_bfloat_panel({.a = a + 2 * p,
                           .a_row = a_row,
                           .right = right + p * width,
                           .rows = rows,
                           .steps = std::min(steps_at_once, steps - p),
                           .c = to,
                           .c_row = to_row,
                           .adds = p > 0 || (adds && n == width)});
  if (n < width) add_tile(tile.data(), rows, n, c + first, c_row, adds);
}

}  // namespace wisp::cpu
