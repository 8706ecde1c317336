// Pointwise nodes that follow each other become a prim::FusionGroup, which runs as one (see lazy/).
#include "graph/passes.h"
#include "graph/passes/group.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

bool can_join(const Node& node) {
  return node.op && !node.in_place && node.op->has(trait::pointwise) && node.outputs.size() == 1 &&
         node.output().type->kind == Kind::tensor && !op_has_effects(node);
}

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph) {}

  bool run(Block& block) {
    block.for_each([&](Node& node) {
      if (node.is(Prim::Constant)) return;  // stays in front
      if (can_join(node)) {
        members_.push_back(&node);
        return;
      }
      close();
      if (node.is(Prim::FusionGroup)) return;
      for (Block* inner : node.blocks) run(*inner);
    });
    close();
    return changed_;
  }

 private:
  // All between them are constants.
  void close() {
    const std::vector<Node*> members = std::exchange(members_, {});
    if (members.size() < 2) return;
    make_group(graph_, members);
    changed_ = true;
  }

  Graph& graph_;
  std::vector<Node*> members_;
  bool changed_ = false;
};

}  // namespace

bool fusion(Graph& graph) { return Fusion(graph).run(graph.top()); }

}  // namespace wisp::graph
