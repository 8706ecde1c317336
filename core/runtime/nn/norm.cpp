#include "runtime/nn/norm.h"

namespace wisp::api::nn {

BatchNormBase::BatchNormBase(const BatchNormOptions& options, int64_t low, int64_t high)
    : options(options), low_(low), high_(high) {
  const int64_t n = options.num_features();
  weight = register_parameter("weight", options.affine() ? ones({n}) : Tensor());
  bias = register_parameter("bias", options.affine() ? zeros({n}) : Tensor());
  const bool tracks = options.track_running_stats();
  running_mean = register_buffer("running_mean", tracks ? zeros({n}) : Tensor());
  running_var = register_buffer("running_var", tracks ? ones({n}) : Tensor());
  num_batches_tracked =
      register_buffer("num_batches_tracked", tracks ? zeros({}, kInt64) : Tensor());
}

void BatchNormBase::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

Tensor BatchNormBase::forward(const Tensor& input) {
  WISP_CHECK_VALUE(input.dim() >= low_ && input.dim() <= high_, "expected ",
                   low_ == high_ ? str(low_, "D") : str(low_, "D or ", high_, "D"), " input (got ",
                   input.dim(), "D input)");
  const bool tracks = options.track_running_stats();
  double momentum = options.momentum().value_or(0);
  if (is_training() && tracks) {
    num_batches_tracked += 1;
    if (!options.momentum()) momentum = 1 / num_batches_tracked.item<double>();
  }
  return functional::batch_norm(input, running_mean, running_var, weight, bias,
                                is_training() || !tracks, momentum, options.eps());
}

std::string BatchNormBase::extra_repr() const {
  return str(options.num_features(), ", eps=", options.eps(),
             ", momentum=", options.momentum() ? str(*options.momentum()) : "None",
             ", affine=", options.affine(),
             ", track_running_stats=", options.track_running_stats());
}

LayerNormImpl::LayerNormImpl(const LayerNormOptions& options) : options(options) {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? ones(options.normalized_shape()) : Tensor());
  bias = register_parameter("bias", affine ? zeros(options.normalized_shape()) : Tensor());
}
Tensor LayerNormImpl::forward(const Tensor& input) {
  return layer_norm(input, options.normalized_shape(), weight, bias, options.eps());
}
std::string LayerNormImpl::extra_repr() const {
  return str(IntList(options.normalized_shape()), ", eps=", options.eps(),
             ", elementwise_affine=", options.elementwise_affine());
}

}  // namespace wisp::api::nn
