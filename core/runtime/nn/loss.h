// Losses as modules. The functions themselves are in nn::functional, and in wisp.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api {

constexpr const char *kMean = "mean", *kSum = "sum", *kNone = "none";

namespace nn {

class LossOptions {
 public:
  LossOptions(std::string reduction = "mean") : reduction_(std::move(reduction)) {}
  WISP_OPTION(std::string, reduction, "mean");  // "mean", "sum" or "none"
  WISP_OPTION(Tensor, weight, {});              // of classes, or of elements
  WISP_OPTION(Tensor, pos_weight, {});          // of BCEWithLogitsLoss
  WISP_OPTION(int64_t, ignore_index, -100);     // of NLLLoss and CrossEntropyLoss
  WISP_OPTION(double, label_smoothing, 0);      // of CrossEntropyLoss
  WISP_OPTION(double, beta, 1);                 // of SmoothL1Loss
  WISP_OPTION(double, delta, 1);                // of HuberLoss
  WISP_OPTION(bool, log_target, false);         // of KLDivLoss
};

#define WISP_LOSS(Name, expression)                                                \
  using Name##Options = LossOptions;                                               \
  class Name##Impl : public Module {                                               \
   public:                                                                         \
    explicit Name##Impl(LossOptions options = {}) : options(std::move(options)) {} \
    Tensor forward(const Tensor& input, const Tensor& target) {                    \
      const LossOptions& o = options;                                              \
      return functional::expression;                                               \
    }                                                                              \
    LossOptions options;                                                           \
  };                                                                               \
  WISP_MODULE(Name)

WISP_LOSS(MSELoss, mse_loss(input, target, o.reduction()));
WISP_LOSS(L1Loss, l1_loss(input, target, o.reduction()));
WISP_LOSS(SmoothL1Loss, smooth_l1_loss(input, target, o.reduction(), o.beta()));
WISP_LOSS(HuberLoss, huber_loss(input, target, o.reduction(), o.delta()));
WISP_LOSS(NLLLoss, nll_loss(input, target, o.weight(), o.ignore_index(), o.reduction()));
WISP_LOSS(CrossEntropyLoss, cross_entropy(input, target, o.weight(), o.ignore_index(),
                                          o.reduction(), o.label_smoothing()));
WISP_LOSS(BCELoss, binary_cross_entropy(input, target, o.weight(), o.reduction()));
WISP_LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits(input, target, o.weight(),
                                                              o.reduction(), o.pos_weight()));
WISP_LOSS(KLDivLoss, kl_div(input, target, o.reduction(), o.log_target()));

}  // namespace nn
}  // namespace wisp::api
#pragma GCC visibility pop
