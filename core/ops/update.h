// What the rules of optimisers share: the arguments of _fused_update, and tensors as memory.
#pragma once

#include <vector>

#include "dispatch/op_def.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace update_arg {
enum : int { params, grads, steps, first, second, third, rule, numbers };
constexpr int lists = rule;
}  // namespace update_arg

// The settings of a group, in the order in which each rule gets them.
using UpdateSettings = std::span<const double>;
inline UpdateSettings update_settings(const Args& args) {
  return {args[update_arg::numbers].as.reals, args[update_arg::numbers].size};
}

// A tensor of one element.
inline double read_number(const Tensor& number) {
  return consecutive(number, DType::float64).data<double>()[0];
}
inline void write_number(const Tensor& number, double value) {
  const Tensor one = Tensor::empty(number.sizes(), DType::float64);
  one.data<double>()[0] = value;
  copy_raw(number, one);
}
// Counts one more step.
inline double next_step(const Tensor& step) {
  if (step.dtype() == DType::float32) return ++step.data<float>()[0];
  const double t = read_number(step) + 1;
  write_number(step, t);
  return t;
}

// Tensors as memory of the kernel's dtype; those that are not so already are copied back in the
// end.
class UpdateMemory {
 public:
  explicit UpdateMemory(DType dtype) : dtype_(dtype) {}
  ~UpdateMemory() {
    for (const auto& [tensor, copy] : copies_) copy_raw(tensor, copy);
  }
  char* read(const Tensor& t) { return place(t)->bytes(); }
  char* written(const Tensor& t) {
    const Tensor& at = place(t);
    if (!at.is_same(t)) copies_.emplace_back(t, at);
    return at->bytes();
  }

 private:
  const Tensor& place(const Tensor& t) {
    if (t.is_contiguous() && t.dtype() == dtype_) return t;
    return held_.emplace_back(consecutive(t, dtype_));
  }
  DType dtype_;
  std::vector<Tensor> held_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
};

// Rules that look at whole tensors: one step for all parameters that are computed in this dtype.
void adafactor_steps(const Call& call, DType dtype);
void muon_steps(const Call& call, DType dtype);
// The shapes of their states.
Dims adafactor_state_sizes(int list, IntSpan param);
Dims muon_state_sizes(int list, IntSpan param);

}  // namespace wisp::ops
