// The optimizers whose step is one native call for all parameters of a group.
#pragma once

#include "runtime/optim/optimizer.h"

#pragma GCC visibility push(default)
namespace wisp::api::optim {

// Declares an optimizer that has nothing of its own but its rule.
#define WISP_OPTIMIZER(Name)                                                             \
  class Name : public Optimizer {                                                        \
   public:                                                                               \
    explicit Name(Tensors params, Name##Options options = {})                            \
        : Name(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, \
               std::move(options)) {}                                                    \
    explicit Name(std::vector<OptimizerParamGroup> groups, Name##Options options = {});  \
                                                                                         \
   private:                                                                              \
    void update(OptimizerParamGroup& group, const Tensors& params) override;             \
  }

class SGDOptions : public OptimizerOptions {
 public:
  SGDOptions(double lr = 1e-3);
  void check() const;
  WISP_SETTING(SGDOptions, double, lr, number)
  WISP_SETTING(SGDOptions, double, momentum, number)
  WISP_SETTING(SGDOptions, double, dampening, number)
  WISP_SETTING(SGDOptions, double, weight_decay, number)
  WISP_SETTING(SGDOptions, bool, nesterov, flag)
  WISP_SETTING(SGDOptions, bool, maximize, flag)
};
WISP_OPTIMIZER(SGD);

class AdamOptions : public OptimizerOptions {
 public:
  AdamOptions(double lr = 1e-3);
  void check() const;
  WISP_SETTING(AdamOptions, double, lr, number)
  AdamOptions& betas(std::tuple<double, double> betas);
  std::tuple<double, double> betas() const;
  WISP_SETTING(AdamOptions, double, eps, number)
  WISP_SETTING(AdamOptions, double, weight_decay, number)
  WISP_SETTING(AdamOptions, bool, amsgrad, flag)
  WISP_SETTING(AdamOptions, bool, maximize, flag)
};
WISP_OPTIMIZER(Adam);

// Weight decay shrinks parameters directly instead of adding to gradients.
class AdamWOptions : public AdamOptions {
 public:
  AdamWOptions(double lr = 1e-3);
  AdamWOptions(AdamOptions options);
};
WISP_OPTIMIZER(AdamW);

class RMSpropOptions : public OptimizerOptions {
 public:
  RMSpropOptions(double lr = 1e-2);
  void check() const;
  WISP_SETTING(RMSpropOptions, double, lr, number)
  WISP_SETTING(RMSpropOptions, double, alpha, number)
  WISP_SETTING(RMSpropOptions, double, eps, number)
  WISP_SETTING(RMSpropOptions, double, weight_decay, number)
  WISP_SETTING(RMSpropOptions, double, momentum, number)
  WISP_SETTING(RMSpropOptions, bool, centered, flag)
  WISP_SETTING(RMSpropOptions, bool, maximize, flag)
};
WISP_OPTIMIZER(RMSprop);

class AdagradOptions : public OptimizerOptions {
 public:
  AdagradOptions(double lr = 1e-2);
  void check() const;
  WISP_SETTING(AdagradOptions, double, lr, number)
  WISP_SETTING(AdagradOptions, double, lr_decay, number)
  WISP_SETTING(AdagradOptions, double, weight_decay, number)
  WISP_SETTING(AdagradOptions, double, initial_accumulator_value, number)
  WISP_SETTING(AdagradOptions, double, eps, number)
  WISP_SETTING(AdagradOptions, bool, maximize, flag)
};
WISP_OPTIMIZER(Adagrad);

}  // namespace wisp::api::optim
#pragma GCC visibility pop
