#include "cpu/strided.h"

#include <algorithm>
#include <numeric>

namespace wisp::cpu {

template <int most>
LoopPlanOf<most>::LoopPlanOf(IntSpan all_sizes, const Operand* operands, int count) {
  for (int64_t size : all_sizes) numel *= size;
  for (size_t dim = 0; dim < all_sizes.size(); ++dim) {
    if (all_sizes[dim] == 1) continue;
    sizes.push_back(all_sizes[dim]);
    for (int k = 0; k < count; ++k) {
      const int64_t item = static_cast<int64_t>(item_size(operands[k].dtype));
      strides[k].push_back(operands[k].strides.empty() ? 0 : operands[k].strides[dim] * item);
    }
  }
  if (sizes.size() > 1) {
    order(count);
    merge(count);
  }
}

template <int most>
void LoopPlanOf<most>::order(int count) {
  const Dims& first = strides[0];
  if (std::is_sorted(first.begin(), first.end(), std::greater<>())) return;
  Dims permutation(sizes.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::stable_sort(permutation.begin(), permutation.end(),
                   [&](int64_t a, int64_t b) { return first[a] > first[b]; });
  auto permute = [&](Dims& values) {
    Dims old = values;
    for (size_t i = 0; i < old.size(); ++i) values[i] = old[permutation[i]];
  };
  for (int k = count; k-- > 0;) permute(strides[k]);
  permute(sizes);
}

template <int most>
void LoopPlanOf<most>::merge(int count) {
  size_t kept = 0;  // dimension that the next one may be merged into
  for (size_t dim = 1; dim < sizes.size(); ++dim) {
    bool mergeable = true;
    for (int k = 0; k < count; ++k) {
      mergeable &= strides[k][kept] == strides[k][dim] * sizes[dim];
    }
    if (!mergeable) ++kept;
    sizes[kept] = mergeable ? sizes[kept] * sizes[dim] : sizes[dim];
    for (int k = 0; k < count; ++k) strides[k][kept] = strides[k][dim];
  }
  sizes.resize(kept + 1);
  for (int k = 0; k < count; ++k) strides[k].resize(kept + 1);
}

template struct LoopPlanOf<max_operands>;
template struct LoopPlanOf<max_fused_operands>;

}  // namespace wisp::cpu
