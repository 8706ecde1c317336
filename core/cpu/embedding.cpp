#include "cpu/embedding.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace wisp::cpu {

namespace {

constexpr int64_t columns_at_once = 128;  // whole cache lines: threads share no row's part

}  // namespace

// Threads take columns, not indices: what is added to one element is added in the order of the
// indices.
void embedding_grad(const EmbeddingGradCall& call) {
  std::vector<int64_t> uses(call.mean ? static_cast<size_t>(call.rows) : 0, 0);
  for (int64_t i = 0; call.mean && i < call.count; ++i) ++uses[static_cast<size_t>(call.index[i])];
  visit<dtypes::real_math>(call.dtype, "embedding", [&]<class T>() {
    const T* grad = reinterpret_cast<const T*>(call.grad);
    T* out = reinterpret_cast<T*>(call.table_grad);
    parallel_for(call.rows * call.columns, 1 << 16,
                 [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, T(0)); });
    parallel_for(call.columns, columns_at_once, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < call.count; ++i) {
        const int64_t row = call.index[i];
        if (row == call.padding_row) continue;
        const T scale = call.mean ? T(1) / static_cast<T>(uses[static_cast<size_t>(row)]) : T(1);
        T* to = out + row * call.columns;
        const T* from = grad + i * call.columns;
        for (int64_t c = begin; c < end; ++c) to[c] += from[c] * scale;
      }
    });
  });
}

}  // namespace wisp::cpu
