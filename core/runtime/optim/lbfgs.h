// L-BFGS: steps that take the curvature into account, as far as the last gradients show it.
#pragma once

#include "runtime/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace wisp::api::optim {

class LBFGSOptions : public OptimizerOptions {
 public:
  LBFGSOptions(double lr = 1);
  WISP_SETTING(LBFGSOptions, double, lr, number)
  WISP_SETTING(LBFGSOptions, int64_t, max_iter, number)
  WISP_SETTING(LBFGSOptions, int64_t, max_eval, number)  // 5/4 of max_iter unless given
  WISP_SETTING(LBFGSOptions, double, tolerance_grad, number)
  WISP_SETTING(LBFGSOptions, double, tolerance_change, number)
  WISP_SETTING(LBFGSOptions, int64_t, history_size, number)
  LBFGSOptions& line_search_fn(const std::string& name) {  // "strong_wolfe"
    set("line_search_fn", name);
    return *this;
  }
};

// May evaluate the loss several times per step: step() has to be given a closure.
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(Tensors params, LBFGSOptions options = {});
  // Makes up to max_iter iterations. The closure clears the gradients, computes the loss, calls
  // backward() on it and returns it. Returns what the closure returned at first.
  Tensor step(const LossClosure& closure) override;

 private:
  struct Point {  // on the line that is searched
    double t, loss;
    Tensor grad;
    double slope;
  };
  class LineSearch;
  Tensor gradient() const;
  // From where the parameters are, or from an origin.
  void move(double t, const Tensor& direction, const Tensor& origin) const;
  Point evaluate(const LossClosure& closure) const;
  Point go(const LossClosure& closure, const Point& start, bool last, int64_t& evaluations);
  Tensor direction(State& state, const Tensor& grad);
  double first_length(State& state, const Tensor& grad) const;
  bool stands_still(State& state, double loss) const;
  const OptimizerOptions& settings() const { return param_groups()[0].options(); }
};

}  // namespace wisp::api::optim
#pragma GCC visibility pop
