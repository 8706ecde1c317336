#include "cpu/lbfgs.h"

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"
#include "cpu/update.h"

namespace wisp::cpu {

namespace {

// Products of vectors are sums over pieces of this many elements, whoever computes them. What is
// done to a piece before is still in the cache then.
constexpr int64_t piece = 1 << 14;

template <class T>
double dot(const T* x, const T* y, int64_t n) {
  T sum;
  if constexpr (std::is_same_v<T, float>) {
    kernels().gemm_f32.gemv_rows(x, n, y, &sum, 1, 1, n, 1, 0, false);
  } else {
    kernels().gemm_f64.gemv_rows(x, n, y, &sum, 1, 1, n, 1, 0, false);
  }
  return sum;
}

// The sum of f(begin, n) over pieces of `count` elements.
template <class F>
double sum_pieces(int64_t count, F f) {
  const Scratch<double> sums((count + piece - 1) / piece);
  parallel_for(count, piece,
               [&](int64_t begin, int64_t end) { sums[begin / piece] = f(begin, end - begin); });
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

template <class T>
void note_change(int64_t count, LbfgsChange& call) {
  const T *grad = reinterpret_cast<const T*>(call.grad),
          *last_grad = reinterpret_cast<const T*>(call.last_grad),
          *direction = reinterpret_cast<const T*>(call.last_direction);
  T *change = reinterpret_cast<T*>(call.change), *step = reinterpret_cast<T*>(call.step);
  const T t = T(call.t);
  call.curvature = sum_pieces(count, [&](int64_t begin, int64_t n) {
    for (int64_t i = begin; i < begin + n; ++i) {
      change[i] = grad[i] - last_grad[i];
      step[i] = direction[i] * t;
    }
    return dot(change + begin, step + begin, n);
  });
  call.square = sum_pieces(
      count, [&](int64_t begin, int64_t n) { return dot(change + begin, change + begin, n); });
}

// The direction on its way through the history.
template <class T>
class Recursion {
 public:
  Recursion(int64_t count, const LbfgsDirection& call)
      : count_(count), call_(call), found_(reinterpret_cast<T*>(call.direction)) {}

  void run() {
    const T *grad = reinterpret_cast<const T*>(call_.grad), scale = T(call_.scale);
    const auto pairs = static_cast<int64_t>(call_.changes.size());
    double product = write(steps(pairs - 1), [&](int64_t begin, int64_t n) {
      for (int64_t i = begin; i < begin + n; ++i) found_[i] = -grad[i];
    });
    for (int64_t i = pairs; i-- > 0;) {
      weight(i) = product * inverse(i);
      product = add(-weight(i), changes(i), steps(i - 1));
    }
    product = write(changes(0), [&](int64_t begin, int64_t n) {
      for (int64_t i = begin; i < begin + n; ++i) found_[i] *= scale;
    });
    for (int64_t i = 0; i < pairs; ++i) {
      product = add(weight(i) - product * inverse(i), steps(i), changes(i + 1));
    }
  }

 private:
  double& weight(int64_t i) const { return call_.weights[static_cast<size_t>(i)]; }
  double inverse(int64_t i) const { return call_.inverses[static_cast<size_t>(i)]; }
  const T* changes(int64_t i) const { return at(call_.changes, i); }
  const T* steps(int64_t i) const { return at(call_.steps, i); }
  // Null at either end of the history.
  static const T* at(std::span<const char* const> all, int64_t i) {
    const bool exists = i >= 0 && i < static_cast<int64_t>(all.size());
    return exists ? reinterpret_cast<const T*>(all[static_cast<size_t>(i)]) : nullptr;
  }

  // Changes what was found, piece by piece, and gives its product with the vector that comes next.
  template <class F>
  double write(const T* next, F write_piece) {
    return sum_pieces(count_, [&](int64_t begin, int64_t n) {
      write_piece(begin, n);
      return next ? dot(next + begin, found_ + begin, n) : 0.0;
    });
  }

  double add(double factor, const T* vector, const T* next) {
    UpdateNumbers numbers;
    numbers.rate = -factor;
    return write(next, [&](int64_t begin, int64_t n) {
      update_kernel<T>(UpdateRule::move)(found_ + begin, vector + begin, nullptr, nullptr, nullptr,
                                         n, numbers);
    });
  }

  const int64_t count_;
  const LbfgsDirection& call_;
  T* const found_;
};

}  // namespace

void lbfgs_change(DType dtype, int64_t n, LbfgsChange& call) {
  dtype == DType::float32 ? note_change<float>(n, call) : note_change<double>(n, call);
}

void lbfgs_direction(DType dtype, int64_t n, const LbfgsDirection& call) {
  dtype == DType::float32 ? Recursion<float>(n, call).run() : Recursion<double>(n, call).run();
}

}  // namespace wisp::cpu
