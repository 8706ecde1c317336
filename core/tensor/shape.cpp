#include "tensor/shape.h"

#include <algorithm>
#include <numeric>

namespace wisp {

int64_t count_elements(IntSpan sizes) {
  int64_t count = 1;
  bool overflow = false;
  for (int64_t size : sizes) {
    WISP_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size, ": ", sizes);
    if (size == 0) return 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  WISP_CHECK(!overflow, "the number of elements of a tensor of shape ", sizes, " overflows int64");
  return count;
}

int64_t wrap_dim(int64_t dim, int64_t ndim, const char* op) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  if (WISP_UNLIKELY(dim < -range || dim >= range)) {
    fail(ErrorKind::index, op ? op : "", op ? "(): " : "",
         "Dimension out of range (expected to be in range of [", -range, ", ", range - 1,
         "], but got ", dim, ")");
  }
  return dim < 0 ? dim + range : dim;
}

Dims wrap_dims(IntSpan dims, int64_t ndim, const char* op) {
  Dims wrapped;
  for (int64_t dim : dims) {
    dim = wrap_dim(dim, ndim, op);
    WISP_CHECK(std::find(wrapped.begin(), wrapped.end(), dim) == wrapped.end(), op, "(): dim ", dim,
               " appears multiple times in the list of dims");
    wrapped.push_back(dim);
  }
  return wrapped;
}

Dims contiguous_strides(IntSpan sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

Dims channels_last_strides(IntSpan sizes) {
  WISP_CHECK(sizes.size() == 4 || sizes.size() == 5, "required rank ", sizes.size() < 4 ? 4 : 5,
             " tensor to use channels_last format, got shape ", sizes);
  Dims strides(sizes.size());
  int64_t step = std::max<int64_t>(sizes[1], 1);
  strides[1] = 1;
  for (size_t i = sizes.size(); i-- > 2;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  strides[0] = step;
  return strides;
}

Dims strides_for(MemoryFormat format, IntSpan sizes) {
  switch (format) {
    case MemoryFormat::channels_last:
      WISP_CHECK(sizes.size() == 4, "required rank 4 tensor to use channels_last format");
      return channels_last_strides(sizes);
    case MemoryFormat::channels_last_3d:
      WISP_CHECK(sizes.size() == 5, "required rank 5 tensor to use channels_last_3d format");
      return channels_last_strides(sizes);
    default:
      return contiguous_strides(sizes);
  }
}

bool is_contiguous(IntSpan sizes, IntSpan strides) {
  int64_t step = 1;
  bool matches = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) {
      matches &= strides[i] == step;
      step *= sizes[i];
    }
  }
  return matches;
}

bool is_channels_last(IntSpan sizes, IntSpan strides) {
  if (sizes.size() != 4 && sizes.size() != 5) return false;
  int64_t step = 1;
  auto fits = [&](size_t i) {
    if (sizes[i] == 1) return true;
    const bool ok = strides[i] == step;
    step *= sizes[i];
    return ok;
  };
  if (!fits(1)) return false;
  for (size_t i = sizes.size(); i-- > 2;) {
    if (!fits(i)) return false;
  }
  return fits(0);
}

namespace {

// Dimensions larger than one, by increasing stride.
Dims order_by_stride(IntSpan sizes, IntSpan strides) {
  Dims order;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  return order;
}

}  // namespace

bool is_dense(IntSpan sizes, IntSpan strides) {
  if (is_contiguous(sizes, strides)) return true;
  int64_t step = 1;
  for (int64_t dim : order_by_stride(sizes, strides)) {
    if (sizes[dim] == 0) return true;
    if (strides[dim] != step) return false;
    step *= sizes[dim];
  }
  return true;
}

bool overlaps_itself(IntSpan sizes, IntSpan strides) {
  int64_t reach = 1;  // elements covered by the smaller strides
  for (int64_t size : sizes) {
    if (size == 0) return false;
  }
  for (int64_t dim : order_by_stride(sizes, strides)) {
    if (strides[dim] < reach) return true;
    reach = strides[dim] * (sizes[dim] - 1) + reach;
  }
  return false;
}

