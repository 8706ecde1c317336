#include "cpu/distance.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "cpu/gemm.h"
#include "cpu/kernels/kernels.h"
#include "cpu/runs.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

template <class T>
const DistanceKernels<T>& distance_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return kernels().distance_f32;
  } else {
    return kernels().distance_f64;
  }
}

// --- Norms that are not among those of the kernels: powers are made by the kernel of pow, those of
// a few points at a time.

bool has_kernel(double p) { return p == 0 || p == 1 || p == 2 || std::isinf(p); }

constexpr int64_t powers_at_once = 1024;

template <class T>
void raise(T* values, int64_t n, double exponent) {
  const TileFn kernel = tile_kernel(Opcode::pow, dtype_of<T>);
  T exponents[powers_at_once];
  std::fill(exponents, exponents + std::min(n, powers_at_once), static_cast<T>(exponent));
  for (int64_t at = 0; at < n; at += powers_at_once) {
    const void* in[] = {values + at, exponents};
    kernel(values + at, in, std::min(powers_at_once, n - at), Params());
  }
}

// f(j, |x - y|^exponent for all coordinates) for every other point j, one after the other.
template <class T, class F>
void with_powers(const PointAndOthers<T>& at, double exponent, F f) {
  const int64_t few = std::max<int64_t>(1, powers_at_once / std::max<int64_t>(at.cols, 1));
  const Scratch<T> powers(std::min(few, at.count) * at.cols);
  for (int64_t first = 0; first < at.count; first += few) {
    const int64_t count = std::min(few, at.count - first);
    const T* others = at.others + first * at.cols;
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t k = j * at.cols, i = 0; i < at.cols; ++i, ++k)
        powers[k] = std::abs(at.x[i] - others[k]);
    }
    raise(powers.data(), count * at.cols, exponent);
    for (int64_t j = 0; j < count; ++j) f(first + j, powers.data() + j * at.cols);
  }
}

template <class T>
void distances_from(const PointAndOthers<T>& at, double p, T* out) {
  if (has_kernel(p)) return distance_kernels<T>().from(at, p, out);
  with_powers(at, p, [&](int64_t j, const T* powers) {
    T sum = 0;
    for (int64_t k = 0; k < at.cols; ++k) sum += powers[k];
    out[j] = sum;
  });
  raise(out, at.count, 1 / p);
}

// What gradients are multiplied with is sgn(step) (|step| / distance)^(p - 1), and 0 where points
// coincide: what of it belongs to the distance goes into weights.
template <class T>
void make_weights(const T* grads, const T* distances, int64_t n, double p, T* weights) {
  if (p == 1 || std::isinf(p)) {
    std::copy(grads, grads + n, weights);
    return;
  }
  std::copy(distances, distances + n, weights);
  if (p != 2) raise(weights, n, p - 1);
  for (int64_t j = 0; j < n; ++j) {
    const T weight = grads[j] / weights[j];
    weights[j] = distances[j] == 0 ? T(0) : weight;
  }
}

// Adds what at most `most_slopes` others give to the gradient of x.
template <class T>
void add_slopes(const PointAndOthers<T>& at, double p, const T* weights, const T* distances,
                T* sums) {
  if (has_kernel(p)) return distance_kernels<T>().add_slopes(at, p, weights, distances, sums);
  with_powers(at, p - 1, [&](int64_t j, const T* powers) {
    for (int64_t k = 0; k < at.cols; ++k) {
      const T step = at.x[k] - at.others[j * at.cols + k];
      sums[k] += step == 0 ? T(0) : weights[j] * std::copysign(powers[k], step);
    }
  });
}

// ---

int64_t grain_of_points(int64_t work_each) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work_each));
}

// How many pairs begin with an earlier row than i.
int64_t pairs_before(int64_t i, int64_t rows) { return i * (2 * rows - i - 1) / 2; }

// The row that begins a pair.
int64_t row_of_pair(int64_t pair, int64_t rows) {
  int64_t low = 0, high = rows;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (pairs_before(middle, rows) <= pair ? low : high) = middle;
  }
  return low;
}

}  // namespace

