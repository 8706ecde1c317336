#include "cpu/distance.h"

#include <cmath>

#include "base/parallel.h"
#include "cpu/gemm.h"
#include "cpu/opcode.h"
#include "cpu/runs.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

// Folds |x[k] - y[k]| into several partial results, which a compiler may keep in one vector.
template <class T, class F>
WISP_INLINE T fold_sizes(const T* x, const T* y, int64_t n, F f) {
  constexpr int64_t lanes = 8;
  T partial[lanes] = {};
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    for (int64_t l = 0; l < lanes; ++l) partial[l] = f(partial[l], std::abs(x[k + l] - y[k + l]));
  }
  for (; k < n; ++k) partial[0] = f(partial[0], std::abs(x[k] - y[k]));
  return f.join(partial);
}

template <class T>
struct Adding {
  static T join(const T (&partial)[8]) {
    return ((partial[0] + partial[1]) + (partial[2] + partial[3])) +
           ((partial[4] + partial[5]) + (partial[6] + partial[7]));
  }
};
template <class T>
struct Ones : Adding<T> {
  T operator()(T sum, T size) const { return sum + size; }
};
template <class T>
struct Squares : Adding<T> {
  T operator()(T sum, T size) const { return sum + size * size; }
};
template <class T>
struct Counts : Adding<T> {
  T operator()(T sum, T size) const { return sum + (size != 0 ? T(1) : T(0)); }
};
template <class T>
struct Powers : Adding<T> {
  explicit Powers(T exponent) : p(exponent) {}
  T operator()(T sum, T size) const { return sum + std::pow(size, p); }
  T p;
};
// NaN is larger than anything.
template <class T>
struct Largest {
  T operator()(T most, T size) const { return size > most || std::isnan(size) ? size : most; }
  T join(const T (&partial)[8]) const {
    T most = 0;
    for (T part : partial) most = std::isnan(most) ? most : (*this)(most, part);
    return most;
  }
};

template <class T>
T distance(const T* x, const T* y, int64_t n, double p) {
  if (p == 2) return std::sqrt(fold_sizes(x, y, n, Squares<T>()));
  if (p == 1) return fold_sizes(x, y, n, Ones<T>());
  if (p == 0) return fold_sizes(x, y, n, Counts<T>());
  if (std::isinf(p)) return fold_sizes(x, y, n, Largest<T>());
  return std::pow(fold_sizes(x, y, n, Powers<T>(static_cast<T>(p))), static_cast<T>(1 / p));
}

template <class T>
void sums_of_squares(const T* x, int64_t rows, int64_t cols, T* out) {
  const Scratch<T> origin(cols);
  std::fill(origin.begin(), origin.end(), T(0));
  for (int64_t i = 0; i < rows; ++i)
    out[i] = fold_sizes(x + i * cols, origin.data(), cols, Squares<T>());
}

}  // namespace

void distances(const Distances& job, double p) {
  visit<dtypes::real_math>(job.dtype, "cdist", [&]<class T>() {
    const T *x = reinterpret_cast<const T*>(job.x), *y = reinterpret_cast<const T*>(job.y);
    T* out = reinterpret_cast<T*>(job.out);
    const int64_t grain = std::max<int64_t>(
        1, 16384 / std::max<int64_t>(1, job.others * std::max<int64_t>(job.cols, 1)));
    parallel_for(job.stacks * job.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* others = y + row / job.rows * job.others * job.cols;
        for (int64_t j = 0; j < job.others; ++j) {
          out[row * job.others + j] =
              distance(x + row * job.cols, others + j * job.cols, job.cols, p);
        }
      }
    });
  });
}

namespace {

template <class T>
WISP_INLINE T sign_of(T x) {
  return std::copysign(static_cast<T>(x != 0), x);
}

// Adds weight * slope(x - y) of every coordinate.
template <class T, class F>
WISP_INLINE void add_slopes(T* sums, const T* x, const T* y, int64_t n, T weight, F slope) {
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) sums[k] += weight * slope(x[k] - y[k]);
}

// What one pair gives: sgn(step) (|step| / distance)^(p - 1), and 0 where points coincide.
template <class T>
void add_pair(T* sums, const T* x, const T* y, int64_t n, T grad, T distance, double p) {
  if (p == 1) return add_slopes(sums, x, y, n, grad, [](T step) { return sign_of(step); });
  if (std::isinf(p)) {
    return add_slopes(sums, x, y, n, grad, [distance](T step) {
      return std::abs(step) == distance ? sign_of(step) : T(0);
    });
  }
  if (distance == 0) return;
  if (p == 2) {
    return add_slopes(sums, x, y, n, grad / distance, [](T step) { return step; });
  }
  const T power = static_cast<T>(p - 1);
  add_slopes(sums, x, y, n, grad / std::pow(distance, power), [power](T step) {
    return step == 0 ? T(0) : sign_of(step) * std::pow(std::abs(step), power);
  });
}

}  // namespace

