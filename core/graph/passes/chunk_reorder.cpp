// y_i = f(chunk_i(x)) for all i becomes y = chunk(f(x)), for pointwise f: one call instead of many.
#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

bool cuts(const Node& node) {
  return is_op(node, "chunk") || is_op(node, "split") || is_op(node, "split.sizes") ||
         is_op(node, "split_with_sizes");
}

bool same_value(const Value& a, const Value& b) {
  const Datum *x = constant_of(a), *y = constant_of(b);
  return &a == &b || (x && y && !is_mutable(*a.type) && x->tag() == y->tag() && equal(*x, *y));
}

class Reorder {
 public:
  Reorder(Graph& graph, const Aliases& aliases, Node& cut)
      : graph_(graph), aliases_(aliases), cut_(cut) {}

  bool run() {
    if (!find_users()) return false;
    const Node& first = *users_[0];
    for (const Node* user : users_) {
      if (!is_like(*user, first)) return false;
    }
    move();
    return true;
  }

 private:
  // The pointwise nodes that take one chunk each, if that is all that becomes of the chunks.
  bool find_users() {
    const auto& lists = cut_.output().uses;
    if (lists.size() != 1 || !lists[0] || !lists[0]->is(Prim::ListUnpack)) return false;
    unpack_ = lists[0];
    if (unpack_->outputs.empty() || !aliases_.is_movable(cut_)) return false;
    for (const Value* piece : unpack_->outputs) {
      if (piece->uses.size() != 1 || !piece->uses[0]) return false;
      Node& user = *piece->uses[0];
      const bool pointwise = user.op && !user.in_place && user.op->has(trait::pointwise);
      if (!pointwise || user.block != cut_.block || user.outputs.size() != 1) return false;
      if (!aliases_.is_movable(user)) return false;
      if (aliases_.escapes(user.output())) return false;  // a chunk shares memory with others
      users_.push_back(&user);
    }
    return true;
  }

  int position_of_piece(const Node& user) const {
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (user.inputs[i]->node == unpack_) return static_cast<int>(i);
    }
    return -1;
  }

  // The same operator on the same other arguments, which may not be as large as a chunk.
  bool is_like(const Node& user, const Node& first) const {
    const int place = position_of_piece(first);
    if (user.op != first.op || position_of_piece(user) != place) return false;
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (static_cast<int>(i) == place) continue;
      const Value& other = *user.inputs[i];
      if (!same_value(other, *first.inputs[i]) || !is_known_at(*first.inputs[i], cut_))
        return false;
      const auto* sizes = known_sizes(other);
      if (other.type->kind == Kind::tensor && !(sizes && sizes->empty())) return false;
    }
    return true;
  }

  void move() {
    const Node& first = *users_[0];
    const int place = position_of_piece(first);
    Node& whole = graph_.make_like(first);
    for (size_t i = 0; i < first.inputs.size(); ++i) {
      const bool here = static_cast<int>(i) == place;
      graph_.add_input(whole, here ? cut_.input(0) : *first.inputs[i]);
    }
    graph_.insert_before(cut_, whole);
    Value& result = graph_.add_output(whole, whole_type(first));
    graph_.replace_input(cut_, 0, result);
    for (size_t i = 0; i < users_.size(); ++i) {
      Value& piece = *unpack_->outputs[i];
      piece.type = users_[i]->output().type;
      Value& old = users_[i]->output();
      graph_.replace_input(*users_[i], place, cut_.input(0));  // nobody's use of the piece any more
      graph_.replace_uses(old, piece);
      graph_.remove(*users_[i]);
    }
  }

  TypeRef whole_type(const Node& first) const {
    return tensor_of(first.output().type->dtype, cut_.input(0).type->sizes);
  }

  Graph& graph_;
  const Aliases& aliases_;
  Node& cut_;
  Node* unpack_ = nullptr;
  std::vector<Node*> users_;
};

}  // namespace

bool chunk_reorder(Graph& graph) {
  const Aliases aliases(graph);
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    if (cuts(node)) changed |= Reorder(graph, aliases, node).run();
  });
  return changed;
}

}  // namespace wisp::graph
