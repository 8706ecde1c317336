// Writes into values that nobody else sees become plain calls: others may then be moved, merged and
// fused with them. The memory is used again when the graph runs (see reuse.h).
#include <string_view>
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// Functions of one tensor whose results have its dtype, or that fail in both forms.
bool keeps_dtype(const OpDef& op) {
  static const std::unordered_set<std::string_view> names = {
      "relu", "relu6",     "leaky_relu",  "hardtanh", "threshold", "silu",
      "mish", "hardswish", "hardsigmoid", "elu",      "selu",      "celu"};
  return names.contains(op.sig.name);
}

class OutOfPlace {
 public:
  explicit OutOfPlace(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    bool changed = false;
    for_each_node(graph_.top(), [&](Node& node) {
      if (!node.op || !keeps_dtype(*node.op) || !overwrites(node)) return;
      if (!is_private(node.input(0), node)) return;
      node.in_place = false;
      const int flag = node.op->sig.find("inplace");
      if (flag >= 0) graph_.replace_input(node, flag, no(node));
      fresh_.insert(&node);
      changed = true;
    });
    return changed;
  }

 private:
  // In its form "name_", or because it is told to.
  static bool overwrites(const Node& node) {
    const Value* flag = argument(node, "inplace");
    return node.in_place || (flag && constant_bool(*flag).value_or(false));
  }

  Value& no(Node& node) { return graph_.constant(node, Datum(false), simple_type(Kind::boolean)); }

  // Memory that was made for this value, which only the write reads.
  bool is_private(const Value& self, const Node& write) const {
    const Node* maker = self.node;
    if (!maker || !maker->op || maker->block != write.block || self.uses.size() != 1) return false;
    if (maker->in_place) return is_private(maker->input(0), *maker);
    return fresh_.contains(maker) || aliases_.makes_new(*maker);
  }

  Graph& graph_;
  const Aliases aliases_;
  std::unordered_set<const Node*> fresh_;  // plain calls, since this pass
};

}  // namespace

bool out_of_place(Graph& graph) { return OutOfPlace(graph).run(); }

}  // namespace wisp::graph
