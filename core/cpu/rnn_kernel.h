// One time step of a recurrent layer, as the kernels that are compiled per instruction set see it.
#pragma once

#include <cstdint>

namespace wisp::cpu {

enum class RnnKind : uint8_t { tanh, relu, lstm, gru };
constexpr int num_rnn_kinds = 4;

// Some units of all rows (members of the batch). Rows lie `..._row` elements apart; where there is
// no such number, `hidden` elements. A row of gates holds, each for all units:
//   tanh, relu  the sum, which is not kept
//   lstm        input, forget, candidate, output gates, and the cells
//   gru         reset, update, candidate gates, and the candidate's part of the hidden product
template <class T>
struct RnnStep {
  int64_t rows, begin, end, hidden;
  T* gates;  // comes as sums without bias, is left activated
  int64_t gates_row;
  const T* bias;    // of all gates
  T* cells;         // lstm: of the step before; is brought up to date
  const T* before;  // gru: the hidden state of the step before
  T* out;           // the new hidden state
};

template <class T>
struct RnnStepGrad {
  int64_t rows, begin, end, hidden;
  const T* gates;
  int64_t gates_row;
  const T* before;  // lstm: the cells of the step before; gru: its hidden state
  int64_t before_row;
  const T* out;  // tanh, relu: the new hidden state
  T* grad;       // of the new hidden state; gru leaves what goes to the one before past the gates
  T* cell_grad;  // lstm: of the new cells; is turned into that of the cells before
  T* sum_grad;   // of the sums that went into the gates
  int64_t sum_row;
  T* hidden_grad;  // gru: the same with the hidden product in place of the candidate's sum
};

template <class T>
struct RnnKernels {
  void (*step[num_rnn_kinds])(const RnnStep<T>&) = {};
  void (*step_grad[num_rnn_kinds])(const RnnStepGrad<T>&) = {};
};

}  // namespace wisp::cpu
