// Matrices of bfloat16 that are multiplied with something new again and again, as a recurrent layer
// does in every time step, by the processor's instructions for such numbers.
#pragma once

#include "base/half.h"
#include "cpu/bfloat_instructions.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

// Rows of factors for BFloatPanels: rounded, and of an even length, filled up with zeros.
class BFloatRows {
 public:
  BFloatRows(int64_t rows, int64_t cols);
  int64_t row() const { return row_; }
  BFloat16* at(int64_t row) const { return memory_.data() + row * row_; }
  // Columns [begin, end) of a row.
  void round(int64_t row, const float* from, int64_t begin, int64_t end) const;

 private:
  int64_t row_;
  Scratch<BFloat16> memory_;
};

// Only for processors with has_bfloat_instructions().
class BFloatPanels {
 public:
  static constexpr int64_t width = bfloat_panel_width;

  // `count` matrices (depth x cols) one after the other, or their transposes. Packed, unless there
  // will be too few rows to make up for that.
  BFloatPanels(const BFloat16* data, int64_t count, int64_t depth, int64_t cols, bool transposed,
               bool packed);

  // Columns [first, end) of C += A * matrix, or of C = A * matrix; a panel of them, if packed.
  void multiply(const BFloat16* a, int64_t a_row, int64_t rows, int64_t number, int64_t first,
                int64_t end, float* c, int64_t c_row, bool adds) const;

 private:
  uint32_t* panel(int64_t number, int64_t index) const;
  const BFloat16* columns(int64_t number, int64_t first) const;
  void pack(int64_t number, int64_t index) const;

  const BFloat16* data_;
  int64_t depth_, cols_, panels_;
  bool transposed_, packed_;
  Scratch<uint32_t> memory_;  // pairs of neighbours along the depth
};

}  // namespace wisp::cpu
