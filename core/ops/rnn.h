// One direction of a recurrent layer as an operator, for the public operators made of it.
#pragma once

#include "cpu/rnn.h"
#include "ops/ops.h"

namespace wisp::ops {

// The weights of one direction of a layer; what is absent is undefined.
struct RnnWeights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// The states of all members of the batch, (batch, hidden) each.
struct RnnState {
  Tensor h, c;  // c: of the lstm only
};

// Runs over packed rows (see cpu/rnn.h) from `state`, which becomes the state after; returns what
// the layer gives for every row.
Tensor rnn_layer(cpu::RnnKind kind, const Tensor& rows, IntSpan batch_sizes, bool reverse,
                 const RnnWeights& weights, RnnState& state);

}  // namespace wisp::ops
