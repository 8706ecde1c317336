// Copying, converting and filling strided memory.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// out[i] = in[i], converted to out's dtype. Both have strides for `sizes` (0 repeats).
void copy(IntSpan sizes, const Operand& out, const Operand& in);

// `rows` short rows, `step` bytes apart (a multiple of 4, or 0 to repeat one), one behind the
// other.
void copy_rows(char* to, const char* from, int64_t rows, int64_t step, int64_t bytes);

// Every element becomes the one `value` points to, which is of out's dtype.
void fill(IntSpan sizes, const Operand& out, const void* value);

}  // namespace wisp::cpu
