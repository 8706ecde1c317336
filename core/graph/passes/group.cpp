#include "graph/passes/group.h"

#include <algorithm>
#include <unordered_map>

namespace wisp::graph {

namespace {

class Grouping {
 public:
  Grouping(Graph& graph, const std::vector<Node*>& members) : graph_(graph), members_(members) {}

  void run() {
    group_ = &graph_.make(Prim::FusionGroup);
    group_->span = members_.back()->span;
    body_ = &graph_.add_block(*group_);
    graph_.insert_before(*members_.back(), *group_);
    for (const Node* member : members_) copy(*member);
    for (const Node* member : members_) give_out(*member);
    for (size_t i = members_.size(); i-- > 0;) graph_.remove(*members_[i]);
  }

 private:
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

  void give_out(const Node& member) {
    Value& old = member.output();
    const bool used = std::any_of(old.uses.begin(), old.uses.end(), [&](const Node* user) {
      return std::find(members_.begin(), members_.end(), user) == members_.end();
    });
    if (!used) return;
    graph_.add_result(*body_, *inside_.at(&old));
    Value& made = graph_.add_output(*group_, old.type);
    graph_.replace_uses(old, made);
  }

  Graph& graph_;
  const std::vector<Node*>& members_;
  std::unordered_map<const Value*, Value*> inside_;  // values of the block by those outside
  Node* group_ = nullptr;
  Block* body_ = nullptr;
};

}  // namespace

void make_group(Graph& graph, const std::vector<Node*>& members) { Grouping(graph, members).run(); }

}  // namespace wisp::graph
