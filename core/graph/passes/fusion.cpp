// Pointwise nodes that follow each other become a prim::FusionGroup, which runs as one (see lazy/).
#include <algorithm>
#include <unordered_map>

#include "graph/passes.h"
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
  // The group stands where its last member stood: all between them are constants.
  void close() {
    const std::vector<Node*> members = std::exchange(members_, {});
    if (members.size() < 2) return;
    changed_ = true;
    inside_.clear();
    group_ = &graph_.make(Prim::FusionGroup);
    group_->span = members.back()->span;
    body_ = &graph_.add_block(*group_);
    graph_.insert_before(*members.back(), *group_);
    for (const Node* member : members) copy(*member);
    for (const Node* member : members) give_out(*member, members);
    for (size_t i = members.size(); i-- > 0;) graph_.remove(*members[i]);
  }

  void copy(const Node& member) {
    Node& made = graph_.make_like(member);
    graph_.append(*body_, made);
    for (Value* input : member.inputs) graph_.add_input(made, value_inside(*input));
    inside_[member.outputs[0]] = &graph_.add_output(made, member.output().type);
  }

  Value& value_inside(Value& value) {
    if (value.node && value.node->is(Prim::Constant)) return value;
    Value*& known = inside_[&value];
    if (!known) {
      graph_.add_input(*group_, value);
      known = &graph_.add_param(*body_, value.type);
    }
    return *known;
  }

  void give_out(const Node& member, const std::vector<Node*>& members) {
    Value& old = member.output();
    const bool used = std::any_of(old.uses.begin(), old.uses.end(), [&](const Node* user) {
      return std::find(members.begin(), members.end(), user) == members.end();
    });
    if (!used) return;
    graph_.add_result(*body_, *inside_.at(&old));
    Value& made = graph_.add_output(*group_, old.type);
    graph_.replace_uses(old, made);
  }

  Graph& graph_;
  std::vector<Node*> members_;
  std::unordered_map<const Value*, Value*> inside_;  // values of the block by those outside
  Node* group_ = nullptr;
  Block* body_ = nullptr;
  bool changed_ = false;
};

}  // namespace

bool fusion(Graph& graph) { return Fusion(graph).run(graph.top()); }

}  // namespace wisp::graph
