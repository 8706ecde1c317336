#include "graph/passes.h"

namespace wisp::graph {

std::span<const Pass> passes() {
  // In the order in which optimize() runs them.
  static constexpr Pass all[] = {
      {"constant_folding", constant_folding, "what follows from constants is computed now"},
      {"common_subexpressions", common_subexpressions, "what is computed twice is computed once"},
      {"dead_code", dead_code, "what nobody needs goes away"},
  };
  return all;
}

const Pass* find_pass(std::string_view name) {
  for (const Pass& pass : passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

bool run_pass(Graph& graph, const Pass& pass) {
  const bool changed = pass.run(graph);
  verify(graph);
  return changed;
}

void optimize(Graph& graph, const OptimizeOptions& options) {
  constexpr int max_rounds = 8;
  const auto round = [&](bool by_itself) {
    bool changed = false;
    for (const Pass& pass : passes()) {
      const bool wanted = by_itself ? pass.by_itself && !options.without.contains(pass.name)
                                    : !pass.by_itself && options.with.contains(pass.name);
      if (wanted) changed |= run_pass(graph, pass);
    }
    return changed;
  };
  for (int i = 0; i < max_rounds && round(true); ++i) {}
  round(false);
}

}  // namespace wisp::graph