void distances(const Distances& job, double p) {
  visit<dtypes::real_math>(job.dtype, "cdist", [&]<class T>() {
    const T *x = reinterpret_cast<const T*>(job.x), *y = reinterpret_cast<const T*>(job.y);
    T* out = reinterpret_cast<T*>(job.out);
    parallel_for(job.stacks * job.rows,
                 grain_of_points(job.others * std::max<int64_t>(job.cols, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     const T* others = y + row / job.rows * job.others * job.cols;
                     distances_from<T>({x + row * job.cols, others, job.others, job.cols}, p,
                                       out + row * job.others);
                   }
                 });
  });
}

void pair_distances(const PointPairs& points, double p, char* result) {
  const int64_t rows = points.rows, cols = points.cols;
  visit<dtypes::real_math>(points.dtype, "pdist", [&]<class T>() {
    const T* x = reinterpret_cast<const T*>(points.x);
    T* out = reinterpret_cast<T*>(result);
    parallel_for(rows * (rows - 1) / 2, grain_of_points(cols), [&](int64_t begin, int64_t end) {
      for (int64_t pair = begin, i = row_of_pair(begin, rows); pair < end; ++i) {
        const int64_t other = i + 1 + pair - pairs_before(i, rows);
        const int64_t count = std::min(rows - other, end - pair);
        distances_from<T>({x + i * cols, x + other * cols, count, cols}, p, out + pair);
        pair += count;
      }
    });
  });
}

namespace {

// The gradients of a few points: a few slopes at a time in the dtype itself, those sums in float64.
template <class T>
class SlopeSums {
 public:
  SlopeSums(int64_t points, int64_t cols, double p)
      : cols_(cols), p_(p), sums_(points * cols), part_(cols) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }

  // What at most `most_slopes` others give to the gradient of x, which is that of point i here.
  void add(int64_t i, const PointAndOthers<T>& at, const T* weights, const T* distances) {
    std::fill(part_.begin(), part_.end(), T(0));
    add_slopes<T>(at, p_, weights, distances, part_.data());
    double* sums = sums_.data() + i * cols_;
    for (int64_t k = 0; k < cols_; ++k) sums[k] += static_cast<double>(part_[k]);
  }

  void take(T* out) const {
    for (double sum : sums_) *out++ = static_cast<T>(sum);
  }

 private:
  int64_t cols_;
  double p_;
  Scratch<double> sums_;
  Scratch<T> part_;
};

}  // namespace

void distance_grads(const DistanceGrads& job, double p) {
  const Distances& points = job.points;
  const int64_t cols = points.cols;
  visit<dtypes::real_math>(points.dtype, "cdist", [&]<class T>() {
    const T *x = reinterpret_cast<const T*>(points.x), *y = reinterpret_cast<const T*>(points.y);
    const T *grad = reinterpret_cast<const T*>(job.grad),
            *distance = reinterpret_cast<const T*>(job.distance);
    T* out = reinterpret_cast<T*>(points.out);
    const int64_t grain = grain_of_points(points.others * std::max<int64_t>(cols, 1));
    parallel_for(points.stacks * points.rows, grain, [&](int64_t begin, int64_t end) {
      T grads[most_slopes], distances[most_slopes], weights[most_slopes];
      for (int64_t row = begin; row < end; ++row) {
        SlopeSums<T> sums(1, cols, p);
        const int64_t stack = row / points.rows, i = row % points.rows;
        const int64_t first = stack * points.rows * points.others + i * job.row_step;
        for (int64_t start = 0; start < points.others; start += most_slopes) {
          const int64_t count = std::min(most_slopes, points.others - start);
          for (int64_t j = 0; j < count; ++j) {
            const int64_t at = first + (start + j) * job.col_step;
            grads[j] = grad[at];
            distances[j] = distance[at];
          }
          make_weights(grads, distances, count, p, weights);
          sums.add(0, {x + row * cols, y + (stack * points.others + start) * cols, count, cols},
                   weights, distances);
        }
        sums.take(out + row * cols);
      }
    });
  });
}

