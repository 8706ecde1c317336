// An image that is added to the result of a convolution, relu after that, and max pooling of
// windows that do not overlap go into one group with it: the interpreter has them done while the
// result is written (see graph/tails.h).
#include <array>

#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/group.h"
#include "graph/passes/tools.h"
#include "graph/tails.h"

namespace wisp::graph {

namespace {

class Tails {
 public:
  explicit Tails(Graph& graph) : graph_(graph), aliases_(graph) {
    for_each_node(graph_.top(), [&](Node& node) {
      const bool grouped = node.block->owner && node.block->owner->is(Prim::FusionGroup);
      if (is_convolution(node) && !grouped && is_free(node)) convolutions_.push_back(&node);
    });
  }

  void bring_relus_before_pools() {
    for (Node* convolution : convolutions_) bring_relu_before_pool(*convolution);
  }

  bool group() {
    std::vector<std::vector<Node*>> groups;  // all, before the first one changes the graph
    for (Node* convolution : convolutions_) groups.push_back(with_tail(*convolution));
    bool changed = false;
    for (const std::vector<Node*>& members : groups) {
      if (members.size() == 1) continue;
      make_group(graph_, members);
      changed = true;
    }
    return changed;
  }

 private:
  std::vector<Node*> with_tail(Node& convolution) const {
    std::vector<Node*> members{&convolution};
    Node* next = only_user(convolution);
    const Value* other = next ? added_to(*next, convolution.output()) : nullptr;
    if (other && is_free(*next) && !comes_later(*other, convolution)) {
      members.push_back(next);
      next = only_user(*next);
    }
    if (next && is_relu(*next) && is_free(*next)) {
      members.push_back(next);
      next = only_user(*next);
    }
    if (next && pool_of(*next) && is_free(*next)) members.push_back(next);
    return members;
  }

  // Whether nobody writes what it reads or gives, so that it could as well stand further down.
  bool is_free(const Node& node) const {
    if (node.has_side_effects()) return false;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const Value* value : *values) {
        if (is_mutable(*value->type) && aliases_.is_written(*value)) return false;
      }
    }
    return true;
  }

  static Node* only_user(const Node& node) {
    const auto& uses = node.output().uses;
    return uses.size() == 1 && uses[0] && uses[0]->block == node.block ? uses[0] : nullptr;
  }

  // Of two convolutions that are added, the one that is computed last does it.
  static bool comes_later(const Value& other, const Node& convolution) {
    return other.node && is_convolution(*other.node) && only_user(*other.node) &&
           is_known_at(convolution.output(), *other.node);
  }

  // Where relu costs nothing, it comes first again: see pool_before_relu in the pass peephole.
  void bring_relu_before_pool(Node& convolution) {
    Node* pool = only_user(convolution);
    if (!pool || !is_max_pool(*pool) || !is_free(*pool)) return;
    Node* relu = only_user(*pool);
    if (!relu || !is_relu(*relu) || !is_free(*relu)) return;
    Value& above = call_before(graph_, *pool, "relu", {&convolution.output()});
    graph_.replace_input(*pool, 0, above);
    replace_node(graph_, *relu, {&pool->output()});
  }

  static bool is_max_pool(const Node& node) {
    constexpr std::array names{"max_pool1d", "max_pool2d", "max_pool3d"};
    for (const char* name : names) {
      if (is_op(node, name)) return true;
    }
    return false;
  }

  Graph& graph_;
  const Aliases aliases_;
  std::vector<Node*> convolutions_;
};

}  // namespace

bool conv_tails(Graph& graph) {
  Tails(graph).bring_relus_before_pools();
  return Tails(graph).group();
}

}  // namespace wisp::graph
