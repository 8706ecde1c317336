// A recurrent layer in one direction, over all time steps.
#pragma once

#include "base/dtype.h"
#include "base/small_vector.h"
#include "cpu/rnn_kernel.h"

namespace wisp::cpu {

// Rows of sums that have a weight each, and rows that are kept for the derivative.
constexpr int64_t rnn_gates(RnnKind kind) {
  return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1;
}
// Sums of a step: the candidate of the gru has two, as the reset gate is between them.
constexpr int64_t rnn_sums(RnnKind kind) {
  return rnn_gates(kind) + (kind == RnnKind::gru ? 1 : 0);
}
constexpr int64_t rnn_kept(RnnKind kind) {
  return kind == RnnKind::lstm ? 5 : kind == RnnKind::gru ? 4 : 0;
}

// Sequences of different lengths lie packed: first the first elements of all, longest sequence
// first, then the second elements of those that have one, and so on; batch_sizes says how many
// there are of each. All memory is consecutive, of dtype float32 or float64.
struct RnnShape {
  RnnKind kind;
  DType dtype;
  bool reverse;  // starts from the ends of the sequences
  IntSpan batch_sizes;
  int64_t inputs, hidden;
  int64_t outputs;  // hidden, or the size of the projection
};

struct RnnCall {
  RnnShape shape;
  const char *x, *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;  // biases and projection may be null
  // Whether x, w_ih, w_hh and out are bfloat16, in float32 otherwise: for processors that multiply
  // such numbers. States are rounded for the product with w_hh, and kept as they are beside.
  bool bfloat16;
  char *h, *c;  // come as the states before, are left as those after; c is of the lstm
  char* out;
  char* kept;  // what rnn_grad wants; not of tanh and relu
};
void rnn(const RnnCall& call);

// From the gradients of the results to those of the sums inside the gates; products with these
// give all others.
struct RnnGradCall {
  RnnShape shape;
  const char *w_hh, *w_hr, *h, *c;  // the states before
  bool bfloat16;                    // w_hh is, and the gradients of the sums are rounded for it
  const char *out, *kept;
  const char* out_grad;   // or null
  char *h_grad, *c_grad;  // come as those of the states after, are left as those before
  char* sum_grad;         // of what input and weight add to the gates
  char* hidden_grad;      // gru: of what the hidden state adds; with a projection: of its result
};
void rnn_grad(const RnnGradCall& call);

}  // namespace wisp::cpu
