// Convolutions and pooling.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

// How much to add at both ends of every dimension, or "same" or "valid".
template <int N>
class Padding {
 public:
  template <class T, IfInteger<T> = 0>
  Padding(T all) : sizes_(all) {}
  Padding(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  Padding(Sizes<N> sizes) : sizes_(std::move(sizes)) {}
  Padding(const char* word) : sizes_(0), word_(word) {}
  const Sizes<N>& sizes() const { return sizes_; }
  const std::string& word() const { return word_; }

 private:
  Sizes<N> sizes_;
  std::string word_;
};

template <int N>
class ConvOptions {
 public:
  ConvOptions(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  WISP_OPTION(int64_t, in_channels, 0);
  WISP_OPTION(int64_t, out_channels, 0);
  WISP_OPTION(Sizes<N>, kernel_size, 1);
  WISP_OPTION(Sizes<N>, stride, 1);
  WISP_OPTION(Padding<N>, padding, 0);
  WISP_OPTION(Sizes<N>, output_padding, 0);  // of transposed convolutions
  WISP_OPTION(Sizes<N>, dilation, 1);
  WISP_OPTION(int64_t, groups, 1);
  WISP_OPTION(bool, bias, true);
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;
using ConvTranspose1dOptions = ConvOptions<1>;
using ConvTranspose2dOptions = ConvOptions<2>;
using ConvTranspose3dOptions = ConvOptions<3>;

template <int N>
class ConvBase : public Module {
 public:
  void reset_parameters();
  std::string extra_repr() const override;
  ConvOptions<N> options;
  Tensor weight, bias;

 protected:
  ConvBase(const ConvOptions<N>& options, bool transposed);

 private:
  void check() const;
};

template <int N>
class ConvNd : public ConvBase<N> {
 public:
  ConvNd(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size)
      : ConvNd(ConvOptions<N>(in_channels, out_channels, kernel_size)) {}
  explicit ConvNd(const ConvOptions<N>& options) : ConvBase<N>(options, false) {}
  Tensor forward(const Tensor& input);
};

template <int N>
class ConvTransposeNd : public ConvBase<N> {
 public:
  ConvTransposeNd(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size)
      : ConvTransposeNd(ConvOptions<N>(in_channels, out_channels, kernel_size)) {}
  explicit ConvTransposeNd(const ConvOptions<N>& options) : ConvBase<N>(options, true) {}
  Tensor forward(const Tensor& input);
};

// Classes of their own, for their names.
#define WISP_WITH_DIMENSIONS(Name, Base, N) \
  class Name##Impl : public Base<N> {       \
   public:                                  \
    using Base<N>::Base;                    \
  };                                        \
  WISP_MODULE(Name)
WISP_WITH_DIMENSIONS(Conv1d, ConvNd, 1);
WISP_WITH_DIMENSIONS(Conv2d, ConvNd, 2);
WISP_WITH_DIMENSIONS(Conv3d, ConvNd, 3);
WISP_WITH_DIMENSIONS(ConvTranspose1d, ConvTransposeNd, 1);
WISP_WITH_DIMENSIONS(ConvTranspose2d, ConvTransposeNd, 2);
WISP_WITH_DIMENSIONS(ConvTranspose3d, ConvTransposeNd, 3);

template <int N>
class PoolOptions {
 public:
  PoolOptions(Sizes<N> kernel_size) : kernel_size_(std::move(kernel_size)) {}
  WISP_OPTION(Sizes<N>, kernel_size, 1);
  WISP_OPTION(std::optional<Sizes<N>>, stride, {});  // the size of the window, unless given
  WISP_OPTION(Sizes<N>, padding, 0);
  WISP_OPTION(Sizes<N>, dilation, 1);  // of max pooling
  WISP_OPTION(bool, ceil_mode, false);
  WISP_OPTION(bool, count_include_pad, true);  // of average pooling
};
using MaxPool2dOptions = PoolOptions<2>;
using AvgPool2dOptions = PoolOptions<2>;

class MaxPool2dImpl : public Module {
 public:
  MaxPool2dImpl(Sizes<2> kernel_size) : MaxPool2dImpl(MaxPool2dOptions(std::move(kernel_size))) {}
  explicit MaxPool2dImpl(const MaxPool2dOptions& options) : options(options) {}
  Tensor forward(const Tensor& input);
  MaxPool2dOptions options;
};
WISP_MODULE(MaxPool2d);

class AvgPool2dImpl : public Module {
 public:
  AvgPool2dImpl(Sizes<2> kernel_size) : AvgPool2dImpl(AvgPool2dOptions(std::move(kernel_size))) {}
  explicit AvgPool2dImpl(const AvgPool2dOptions& options) : options(options) {}
  Tensor forward(const Tensor& input);
  AvgPool2dOptions options;
};
WISP_MODULE(AvgPool2d);

class AdaptiveAvgPool2dImpl : public Module {
 public:
  AdaptiveAvgPool2dImpl(Sizes<2> output_size) : output_size(std::move(output_size)) {}
  Tensor forward(const Tensor& input) {
    return functional::adaptive_avg_pool2d(input, output_size);
  }
  Sizes<2> output_size;
};
WISP_MODULE(AdaptiveAvgPool2d);

}  // namespace wisp::api::nn
#pragma GCC visibility pop
