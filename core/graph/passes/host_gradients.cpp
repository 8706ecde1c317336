// A traced autograd.Function is called in the host where gradients are recorded, for the sake of
// its own backward. Where none will be, it is what it called when it was traced.
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

bool host_gradients(Graph& graph) {
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    if (!node.builtin || node.builtin->name != "_gradient_by_host") return;
    graph.replace_uses(node.output(),
                       graph.constant(node, Datum(false), simple_type(Kind::boolean)));
    graph.remove(node);
    changed = true;
  });
  return changed;
}

}  // namespace wisp::graph
