#include "cpu/adafactor.h"

#include <cmath>

#include "cpu/jobs.h"
#include "cpu/reduce.h"
#include "cpu/scratch.h"
#include "cpu/update.h"

namespace wisp::cpu {

namespace {

constexpr int64_t piece = 1 << 13;  // elements a thread takes at once
constexpr int64_t tile = 1024;      // ... and keeps in its first-level cache

template <class T>
const AdafactorKernels<T>& kernels_for() {
  if constexpr (std::is_same_v<T, float>) {
    return update_table().adafactor_f32;
  } else {
    return update_table().adafactor_f64;
  }
}

// Reduces consecutive elements over the dimensions whose bits are set.
template <class T>
void reduce_to(T* out, Reduction op, const T* in, IntSpan sizes, uint64_t reduced,
               double divisor = 1) {
  Dims strides(sizes.size(), 1);
  for (size_t dim = sizes.size(); dim-- > 1;) strides[dim - 1] = strides[dim] * sizes[dim];
  Reduce call{.op = op,
              .compute = dtype_of<T>,
              .sizes = sizes,
              .in = {reinterpret_cast<char*>(const_cast<T*>(in)), strides, dtype_of<T>},
              .reduced = reduced,
              .out = {reinterpret_cast<char*>(out), {}, dtype_of<T>},
              .second = {},
              .params = {}};
  call.params.divisor = divisor;
  reduce(call);
}

template <class T>
class Step {
 public:
  explicit Step(const AdafactorStep& given)
      : given_(given),
        count_(given.matrices * given.height * given.width),
        param_(reinterpret_cast<T*>(given.param)),
        grad_(reinterpret_cast<const T*>(given.grad)),
        factors_(given.squares ? 0 : given.matrices * given.height) {}

  void run() {
    if (count_ == 0) return;
    const double root = std::sqrt(static_cast<double>(count_));
    T norm;
    reduce_to<T>(&norm, Reduction::norm_2, param_, {&count_, 1}, 1);
    const double size = std::max(given_.least_size, static_cast<double>(norm) / root);
    given_.squares ? average_elements() : average_lines();
    const double excess = update_norm() / (root * given_.limit);
    apply(given_.rate * size / std::max(1.0, excess));
  }

 private:
  void average_elements() {
    T* squares = reinterpret_cast<T*>(given_.squares);
    parallel_for(count_, piece, [&](int64_t begin, int64_t end) {
      kernels_for<T>().average(squares + begin, grad_ + begin, T(given_.take), end - begin);
    });
  }

  // Mean squares of the lines along one dimension: 1 for columns, 2 for rows.
  void average_along(int dim, char* kept, int64_t lines, int64_t length) {
    const int64_t sizes[] = {given_.matrices, given_.height, given_.width};
    const Scratch<T> norms(lines);
    reduce_to<T>(norms.data(), Reduction::norm_2, grad_, sizes, uint64_t(1) << dim);
    T* means = reinterpret_cast<T*>(kept);
    const T take = T(given_.take), divisor = static_cast<T>(length);
    for (int64_t i = 0; i < lines; ++i)
      means[i] += take * (norms[i] * norms[i] / divisor - means[i]);
  }

  // Leaves in factors_ the mean squares of rows, relative to their mean over each matrix.
  void average_lines() {
    const int64_t sizes[] = {given_.matrices, given_.height};
    average_along(2, given_.rows, given_.matrices * given_.height, given_.width);
    average_along(1, given_.columns, given_.matrices * given_.width, given_.height);
    const T *rows = reinterpret_cast<const T*>(given_.rows), least = T(given_.least);
    const Scratch<T> means(given_.matrices);
    reduce_to<T>(means.data(), Reduction::sum, rows, sizes, 2, static_cast<double>(given_.height));
    for (int64_t m = 0, i = 0; m < given_.matrices; ++m) {
      const T mean = means[m] < least ? least : means[m];
      for (int64_t end = i + given_.height; i < end; ++i) factors_[i] = rows[i] / mean;
    }
  }

  // f(update, begin, n) for tiles of the update before its rate.
  template <class F>
  void for_each_tile(int64_t begin, int64_t end, F f) const {
    T estimates[tile], update[tile];
    const T* squares = reinterpret_cast<const T*>(given_.squares);
    const T* columns = reinterpret_cast<const T*>(given_.columns);
    const T least = T(given_.least * given_.least);
    for (int64_t at = begin; at < end; at += tile) {
      const int64_t n = std::min(tile, end - at);
      if (!squares) {
        kernels_for<T>().estimate(estimates, factors_.data(), columns, given_.height, given_.width,
                                  at, n);
      }
      kernels_for<T>().scale(update, grad_ + at, squares ? squares + at : estimates, least, n);
      f(update, at, n);
    }
  }

  double update_norm() const {
    const Scratch<double> sums((count_ + piece - 1) / piece);
    parallel_for(count_, piece, [&](int64_t begin, int64_t end) {
      double& sum = sums[begin / piece] = 0;
      for_each_tile(begin, end, [&](const T* update, int64_t, int64_t n) {
        sum += kernels_for<T>().sum_squares(update, n);
      });
    });
    double total = 0;
    for (double sum : sums) total += sum;
    return std::sqrt(total);
  }

  void apply(double rate) const {
    UpdateNumbers numbers;
    numbers.shrink = given_.shrink;
    numbers.rate = rate;
    parallel_for(count_, piece, [&](int64_t begin, int64_t end) {
      for_each_tile(begin, end, [&](const T* update, int64_t at, int64_t n) {
        update_kernel<T>(UpdateRule::move)(param_ + at, update, nullptr, nullptr, nullptr, n,
                                           numbers);
      });
    });
  }

  const AdafactorStep& given_;
  const int64_t count_;
  T* const param_;
  const T* const grad_;
  const Scratch<T> factors_;
};

}  // namespace

void adafactor(DType dtype, std::span<const AdafactorStep> steps) {
  auto size_of = [](const AdafactorStep& s) { return s.matrices * s.height * s.width; };
  run_jobs(steps, 4 * piece, size_of, [&](const AdafactorStep& step) {
    dtype == DType::float32 ? Step<float>(step).run() : Step<double>(step).run();
  });
}

}  // namespace wisp::cpu
