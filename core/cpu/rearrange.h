// Copies that move elements to other places.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

enum class Triangle : uint8_t { lower, upper };

// Keeps the elements of the last two dimensions up to (or from) the given diagonal; the others
// become zero. `out` is contiguous.
void keep_triangle(IntSpan sizes, const Operand& out, const Operand& in, Triangle which,
                   int64_t diagonal);

}  // namespace wisp::cpu
