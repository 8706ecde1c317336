// How often each of some whole numbers occurs.
#pragma once

#include <cstdint>

namespace wisp::cpu {

// Sets counts[v] for every v below `size` to the number of times that it is among the n values.
// False if any value is negative or not below `size`; such values are not counted.
bool count_values(const int64_t* values, int64_t n, int64_t* counts, int64_t size);

}  // namespace wisp::cpu
