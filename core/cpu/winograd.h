// Convolutions of float32 with windows of 3x3 by Winograd's method, which needs fewer products:
// four of nine for results that are as exact as plain sums, one of four for results that are less
// exact by a digit. The latter only where somebody asks for it.
#pragma once

#include <optional>

#include "cpu/conv.h"

namespace wisp::cpu::winograd {

// Whether convolutions that begin now may be less exact; false unless somebody said otherwise. What
// is put off (lazy evaluation) begins later.
bool enabled();
void set_enabled(bool value);

// Whether y of such images in blocks is made so, as exact as plain sums.
bool takes(const ConvShape& shape);

// See conv_fast and conv_result_block: nothing is done if this method does not know this
// convolution, or would not be faster.
std::optional<int> result_block(ConvPass pass, const ConvCall& call);
enum class Done : uint8_t { no, yes, doubtful };  // doubtful: plain sums may have been finite
Done conv(ConvPass pass, const ConvCall& call);

}  // namespace wisp::cpu::winograd
