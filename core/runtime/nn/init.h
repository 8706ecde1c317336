// Initial values of parameters, drawn as Python draws them: with the same seed, the same numbers.
#pragma once

#include "runtime/operators.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn::init {

// All write their first argument in place, unrecorded, and return it.
Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor xavier_uniform_(Tensor tensor, double gain = 1);
Tensor xavier_normal_(Tensor tensor, double gain = 1);
Tensor kaiming_uniform_(Tensor tensor, double a = 0, std::string_view mode = "fan_in",
                        std::string_view nonlinearity = "leaky_relu");
Tensor kaiming_normal_(Tensor tensor, double a = 0, std::string_view mode = "fan_in",
                       std::string_view nonlinearity = "leaky_relu");

// The factor by which weights should grow to make up for the nonlinearity behind them.
double calculate_gain(std::string_view nonlinearity, double param = 0.01);
// How many numbers go into each element of the result, and come out of each of the input.
struct Fans {
  int64_t in, out;
};
Fans fans_of(const Tensor& weight);

}  // namespace wisp::api::nn::init
#pragma GCC visibility pop
