// Elements of strided memory at computed places: reading them together, and writing to them.
#pragma once

#include "cpu/combine.h"
#include "cpu/strided.h"

namespace wisp::cpu {

// A table of offsets in the middle of ordinary dimensions: element (l, p, t) is found at
// lead . l + offsets[p] + trail . t, all counted in elements.
struct Places {
  Dims lead_sizes, lead_strides;
  std::span<const int64_t> offsets;
  Dims trail_sizes, trail_strides;
};

// A dimension that is indexed, for checks and messages.
struct Axis {
  int64_t dim, size, stride;
  bool wraps = true;  // whether negative indices count from the end
};

// Adds index * stride to every offset; fails with an IndexError if an index is out of range.
void add_offsets(std::span<int64_t> offsets, const int64_t* index, const Axis& axis);
// Sets the offsets of elements given by their place in a strided tensor read row by row.
void set_flat_offsets(std::span<int64_t> offsets, const int64_t* index, IntSpan sizes,
                      IntSpan strides);

// out[l, p, t] = self[place]; `out` is consecutive.
void pick(const Places& places, size_t item, const char* self, char* out);

// self[place] = combine(self[place], values[l, p, t]), in the order of p where places repeat. The
// values are consecutive, or a single one for all places.
void put(const Places& places, Combine how, DType dtype, char* self, const char* values,
         bool single);

// Fails, naming the first, if one of n indices is not in [0, length).
void check_indices(const int64_t* index, int64_t n, int64_t length, const char* what);

}  // namespace wisp::cpu
