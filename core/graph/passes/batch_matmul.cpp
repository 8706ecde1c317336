// Matrix products that share an operand become one: AB and AC are the halves of A cat(B, C).
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// A product of a shared operand with others that are to be joined.
struct Form {
  const char* op;
  int shared;   // which input all have
  int joined;   // which are joined ...
  int at;       // ... along this dimension
  int out_dim;  // along which the results lie side by side
};

constexpr Form forms[] = {
    {"mm", 0, 1, 1, 1},     {"mm", 1, 0, 0, 0},      {"matmul", 0, 1, 1, 1},
    {"matmul", 1, 0, 0, 0}, {"linear", 0, 1, 0, -1},
};

class Batcher {
 public:
  explicit Batcher(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    visit(graph_.top());
    return changed_;
  }

 private:
  void visit(Block& block) {
    for (const Form& form : forms) {
      while (batch_one(block, form)) changed_ = true;
    }
    block.for_each([&](Node& node) {
      for (Block* inner : node.blocks) visit(*inner);
    });
  }

  bool is_candidate(const Node& node, const Form& form) const {
    if (!is_op(node, form.op) || done_.contains(&node)) return false;
    if (!has_sizes(node.input(form.joined), 2) || !node.input(form.joined).type->dtype) {
      return false;
    }
    if (is_op(node, "matmul") && !has_sizes(node.input(form.shared), 2)) return false;
    return aliases_.is_movable(node) && !aliases_.escapes(node.output()) && !is_viewed(node);
  }
  // What is cut out of a larger result may lie in memory in a way that view() refuses.
  static bool is_viewed(const Node& node) {
    for (const Node* user : node.output().uses) {
      if (user && user->op && (user->op->sig.base == "view" || user->op->sig.base == "view_as")) {
        return true;
      }
    }
    return false;
  }

  // The first group of products that can be one.
  bool batch_one(Block& block, const Form& form) {
    for (Node* first = block.first; first; first = first->next) {
      if (!is_candidate(*first, form)) continue;
      std::vector<Node*> group{first};
      for (Node* node = first->next; node; node = node->next) {
        if (is_candidate(*node, form) && belongs(*node, *first, form)) group.push_back(node);
      }
      std::vector<Value*> parts;
      for (const Node* node : group) parts.push_back(&node->input(form.joined));
      if (group.size() < 2 || !is_cheap_to_join(parts)) continue;
      batch(group, parts, form);
      return true;
    }
    return false;
  }

  static bool belongs(const Node& node, const Node& first, const Form& form) {
    const Value &part = node.input(form.joined), &other = first.input(form.joined);
    if (&node.input(form.shared) != &first.input(form.shared)) return false;
    if (part.type->dtype != other.type->dtype || !can_be_known_at(part, first)) return false;
    const int rest = 1 - form.at;
    if ((*known_sizes(part))[rest] != (*known_sizes(other))[rest]) return false;
    return node.inputs.size() < 3 || biases_fit(node.input(2), first.input(2), first);
  }
  static bool biases_fit(const Value& bias, const Value& other, const Node& first) {
    if (is_none(bias) || is_none(other)) return is_none(bias) && is_none(other);
    const bool known = has_sizes(bias, 1) && has_sizes(other, 1);
    return known && bias.type->dtype == other.type->dtype && can_be_known_at(bias, first);
  }

  void batch(const std::vector<Node*>& group, const std::vector<Value*>& parts, const Form& form) {
    Node& first = *group[0];
    for (const Node* node : group) {
      for (Value* input : node->inputs) bring_before(graph_, first, *input);
    }
    std::vector<Value*> inputs = first.inputs;
    inputs[form.joined] = &join_before(graph_, first, parts, form.at);
    if (inputs.size() > 2 && !is_none(*inputs[2])) {
      std::vector<Value*> biases;
      for (const Node* node : group) biases.push_back(&node->input(2));
      inputs[2] = &join_before(graph_, first, biases, 0);
    }
    Value& product = call_before(graph_, first, form.op, inputs);
    done_.insert(product.node);
    std::vector<int64_t> sizes;
    for (const Value* part : parts) sizes.push_back((*known_sizes(*part))[form.at]);
    const std::vector<Value*> results = cut_before(graph_, first, product, sizes, form.out_dim);
    for (size_t i = 0; i < group.size(); ++i) {
      results[i]->type = group[i]->output().type;
      replace_node(graph_, *group[i], {results[i]});
    }
  }

  Graph& graph_;
  const Aliases aliases_;
  std::unordered_set<const Node*> done_;  // made here
  bool changed_ = false;
};

}  // namespace

bool batch_matmul(Graph& graph) { return Batcher(graph).run(); }

}  // namespace wisp::graph
