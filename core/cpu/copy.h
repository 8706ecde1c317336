// Copying, converting and filling strided memory.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// out[i] = in[i], converted to out's dtype. Both have strides for `sizes` (0 repeats).
void copy(IntSpan sizes, const Operand& out, const Operand& in);

// Every element becomes the one `value` points to, which is of out's dtype.
void fill(IntSpan sizes, const Operand& out, const void* value);

}  // namespace wisp::cpu