Dims preserved_strides(IntSpan sizes, IntSpan strides) {
  // Insertion sort, innermost dimension first. Expanded dimensions (stride 0) tell nothing about
  // the order; equal strides put the larger dimension outside.
  Dims order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  auto compare = [&](int64_t inner, int64_t outer) {
    if (strides[inner] == 0 || strides[outer] == 0) return 0;
    if (strides[inner] != strides[outer]) return strides[inner] > strides[outer] ? 1 : -1;
    return sizes[inner] > sizes[outer] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      const int comparison = compare(order[j], order[at]);
      if (comparison < 0) break;
      if (comparison > 0) {
        std::swap(order[j], order[at]);
        at = j;
      }
    }
  }
  Dims result(sizes.size());
  int64_t step = 1;
  for (int64_t dim : order) {
    result[dim] = step;
    step *= std::max<int64_t>(sizes[dim], 1);
  }
  return result;
}

Dims broadcast(IntSpan a, IntSpan b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims result(a);
  const size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    const int64_t x = a[shift + i], y = b[i];
    WISP_CHECK(x == y || x == 1 || y == 1, "The size of tensor a (", x,
               ") must match the size of tensor b (", y, ") at non-singleton dimension ", shift + i,
               "; the shapes are ", a, " and ", b);
    result[shift + i] = x == 1 ? y : x;
  }
  return result;
}

Dims expanded_strides(IntSpan sizes, IntSpan strides, IntSpan target) {
  Dims result(target.size(), 0);
  const size_t shift = target.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    result[shift + i] = sizes[i] == 1 && target[shift + i] != 1 ? 0 : strides[i];
  }
  return result;
}

Dims infer_size(IntSpan sizes, int64_t numel) {
  Dims result(sizes);
  int64_t known = 1, unknown = -1;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      WISP_CHECK(unknown < 0, "only one dimension can be inferred");
      unknown = static_cast<int64_t>(i);
    } else {
      WISP_CHECK(sizes[i] >= 0, "invalid shape dimension ", sizes[i]);
      overflow |= __builtin_mul_overflow(known, sizes[i], &known);
    }
  }
  const bool fits = !overflow && (unknown < 0 ? known == numel : known > 0 && numel % known == 0);
  if (!fits) {
    WISP_CHECK(!(unknown >= 0 && known == 0 && numel == 0),
               "cannot reshape tensor of 0 elements into shape ", sizes,
               " because the unspecified dimension size -1 can be any value and is ambiguous");
    fail(ErrorKind::runtime, "shape '", sizes, "' is invalid for input of size ", numel);
  }
  if (unknown >= 0) result[unknown] = numel / known;
  return result;
}

std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan target) {
  if (is_contiguous(sizes, strides)) return contiguous_strides(target);
  Dims result(target.size());
  // Walk both shapes from the right; a run of old dimensions that is contiguous among itself can be
  // cut up into new ones.
  int64_t next = static_cast<int64_t>(target.size()) - 1;
  int64_t run_step = strides.empty() ? 1 : strides.back();
  int64_t run = 1, filled = 1;
  for (int64_t dim = static_cast<int64_t>(sizes.size()) - 1; dim >= 0; --dim) {
    run *= sizes[dim];
    const bool run_ends = dim == 0 || (sizes[dim - 1] != 1 && strides[dim - 1] != run * run_step);
    if (!run_ends) continue;
    while (next >= 0 && (filled < run || target[next] == 1)) {
      result[next] = filled * run_step;
      filled *= target[next];
      --next;
    }
    if (filled != run) return std::nullopt;
    if (dim > 0) run_step = strides[dim - 1];
    run = filled = 1;
  }
  if (next != -1) return std::nullopt;
  return result;
}

int64_t extent(IntSpan sizes, IntSpan strides) {
  int64_t last = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  WISP_CHECK(!overflow && last < INT64_MAX, "sizes ", sizes, " with strides ", strides,
             " reach beyond what can be addressed");
  return last + 1;
}

}  // namespace wisp