void distance_grads(const DistanceGrads& job, double p) {
  const Distances& points = job.points;
  const int64_t cols = points.cols;
  visit<dtypes::real_math>(points.dtype, "cdist", [&]<class T>() {
    const T *x = reinterpret_cast<const T*>(points.x), *y = reinterpret_cast<const T*>(points.y);
    const T *grad = reinterpret_cast<const T*>(job.grad),
            *distance = reinterpret_cast<const T*>(job.distance);
    const int64_t grain = std::max<int64_t>(
        1, 16384 / std::max<int64_t>(1, points.others * std::max<int64_t>(cols, 1)));
    parallel_for(points.stacks * points.rows, grain, [&](int64_t begin, int64_t end) {
      // A few points at a time in the dtype itself, those sums in float64.
      constexpr int64_t few = 64;
      const Scratch<double> sums(cols);
      const Scratch<T> part(cols);
      for (int64_t row = begin; row < end; ++row) {
        const int64_t stack = row / points.rows, i = row % points.rows;
        const int64_t first = stack * points.rows * points.others + i * job.row_step;
        for (int64_t k = 0; k < cols; ++k) sums[k] = 0;
        for (int64_t start = 0; start < points.others; start += few) {
          std::fill(part.begin(), part.end(), T(0));
          for (int64_t j = start; j < std::min(start + few, points.others); ++j) {
            const int64_t at = first + j * job.col_step;
            add_pair(part.data(), x + row * cols, y + (stack * points.others + j) * cols, cols,
                     grad[at], distance[at], p);
          }
          for (int64_t k = 0; k < cols; ++k) sums[k] += static_cast<double>(part[k]);
        }
        T* out = reinterpret_cast<T*>(points.out) + row * cols;
        for (int64_t k = 0; k < cols; ++k) out[k] = static_cast<T>(sums[k]);
      }
    });
  });
}

void euclidean_distances(const Distances& job) {
  visit<dtypes::real_math>(job.dtype, "cdist", [&]<class T>() {
    const T *x = reinterpret_cast<const T*>(job.x), *y = reinterpret_cast<const T*>(job.y);
    const int64_t product = job.rows * job.others, m = job.cols;
    const Stack stack{{job.stacks}, {job.rows * m}, {job.others * m}, {product}};
    gemm(job.dtype, stack, {const_cast<char*>(job.x), job.rows, m, m, 1},
         {const_cast<char*>(job.y), m, job.others, 1, m},
         {job.out, job.rows, job.others, job.others, 1}, -2);
    const TileFn root = tile_kernel(Opcode::sqrt, job.dtype);
    const Scratch<T> x_norms(job.stacks * job.rows), y_norms(job.stacks * job.others);
    sums_of_squares(x, job.stacks * job.rows, m, x_norms.data());
    sums_of_squares(y, job.stacks * job.others, m, y_norms.data());
    parallel_for(job.stacks * job.rows, std::max<int64_t>(1, 32768 / job.others),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     T* out = reinterpret_cast<T*>(job.out) + row * job.others;
                     const T* norms = y_norms.data() + row / job.rows * job.others;
                     const T norm = x_norms[row];
#pragma GCC ivdep
                     for (int64_t j = 0; j < job.others; ++j) {
                       const T square = out[j] + norm + norms[j];
                       out[j] = square < 0 ? T(0) : square;
                     }
                     const void* squares = out;
                     root(out, &squares, job.others, Params());
                   }
                 });
  });
}

namespace {

template <class T>
void cross_run(const std::array<char*, 3>& at, int64_t n, const std::array<int64_t, 3>& next,
               const std::array<int64_t, 3>& steps) {
  using Wide = std::conditional_t<detail::is_half_type<T>, float, T>;
  for (int64_t i = 0; i < n; ++i) {
    Wide x[3], y[3];
    for (int64_t d = 0; d < 3; ++d) {
      x[d] = convert<Wide>(reinterpret_cast<const T*>(at[1] + i * next[1])[d * steps[1]]);
      y[d] = convert<Wide>(reinterpret_cast<const T*>(at[2] + i * next[2])[d * steps[2]]);
    }
    T* out = reinterpret_cast<T*>(at[0] + i * next[0]);
    for (int64_t d = 0; d < 3; ++d) {
      const int64_t e = (d + 1) % 3, f = (d + 2) % 3;
      out[d * steps[0]] = convert<T>(static_cast<Wide>(x[e] * y[f] - x[f] * y[e]));
    }
  }
}

}  // namespace

void cross(IntSpan sizes, const Operand& out, const Operand& a, const Operand& b,
           const std::array<int64_t, 3>& steps) {
  visit<dtypes::number>(out.dtype, "cross", [&]<class T>() {
    const LoopPlan plan(sizes, {out, a, b});
    std::array<int64_t, 3> next = {};
    for (size_t k = 0; k < 3 && plan.ndim() > 0; ++k) next[k] = plan.strides[k].back();
    parallel_for(plan.numel, 8192, [&](int64_t begin, int64_t end) {
      for_each_run(
          plan, std::array<char*, 3>{out.data, a.data, b.data}, begin, end,
          [&](const std::array<char*, 3>& at, int64_t n) { cross_run<T>(at, n, next, steps); });
    });
  });
}

}  // namespace wisp::cpu