namespace {

// The gradients of `rows` neighbouring points from `first` on, of what all pairs have.
template <class T>
class PairSlopes {
 public:
  PairSlopes(const PointPairs& points, double p, const T* weights, const T* distances,
             int64_t first, int64_t rows)
      : x_(reinterpret_cast<const T*>(points.x)),
        n_(points.rows),
        cols_(points.cols),
        weights_(weights),
        distances_(distances),
        first_(first),
        rows_(rows),
        sums_(rows, cols_, p) {}

  static constexpr int64_t most_rows = 16;

  // Of pairs that the points begin: they follow each other in memory.
  void add_later() {
    for (int64_t i = first_; i < first_ + rows_; ++i) {
      for (int64_t j = i + 1; j < n_; j += most_slopes) {
        const int64_t at = pairs_before(i, n_) + j - i - 1;
        sums_.add(i - first_, from(i, j, std::min(most_slopes, n_ - j)), weights_ + at,
                  distances_ + at);
      }
    }
  }
  // Of pairs that earlier points begin: what belongs to one of these points is collected first, in
  // the order in which it lies in memory.
  void add_earlier() {
    T weights[most_rows][most_slopes], distances[most_rows][most_slopes];
    for (int64_t start = 0; start < first_ + rows_; start += most_slopes) {
      const int64_t end = std::min(start + most_slopes, first_ + rows_);
      for (int64_t j = start; j < end; ++j) {
        const int64_t row = pairs_before(j, n_) - j - 1;
        for (int64_t i = std::max(j + 1, first_); i < first_ + rows_; ++i) {
          weights[i - first_][j - start] = weights_[row + i];
          distances[i - first_][j - start] = distances_[row + i];
        }
      }
      for (int64_t i = std::max(start + 1, first_); i < first_ + rows_; ++i) {
        sums_.add(i - first_, from(i, start, std::min(end, i) - start), weights[i - first_],
                  distances[i - first_]);
      }
    }
  }
  void take(T* out) const { sums_.take(out + first_ * cols_); }

 private:
  PointAndOthers<T> from(int64_t i, int64_t j, int64_t count) const {
    return {x_ + i * cols_, x_ + j * cols_, count, cols_};
  }
  const T* x_;
  int64_t n_, cols_;
  const T *weights_, *distances_;
  int64_t first_, rows_;
  SlopeSums<T> sums_;
};

}  // namespace

void pair_grads(const PointPairs& points, const char* grad, const char* distance, double p,
                char* result) {
  const int64_t pairs = points.rows * (points.rows - 1) / 2;
  visit<dtypes::real_math>(points.dtype, "pdist", [&]<class T>() {
    const T *grads = reinterpret_cast<const T*>(grad),
            *distances = reinterpret_cast<const T*>(distance);
    const Scratch<T> weights(std::max<int64_t>(pairs, 0));
    parallel_for(pairs, 1 << 13, [&](int64_t begin, int64_t end) {
      make_weights(grads + begin, distances + begin, end - begin, p, weights.data() + begin);
    });
    parallel_for(points.rows, PairSlopes<T>::most_rows, [&](int64_t begin, int64_t end) {
      PairSlopes<T> slopes(points, p, weights.data(), distances, begin, end - begin);
      slopes.add_earlier();
      slopes.add_later();
      slopes.take(reinterpret_cast<T*>(result));
    });
  });
}

namespace {

template <class T>
T sum_of_squares(const T* x, int64_t n) {
  constexpr int64_t lanes = 8;
  T part[lanes] = {};
  int64_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    for (int64_t l = 0; l < lanes; ++l) part[l] += x[k + l] * x[k + l];
  }
  for (; k < n; ++k) part[0] += x[k] * x[k];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

template <class T>
void sums_of_squares(const T* x, int64_t rows, int64_t cols, T* out) {
  for (int64_t i = 0; i < rows; ++i) out[i] = sum_of_squares(x + i * cols, cols);
}

}  // namespace

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
