// Arithmetic of sizes and strides. Strides count elements, not bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/device.h"
#include "base/error.h"
#include "base/small_vector.h"

namespace wisp {

// Product of the sizes; fails on overflow. A size of 0 gives 0.
int64_t count_elements(IntSpan sizes);

// -1 means the last of `ndim` dimensions; a 0-d tensor counts as having one.
int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op = nullptr);
// Wrapped, without duplicates; an empty list stays empty.
Dims wrap_dims(IntSpan dims, int64_t ndim, const char* op);

Dims contiguous_strides(IntSpan sizes);
Dims channels_last_strides(IntSpan sizes);  // 4-d or 5-d
// Strides of a dense tensor of this format.
Dims strides_for(MemoryFormat format, IntSpan sizes);
bool is_contiguous(IntSpan sizes, IntSpan strides);
bool is_channels_last(IntSpan sizes, IntSpan strides);
// Whether the elements fill a block of memory without gaps or overlap, in any order of dimensions.
bool is_dense(IntSpan sizes, IntSpan strides);
// Whether two different indices may name the same element (exact for what views can make).
bool overlaps_itself(IntSpan sizes, IntSpan strides);
// Dense strides that keep the order of dimensions of the given ones (what "preserve" means).
Dims preserved_strides(IntSpan sizes, IntSpan strides);

// The common shape of both by NumPy's rules; fails naming the dimension.
Dims broadcast(IntSpan a, IntSpan b);
// Strides that read a tensor as if it had `target`'s shape: 0 where it is repeated.
Dims expanded_strides(IntSpan sizes, IntSpan strides, IntSpan target);

// Replaces a single -1 so that the product is `numel`.
Dims infer_size(IntSpan sizes, int64_t numel);
// Strides that view memory under new sizes without copying, if there are any.
std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan target);

// Elements between the first and the last one reached, inclusive; 0 for an empty tensor.
int64_t extent(IntSpan sizes, IntSpan strides);

}  // namespace wisp
