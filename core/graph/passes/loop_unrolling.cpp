// Writes out the rounds of short loops whose number is known.
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

constexpr int64_t max_trips = 8;
constexpr int64_t max_nodes = 256;  // in all rounds together

int64_t count_nodes(const Block& block) {
  int64_t count = 0;
  for (const Node* node = block.first; node; node = node->next) {
    ++count;
    for (const Block* inner : node->blocks) count += count_nodes(*inner);
  }
  return count;
}

// The number of rounds of a loop that no condition ends before.
std::optional<int64_t> known_trips(const Node& loop) {
  const bool counted = constant_bool(loop.input(1)).value_or(false) &&
                       constant_bool(*loop.blocks[0]->results[0]).value_or(false);
  return counted ? constant_int(loop.input(0)) : std::nullopt;
}

void unroll(Graph& graph, Node& loop, int64_t trips) {
  std::vector<Value*> carried(loop.inputs.begin() + 2, loop.inputs.end());
  for (int64_t i = 0; i < trips; ++i) {
    std::vector<Value*> arguments{&int_constant(graph, loop, i)};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    const std::vector<Value*> results =
        graph.inline_block(*loop.blocks[0], std::move(arguments), loop);
    carried.assign(results.begin() + 1, results.end());
  }
  replace_node(graph, loop, carried);
}

}  // namespace

bool loop_unrolling(Graph& graph) {
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    if (!node.is(Prim::Loop)) return;
    const auto trips = known_trips(node);
    if (!trips || *trips < 0 || *trips > max_trips) return;
    if (*trips * count_nodes(*node.blocks[0]) > max_nodes) return;
    unroll(graph, node, *trips);
    changed = true;
  });
  return changed;
}

}  // namespace wisp::graph
