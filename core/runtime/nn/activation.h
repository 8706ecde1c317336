// Activation functions as modules.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

#define WISP_ACTIVATION(Name, expression)                      \
  class Name##Impl : public Module {                           \
   public:                                                     \
    Tensor forward(const Tensor& input) { return expression; } \
  };                                                           \
  WISP_MODULE(Name)

WISP_ACTIVATION(ReLU, relu(input));
WISP_ACTIVATION(ReLU6, functional::relu6(input));
WISP_ACTIVATION(Tanh, tanh(input));
WISP_ACTIVATION(Sigmoid, sigmoid(input));
WISP_ACTIVATION(SiLU, functional::silu(input));
WISP_ACTIVATION(Mish, functional::mish(input));
WISP_ACTIVATION(Softsign, functional::softsign(input));
WISP_ACTIVATION(LogSigmoid, functional::logsigmoid(input));
WISP_ACTIVATION(Hardswish, functional::hardswish(input));
WISP_ACTIVATION(Hardsigmoid, functional::hardsigmoid(input));

// With one setting.
#define WISP_ACTIVATION_WITH(Name, type, setting, usual, expression)               \
  class Name##Impl : public Module {                                               \
   public:                                                                         \
    explicit Name##Impl(type setting = usual) : setting(std::move(setting)) {}     \
    Tensor forward(const Tensor& input) { return expression; }                     \
    std::string extra_repr() const override { return str(#setting "=", setting); } \
    type setting;                                                                  \
  };                                                                               \
  WISP_MODULE(Name)

WISP_ACTIVATION_WITH(GELU, std::string, approximate, "none", functional::gelu(input, approximate));
WISP_ACTIVATION_WITH(LeakyReLU, double, negative_slope, 0.01,
                     functional::leaky_relu(input, negative_slope));
WISP_ACTIVATION_WITH(ELU, double, alpha, 1.0, functional::elu(input, alpha));
WISP_ACTIVATION_WITH(Softplus, double, beta, 1.0, functional::softplus(input, beta));
WISP_ACTIVATION_WITH(Softmax, int64_t, dim, -1, softmax(input, dim));
WISP_ACTIVATION_WITH(LogSoftmax, int64_t, dim, -1, log_softmax(input, dim));

}  // namespace wisp::api::nn
#pragma GCC visibility pop
