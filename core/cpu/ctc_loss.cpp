#include "cpu/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

template <class T>
constexpr T never = -std::numeric_limits<T>::infinity();

template <class T>
T log_add(T a, T b) {
  const T larger = std::max(a, b);
  return larger == never<T> ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// One sample: its states are blank, label, blank, label, ..., blank.
template <class T>
struct Sample {
  Sample(const CtcShape& shape, int64_t n)
      : shape(shape),
        number(n),
        time(shape.input_lengths[n]),
        labels(shape.target_lengths[n]),
        states(2 * labels + 1) {}
  int64_t label(int64_t state) const {
    if (state % 2 == 0) return shape.blank;
    return shape.targets[shape.target_begin[number] + state / 2 * shape.target_step];
  }
  const T* row(int64_t t) const {
    return reinterpret_cast<const T*>(shape.log_probs) + (t * shape.batch + number) * shape.classes;
  }
  // Whether a path may skip the blank between two states.
  bool skips(int64_t state) const { return state > 1 && label(state) != label(state - 2); }

  const CtcShape& shape;
  int64_t number, time, labels, states;
};

template <class T>
T forward(const Sample<T>& s, T* alpha, int64_t width) {
  if (s.time == 0) return s.labels == 0 ? T(0) : -never<T>;
  std::fill(alpha, alpha + width, never<T>);
  alpha[0] = s.row(0)[s.shape.blank];
  if (s.labels > 0) alpha[1] = s.row(0)[s.label(1)];
  for (int64_t t = 1; t < s.time; ++t) {
    const T *before = alpha + (t - 1) * width, *probs = s.row(t);
    T* now = alpha + t * width;
    for (int64_t i = 0; i < s.states; ++i) {
      T sum = before[i];
      if (i > 0) sum = log_add(sum, before[i - 1]);
      if (s.skips(i)) sum = log_add(sum, before[i - 2]);
      now[i] = sum + probs[s.label(i)];
    }
  }
  const T* last = alpha + (s.time - 1) * width;
  const T end = s.labels > 0 ? last[s.states - 2] : never<T>;
  return -log_add(last[s.states - 1], end);
}

// The log-probability of all ends that begin in each state at time t, from those at t + 1.
template <class T>
void step_back(const Sample<T>& s, int64_t t, const T* after, T* now) {
  const T* probs = s.row(t);
  for (int64_t i = 0; i < s.states; ++i) {
    T sum;
    if (t == s.time - 1) {
      sum = i >= s.states - 2 ? T(0) : never<T>;
    } else {
      sum = after[i];
      if (i + 1 < s.states) sum = log_add(sum, after[i + 1]);
      if (i + 2 < s.states && s.skips(i + 2)) sum = log_add(sum, after[i + 2]);
    }
    now[i] = sum + probs[s.label(i)];
  }
}

template <class T>
void backward(const Sample<T>& s, const T* alpha, int64_t width, T loss, T grad, T* out) {
  const Scratch<T> beta(2 * width), joint(s.shape.classes);
  for (int64_t t = s.time - 1; t >= 0; --t) {
    T *now = beta.data() + t % 2 * width, *after = beta.data() + (t + 1) % 2 * width;
    step_back(s, t, after, now);
    std::fill(joint.begin(), joint.end(), never<T>);
    for (int64_t i = 0; i < s.states; ++i) {
      T& sum = joint[s.label(i)];
      sum = log_add(sum, alpha[t * width + i] + now[i]);
    }
    const T* probs = s.row(t);
    T* to = out + (t * s.shape.batch + s.number) * s.shape.classes;
    for (int64_t c = 0; c < s.shape.classes; ++c)
      to[c] = (std::exp(probs[c]) - std::exp(joint[c] + loss - probs[c])) * grad;
  }
}

}  // namespace

void ctc_loss(const CtcShape& shape, char* losses, char* alpha) {
  const int64_t width = 2 * shape.longest + 1;
  visit<dtypes::real_math>(shape.dtype, "ctc_loss", [&]<class T>() {
    T* table = reinterpret_cast<T*>(alpha);
    std::fill_n(table, shape.batch * shape.time * width, never<T>);
    parallel_for(shape.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        reinterpret_cast<T*>(losses)[n] =
            forward(Sample<T>(shape, n), table + n * shape.time * width, width);
    });
  });
}

void ctc_loss_grad(const CtcShape& shape, const char* grads, const char* losses, const char* alpha,
                   bool zero_infinity, char* out) {
  const int64_t width = 2 * shape.longest + 1;
  visit<dtypes::real_math>(shape.dtype, "ctc_loss", [&]<class T>() {
    std::fill_n(reinterpret_cast<T*>(out), shape.time * shape.batch * shape.classes, T(0));
    parallel_for(shape.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const T loss = reinterpret_cast<const T*>(losses)[n];
        if (zero_infinity && loss == -never<T>) continue;
        backward(Sample<T>(shape, n), reinterpret_cast<const T*>(alpha) + n * shape.time * width,
                 width, loss, reinterpret_cast<const T*>(grads)[n], reinterpret_cast<T*>(out));
      }
    });
  });
}

}  // namespace wisp::cpu
