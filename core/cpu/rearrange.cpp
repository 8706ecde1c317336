#include "cpu/rearrange.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/copy.h"

namespace wisp::cpu {

namespace {

// Where a row of a stack of matrices starts.
int64_t row_offset(IntSpan sizes, IntSpan strides, int64_t row) {
  int64_t offset = 0;
  for (size_t dim = sizes.size() - 1; dim-- > 0;) {
    offset += row % sizes[dim] * strides[dim];
    row /= sizes[dim];
  }
  return offset;
}

// Without `in` what is kept is there already.
template <class T>
void triangle_row(T* out, const T* in, int64_t begin, int64_t end, int64_t cols) {
  std::fill(out, out + begin, T{});
  if (in && begin < end) std::copy(in + begin, in + end, out + begin);
  std::fill(out + std::max(begin, end), out + cols, T{});
}

}  // namespace

void keep_triangle(IntSpan sizes, const Operand& out, const Operand& in, Triangle which,
                   int64_t diagonal) {
  const int64_t cols = sizes.back(), height = sizes[sizes.size() - 2];
  int64_t rows = 1;
  for (int64_t size : sizes.first(sizes.size() - 1)) rows *= size;
  // Far beyond the matrix all diagonals are alike; nothing overflows then.
  const int64_t shift = std::clamp(diagonal, -height - 1, cols + 1);
  // What lies otherwise is copied in blocks first: columns that are read one by one are slow.
  const bool by_rows = in.strides.back() == 1;
  if (!by_rows) copy(sizes, out, in);
  by_item_size(item_size(out.dtype), [&]<class T>() {
    parallel_for(rows, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(cols, 1)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t row = first; row < last; ++row) {
                     const int64_t edge = row % height + shift;
                     const int64_t begin =
                         which == Triangle::upper ? std::clamp<int64_t>(edge, 0, cols) : 0;
                     const int64_t end =
                         which == Triangle::lower ? std::clamp<int64_t>(edge + 1, 0, cols) : cols;
                     const T* from = reinterpret_cast<const T*>(in.data);
                     triangle_row(reinterpret_cast<T*>(out.data) + row * cols,
                                  by_rows ? from + row_offset(sizes, in.strides, row) : nullptr,
                                  begin, end, cols);
                   }
                 });
  });
}

}  // namespace wisp::cpu
