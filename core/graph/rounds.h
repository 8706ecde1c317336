// Finds loops whose rounds the interpreter may do together: once calls are inlined, their bodies
// are chains (chains.h) of what goes round, of slices or items that belong to the round, and of
// what stays.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "ops/rounds.h"

namespace wisp::graph {

// A value that the rounds need: a result of the code for what stays, or a parameter of the body
// (the number of the round is 0), or an item of one that is a tuple.
struct RoundRef {
  enum Kind : uint8_t { none, fixed, param } kind = none;
  int index = 0, item = -1;
  explicit operator bool() const { return kind != none; }
};

// Where an input of the chain comes from: it is `value`; or, if there is an owner, a slice of it,
// or an item if it is a list, that belongs to the round; or the product of this with `value`.
struct RoundSource {
  RoundRef value = {};
  RoundRef owner = {};
  bool listed = false;
  int64_t dim = 0;                 // of slices
  RoundRef start = {}, step = {};  // number of the slice: start + round * step; none: 0 and 1
  RoundRef bias = {};              // of a product
  bool turned = false;             // `value` is transposed
};

// What a parameter of the body is in the next round.
struct RoundResult {
  int output = -1;              // of the chain; -1: as it was, or a tuple
  std::vector<int> items = {};  // outputs that are the items of the tuple; -1: as it was
};

struct LoopRounds {
  std::vector<RoundSource> sources;
  std::vector<RoundResult> results;                // of parameters after the first
  std::vector<std::pair<RoundRef, int>> appended;  // lists that get an output in every round
  std::unique_ptr<ops::Rounds> rounds;             // null if there are none
  std::unique_ptr<Graph> fixed;                    // computes what stays, of what is captured
  std::vector<Value*> captured;                    // by the body
};

LoopRounds rounds_of(const Graph& graph, const Block& body);

}  // namespace wisp::graph
