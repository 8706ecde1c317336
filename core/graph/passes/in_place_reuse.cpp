// Pointwise operators write their results over an operand that dies there. What backward may want
// to see of the operand would be lost: this is for graphs that nobody differentiates.
#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

class Reuse {
 public:
  explicit Reuse(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    bool changed = false;
    for_each_node(graph_.top(), [&](Node& node) {
      if (!may_overwrite(node)) return;
      node.in_place = true;
      changed = true;
    });
    return changed;
  }

 private:
  bool may_overwrite(const Node& node) const {
    constexpr uint32_t wanted = trait::pointwise | trait::in_place;
    if (!node.op || node.in_place || !node.op->has(wanted) || node.outputs.size() != 1)
      return false;
    if (node.has_side_effects()) return false;
    const Value& self = node.input(0);
    return self.type->kind == Kind::tensor && is_private(self, node) && dies(self, node) &&
           result_fits(node);
  }

  // Memory that no other value has: made in the same block, of nothing else.
  bool is_private(const Value& self, const Node& node) const {
    if (!self.node || self.block != node.block || !self.node->op) return false;
    return aliases_.class_size(self) == 1 && !aliases_.escapes(self) &&
           !self.node->op->has(trait::view);
  }

  // Whether nobody reads it after `node`, or at the same time by another way.
  static bool dies(const Value& self, const Node& node) {
    int here = 0;
    for (const Node* user : self.uses) {
      if (user == &node) {
        ++here;
        continue;
      }
      if (!user || !comes_before(*user, node)) return false;
    }
    for (const Value* result : self.block->results) {
      if (result == &self) return false;
    }
    return here == 1;
  }
  // `user` may stand in a block of a node before.
  static bool comes_before(const Node& user, const Node& node) {
    const Node* at = &user;
    while (at && at->block != node.block) at = at->block->owner;
    for (const Node* later = at; later; later = later->next) {
      if (later == &node) return at != &node;
    }
    return false;
  }

  // Whether the result has the shape and the dtype of what it replaces.
  static bool result_fits(const Node& node) {
    const Value &self = node.input(0), &result = node.output();
    if (same_known_type(self, result)) return true;
    if (!self.type->dtype || self.type->dtype != result.type->dtype) return false;
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i]->type->kind == Kind::tensor) return false;  // may be larger
    }
    return true;
  }

  Graph& graph_;
  const Aliases aliases_;
};

}  // namespace

bool in_place_reuse(Graph& graph) { return Reuse(graph).run(); }

}  // namespace wisp::graph
