// Changes of graphs that leave their results as they are. Each is a function in a file of its own
// (passes/<name>.cpp) that says whether it changed anything.
//
// Sizes and dtypes in types of values are taken as promises: who gives a graph's parameters types
// like Float(2, 3) has to see to it that it is called with such tensors only.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace wisp::graph {

bool dead_code(Graph& graph);
bool common_subexpressions(Graph& graph);
bool constant_folding(Graph& graph);
bool peephole(Graph& graph);
bool lower_tuples(Graph& graph);
bool shape_propagation(Graph& graph);
bool inlining(Graph& graph);
bool host_gradients(Graph& graph);
bool loop_unrolling(Graph& graph);
bool loop_peeling(Graph& graph);
bool chunk_reorder(Graph& graph);
bool batch_matmul(Graph& graph);
bool tree_batching(Graph& graph);
bool out_of_place(Graph& graph);
bool conv_batch_norm(Graph& graph);
bool conv_tails(Graph& graph);
bool in_place_reuse(Graph& graph);
bool parallel_branches(Graph& graph);
bool fusion(Graph& graph);

struct Pass {
  const char* name;
  bool (*run)(Graph& graph);
  const char* text;       // what it does, in one line
  bool by_itself = true;  // whether optimize() runs it; else it has to be asked for
};
std::span<const Pass> passes();
const Pass* find_pass(std::string_view name);  // null if there is none
// Runs it and verifies what it made, if anything.
bool run_pass(Graph& graph, const Pass& pass);

struct OptimizeOptions {
  std::set<std::string, std::less<>> without;  // names of passes that are left out
  std::set<std::string, std::less<>> with;     // of those that have to be asked for
};
// All passes, again while they find something to do.
void optimize(Graph& graph, const OptimizeOptions& options = {});

}  // namespace wisp::graph
