#include "runtime/nn/rnn.h"

#include <cmath>

#include "runtime/nn/init.h"

namespace wisp::api::nn {

RNNBase::RNNBase(const RNNOptionsBase& options, int64_t gates) : options(options) {
  WISP_CHECK_VALUE(options.dropout() >= 0 && options.dropout() <= 1,
                   "dropout should be a number in range [0, 1] representing the probability of an "
                   "element being zeroed");
  WISP_CHECK_VALUE(options.hidden_size() > 0, "hidden_size must be greater than zero");
  WISP_CHECK_VALUE(options.num_layers() > 0, "num_layers must be greater than zero");
  for (int64_t layer = 0; layer < options.num_layers(); ++layer) {
    add_weights(layer, "", gates);
    if (options.bidirectional()) add_weights(layer, "_reverse", gates);
  }
  reset_parameters();
}

void RNNBase::add_weights(int64_t layer, const std::string& suffix, int64_t gates) {
  const int64_t hidden = options.hidden_size(), rows = gates * hidden;
  const int64_t below = hidden * (options.bidirectional() ? 2 : 1);
  const std::string end = "_l" + std::to_string(layer) + suffix;
  auto add = [&](const char* kind, IntList sizes) {
    weights_.push_back(register_parameter(kind + end, empty(sizes)));
  };
  add("weight_ih", {rows, layer == 0 ? options.input_size() : below});
  add("weight_hh", {rows, hidden});
  if (!options.bias()) return;
  add("bias_ih", {rows});
  add("bias_hh", {rows});
}

void RNNBase::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.hidden_size()));
  for (const Tensor& weight : weights_) init::uniform_(weight, -bound, bound);
}

void RNNBase::check_input(const Tensor& input) const {
  WISP_CHECK_VALUE(input.dim() == 2 || input.dim() == 3, name(),
                   ": Expected input to be 2D or 3D, got ", input.dim(), "D instead");
  WISP_CHECK(input.size(-1) == options.input_size(),
             "input.size(-1) must be equal to input_size. Expected ", options.input_size(),
             ", got ", input.size(-1));
  WISP_CHECK_VALUE(input.dtype() == weights_[0].dtype(), "RNN input dtype (wisp.",
                   wisp::name(input.dtype()), ") does not match weight dtype (wisp.",
                   wisp::name(weights_[0].dtype()), ")");
}

Tensor RNNBase::checked_state(const Tensor& input, const Tensor& state) const {
  const int64_t directions = options.bidirectional() ? 2 : 1;
  const std::vector<int64_t> sizes = {options.num_layers() * directions,
                                      input.size(options.batch_first() ? 0 : 1),
                                      options.hidden_size()};
  if (!state.defined()) return input.new_zeros(sizes);
  WISP_CHECK(state.sizes() == IntList(sizes), "Expected hidden size ", IntList(sizes), ", got ",
             state.sizes());
  return state;
}

std::string RNNBase::extra_repr() const {
  std::string text = str(options.input_size(), ", ", options.hidden_size());
  if (options.num_layers() != 1) text += str(", num_layers=", options.num_layers());
  if (!options.bias()) text += ", bias=False";
  if (options.batch_first()) text += ", batch_first=True";
  if (options.dropout() != 0) text += str(", dropout=", options.dropout());
  return text + (options.bidirectional() ? ", bidirectional=True" : "");
}

namespace {

// A sequence without a batch is a batch of one.
Tensor batched(const Tensor& input, const RNNOptionsBase& options) {
  return input.dim() == 3 ? input : input.unsqueeze(options.batch_first() ? 0 : 1);
}
Tensor state_of_batch(const Tensor& state, bool is_batched) {
  return is_batched || !state.defined() ? state : state.unsqueeze(1);
}

// The results for a sequence with or without a batch.
struct Unbatched {
  bool is_batched;
  int64_t batch_dim;
  Tensor output(const Tensor& out) const { return is_batched ? out : out.squeeze(batch_dim); }
  Tensor state(const Tensor& hidden) const { return is_batched ? hidden : hidden.squeeze(1); }
};

}  // namespace

RNNImpl::RNNImpl(const RNNOptions& options) : RNNBase(options, 1) {
  const std::string& kind = options.nonlinearity();
  WISP_CHECK_VALUE(kind == "tanh" || kind == "relu", "Unknown nonlinearity '", kind,
                   "'. Select from 'tanh' or 'relu'.");
}

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, const Tensor& hx) {
  check_input(input);
  const Unbatched back{input.dim() == 3, options.batch_first() ? 0 : 1};
  const Tensor x = batched(input, options);
  const Tensor state = checked_state(x, state_of_batch(hx, back.is_batched));
  auto run = [&](auto operation) {
    return operation(x, state, weights(), options.bias(), options.num_layers(), options.dropout(),
                     is_training(), options.bidirectional(), options.batch_first());
  };
  auto [out, hidden] = options.nonlinearity() == "relu"
                           ? run([](const auto&... args) { return rnn_relu(args...); })
                           : run([](const auto&... args) { return rnn_tanh(args...); });
  return {back.output(out), back.state(hidden)};
}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, const Tensor& hx) {
  check_input(input);
  const Unbatched back{input.dim() == 3, options.batch_first() ? 0 : 1};
  const Tensor x = batched(input, options);
  const Tensor state = checked_state(x, state_of_batch(hx, back.is_batched));
  auto [out, hidden] =
      gru(x, state, weights(), options.bias(), options.num_layers(), options.dropout(),
          is_training(), options.bidirectional(), options.batch_first());
  return {back.output(out), back.state(hidden)};
}

std::tuple<Tensor, LSTMImpl::State> LSTMImpl::forward(const Tensor& input,
                                                      const std::optional<State>& hx) {
  check_input(input);
  const Unbatched back{input.dim() == 3, options.batch_first() ? 0 : 1};
  const Tensor x = batched(input, options);
  const auto [h, c] = hx.value_or(State());
  const Tensors state = {checked_state(x, state_of_batch(h, back.is_batched)),
                         checked_state(x, state_of_batch(c, back.is_batched))};
  auto [out, hidden, cell] =
      lstm(x, state, weights(), options.bias(), options.num_layers(), options.dropout(),
           is_training(), options.bidirectional(), options.batch_first());
  return {back.output(out), State(back.state(hidden), back.state(cell))};
}

}  // namespace wisp::api::nn
