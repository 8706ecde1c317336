// Recurrent networks of whole sequences.
#pragma once

#include "runtime/nn/module.h"

#pragma GCC visibility push(default)
namespace wisp::api::nn {

class RNNOptionsBase {
 public:
  RNNOptionsBase(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  WISP_OPTION(int64_t, input_size, 0);
  WISP_OPTION(int64_t, hidden_size, 0);
  WISP_OPTION(int64_t, num_layers, 1);
  WISP_OPTION(bool, bias, true);
  WISP_OPTION(bool, batch_first, false);
  WISP_OPTION(double, dropout, 0);
  WISP_OPTION(bool, bidirectional, false);
  WISP_OPTION(std::string, nonlinearity, "tanh");  // of RNN: "tanh" or "relu"
};
using RNNOptions = RNNOptionsBase;
using LSTMOptions = RNNOptionsBase;
using GRUOptions = RNNOptionsBase;

class RNNBase : public Module {
 public:
  void reset_parameters();
  std::string extra_repr() const override;
  RNNOptionsBase options;

 protected:
  // `gates` says how many rows of weights there are per hidden unit.
  RNNBase(const RNNOptionsBase& options, int64_t gates);
  const Tensors& weights() const { return weights_; }
  // A state of zeros, or the one given if it fits.
  Tensor checked_state(const Tensor& input, const Tensor& state) const;
  void check_input(const Tensor& input) const;

 private:
  void add_weights(int64_t layer, const std::string& suffix, int64_t gates);
  Tensors weights_;
};

// Input and output are (time, batch, features), or (batch, time, features) if batch_first is set.
class RNNImpl : public RNNBase {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options);
  // The output of all steps, and the last hidden state.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx = {});
};
WISP_MODULE(RNN);

class GRUImpl : public RNNBase {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options) : RNNBase(options, 3) {}
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& hx = {});
};
WISP_MODULE(GRU);

class LSTMImpl : public RNNBase {
 public:
  using State = std::tuple<Tensor, Tensor>;
  LSTMImpl(int64_t input_size, int64_t hidden_size)
      : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options) : RNNBase(options, 4) {}
  // The output of all steps, and the last state (h, c).
  std::tuple<Tensor, State> forward(const Tensor& input, const std::optional<State>& hx = {});
};
WISP_MODULE(LSTM);

}  // namespace wisp::api::nn
#pragma GCC visibility pop
