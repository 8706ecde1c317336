// Convolutions of float32 with windows of 3x3 by Winograd's method, which saves three products of
// four for results that are less exact by a digit. Only used where somebody asks for it.
#pragma once

#include <optional>

#include "cpu/conv.h"

namespace wisp::cpu::winograd {

// Whether convolutions that begin now may use it; false unless somebody said otherwise. What is put
// off (lazy evaluation) begins later.
bool enabled();
void set_enabled(bool value);

// See conv_fast and conv_result_block: nothing is done if it may not be used, does not know this
// convolution, or would not be faster.
bool conv(ConvPass pass, const ConvCall& call);
std::optional<int> result_block(ConvPass pass, const ConvCall& call);

}  // namespace wisp::cpu::winograd
