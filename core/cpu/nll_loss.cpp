#include "cpu/nll_loss.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain = 1 << 13;  // targets a thread takes at once

int64_t count(const NllShape& shape) { return shape.outer * shape.inner; }

// Where in x the element of target i lies.
int64_t place(const NllShape& shape, int64_t i) {
  const int64_t row = i / shape.inner, column = i % shape.inner;
  return (row * shape.classes + shape.target[i]) * shape.inner + column;
}

template <class T>
T weight_of(const NllShape& shape, int64_t i) {
  return shape.weight ? reinterpret_cast<const T*>(shape.weight)[shape.target[i]] : T(1);
}

}  // namespace

void check_targets(const NllShape& shape) {
  parallel_for(count(shape), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t target = shape.target[i];
      WISP_CHECK_INDEX(target == shape.ignore_index || (target >= 0 && target < shape.classes),
                       "Target ", target, " is out of bounds.");
    }
  });
}

NllSums nll_loss(const NllShape& shape, const char* data, char* each) {
  std::vector<NllSums> parts(static_cast<size_t>((count(shape) + grain - 1) / grain),
                             NllSums{0, 0});
  visit<dtypes::real_math>(shape.dtype, "nll_loss", [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(data);
    T* terms = reinterpret_cast<T*>(each);
    parallel_for(count(shape), grain, [&](int64_t begin, int64_t end) {
      NllSums& part = parts[static_cast<size_t>(begin / grain)];
      for (int64_t i = begin; i < end; ++i) {
        const bool ignored = shape.target[i] == shape.ignore_index;
        const T weight = ignored ? T(0) : weight_of<T>(shape, i);
        const T term = ignored ? T(0) : -weight * x[place(shape, i)];
        if (terms) terms[i] = term;
        part.loss += static_cast<double>(term);
        part.weight += static_cast<double>(weight);
      }
    });
  });
  NllSums sums{0, 0};
  for (const NllSums& part : parts) sums = {sums.loss + part.loss, sums.weight + part.weight};
  return sums;
}

void nll_loss_grad(const NllShape& shape, const char* grads, double scale, char* x_grad) {
  visit<dtypes::real_math>(shape.dtype, "nll_loss", [&]<class T>() {
    const T* grad = reinterpret_cast<const T*>(grads);
    T* out = reinterpret_cast<T*>(x_grad);
    parallel_for(count(shape), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (shape.target[i] == shape.ignore_index) continue;
        const T upper = (grad ? grad[i] : T(1)) * static_cast<T>(scale);
        out[place(shape, i)] = -weight_of<T>(shape, i) * upper;
      }
    });
  });
}

}  // namespace wisp::cpu
