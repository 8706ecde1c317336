// Recurrent networks: lstm, gru and rnn of several layers, and their cells.
#include "ops/rnn.h"

#include "ops/families.h"

namespace wisp::ops {

namespace {

using cpu::RnnKind;

// --- Stacks of layers: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
// batch_first), or for packed sequences (data, batch_sizes, hx, params, ... bidirectional)

// What both forms share, from the argument `hx` on.
struct Stack {
  Stack(const Args& args, RnnKind which, int at)
      : kind(which),
        params(args.tensors(at + 1)),
        has_biases(args.boolean(at + 2)),
        layers(args.integer(at + 3)),
        dropout(args.boolean(at + 5) ? args.real(at + 4) : 0),
        directions(args.boolean(at + 6) ? 2 : 1) {
    if (kind == RnnKind::lstm) {
      const List hx = args.tensors(at);
      WISP_CHECK(hx.size() == 2, "lstm expects two hidden states");
      h = hx[0];
      c = hx[1];
    } else {
      h = args.tensor(at);
    }
    check(args);
  }

  void check(const Args& args) {
    WISP_CHECK_INDEX(h.ndim() == 3 && (!c.defined() || c.ndim() == 3), args.name(),
                     "(): expected hidden states with 3 dimensions, got ", h.ndim());
    projected = c.defined() && c->size(2) != h->size(2);
    per_layer = 2 + (has_biases ? 2 : 0) + (projected ? 1 : 0);
    WISP_CHECK(layers > 0 && static_cast<int64_t>(params.size()) == per_layer * layers * directions,
               args.name(), "(): expected ", per_layer * layers * directions, " weights for ",
               layers, " layers in ", directions, " directions, got ", params.size());
    WISP_CHECK(h->size(0) == layers * directions && (!c.defined() || c->size(0) == h->size(0)),
               args.name(), "(): expected hidden states of ", layers * directions,
               " layers and directions, got ", h->size(0));
    WISP_CHECK_VALUE(dropout >= 0 && dropout <= 1, args.name(),
                     "(): dropout probability has to be between 0 and 1, but got ", dropout);
  }

  RnnWeights weights(int64_t number) const {
    const Tensor* first = &params[static_cast<size_t>(number * per_layer)];
    RnnWeights w{first[0], first[1], {}, {}, {}};
    if (has_biases) w.b_ih = first[2], w.b_hh = first[3];
    if (projected) w.w_hr = first[per_layer - 1];
    return w;
  }

