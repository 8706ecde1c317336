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

// Which of the three is computed; see ConvShape.
enum class Pass : uint8_t { y, x, weight };

// False, with nothing done, if this convolution is none for oneDNN: of another dtype than float32
// and, where the processor has it, bfloat16; too small to be worth the call; or of a shape it does
// not know. A tail (see ConvCall) with relu may also end so after y was written, if there may be
// NaN in it: relu of oneDNN would make zeros of them.
bool conv(Pass pass, const ConvCall& call);

// What it would do of the same call, whatever the addresses: the width of the blocks it leaves a
// free result in (0: plain order), or nothing if the convolution is none for oneDNN.
std::optional<int> result_block(Pass pass, const ConvCall& call);

}  // namespace wisp::cpu::onednn
