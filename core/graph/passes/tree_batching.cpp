// Sums of matrix products become one product: AB + CD is cat([A, C], 1) cat([B, D], 0).
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

class TreeBatcher {
 public:
  explicit TreeBatcher(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    bool changed = false;
    // The roots come last in a block and first here, so that a tree is taken as a whole.
    std::vector<Node*> sums;
    for_each_node(graph_.top(), [&](Node& node) {
      if (is_sum(node)) sums.push_back(&node);
    });
    for (size_t i = sums.size(); i-- > 0;) {
      if (!taken_.contains(sums[i])) changed |= batch(*sums[i]);
    }
    return changed;
  }

 private:
  struct Tree {
    std::vector<Node*> products;  // from left to right
    std::vector<Node*> sums;      // with the root in front
  };

  // A plain sum of two matrices of the same known sizes.
  bool is_sum(const Node& node) const {
    if (!is_op(node, "add") || constant_int(node.input(2)) != 1) return false;
    return aliases_.is_movable(node) && has_sizes(node.output(), 2) &&
           same_known_type(node.input(0), node.input(1)) &&
           same_known_type(node.input(0), node.output());
  }
  bool is_product(const Node& node) const {
    if (!is_op(node, "mm") && !is_op(node, "matmul")) return false;
    return aliases_.is_movable(node) && has_sizes(node.input(0), 2) && has_sizes(node.input(1), 2);
  }

  // Whether the value is a product, or a sum of them, that only this tree needs.
  bool collect(const Value& value, const Block& block, Tree& tree) const {
    Node* node = value.node;
    if (!node || node->block != &block || value.uses.size() != 1) return false;
    if (is_product(*node)) {
      tree.products.push_back(node);
      return true;
    }
    if (!is_sum(*node)) return false;
    tree.sums.push_back(node);
    return collect(node->input(0), block, tree) && collect(node->input(1), block, tree);
  }

  bool batch(Node& root) {
    Tree tree;
    tree.sums.push_back(&root);
    const bool all =
        collect(root.input(0), *root.block, tree) && collect(root.input(1), *root.block, tree);
    if (!all) return false;
    std::vector<Value*> left, right;
    for (const Node* product : tree.products) {
      left.push_back(&product->input(0));
      right.push_back(&product->input(1));
    }
    if (!is_cheap_to_join(left) || !is_cheap_to_join(right)) return false;
    Value& a = join_before(graph_, root, left, 1);
    Value& b = join_before(graph_, root, right, 0);
    Value& result = call_before(graph_, root, "mm", {&a, &b}, root.output().type);
    replace_node(graph_, root, {&result});
    for (Node* sum : tree.sums) {
      taken_.insert(sum);
      if (sum != &root) graph_.remove(*sum);
    }
    for (Node* product : tree.products) graph_.remove(*product);
    return true;
  }

  Graph& graph_;
  const Aliases aliases_;
  std::unordered_set<const Node*> taken_;
};

}  // namespace

bool tree_batching(Graph& graph) { return TreeBatcher(graph).run(); }

}  // namespace wisp::graph
