// Simpler forms of single nodes and of pairs of them, and questions that types answer.
#include <array>

#include "graph/aliases.h"
#include "graph/builtins.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// Whether a number leaves tensors of this dtype as they are, dtype included, where it is the
// neutral one of an operator.
bool is_number(const Value& value, double wanted, DType dtype) {
  const Datum* constant = constant_of(value);
  if (!constant) return false;
  const bool integer = constant->tag() == Tag::integer && dtype != DType::bool_;
  const bool real = constant->tag() == Tag::real && is_differentiable(dtype);
  return (integer || real) && constant->scalar().equals(wanted);
}

bool may_be_none(const Type& type) {
  return type.kind == Kind::none || type.kind == Kind::optional || type.kind == Kind::any;
}

class Peephole {
 public:
  explicit Peephole(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run() {
    for_each_node(graph_.top(), [&](Node& node) { visit(node); });
    return changed_;
  }

 private:
  void visit(Node& node) {
    if (node.op && !node.in_place) {
      visit_op(node);
    } else if (node.builtin) {
      visit_builtin(node);
    } else if (node.is(Prim::If)) {
      turn_around(node);
    } else if (node.is(Prim::UncheckedCast)) {
      if (same(*node.input(0).type, *node.output().type)) become(node, node.input(0));
    }
  }

  // The node's output is just `value`.
  void become(Node& node, Value& value) {
    if (!aliases_.may_replace(node.output(), value)) return;
    if (!is_subtype(*without_shapes(value.type), *without_shapes(node.output().type))) return;
    graph_.replace_uses(node.output(), value);
    aliases_.replaced(node.output(), value);
    graph_.remove(node);
    changed_ = true;
  }
  void become_bool(Node& node, bool value) {
    replace_node(graph_, node, {&graph_.constant(node, Datum(value), simple_type(Kind::boolean))});
    changed_ = true;
  }
  void become_int(Node& node, int64_t value) {
    replace_node(graph_, node, {&int_constant(graph_, node, value)});
    changed_ = true;
  }

  // --- Operators

  void visit_op(Node& node) {
    if (has_neutral_operand(node)) return become(node, node.input(0));
    if (undoes_input(node) && !aliases_.is_written(node.input(0))) {
      return become(node, *node.input(0).node->inputs[0]);
    }
    if (is_max_pool(node)) return pool_before_relu(node);
    const bool drops = node.op->sig.base.ends_with("dropout") && node.op->has(trait::random);
    if (drops && is_off(argument(node, "training"))) return become(node, node.input(0));
    if (is_op(node, "reshape") && is_op(node.input(0), "reshape")) {
      if (aliases_.is_written(node.output()) || aliases_.is_written(node.input(0))) return;
      graph_.replace_input(node, 0, *node.input(0).node->inputs[0]);
      changed_ = true;
    }
  }

  // The largest of what relu leaves is what relu leaves of the largest: fewer elements.
  void pool_before_relu(Node& pool) {
    Node* relu = pool.input(0).node;
    if (!relu || !is_op(*relu, "relu") || relu->block != pool.block) return;
    if (relu->output().uses.size() != 1 || aliases_.is_written(relu->output()) ||
        aliases_.is_written(relu->input(0)))
      return;
    std::vector<Value*> inputs = pool.inputs;
    inputs[0] = relu->inputs[0];
    Value& pooled = call_before(graph_, pool, pool.op->sig.name, inputs, pool.output().type);
    Value& result = call_before(graph_, pool, "relu", {&pooled}, pool.output().type);
    replace_node(graph_, pool, {&result});
    graph_.remove(*relu);
    changed_ = true;
  }

  static bool is_max_pool(const Node& node) {
    constexpr std::array names{"max_pool1d", "max_pool2d", "max_pool3d"};
    for (const char* name : names) {
      if (is_op(node, name)) return true;
    }
    return false;
  }

  // x + 0, x - 0, x * 1, x / 1, x ** 1.
  static bool has_neutral_operand(const Node& node) {
    struct Neutral {
      std::string_view op;
      double number;
    };
    constexpr std::array all{Neutral{"add", 0}, Neutral{"sub", 0}, Neutral{"mul", 1},
                             Neutral{"div", 1}, Neutral{"pow", 1}};
    if (node.inputs.size() < 2) return false;
    const auto& dtype = node.input(0).type->dtype;
    if (node.input(0).type->kind != Kind::tensor || !dtype) return false;
    for (const auto& [op, number] : all) {
      if (!is_op(node, op)) continue;
      if (op == "div" && !is_differentiable(*dtype)) return false;
      return is_number(node.input(1), number, *dtype);
    }
    return false;
  }

  // Operators that give x back when applied twice with the same arguments.
  static bool undoes_input(const Node& node) {
    constexpr std::array twice{"neg", "t", "transpose", "conj"};
    for (const char* name : twice) {
      if (!is_op(node, name) || !is_op(node.input(0), name)) continue;
      const Node& inner = *node.input(0).node;
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        const auto a = constant_int(*node.inputs[i]), b = constant_int(*inner.inputs[i]);
        if (node.inputs[i] != inner.inputs[i] && (!a || a != b)) return false;
      }
      return true;
    }
    return false;
  }

  // --- Builtins

  void visit_builtin(Node& node) {
    const std::string& name = node.builtin->name;
    if (name == "__is__" || name == "__isnot__") return compare_with_none(node, name == "__is__");
    // squeeze_() and the like change the number of dimensions.
    const bool asks_for_rank = name == "dim" && node.input(0).type->sizes;
    if (asks_for_rank && !aliases_.is_written(node.input(0)))
      return become_int(node, static_cast<int64_t>(node.input(0).type->sizes->size()));
    if (name == "__not__") {
      const Node* inner = node.input(0).node;
      if (inner && is_builtin(*inner, "__not__")) become(node, *inner->inputs[0]);
    }
  }

  // x is None, where the type of x says which.
  void compare_with_none(Node& node, bool positive) {
    for (int i = 0; i < 2; ++i) {
      const Type &type = *node.input(i).type, &other = *node.input(1 - i).type;
      if (other.kind != Kind::none) continue;
      if (type.kind == Kind::none) return become_bool(node, positive);
      if (!may_be_none(type)) return become_bool(node, !positive);
    }
  }

  // if not c: a else: b  is  if c: b else: a.
  void turn_around(Node& node) {
    const Node* condition = node.input(0).node;
    if (!condition || !is_builtin(*condition, "__not__")) return;
    graph_.replace_input(node, 0, *condition->inputs[0]);
    std::swap(node.blocks[0], node.blocks[1]);
    changed_ = true;
  }

  Graph& graph_;
  Aliases aliases_;
  bool changed_ = false;
};

}  // namespace

bool peephole(Graph& graph) { return Peephole(graph).run(); }

}  // namespace wisp::graph
