// Walking several operands of a LoopPlan at once, a run of its last dimension at a time.
#pragma once

#include <array>

#include "cpu/strided.h"

namespace wisp::cpu {

// f(pointers, n) for the elements [begin, end) of the plan: n of them, the strides between them
// being the last ones of the plan.
template <size_t K, class F>
void for_each_run(const LoopPlan& plan, const std::array<char*, K>& data, int64_t begin,
                  int64_t end, F f) {
  if (plan.ndim() == 0) {
    if (begin < end) f(data, int64_t(1));
    return;
  }
  const size_t last = plan.sizes.size() - 1;
  Dims index(plan.sizes.size(), 0);
  std::array<char*, K> at = data;
  for (size_t dim = last + 1, rest = static_cast<size_t>(begin); dim-- > 0;) {
    const size_t size = static_cast<size_t>(plan.sizes[dim]);
    index[dim] = static_cast<int64_t>(rest % size);
    rest /= size;
    for (size_t k = 0; k < K; ++k) at[k] += index[dim] * plan.strides[k][dim];
  }
  while (begin < end) {
    const int64_t n = std::min(end - begin, plan.sizes[last] - index[last]);
    f(at, n);
    begin += n;
    index[last] += n;
    for (size_t k = 0; k < K; ++k) at[k] += n * plan.strides[k][last];
    for (size_t dim = last; dim > 0 && index[dim] == plan.sizes[dim]; --dim) {
      index[dim] = 0;
      ++index[dim - 1];
      for (size_t k = 0; k < K; ++k) {
        at[k] += plan.strides[k][dim - 1] - plan.sizes[dim] * plan.strides[k][dim];
      }
    }
  }
}

}  // namespace wisp::cpu
