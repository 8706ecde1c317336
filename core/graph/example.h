// Arguments that a function was called with, as far as another call needs to know them: files say
// so what a program takes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// Of tensors that are integers a few are kept as they are, of larger ones the greatest number, and
// of floating point numbers none: those are tensors of one element, seen at all places. Nothing if
// an argument cannot be told so: an object, or what waits to be computed.
std::optional<std::vector<Datum>> example_of(std::span<const Datum> arguments);

// Calls a function that has no example yet, and keeps these arguments as one if it does not fail.
Datum call_first(Function& function, std::vector<Datum> arguments);

// A tensor of those sizes with the same number everywhere, which takes the memory of one.
Tensor uniform(DType dtype, IntSpan sizes, int64_t number);
// Whether it is such a one.
bool is_uniform(const Tensor& tensor);

// How many elements the example of a tensor of integers may have to be kept.
constexpr int64_t most_kept = 64;
// What an example may be at most, in elements: files are not to be trusted.
constexpr int64_t most_elements = int64_t(1) << 40;

}  // namespace wisp::graph
