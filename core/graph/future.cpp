#include "graph/future.h"

#include <algorithm>
#include <unordered_set>

#include "dispatch/mode.h"
#include "graph/beside.h"
#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/error.h"

namespace wisp::graph {

namespace {

bool holds(const Type& type, Kind kind) {
  return type.kind == kind || std::any_of(type.items.begin(), type.items.end(),
                                          [&](const auto& item) { return holds(*item, kind); });
}

// The innermost fork that a node stands in, or is; null if there is none.
const Node* fork_around(const Node& node) {
  const Node* at = &node;
  while (at && !at->is(Prim::Fork)) at = at->block->owner;
  return at;
}

// A list or dict that nobody sees who may run beside the one that made it: it is only asked and
// changed, or given to operators, up to the end.
bool is_private(const Value& value) {
  if (!value.node || (!value.node->is(Prim::ListConstruct) && !value.node->is(Prim::DictConstruct)))
    return false;
  const Node* home = fork_around(*value.node);
  return std::all_of(value.uses.begin(), value.uses.end(), [&](const Node* user) {
    if (user == home) return true;  // a result of the fork, or of the graph
    const bool subject = user && user->builtin && user->inputs[0] == &value &&
                         std::count(user->inputs.begin(), user->inputs.end(), &value) == 1;
    return user && (user->op || subject) && fork_around(*user) == home;
  });
}

bool changes_private(const Node& node) {
  return node.builtin && !is_barrier(node) && !node.inputs.empty() && is_private(node.input(0));
}

class Quiet {
 public:
  // Whether a block computes its results and does nothing else, whatever it calls.
  bool holds_for(const Block& block) {
    for (const Node* node = block.first; node; node = node->next) {
      if (!holds_for(*node)) return false;
    }
    return true;
  }

  bool holds_for(const Node& node) {
    if (shows_tensor(node)) return false;
    if (node.op || node.builtin) return !node.has_side_effects() || changes_private(node);
    if (const Function* function = called_by(node)) {
      // A function that calls itself does what it does.
      const bool fresh = seen_.insert(function).second;
      return !fresh || (function->graph && holds_for(function->graph->top()));
    }
    for (const Block* block : node.blocks) {
      if (!holds_for(*block)) return false;
    }
    constexpr Prim loud[] = {Prim::SetAttr,  Prim::CallFunction, Prim::CallMethod,
                             Prim::HostCall, Prim::Print,        Prim::CreateObject};
    return std::find(std::begin(loud), std::end(loud), node.prim) == std::end(loud);
  }

  const std::unordered_set<const Function*>& called() const { return seen_; }

 private:
  static const Function* called_by(const Node& node) {
    const bool method = node.is(Prim::CallMethod);
    if (!method && !node.is(Prim::CallFunction)) return nullptr;
    const std::string& name = node.attributes.at("name").string();
    if (!method) {
      Program* program = node.block->graph->program;
      return program ? program->find_function(name) : nullptr;
    }
    const Type& type = *node.input(0).type;
    if (type.kind != Kind::object || !type.cls) return nullptr;
    const auto found = type.cls->methods.find(name);
    return found == type.cls->methods.end() ? nullptr : found->second;
  }

  std::unordered_set<const Function*> seen_;
};

enum class Change { none, containers, anything };

// What a node outside of forks changes that a fork might read.
Change change_of(const Node& node, Quiet& quiet) {
  if (!node.blocks.empty() && !node.is(Prim::Fork)) return Change::none;  // those in its blocks do
  if (quiet.holds_for(node) || node.is(Prim::Print)) return Change::none;
  if (node.op) return written_inputs(node).empty() ? Change::none : Change::anything;
  if (!node.builtin || is_barrier(node)) return Change::anything;
  return holds(*node.input(0).type, Kind::future) ? Change::none : Change::containers;
}

template <class F>
void each_node_around(const Block& block, const F& f) {
  for (const Node* node = block.first; node; node = node->next) {
    f(*node);
    if (node->is(Prim::Fork)) continue;
    for (const Block* inner : node->blocks) each_node_around(*inner, f);
  }
}

}  // namespace

Forks::Forks(const Graph& graph) {
  Quiet quiet;
  each_node_around(graph.top(), [&](const Node& node) {
    const Change change = change_of(node, quiet);
    calm_ = calm_ && change != Change::anything;
    changes_containers_ = changes_containers_ || change == Change::containers;
  });
  for (const Value* result : graph.top().results) {
    calm_ = calm_ && !holds(*result->type, Kind::future);
  }
}

bool Forks::may_run_beside(const Node& fork, std::vector<const Function*>& calls) const {
  Quiet quiet;
  if (!calm_ || !quiet.holds_for(*fork.blocks[0])) return false;
  calls.assign(quiet.called().begin(), quiet.called().end());
  for (const Value* value : captured_values(fork)) {
    // One that is captured itself was forked before: forks cannot wait for each other in a circle.
    const Type& type = value->type->kind == Kind::future ? *value->type->items[0] : *value->type;
    if (holds(type, Kind::future) || holds(type, Kind::generator) || holds(type, Kind::any))
      return false;
    if (changes_containers_ &&
        (holds(type, Kind::list) || holds(type, Kind::dict) || holds(type, Kind::object)))
      return false;
  }
  return true;
}

}  // namespace wisp::graph
