#pragma once

#include "base/half.h"

namespace wisp::cpu {

struct Kernels;

// Puts kernels that use instructions for bfloat16 into a table, of a processor that has them: see
// has_bfloat_instructions().
void use_bfloat_instructions(Kernels& table);

// Some rows of factors by a panel of BFloatPanels, which is so many columns wide, over as many
// pairs of terms: C is written, or added to. Only for such a processor.
constexpr int64_t bfloat_panel_width = 32;
struct BFloatPanelCall {
  const BFloat16* a;
  int64_t a_row;
  const uint32_t* right;
  int64_t rows, steps;
  float* c;
  int64_t c_row;
  bool adds;
};
void multiply_bfloat_panel(const BFloatPanelCall& call);

}  // namespace wisp::cpu
