#include "cpu/nll_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels/kernels.h"

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

int64_t row_grain(const NllShape& shape) {
  return std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, shape.classes));
}

NllSums joined(const std::vector<NllSums>& parts) {
  NllSums sums{0, 0};
  for (const NllSums& part : parts) sums = {sums.loss + part.loss, sums.weight + part.weight};
  return sums;
}

// -log of the softmax of one element; NaN if the sum has no meaning.
template <class T>
T entropy(T x, const double* stats) {
  const double sum = stats[1];
  if (!(sum < std::numeric_limits<double>::infinity())) return std::numeric_limits<T>::quiet_NaN();
  return static_cast<T>(std::log(sum)) - (x - static_cast<T>(stats[0]));
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
  return joined(parts);
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

NllSums cross_entropy(const NllShape& shape, const char* data, double* stats, char* each) {
  const int64_t grain = row_grain(shape);
  std::vector<NllSums> parts(static_cast<size_t>((shape.outer + grain - 1) / grain), NllSums{0, 0});
  visit<dtypes::real_math>(shape.dtype, "cross_entropy", [&]<class T>() {
    const SoftmaxKernel& kernel = kernels().softmax[1][int(dtype_of<T>)];
    parallel_for(shape.outer, grain, [&](int64_t begin, int64_t end) {
      NllSums& part = parts[static_cast<size_t>(begin / grain)];
      for (int64_t i = begin; i < end; ++i) {
        const T* x = reinterpret_cast<const T*>(data) + i * shape.classes;
        const SoftmaxStats found = kernel.stats(x, shape.classes);
        stats[2 * i] = found.largest;
        stats[2 * i + 1] = found.sum;
        const bool ignored = shape.target[i] == shape.ignore_index;
        const T weight = ignored ? T(0) : weight_of<T>(shape, i);
        const T term = ignored ? T(0) : weight * entropy(x[shape.target[i]], stats + 2 * i);
        if (each) reinterpret_cast<T*>(each)[i] = term;
        part.loss += static_cast<double>(term);
        part.weight += static_cast<double>(weight);
      }
    });
  });
  return joined(parts);
}

void cross_entropy_grad(const NllShape& shape, const char* data, const double* stats,
                        const char* grads, double scale, char* x_grad) {
  visit<dtypes::real_math>(shape.dtype, "cross_entropy", [&]<class T>() {
    const SoftmaxKernel& kernel = kernels().softmax[0][int(dtype_of<T>)];
    const T* grad = reinterpret_cast<const T*>(grads);
    parallel_for(shape.outer, row_grain(shape), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* out = reinterpret_cast<T*>(x_grad) + i * shape.classes;
        const bool ignored = shape.target[i] == shape.ignore_index;
        const T upper = (grad ? grad[i] : T(1)) * static_cast<T>(scale);
        const T factor = ignored ? T(0) : weight_of<T>(shape, i) * upper;
        if (factor == 0) {
          std::fill_n(out, shape.classes, T(0));
          continue;
        }
        // The factor goes into the sum that everything is divided by.
        kernel.apply(out, reinterpret_cast<const T*>(data) + i * shape.classes, shape.classes,
                     {stats[2 * i], stats[2 * i + 1] / static_cast<double>(factor)});
        out[shape.target[i]] -= factor;
      }
    });
  });
}

}  // namespace wisp::cpu
