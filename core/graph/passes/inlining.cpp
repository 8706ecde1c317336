// Puts the nodes of functions and methods where they are called.
#include <algorithm>

#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

constexpr int max_depth = 64;
constexpr size_t max_nodes = 100000;

size_t count_nodes(const Block& block) {
  size_t count = 0;
  for (const Node* node = block.first; node; node = node->next) {
    ++count;
    for (const Block* inner : node->blocks) count += count_nodes(*inner);
  }
  return count;
}

class Inliner {
 public:
  explicit Inliner(Graph& graph) : graph_(graph), nodes_(count_nodes(graph.top())) {}

  bool run() {
    inline_calls(graph_.top().first, nullptr);
    return changed_;
  }

 private:
  const Function* callee(const Node& node) const {
    const bool method = node.is(Prim::CallMethod);
    if (!method && !node.is(Prim::CallFunction)) return nullptr;
    const std::string& name = node.attributes.at("name").string();
    if (!method) return graph_.program ? graph_.program->find_function(name) : nullptr;
    const Type& type = *node.input(0).type;
    if (type.kind != Kind::object) return nullptr;
    const auto& methods = type.cls->methods;
    const auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
  }

  bool may_inline(const Function& function) const {
    const bool running = function.graph.get() == &graph_ ||
                         std::find(stack_.begin(), stack_.end(), &function) != stack_.end();
    return !running && static_cast<int>(stack_.size()) < max_depth && nodes_ < max_nodes;
  }

  void inline_calls(Node* first, const Node* end) {
    for (Node *node = first, *next; node != end; node = next) {
      next = node->next;
      for (Block* inner : node->blocks) inline_calls(inner->first, nullptr);
      const Function* function = callee(*node);
      if (function && function->graph && may_inline(*function)) inline_call(*node, *function);
    }
  }

  void inline_call(Node& node, const Function& function) {
    Node* before = node.previous;
    Block& block = *node.block;
    nodes_ += count_nodes(function.graph->top());
    std::vector<Value*> results = graph_.inline_block(function.graph->top(), node.inputs, node);
    if (node.outputs.size() == 1 && results.size() != 1) results = {&joined(node, results)};
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      graph_.replace_uses(*node.outputs[i], *results[i]);
    }
    stack_.push_back(&function);
    inline_calls(before ? before->next : block.first, &node);
    stack_.pop_back();
    graph_.remove(node);
    changed_ = true;
  }

  // Several results are one tuple for who takes them as one value, and none are None.
  Value& joined(Node& node, const std::vector<Value*>& results) {
    if (results.empty()) return graph_.constant(node, Datum(), simple_type(Kind::none));
    Node& tuple = graph_.make(Prim::TupleConstruct);
    std::vector<TypeRef> types;
    for (Value* result : results) {
      graph_.add_input(tuple, *result);
      types.push_back(result->type);
    }
    graph_.insert_before(node, tuple);
    return graph_.add_output(tuple, tuple_of(std::move(types)));
  }

  Graph& graph_;
  size_t nodes_;
  // Functions that are being inlined, the innermost last: calls of themselves are left.
  std::vector<const Function*> stack_;
  bool changed_ = false;
};

}  // namespace

bool inlining(Graph& graph) { return Inliner(graph).run(); }

}  // namespace wisp::graph
