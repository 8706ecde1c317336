// One step of an optimiser, for all parameters of a group at once.
#pragma once

#include <span>

#include "base/dtype.h"

namespace wisp::cpu {

enum class UpdateRule : uint8_t {
  sgd,
  adam,
  adamax,
  nadam,
  radam,
  rmsprop,
  adagrad,
  adadelta,
  asgd,
  rprop,
  move,  // by the gradient itself
};
constexpr int num_update_rules = 11;

// What the formulas look at, worked out for one parameter and its step.
struct UpdateNumbers {
  double sign = 1;    // of the gradient
  double decay = 0;   // of the parameter, added to the gradient
  double shrink = 1;  // of the parameter, before anything else
  double keep = 0, take = 0, keep_square = 0, take_square = 0;  // of means
  double rate = 0, second_rate = 0;
  double correction = 1;  // of a mean square
  double eps = 0;
  bool flag = false;
};

// Consecutive memory of one dtype, float32 or float64; what a rule has no use for is null.
struct Update {
  char* param;
  const char* grad;
  char* state[3];
  int64_t count;
  UpdateNumbers numbers;
};
void update(UpdateRule rule, DType dtype, std::span<const Update> updates);

template <class T>
using UpdateFn = void (*)(T* param, const T* grad, T* first, T* second, T* third, int64_t n,
                          const UpdateNumbers& numbers);

// What Adafactor does with consecutive elements. An estimate is the mean square of an element.
template <class T>
struct AdafactorKernels {
  // means += take * (grad^2 - means)
  void (*average)(T* means, const T* grad, T take, int64_t n);
  // Estimates of elements [begin, begin + n) of matrices of that size, from factors of their rows
  // and of their columns.
  void (*estimate)(T* estimates, const T* rows, const T* columns, int64_t height, int64_t width,
                   int64_t begin, int64_t n);
  // out = grad / sqrt(max(estimate, least))
  void (*scale)(T* out, const T* grad, const T* estimates, T least, int64_t n);
  double (*sum_squares)(const T* x, int64_t n);
};

struct UpdateTable {
  UpdateFn<float> f32[num_update_rules];
  UpdateFn<double> f64[num_update_rules];
  AdafactorKernels<float> adafactor_f32;
  AdafactorKernels<double> adafactor_f64;
};
const UpdateTable& update_table();
template <class T>
UpdateFn<T> update_kernel(UpdateRule rule) {
  const auto which = static_cast<size_t>(rule);
  if constexpr (std::is_same_v<T, float>) return update_table().f32[which];
  if constexpr (std::is_same_v<T, double>) return update_table().f64[which];
}

}  // namespace wisp::cpu
