// What rounds of a loop do on tensors of given shapes: how their rows are shared out.
#pragma once

#include "ops/chain_plan.h"
#include "ops/rounds.h"

namespace wisp::ops {

// Where a tensor begins, and how many bytes lie between rows that are shared out: 0 if all of it is
// there for everybody.
struct RowsPlace {
  char* data = nullptr;
  int64_t row = 0;
  char* at(int64_t first_row) const { return data + first_row * row; }
};

struct Rounds::Plan {
  std::vector<ChainShape> inputs;  // the tensors that it is for
  bool possible = false;           // else the rounds are made one by one

  std::vector<ChainShape> outputs = {};

  // If members of a batch never meet: how many there are, else 0.
  int64_t rows = 0;
  std::vector<bool> in_rows = {};  // inputs that have a row for each
  // Right factors that are brought into another order, once for all rounds.
  struct Turned {
    int input;
    bool transposed;      // the factor is
    Dims sizes, strides;  // of the factor, as it lies now
  };
  std::vector<Turned> turned = {};
  int64_t most_rows = 1;  // that are worked on together
  int64_t work = 0;       // of a row, or of all if rows is 0, in one round

  // For so many rows, or all; null if there can be none.
  const Chain::Plan* block(const Rounds& rounds, int64_t count) const;
  // In how many blocks the rows are worked on, for so many rounds, and how many a thread takes.
  struct Cut {
    int64_t blocks = 1, grain = 1;
  };
  Cut cut(int64_t rounds) const;
  // As many rounds as take some milliseconds: meanwhile the host has to wait.
  int64_t most_rounds() const;
  // Bytes from row to row of a tensor that has them.
  int64_t row_bytes(IntSpan strides) const {
    return rows > 0 ? strides[0] * static_cast<int64_t>(item_size(inputs[0].dtype)) : 0;
  }
  // Gives the tensors that stand for turned inputs.
  std::vector<Tensor> place_inputs(std::span<TensorImpl* const> tensors, RowsPlace* places) const;

  mutable std::mutex adding;
  mutable std::vector<std::unique_ptr<Chain::Plan>> made = {};
};

// Fills everything but the inputs, which are there.
void plan_rounds(const Rounds& rounds, Rounds::Plan& plan);

}  // namespace wisp::ops
