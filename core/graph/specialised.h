// The body of a loop as it is for what one of its rounds begins with: branches are taken, short
// loops unrolled, and what follows from the shapes of tensors is constant.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "ops/chain.h"

namespace wisp::graph {

// A value that lies in the memory of another one.
struct ViewOf {
  Value* base;
  ops::ChainView place;
};

struct Specialised {
  std::unique_ptr<Graph> graph;  // null if the body cannot be this simple
  // What a round was seen to compute. Tensors of other rounds have the same shapes if those that
  // it begins with have.
  std::unordered_map<const Value*, Datum> seen = {};
  std::unordered_map<const Value*, ViewOf> views = {};
  // Behind the results of the body, the graph has as results the values that were taken to be
  // constants, though they only stay the same in one run of the loop ...
  std::vector<Datum> premises = {};
  // ... and then conditions that were taken to be so, though they change with the round.
  std::vector<bool> assumed = {};
};

// Whether it may be, or hold, a list that was not made where it is read.
bool may_be_appended_to(const Value& value);

// `body` has as parameters what it captures (so many), then its own; `given` are these in a round.
// The round is made, but for what it writes.
Specialised specialised(const Graph& body, size_t captured, const std::vector<Datum>& given);

}  // namespace wisp::graph
