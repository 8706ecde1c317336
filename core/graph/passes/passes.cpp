#include "graph/passes.h"

namespace wisp::graph {

std::span<const Pass> passes() {
  // In the order in which optimize() runs them.
  static constexpr Pass all[] = {
      {"inlining", inlining, "calls of functions and methods become what they call"},
      {"lower_tuples", lower_tuples, "items are taken from where tuples and lists got them"},
      {"constant_folding", constant_folding, "what follows from constants is computed now"},
      {"peephole", peephole, "simpler forms of a few nodes: x + 0, not not x"},
      {"common_subexpressions", common_subexpressions, "what is computed twice is computed once"},
      {"loop_unrolling", loop_unrolling, "short loops of known length become straight"},
      {"dead_code", dead_code, "what nobody needs goes away"},
      {"shape_propagation", shape_propagation, "types learn shapes and dtypes"},
      {"out_of_place", out_of_place, "writes that nobody else can see become plain calls"},
      {"conv_batch_norm", conv_batch_norm, "constant batch norms go into constant weights"},
      {"chunk_reorder", chunk_reorder, "what is done to every chunk is done before the chunking"},
      {"batch_matmul", batch_matmul, "matrix products that share an operand become one"},
      {"tree_batching", tree_batching, "sums of matrix products become one product"},
      {"host_gradients", host_gradients,
       "functions with a backward of their own are what they call", false},
      {"loop_peeling", loop_peeling, "the first round of loops stands before them", false},
      {"in_place_reuse", in_place_reuse,
       "pointwise results overwrite operands that die; only where no gradient is needed", false},
      {"conv_tails", conv_tails, "what follows a convolution, sum and relu, is done with it",
       false},
      {"parallel_branches", parallel_branches,
       "large calls that need nothing of each other may run on several threads", false},
      {"fusion", fusion, "pointwise nodes that follow each other run as one", false},
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
  if (changed) verify(graph);
  return changed;
}

void optimize(Graph& graph, const OptimizeOptions& options) {
  constexpr int max_rounds = 8;
  for (const auto* names : {&options.without, &options.with}) {
    for (const std::string& name : *names) {
      WISP_CHECK_VALUE(find_pass(name), "there is no pass '", name, "'");
    }
  }
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
