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
};
constexpr int num_update_rules = 10;

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
struct UpdateTable {
  UpdateFn<float> f32[num_update_rules];
  UpdateFn<double> f64[num_update_rules];
};

}  // namespace wisp::cpu
