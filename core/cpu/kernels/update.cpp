// The formulas of optimisers, element by element.
#include "cpu/update.h"

#include <cmath>

#include "cpu/kernels/fold.h"

namespace wisp::cpu {

namespace {

// The numbers in the element type, as variables of the loop.
template <class T>
struct Numbers {
  explicit Numbers(const UpdateNumbers& n)
      : sign(T(n.sign)),
        decay(T(n.decay)),
        shrink(T(n.shrink)),
        keep(T(n.keep)),
        take(T(n.take)),
        keep_square(T(n.keep_square)),
        take_square(T(n.take_square)),
        rate(T(n.rate)),
        second_rate(T(n.second_rate)),
        correction(T(n.correction)),
        eps(T(n.eps)),
        flag(n.flag) {}
  T sign, decay, shrink, keep, take, keep_square, take_square, rate, second_rate, correction, eps;
  bool flag;

  // The gradient with weight decay.
  WISP_INLINE T gradient(T grad, T param) const { return sign * grad + decay * param; }
};

// first: the momentum, if any; `flag` at its first step. second_rate: of the gradient itself.
template <class T>
void sgd(T* param, const T* grad, T* momentum, T*, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
  if (!momentum) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) param[i] -= k.rate * k.gradient(grad[i], param[i]);
    return;
  }
  const T keep = k.flag ? T(0) : k.keep, take = k.flag ? T(1) : k.take;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]);
    momentum[i] = (k.flag ? T(0) : keep * momentum[i]) + take * g;
    param[i] -= k.rate * momentum[i] + k.second_rate * g;
  }
}

// The means of gradients and of their squares.
template <class T>
WISP_INLINE void average(const Numbers<T>& k, T g, T& mean, T& square) {
  mean += k.take * (g - mean);
  square = k.keep_square * square + k.take_square * (g * g);
}

template <class T>
void adam(T* param, const T* grad, T* mean, T* square, T* largest, int64_t n,
          const UpdateNumbers& given) {
  const Numbers<T> k(given);
  if (largest) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T p = param[i] * k.shrink;
      average(k, k.gradient(grad[i], p), mean[i], square[i]);
      largest[i] = square[i] > largest[i] || square[i] != square[i] ? square[i] : largest[i];
      param[i] = p - k.rate * mean[i] / (std::sqrt(largest[i]) + k.eps);
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T p = param[i] * k.shrink;
    average(k, k.gradient(grad[i], p), mean[i], square[i]);
    param[i] = p - k.rate * mean[i] / (std::sqrt(square[i]) + k.eps);
  }
}

template <class T>
void adamax(T* param, const T* grad, T* mean, T* largest, T*, int64_t n,
            const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]), size = std::abs(g) + k.eps;
    mean[i] += k.take * (g - mean[i]);
    const T kept = k.keep_square * largest[i];
    largest[i] = size > kept || size != size ? size : kept;
    param[i] -= k.rate * mean[i] / largest[i];
  }
}

template <class T>
void nadam(T* param, const T* grad, T* mean, T* square, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T p = param[i] * k.shrink, g = k.gradient(grad[i], p);
    average(k, g, mean[i], square[i]);
    const T scale = std::sqrt(square[i] / k.correction) + k.eps;
    param[i] = p - k.rate * g / scale - k.second_rate * mean[i] / scale;
  }
}

// `flag`: enough steps have been averaged to divide by their mean square.
template <class T>
void radam(T* param, const T* grad, T* mean, T* square, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T p = param[i] * k.shrink;
    average(k, k.gradient(grad[i], p), mean[i], square[i]);
    const T scale = k.flag ? std::sqrt(square[i]) + k.eps : T(1);
    param[i] = p - k.rate * mean[i] / scale;
  }
}

// mean: of gradients, if the divisor is to be their deviation; keep: of the momentum, if any.
template <class T>
void rmsprop(T* param, const T* grad, T* square, T* mean, T* momentum, int64_t n,
             const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]);
    square[i] = k.keep_square * square[i] + k.take_square * (g * g);
    T variance = square[i];
    if (mean) {
      mean[i] += k.take_square * (g - mean[i]);
      variance -= mean[i] * mean[i];
    }
    T step = g / (std::sqrt(variance) + k.eps);
    if (momentum) step = momentum[i] = k.keep * momentum[i] + step;
    param[i] -= k.rate * step;
  }
}

