#include "runtime/nn/conv.h"

#include <cmath>

#include "runtime/nn/init.h"

namespace wisp::api::nn {

template <int N>
ConvBase<N>::ConvBase(const ConvOptions<N>& options, bool transposed) : options(options) {
  check();
  const int64_t in = options.in_channels(), out = options.out_channels(), groups = options.groups();
  std::vector<int64_t> sizes =
      transposed ? std::vector<int64_t>{in, out / groups} : std::vector<int64_t>{out, in / groups};
  const auto& window = options.kernel_size().items();
  sizes.insert(sizes.end(), window.begin(), window.end());
  weight = register_parameter("weight", empty(IntList(sizes)));
  bias = register_parameter("bias", options.bias() ? empty({out}) : Tensor());
  reset_parameters();
}

template <int N>
void ConvBase<N>::check() const {
  const int64_t groups = options.groups();
  WISP_CHECK_VALUE(groups > 0, "groups must be a positive integer");
  WISP_CHECK_VALUE(options.in_channels() % groups == 0, "in_channels must be divisible by groups");
  WISP_CHECK_VALUE(options.out_channels() % groups == 0,
                   "out_channels must be divisible by groups");
  const std::string& word = options.padding().word();
  WISP_CHECK_VALUE(word.empty() || word == "same" || word == "valid", "Invalid padding string '",
                   word, "', should be one of {'valid', 'same'}");
  WISP_CHECK_VALUE(word != "same" || options.stride() == Sizes<N>(1),
                   "padding='same' is not supported for strided convolutions");
}

template <int N>
void ConvBase<N>::reset_parameters() {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  const int64_t fan_in = init::fans_of(weight).in;
  if (!bias.defined() || fan_in == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  init::uniform_(bias, -bound, bound);
}

template <int N>
std::string ConvBase<N>::extra_repr() const {
  auto tuple = [](const Sizes<N>& sizes) {
    std::string text = "(";
    for (int i = 0; i < N; ++i)
      text += (i ? ", " : "") + std::to_string(sizes[static_cast<size_t>(i)]);
    return text + (N == 1 ? ",)" : ")");
  };
  std::string text =
      str(options.in_channels(), ", ", options.out_channels(),
          ", kernel_size=", tuple(options.kernel_size()), ", stride=", tuple(options.stride()));
  const std::string& word = options.padding().word();
  if (!word.empty()) text += ", padding=" + word;
  if (!(options.padding().sizes() == Sizes<N>(0)))
    text += ", padding=" + tuple(options.padding().sizes());
  if (!(options.dilation() == Sizes<N>(1))) text += ", dilation=" + tuple(options.dilation());
  if (options.groups() != 1) text += str(", groups=", options.groups());
  return text + (options.bias() ? "" : ", bias=False");
}

namespace {

// conv1d, conv2d or conv3d, with padding as numbers or as a word.
template <int N, class... Pad>
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions<N>& o,
                const Pad&... padding) {
  if constexpr (N == 1) {
    return conv1d(x, weight, bias, o.stride(), padding..., o.dilation(), o.groups());
  } else if constexpr (N == 2) {
    return conv2d(x, weight, bias, o.stride(), padding..., o.dilation(), o.groups());
  } else {
    return conv3d(x, weight, bias, o.stride(), padding..., o.dilation(), o.groups());
  }
}

}  // namespace

template <int N>
Tensor ConvNd<N>::forward(const Tensor& input) {
  const auto& padding = this->options.padding();
  if (!padding.word().empty()) {
    return convolve(input, this->weight, this->bias, this->options,
                    std::string_view(padding.word()));
  }
  return convolve(input, this->weight, this->bias, this->options, IntList(padding.sizes()));
}

template <int N>
Tensor ConvTransposeNd<N>::forward(const Tensor& x) {
  const auto& o = this->options;
  const Tensor &weight = this->weight, &bias = this->bias;
  const auto& pad = o.padding().sizes();
  if constexpr (N == 1) {
    return conv_transpose1d(x, weight, bias, o.stride(), pad, o.output_padding(), o.groups(),
                            o.dilation());
  } else if constexpr (N == 2) {
    return conv_transpose2d(x, weight, bias, o.stride(), pad, o.output_padding(), o.groups(),
                            o.dilation());
  } else {
    return conv_transpose3d(x, weight, bias, o.stride(), pad, o.output_padding(), o.groups(),
                            o.dilation());
  }
}

#define WISP_CONV(N)          \
  template class ConvBase<N>; \
  template class ConvNd<N>;   \
  template class ConvTransposeNd<N>
WISP_CONV(1);
WISP_CONV(2);
WISP_CONV(3);

// --- pooling

namespace {
OptionalIntList optional(const std::optional<Sizes<2>>& sizes) {
  return sizes ? OptionalIntList(IntList(*sizes)) : OptionalIntList();
}
}  // namespace

Tensor MaxPool2dImpl::forward(const Tensor& input) {
  return max_pool2d(input, options.kernel_size(), optional(options.stride()), options.padding(),
                    options.dilation(), options.ceil_mode());
}
Tensor AvgPool2dImpl::forward(const Tensor& input) {
  return functional::avg_pool2d(input, options.kernel_size(), optional(options.stride()),
                                options.padding(), options.ceil_mode(),
                                options.count_include_pad());
}

}  // namespace wisp::api::nn
