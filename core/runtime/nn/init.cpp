#include "runtime/nn/init.h"

#include <cmath>

#include "runtime/modes.h"

namespace wisp::api::nn::init {

Tensor constant_(Tensor tensor, Scalar value) {
  const NoGradGuard unrecorded;
  return tensor.fill_(value);
}
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }
Tensor uniform_(Tensor tensor, double low, double high) {
  const NoGradGuard unrecorded;
  return tensor.uniform_(low, high);
}
Tensor normal_(Tensor tensor, double mean, double std) {
  const NoGradGuard unrecorded;
  return tensor.normal_(mean, std);
}

Fans fans_of(const Tensor& weight) {
  WISP_CHECK_VALUE(
      weight.dim() >= 2,
      "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  int64_t field = 1;
  for (int64_t d = 2; d < weight.dim(); ++d) field *= weight.size(d);
  return {weight.size(1) * field, weight.size(0) * field};
}

double calculate_gain(std::string_view nonlinearity, double param) {
  if (nonlinearity == "leaky_relu") return std::sqrt(2.0 / (1 + param * param));
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "selu") return 3.0 / 4;
  const bool linear =
      nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity.substr(0, 4) == "conv";
  WISP_CHECK_VALUE(linear, "Unsupported nonlinearity ", nonlinearity);
  return 1;
}

namespace {

double xavier_std(const Tensor& tensor, double gain) {
  const Fans fans = fans_of(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

double kaiming_std(const Tensor& tensor, double a, std::string_view mode,
                   std::string_view nonlinearity) {
  WISP_CHECK_VALUE(mode == "fan_in" || mode == "fan_out", "Mode ", mode,
                   " not supported, please use one of ['fan_in', 'fan_out']");
  const Fans fans = fans_of(tensor);
  const auto fan = static_cast<double>(mode == "fan_in" ? fans.in : fans.out);
  return calculate_gain(nonlinearity, a) / std::sqrt(fan);
}

}  // namespace

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, gain);
  return uniform_(std::move(tensor), -bound, bound);
}
Tensor xavier_normal_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return normal_(std::move(tensor), 0, std);
}
Tensor kaiming_uniform_(Tensor tensor, double a, std::string_view mode,
                        std::string_view nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}
Tensor kaiming_normal_(Tensor tensor, double a, std::string_view mode,
                       std::string_view nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

}  // namespace wisp::api::nn::init
