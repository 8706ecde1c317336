// Finds loops whose rounds the interpreter may do together: their bodies are chains (chains.h) of
// what goes round, of slices or items that belong to the round, and of what stays.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/rounds.h"

namespace wisp::graph {

// A tensor for every round: a slice of a tensor, or an item of a list.
struct RoundItem {
  const Value* owner = nullptr;  // of which it is taken; null: there is none
  bool listed = false;           // the owner is a list
  int64_t dim = 0;               // of slices
  // Number of the slice or item: start + round * step; null: 0 and 1.
  const Value *start = nullptr, *step = nullptr;
};

// Where an input of the chain comes from: it is `value`, or the item, or the item's product with
// `value`.
struct RoundSource {
  const Value* value = nullptr;
  RoundItem item = {};
  const Value* bias = nullptr;  // of a product
  bool turned = false;          // the right factor is transposed
};

struct LoopRounds {
  std::vector<RoundSource> sources;
  std::vector<int> results;  // of each parameter after the first: the output it becomes; -1: stays
  std::vector<std::pair<const Value*, int>> appended;  // lists that get an output each round
  std::unique_ptr<ops::Rounds> rounds;                 // null if there are none
};

// `unchanging`: calls of the body that are made once (see invariants.h).
LoopRounds rounds_of(const Block& body, const std::vector<const Node*>& unchanging);

}  // namespace wisp::graph
