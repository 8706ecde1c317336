// The loops of cpu/row_conv.cpp over pixels, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace wisp::cpu {

struct RowConvKernel {
  // Copies n blocks of 8 or 16 elements that follow each other to places `step` elements apart.
  void (*spread)(const float* from, int64_t block, float* to, int64_t step, int64_t n) = nullptr;
  // The bias, and relu if wanted, for n pixels; `channels` is a multiple of 8.
  void (*finish)(const float* from, int64_t from_step, const float* bias, bool relu, float* to,
                 int64_t to_step, int64_t n, int64_t channels) = nullptr;
};

}  // namespace wisp::cpu
