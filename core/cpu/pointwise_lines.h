#pragma once

#include "cpu/pointwise.h"

namespace wisp::cpu {

// Runs the call line by line, or returns false where its lines are too short for that.
// With `number`, the kernel takes one value per line as its last input.
bool try_lines(const Pointwise& call, const LoopPlan& plan, TileFn kernel, bool number);

}  // namespace wisp::cpu
