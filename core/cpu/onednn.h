// oneDNN, loaded at the first convolution that is large enough for it.
#pragma once

#include <optional>

#include "cpu/conv.h"

namespace wisp::cpu::onednn {

// Whether wisp was built with oneDNN and the library can be opened.
bool available();

// Whether it is used; true unless somebody said otherwise.
bool enabled();
void set_enabled(bool value);

// Whether the processor has instructions for bfloat16, and oneDNN is used.
bool has_bfloat16();

using Pass = ConvPass;

// False, with nothing done, if this convolution is none for oneDNN: of another dtype than float32
// and, where the processor has it, bfloat16; too small to be worth the call; or of a shape it does
// not know. A tail (see ConvCall) with relu may also end so after y was written, if there may be
// NaN in it: relu of oneDNN would make zeros of them.
bool conv(Pass pass, const ConvCall& call);

// See conv_result_block.
std::optional<int> result_block(Pass pass, const ConvCall& call);
// Channels of the blocks in which it leaves images of ordinary convolutions; 0 if in none, or if it
// is not used.
int usual_block();

}  // namespace wisp::cpu::onednn
