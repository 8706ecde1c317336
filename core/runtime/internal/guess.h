// What a program may take, where nobody has said so.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace wisp::api::jit {

// An argument, in the form of graph/example.h, and why it may be that.
struct Guess {
  graph::Datum value;
  std::string reason;
};

// For each parameter what it might be, the likeliest first: from the operators that it meets first
// in the graph, and their weights. `self` is the object of a method, or null.
std::vector<std::vector<Guess>> guesses(const graph::Function& function, graph::ObjectData* self);

}  // namespace wisp::api::jit
