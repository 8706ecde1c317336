// Operands that nobody will see again give their memory to the result, while a graph runs.
#pragma once

#include "dispatch/call.h"

namespace wisp::graph {

// Whether a tensor that is about to be dropped could be overwritten: nobody else has its memory,
// which is worth the question, and nobody watches. The count of references tells for sure what a
// pass could only guess.
bool is_reusable(const Tensor& tensor);
// Whether the result of a pointwise operator is as large as its first operand, and of its dtype.
bool result_fits(const OpDef& op, const Arg* args);

}  // namespace wisp::graph
