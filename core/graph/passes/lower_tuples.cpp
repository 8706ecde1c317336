// Takes items from where tuples and lists got them, so that nobody needs the tuple or list.
#include "graph/aliases.h"
#include "graph/builtins.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

class Lowering {
 public:
  explicit Lowering(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    for_each_node(graph_.top(), [&](Node& node) { changed_ |= lower(node); });
    return changed_;
  }

 private:
  // What made the list or tuple that is input 0, if it is there and nobody has changed it since.
  const Node* maker(const Node& node, Prim prim) const {
    const Value& made = node.input(0);
    if (!made.node || !made.node->is(prim)) return nullptr;
    const bool fixed =
        prim == Prim::TupleConstruct || is_only_read(made) || !aliases_.is_written(made);
    return fixed ? made.node : nullptr;
  }

  // Whether a list is given only to those who neither change nor keep it, whatever happens to the
  // tensors in it.
  static bool is_only_read(const Value& list) {
    for (const Node* user : list.uses) {
      const bool reads = user && ((user->op && !user->in_place) || user->is(Prim::ListUnpack) ||
                                  (user->builtin && user->builtin->pure));
      if (!reads) return false;
    }
    return true;
  }

  bool lower(Node& node) {
    switch (node.prim) {
      case Prim::TupleUnpack:
        return unpack(node, maker(node, Prim::TupleConstruct));
      case Prim::ListUnpack:
        return unpack(node, maker(node, Prim::ListConstruct));
      case Prim::TupleIndex:
        return take(node, maker(node, Prim::TupleConstruct), node.attributes.at("index").integer());
      default:
        return node.builtin && lower_builtin(node);
    }
  }

  bool lower_builtin(Node& node) {
    if (is_builtin(node, "__getitem__.t")) {
      const auto index = constant_int(node.input(1));
      const Node* list = maker(node, Prim::ListConstruct);
      if (!index || !list) return false;
      const auto size = static_cast<int64_t>(list->inputs.size());
      return take(node, list, *index < 0 ? *index + size : *index);
    }
    if (!is_builtin(node, "len.t")) return false;
    const Node* list = maker(node, Prim::ListConstruct);
    if (!list) return false;
    const auto size = static_cast<int64_t>(list->inputs.size());
    replace_node(graph_, node, {&int_constant(graph_, node, size)});
    return true;
  }

  // An item may be of a narrower type than what its holder was said to hold.
  bool unpack(Node& node, const Node* maker) {
    if (!maker || maker->inputs.size() != node.outputs.size()) return false;
    replace_node(graph_, node, maker->inputs);
    return true;
  }
  bool take(Node& node, const Node* maker, int64_t index) {
    if (!maker || index < 0 || index >= static_cast<int64_t>(maker->inputs.size())) return false;
    replace_node(graph_, node, {maker->inputs[index]});
    return true;
  }

  Graph& graph_;
  const Aliases aliases_;
  bool changed_ = false;
};

}  // namespace

bool lower_tuples(Graph& graph) { return Lowering(graph).run(); }

}  // namespace wisp::graph