  RnnKind kind;
  List params;
  bool has_biases;
  int64_t layers;
  double dropout;
  int64_t directions;
  Tensor h, c;
  bool projected = false;
  int64_t per_layer = 0;
};

// Runs all layers over packed rows; adds the states after to `outs`, behind the rows of the last
// layer.
void run_layers(const Stack& stack, Tensor rows, IntSpan batch_sizes, TensorList& outs) {
  std::vector<Tensor> h_n, c_n;
  for (int64_t layer = 0; layer < stack.layers; ++layer) {
    if (layer > 0 && stack.dropout > 0) rows = invoke<"dropout">(rows, stack.dropout, true, false);
    std::vector<Tensor> made;
    for (int64_t direction = 0; direction < stack.directions; ++direction) {
      const int64_t number = layer * stack.directions + direction;
      RnnState state{select(stack.h, 0, number),
                     stack.c.defined() ? select(stack.c, 0, number) : Tensor()};
      made.push_back(
          rnn_layer(stack.kind, rows, batch_sizes, direction == 1, stack.weights(number), state));
      h_n.push_back(state.h);
      c_n.push_back(state.c);
    }
    rows = made.size() == 1 ? made[0] : cat(made, 1);
  }
  outs.push(rows);
  outs.push(ops::stack(h_n));
  if (stack.c.defined()) outs.push(ops::stack(c_n));
}

template <RnnKind kind>
void layers_body(const Args& args, TensorList& outs) {
  const Tensor& input = args.tensor(0);
  const bool batch_first = args.boolean(8);
  WISP_CHECK_INDEX(input.ndim() == 3, args.name(), "(): expected input with 3 dimensions, got ",
                   input.ndim());
  const Tensor by_time = batch_first ? transpose(input, 0, 1) : input;
  const int64_t steps = by_time->size(0), batch = by_time->size(1);
  WISP_CHECK(steps > 0, "Expected sequence length to be larger than 0 in RNN");
  const Stack stack(args, kind, 1);
  run_layers(stack, reshape(by_time, Dims{steps * batch, by_time->size(2)}),
             Dims(static_cast<size_t>(steps), batch), outs);
  const Tensor out = view(outs[0], Dims{steps, batch, outs[0]->size(1)});
  outs[0] = batch_first ? transpose(out, 0, 1) : out;
}

template <RnnKind kind>
void packed_body(const Args& args, TensorList& outs) {
  const Tensor& sizes = args.tensor(1);
  WISP_CHECK(sizes.ndim() == 1 && sizes.dtype() == DType::int64,
             "batch_sizes should always be on CPU, with one dimension and dtype int64");
  const Tensor list = contiguous(sizes);
  run_layers(Stack(args, kind, 2), args.tensor(0),
             IntSpan(list.data<int64_t>(), static_cast<size_t>(list.numel())), outs);
}

// --- Cells: (input, hx, w_ih, w_hh, b_ih, b_hh)

Tensor run_cell(const Args& args, RnnKind kind, RnnState& state) {
  const Tensor& input = args.tensor(0);
  WISP_CHECK_INDEX(input.ndim() == 2, args.name(), "(): expected input with 2 dimensions, got ",
                   input.ndim());
  const int64_t batch = input->size(0);
  auto optional = [&](int i) { return args.has(i) ? args.tensor(i) : Tensor(); };
  return rnn_layer(kind, input, IntSpan(&batch, 1), false,
                   {args.tensor(2), args.tensor(3), optional(4), optional(5), {}}, state);
}

void lstm_cell_body(const Args& args, TensorList& outs) {
  const List hx = args.tensors(1);
  WISP_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  RnnState state{hx[0], hx[1]};
  run_cell(args, RnnKind::lstm, state);
  outs.push(state.h);
  outs.push(state.c);
}

template <RnnKind kind>
void cell_body(const Args& args, TensorList& outs) {
  RnnState state{args.tensor(1), {}};
  run_cell(args, kind, state);
  outs.push(state.h);
}

struct RnnOperator {
  const char *schema, *doc;
  BodyFn body;
  const char* onnx;
};

const RnnOperator stacks[] = {
    {"lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
     "Layers of long short-term memory over whole sequences: all outputs, and the states h and c at the end.\n\n"
     ">>> states, weights = [wisp.zeros(1, 1, 1)] * 2, [wisp.ones(4, 1)] * 2\n"
     ">>> wisp.lstm(wisp.ones(2, 1, 1), states, weights, False, 1, 0.0, False, False, False)[0].flatten()\n"
     "tensor([0.3696, 0.6505])",
     layers_body<RnnKind::lstm>, "LSTM"},
    {"lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
     "lstm over packed sequences.\n\n"
     ">>> wisp.lstm(wisp.ones(3, 1), wisp.tensor([2, 1]), [wisp.zeros(1, 2, 1)] * 2, [wisp.ones(4, 1)] * 2, False, 1, 0.0, False, False)[0]\n"
     "tensor([[0.3696],\n        [0.3696],\n        [0.6505]])",
     packed_body<RnnKind::lstm>, "LSTM"},
    {"gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     "Layers of gated recurrent units over whole sequences: all outputs, and the state at the end.\n\n"
     ">>> wisp.gru(wisp.ones(2, 1, 1), wisp.zeros(1, 1, 1), [wisp.ones(3, 1)] * 2, False, 1, 0.0, False, False, False)[0].flatten()\n"
     "tensor([0.2048, 0.3468])",
     layers_body<RnnKind::gru>, "GRU"},
    {"gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
     "gru over packed sequences.\n\n"
     ">>> wisp.gru(wisp.ones(3, 1), wisp.tensor([2, 1]), wisp.zeros(1, 2, 1), [wisp.ones(3, 1)] * 2, False, 1, 0.0, False, False)[0]\n"
     "tensor([[0.2048],\n        [0.2048],\n        [0.3468]])",
     packed_body<RnnKind::gru>, "GRU"},
    {"rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     "Layers of plain recurrent units with tanh over whole sequences: all outputs, and the state at the end.\n\n"
     ">>> wisp.rnn_tanh(wisp.ones(2, 1, 1), wisp.zeros(1, 1, 1), [wisp.ones(1, 1)] * 2, False, 1, 0.0, False, False, False)[0].flatten()\n"
     "tensor([0.7616, 0.9427])",
     layers_body<RnnKind::tanh>, "RNN"},
    {"rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
     "rnn_tanh over packed sequences.\n\n"
     ">>> wisp.rnn_tanh(wisp.ones(3, 1), wisp.tensor([2, 1]), wisp.zeros(1, 2, 1), [wisp.ones(1, 1)] * 2, False, 1, 0.0, False, False)[0]\n"
     "tensor([[0.7616],\n        [0.7616],\n        [0.9427]])",
     packed_body<RnnKind::tanh>, "RNN"},
    {"rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
     "Layers of plain recurrent units with relu over whole sequences: all outputs, and the state at the end.\n\n"
     ">>> wisp.rnn_relu(wisp.ones(2, 1, 1), wisp.zeros(1, 1, 1), [wisp.ones(1, 1)] * 2, False, 1, 0.0, False, False, False)[0].flatten()\n"
     "tensor([1., 2.])",
     layers_body<RnnKind::relu>, "RNN"},
    {"rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
     "rnn_relu over packed sequences.\n\n"
     ">>> wisp.rnn_relu(wisp.ones(3, 1), wisp.tensor([2, 1]), wisp.zeros(1, 2, 1), [wisp.ones(1, 1)] * 2, False, 1, 0.0, False, False)[0]\n"
     "tensor([[1.],\n        [1.],\n        [2.]])",
     packed_body<RnnKind::relu>, "RNN"},
};

const RnnOperator cells[] = {
    {"lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     "One step of lstm: the new states h and c.\n\n"
     ">>> wisp.lstm_cell(wisp.ones(1, 1), [wisp.zeros(1, 1)] * 2, wisp.ones(4, 1), wisp.ones(4, 1))\n"
     "(tensor([[0.3696]]), tensor([[0.5568]]))",
     lstm_cell_body, "LSTM"},
    {"gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     "One step of gru: the new state.\n\n"
     ">>> wisp.gru_cell(wisp.ones(1, 1), wisp.zeros(1, 1), wisp.ones(3, 1), wisp.ones(3, 1))\ntensor([[0.2048]])",
     cell_body<RnnKind::gru>, "GRU"},
    {"rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     "One step of rnn_tanh: the new state.\n\n"
     ">>> wisp.rnn_tanh_cell(wisp.ones(1, 1), wisp.zeros(1, 1), wisp.ones(1, 1), wisp.ones(1, 1))\ntensor([[0.7616]])",
     cell_body<RnnKind::tanh>, "RNN"},
    {"rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
     "One step of rnn_relu: the new state.\n\n"
     ">>> wisp.rnn_relu_cell(wisp.ones(1, 1), wisp.zeros(1, 1), wisp.ones(1, 1), wisp.ones(1, 1))\ntensor([[1.]])",
     cell_body<RnnKind::relu>, "RNN"},
};

}  // namespace

void register_rnn(Registry& r) {
  auto add = [&](const RnnOperator& e) {
    r.add({.schema = e.schema,
           .doc = e.doc,
           .body = e.body,
           .onnx = e.onnx,
           .homes = home::function});
  };
  for (const RnnOperator& e : stacks) add(e);
  for (const RnnOperator& e : cells) add(e);
}

}  // namespace wisp::ops
