// Computes once what is computed twice from the same values.
#include <unordered_map>

#include "graph/aliases.h"
#include "graph/effects.h"
#include "graph/passes.h"

namespace wisp::graph {

namespace {

class Merger {
 public:
  explicit Merger(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    merge(graph_.top());
    return changed_;
  }

 private:
  using Known = std::unordered_map<std::string, Node*>;

  // What a node computes, as text. Tensors are told apart by their addresses.
  std::string key(const Node& node) {
    std::string text = std::to_string(epoch_) + node.kind();
    for (const auto& [name, value] : node.attributes) {
      text += "," + name + "=" + constant_text(value, &tensors_);
    }
    for (const Value* input : node.inputs) text += "%" + input->name;
    for (const Value* output : node.outputs) text += ":" + to_string(*output->type);
    return text;
  }

  bool may_merge(const Node& node, const Node& earlier) const {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!aliases_.may_replace(*node.outputs[i], *earlier.outputs[i])) return false;
    }
    return true;
  }

  bool is_candidate(const Node& node) const {
    if (node.outputs.empty() || node.is(Prim::CreateObject) || node.is(Prim::Uninitialized)) {
      return false;
    }
    for (const auto& [name, value] : node.attributes) {
      if (value.tag() == Tag::object || value.tag() == Tag::generator) return false;
    }
    return aliases_.is_movable(node);
  }

  // Blocks see what was computed around them, and not what was computed in others. Nodes on both
  // sides of a barrier are never the same.
  void merge(Block& block) {
    std::vector<std::string> added;
    block.for_each([&](Node& node) {
      const bool barrier = holds_barrier(node);
      if (barrier) ++epoch_;
      for (Block* inner : node.blocks) merge(*inner);
      if (barrier) ++epoch_;
      if (!is_candidate(node)) return;
      std::string text = key(node);
      const auto found = known_.find(text);
      if (found == known_.end()) {
        known_.emplace(text, &node);
        added.push_back(std::move(text));
      } else if (may_merge(node, *found->second)) {
        replace(node, *found->second);
      }
    });
    for (const std::string& text : added) known_.erase(text);
  }

  void replace(Node& node, Node& earlier) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      graph_.replace_uses(*node.outputs[i], *earlier.outputs[i]);
      aliases_.replaced(*node.outputs[i], *earlier.outputs[i]);
    }
    graph_.remove(node);
    changed_ = true;
  }

  Graph& graph_;
  Aliases aliases_;
  Known known_;
  std::vector<Tensor> tensors_;
  int epoch_ = 0;
  bool changed_ = false;
};

}  // namespace

bool common_subexpressions(Graph& graph) { return Merger(graph).run(); }

}  // namespace wisp::graph
