// Puts the first round of loops in front of them, where it can be simplified on its own: what a
// loop carries is often of a simpler type, or a constant, only until then.
#include "graph/builtins.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

Value& call_builtin(Graph& graph, Node& place, std::string_view name, std::vector<Value*> inputs,
                    Kind result) {
  Node& node = graph.make(*find_builtin(name));
  node.span = place.span;
  for (Value* input : inputs) graph.add_input(node, *input);
  graph.insert_before(place, node);
  return graph.add_output(node, simple_type(result));
}

class Peeler {
 public:
  Peeler(Graph& graph, Node& loop) : graph_(graph), loop_(loop), body_(*loop.blocks[0]) {}

  void run() {
    const std::vector<Value*> results = first_round();
    count_from_one();
    Value& one = int_constant(graph_, loop_, 1);
    Value& rest = call_builtin(graph_, loop_, "sub.int", {&loop_.input(0), &one}, Kind::integer);
    graph_.replace_input(loop_, 0, rest);
    for (size_t i = 0; i < results.size(); ++i) {
      graph_.replace_input(loop_, static_cast<int>(i) + 1, *results[i]);
    }
  }

 private:
  std::vector<Value*> arguments(Value& counter) const {
    std::vector<Value*> all{&counter};
    all.insert(all.end(), loop_.inputs.begin() + 2, loop_.inputs.end());
    return all;
  }

  // The condition and the carried values after one round, or those of before if there is none.
  std::vector<Value*> first_round() {
    const auto trips = constant_int(loop_.input(0));
    const bool certain = trips && *trips > 0 && constant_bool(loop_.input(1)).value_or(false);
    Value& zero = int_constant(graph_, loop_, 0);
    if (certain) return graph_.inline_block(body_, arguments(zero), loop_);
    Value& more = call_builtin(graph_, loop_, "gt.int", {&loop_.input(0), &zero}, Kind::boolean);
    Value& runs =
        call_builtin(graph_, loop_, "__and__.bool", {&more, &loop_.input(1)}, Kind::boolean);
    return maybe_one_round(runs, zero);
  }

  std::vector<Value*> maybe_one_round(Value& runs, Value& zero) {
    Node& branch = graph_.make(Prim::If);
    branch.span = loop_.span;
    graph_.add_input(branch, runs);
    graph_.insert_before(loop_, branch);
    Block &yes = graph_.add_block(branch), &no = graph_.add_block(branch);
    for (Value* result : graph_.inline_block(body_, arguments(zero), yes)) {
      graph_.add_result(yes, *result);
    }
    std::vector<Value*> results;
    for (size_t i = 0; i < body_.results.size(); ++i) {
      graph_.add_result(no, *loop_.inputs[i + 1]);
      const TypeRef& type = i == 0 ? simple_type(Kind::boolean) : body_.params[i]->type;
      results.push_back(&graph_.add_output(branch, type));
    }
    return results;
  }

  // What was round i is round i - 1 of what is left.
  void count_from_one() {
    Value& counter = *body_.params[0];
    if (counter.uses.empty()) return;
    Node& add = graph_.make(*find_builtin("add.int"));
    add.span = loop_.span;
    if (body_.first) {
      graph_.insert_before(*body_.first, add);
    } else {
      graph_.append(body_, add);
    }
    Value& one = int_constant(graph_, add, 1);
    Value& shifted = graph_.add_output(add, simple_type(Kind::integer));
    graph_.replace_uses(counter, shifted);
    graph_.add_input(add, counter);
    graph_.add_input(add, one);
  }

  Graph& graph_;
  Node& loop_;
  Block& body_;
};

}  // namespace

bool loop_peeling(Graph& graph) {
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    if (!node.is(Prim::Loop)) return;
    Peeler(graph, node).run();
    changed = true;
  });
  return changed;
}

}  // namespace wisp::graph
