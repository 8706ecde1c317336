// Normalisation.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

class BatchNormOptions {
 public:
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  WISP_OPTION(int64_t, num_features, 0);
  WISP_OPTION(double, eps, 1e-5);
  WISP_OPTION(std::optional<double>, momentum, 0.1);  // none: plain averages
  WISP_OPTION(bool, affine, true);
  WISP_OPTION(bool, track_running_stats, true);
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

// Shifts and scales channels to mean 0 and variance 1 over the batch, then by learnt numbers.
class BatchNormBase : public Module {
 public:
  void reset_running_stats();
  Tensor forward(const Tensor& input);
  std::string extra_repr() const override;
  BatchNormOptions options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 protected:
  // Takes input of at least `low` and at most `high` dimensions.
  BatchNormBase(const BatchNormOptions& options, int64_t low, int64_t high);

 private:
  int64_t low_, high_;
};

#define WISP_BATCH_NORM(Name, low, high)                                                        \
  class Name##Impl : public BatchNormBase {                                                     \
   public:                                                                                      \
    explicit Name##Impl(const BatchNormOptions& options) : BatchNormBase(options, low, high) {} \
  };                                                                                            \
  WISP_MODULE(Name)
WISP_BATCH_NORM(BatchNorm1d, 2, 3);
WISP_BATCH_NORM(BatchNorm2d, 4, 4);
WISP_BATCH_NORM(BatchNorm3d, 5, 5);

class LayerNormOptions {
 public:
  LayerNormOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  WISP_OPTION(std::vector<int64_t>, normalized_shape, {});
  WISP_OPTION(double, eps, 1e-5);
  WISP_OPTION(bool, elementwise_affine, true);
};
// The same over the last dimensions of every sample.
class LayerNormImpl : public Module {
 public:
  explicit LayerNormImpl(std::vector<int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options);
  Tensor forward(const Tensor& input);
  std::string extra_repr() const override;
  LayerNormOptions options;
  Tensor weight, bias;
};
WISP_MODULE(LayerNorm);

}  // namespace wisp::api::nn
#pragma GCC visibility pop