template <class T>
void adagrad(T* param, const T* grad, T* total, T*, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]);
    total[i] += g * g;
    param[i] -= k.rate * g / (std::sqrt(total[i]) + k.eps);
  }
}

template <class T>
void adadelta(T* param, const T* grad, T* square, T* steps, T*, int64_t n,
              const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]);
    square[i] = k.keep_square * square[i] + k.take_square * (g * g);
    const T step = std::sqrt(steps[i] + k.eps) / std::sqrt(square[i] + k.eps) * g;
    steps[i] = k.keep_square * steps[i] + k.take_square * (step * step);
    param[i] -= k.rate * step;
  }
}

// take: how far the average follows; `flag` if all the way.
template <class T>
void asgd(T* param, const T* grad, T* average, T*, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.gradient(grad[i], param[i]);
    param[i] = param[i] * k.shrink - k.rate * g;
    average[i] = k.flag ? param[i] : average[i] + k.take * (param[i] - average[i]);
  }
}

// keep, take: the factors of a step whose sign has changed, or not; eps and rate: its limits.
template <class T>
void rprop(T* param, const T* grad, T* last, T* size, T*, int64_t n, const UpdateNumbers& given) {
  const Numbers<T> k(given);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = k.sign * grad[i], product = g * last[i];
    const T next = size[i] * (product > 0 ? k.take : product < 0 ? k.keep : T(1));
    size[i] = next < k.eps ? k.eps : next > k.rate ? k.rate : next;
    last[i] = product < 0 ? T(0) : g;
    param[i] -= last[i] > 0 ? size[i] : last[i] < 0 ? -size[i] : T(0);
  }
}

// first: where the parameter comes from, if not from where it is.
template <class T>
void move(T* param, const T* grad, T* origin, T*, T*, int64_t n, const UpdateNumbers& given) {
  const T shrink = T(given.shrink), rate = T(given.rate);
  const T* from = origin ? origin : param;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) param[i] = shrink * from[i] - rate * grad[i];
}

// --- Adafactor

template <class T>
void average_squares(T* means, const T* grad, T take, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) means[i] += take * (grad[i] * grad[i] - means[i]);
}

template <class T>
void estimate(T* estimates, const T* rows, const T* columns, int64_t height, int64_t width,
              int64_t begin, int64_t n) {
  int64_t row = begin / width, col = begin % width, below = height - row % height;
  columns += row / height * width;
  for (int64_t i = 0; i < n; ++row, col = 0) {
    const int64_t count = width - col < n - i ? width - col : n - i;
    const T factor = rows[row];
    for (int64_t j = 0; j < count; ++j) estimates[i + j] = factor * columns[col + j];
    i += count;
    if (--below == 0) {  // the next matrix
      below = height;
      columns += width;
    }
  }
}

template <class T>
void scale(T* out, const T* grad, const T* estimates, T least, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T square = estimates[i] < least ? least : estimates[i];
    out[i] = T(1) / std::sqrt(square) * grad[i];
  }
}

template <class T>
double sum_squares(const T* x, int64_t n) {
  return sum_of(x, n, [](T v) { return double(v) * double(v); });
}

template <class T>
void fill(UpdateFn<T>* rules, AdafactorKernels<T>& adafactor) {
  rules[int(UpdateRule::sgd)] = sgd<T>;
  rules[int(UpdateRule::adam)] = adam<T>;
  rules[int(UpdateRule::adamax)] = adamax<T>;
  rules[int(UpdateRule::nadam)] = nadam<T>;
  rules[int(UpdateRule::radam)] = radam<T>;
  rules[int(UpdateRule::rmsprop)] = rmsprop<T>;
  rules[int(UpdateRule::adagrad)] = adagrad<T>;
  rules[int(UpdateRule::adadelta)] = adadelta<T>;
  rules[int(UpdateRule::asgd)] = asgd<T>;
  rules[int(UpdateRule::rprop)] = rprop<T>;
  rules[int(UpdateRule::move)] = move<T>;
  adafactor = {average_squares<T>, estimate<T>, scale<T>, sum_squares<T>};
}

}  // namespace

namespace WISP_ISA {

void fill_updates(UpdateTable& table);
void fill_updates(UpdateTable& table) {
  fill(table.f32, table.adafactor_f32);
  fill(table.f64, table.adafactor_f64);
}

}  // namespace WISP_ISA
}  // namespace wisp::cpu
