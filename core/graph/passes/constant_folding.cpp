// Computes what follows from constants, and takes the branches that constants decide.
#include <cmath>

#include "graph/aliases.h"
#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/evaluate.h"
#include "graph/passes.h"

namespace wisp::graph {

namespace {

// What a graph keeps for later may not be much larger than what it was made from.
constexpr int64_t max_elements = 1 << 16;
constexpr size_t max_items = 1 << 10;

bool is_small(const Datum& value) {
  switch (value.tag()) {
    case Tag::tensor:
      return value.tensor().numel() <= max_elements && value.tensor()->is_readable();
    case Tag::string:
      return value.string().size() <= max_items;
    case Tag::list:
    case Tag::tuple:
      if (value.items().size() > max_items) return false;
      for (const Datum& item : value.items()) {
        if (!is_small(item)) return false;
      }
      return true;
    case Tag::dict:
      return value.dict_data().entries.size() <= max_items;
    case Tag::object:
    case Tag::generator:
      return false;
    default:
      return true;
  }
}

// Numbers that say how large a result is to be have to be small too, or computing it would cost
// what nobody may ever ask for.
bool is_cheap(const Datum& value) {
  if (value.tag() == Tag::integer) {
    return value.integer() >= -max_elements && value.integer() <= max_elements;
  }
  if (value.tag() != Tag::list && value.tag() != Tag::tuple) return true;
  double product = 1;
  for (const Datum& item : value.items()) {
    if (item.tag() == Tag::integer) product *= std::fabs(static_cast<double>(item.integer()));
  }
  return product <= static_cast<double>(max_elements);
}

// Whether the size of its result is a number among its inputs.
bool grows(const Node& node) {
  if (node.op) return true;
  if (!node.builtin) return false;
  const std::string& result = node.builtin->result;
  return result == "str" || result.ends_with("[]");
}

// Results that depend on more than the inputs: what memory held before, or the default dtype.
bool depends_on_state(const Node& node) {
  if (node.builtin) return node.builtin->name == "tensor";
  if (!node.op) return false;
  const bool factory = node.op->has(trait::factory);
  return node.op->sig.base.find("empty") != std::string::npos ||
         (factory && is_off(argument(node, "dtype")));
}

// Whether they say the same of the same type.
bool same_constant(const Value& a, const Value& b) {
  const Datum *x = constant_of(a), *y = constant_of(b);
  return x && y && !is_mutable(*a.type) && same(*a.type, *b.type) && x->tag() == y->tag() &&
         equal(*x, *y);
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    fold(graph_.top());
    return changed_;
  }

 private:
  void fold(Block& block) {
    block.for_each([&](Node& node) {
      if (node.is(Prim::Loop)) skip_invariants(node);
      for (Block* inner : node.blocks) fold(*inner);
      if (node.is(Prim::If)) {
        fold_if(node);
      } else if (node.is(Prim::Loop)) {
        fold_loop(node);
      } else {
        fold_node(node);
      }
    });
  }

  // --- Nodes

  bool may_fold(const Node& node) const {
    if (node.is(Prim::Constant) || node.outputs.empty() || depends_on_state(node)) return false;
    for (const Value* input : node.inputs) {
      const Datum* value = constant_of(*input);
      if (!value || (grows(node) && !is_cheap(*value))) return false;
      if (value->is_tensor() && value->tensor().requires_grad()) return false;
    }
    for (const Value* output : node.outputs) {
      if (is_mutable(*output->type) && aliases_.escapes(*output)) return false;
    }
    return aliases_.is_movable(node);
  }

  void fold_node(Node& node) {
    if (!may_fold(node)) return;
    std::vector<Datum> inputs;
    for (const Value* input : node.inputs) inputs.push_back(*constant_of(*input));
    const auto results = evaluate(node, std::move(inputs));
    if (!results || results->size() != node.outputs.size()) return;
    for (size_t i = 0; i < results->size(); ++i) {
      if (!is_small((*results)[i]) || !is_of_type((*results)[i], *node.outputs[i]->type)) return;
    }
    for (size_t i = 0; i < results->size(); ++i) {
      Value& output = *node.outputs[i];
      Value& constant = graph_.constant(node, (*results)[i], output.type);
      graph_.replace_uses(output, constant);
      aliases_.replaced(constant, output);
    }
    graph_.remove(node);
    changed_ = true;
  }

  // --- If

  void fold_if(Node& node) {
    if (const Datum* condition = constant_of(node.input(0))) {
      const Block& taken = *node.blocks[condition->boolean() ? 0 : 1];
      return replace(node, graph_.inline_block(taken, {}, node));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Value &yes = *node.blocks[0]->results[i], &no = *node.blocks[1]->results[i];
      Value& output = *node.outputs[i];
      if (output.uses.empty()) continue;
      if (&yes == &no) {
        graph_.replace_uses(output, yes);
      } else if (same_constant(yes, no)) {
        graph_.replace_uses(output, graph_.constant(node, *constant_of(yes), yes.type));
      } else {
        continue;
      }
      changed_ = true;
    }
  }

  void replace(Node& node, const std::vector<Value*>& values) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      graph_.replace_uses(*node.outputs[i], *values[i]);
    }
    graph_.remove(node);
    changed_ = true;
  }

  // --- Loop

  // What every round passes on as it got it is what entered the loop.
  void skip_invariants(Node& node) {
    Block& body = *node.blocks[0];
    for (size_t i = 1; i < body.params.size(); ++i) {
      Value &param = *body.params[i], &enters = *node.inputs[i + 1], &result = *body.results[i];
      const bool invariant =
          &result == &param || &result == &enters || same_constant(enters, result);
      if (!invariant || !is_subtype(*enters.type, *param.type)) continue;
      Value& output = *node.outputs[i - 1];
      changed_ |= !output.uses.empty() || !param.uses.empty();
      if (&result == &param) graph_.replace_result(body, static_cast<int>(i), enters);
      graph_.replace_uses(param, enters);
      graph_.replace_uses(output, enters);
    }
  }

  void fold_loop(Node& node) {
    const Datum *trips = constant_of(node.input(0)), *condition = constant_of(node.input(1));
    const bool never = (trips && trips->integer() <= 0) || (condition && !condition->boolean());
    if (!never) return;
    replace(node, {node.inputs.begin() + 2, node.inputs.end()});
  }

  Graph& graph_;
  Aliases aliases_;
  bool changed_ = false;
};

}  // namespace

bool constant_folding(Graph& graph) { return Folder(graph).run(); }

}  // namespace wisp::graph
