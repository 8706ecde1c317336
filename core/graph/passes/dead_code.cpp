// Removes nodes whose outputs nobody needs and that do nothing else, and values that If and Loop
// carry for nobody.
#include <unordered_set>

#include "graph/passes.h"

namespace wisp::graph {

namespace {

// If and Loop have the effects of the nodes in their blocks, which are looked at one by one.
bool has_own_effects(const Node& node) {
  return !node.is(Prim::If) && !node.is(Prim::Loop) && node.has_side_effects();
}

class Sweeper {
 public:
  explicit Sweeper(Graph& graph) : graph_(graph) {}

  bool run() {
    for (Value* result : graph_.top().results) need(*result);
    keep_effects(graph_.top());
    spread();
    return sweep(graph_.top());
  }

 private:
  void need(Value& value) {
    if (needed_.insert(&value).second) pending_.push_back(&value);
  }

  void keep_effects(Block& block) {
    block.for_each([&](Node& node) {
      if (has_own_effects(node)) keep(node);
      for (Block* inner : node.blocks) keep_effects(*inner);
    });
  }

  // A node that has to run. Of If and Loop only what decides how they run is needed with it; their
  // values are followed one by one.
  void keep(Node& node) {
    if (!kept_.insert(&node).second) return;
    if (node.block->owner) keep(*node.block->owner);
    if (node.is(Prim::If)) {
      need(node.input(0));
    } else if (node.is(Prim::Loop)) {
      need(node.input(0));
      need(node.input(1));
      need(*node.blocks[0]->results[0]);
    } else {
      for (Value* input : node.inputs) need(*input);
      for (Block* block : node.blocks) {
        for (Value* result : block->results) need(*result);
      }
    }
  }

  void spread() {
    while (!pending_.empty()) {
      Value& value = *pending_.back();
      pending_.pop_back();
      if (value.node) {
        need_output(*value.node, value.index);
      } else if (value.block->owner) {
        need_param(*value.block->owner, value.index);
      }
    }
  }

  void need_output(Node& node, int i) {
    keep(node);
    if (node.is(Prim::If)) {
      for (Block* block : node.blocks) need(*block->results[i]);
    } else if (node.is(Prim::Loop)) {
      need_carried(node, i);
    }
  }
  void need_param(Node& owner, int i) {
    keep(owner);
    if (owner.is(Prim::Loop) && i > 0) need_carried(owner, i - 1);
  }
  void need_carried(Node& loop, int i) {
    need(loop.input(i + 2));
    need(*loop.blocks[0]->params[i + 1]);
    need(*loop.blocks[0]->results[i + 1]);
  }

  // Backwards, so that users go before what they use.
  bool sweep(Block& block) {
    bool changed = false;
    for (Node *node = block.last, *previous; node; node = previous) {
      previous = node->previous;
      if (kept_.contains(node)) {
        changed |= trim(*node);
        for (Block* inner : node->blocks) changed |= sweep(*inner);
      } else {
        graph_.remove(*node);
        changed = true;
      }
    }
    return changed;
  }

  bool trim(Node& node) {
    bool changed = false;
    const bool loop = node.is(Prim::Loop);
    if (!loop && !node.is(Prim::If)) return false;
    for (int i = static_cast<int>(node.outputs.size()) - 1; i >= 0; --i) {
      const bool wanted = needed_.contains(node.outputs[i]) ||
                          (loop && needed_.contains(node.blocks[0]->params[i + 1]));
      if (wanted) continue;
      for (Block* block : node.blocks) graph_.remove_result(*block, i + loop);
      graph_.remove_output(node, i);
      if (loop) {
        carried_for_nobody_.push_back({&node, i});
        graph_.remove_input(node, i + 2);
      }
      changed = true;
    }
    if (loop) drop_params(node);
    return changed;
  }

  // Nodes of the body that read these parameters are dead too, but still there.
  void drop_params(Node& loop) {
    Block& body = *loop.blocks[0];
    sweep(body);
    for (const auto& [node, i] : carried_for_nobody_) {
      if (node == &loop) graph_.remove_param(body, i + 1);
    }
    std::erase_if(carried_for_nobody_, [&](const auto& entry) { return entry.first == &loop; });
  }

  Graph& graph_;
  std::unordered_set<const Node*> kept_;
  std::unordered_set<const Value*> needed_;
  std::vector<Value*> pending_;
  std::vector<std::pair<Node*, int>> carried_for_nobody_;
};

}  // namespace

bool dead_code(Graph& graph) { return Sweeper(graph).run(); }

}  // namespace wisp::graph
