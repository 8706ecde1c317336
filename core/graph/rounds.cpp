#include "graph/rounds.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/builtins.h"
#include "graph/chains.h"
#include "graph/effects.h"
#include "graph/passes.h"
#include "graph/reads.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

using ops::Chain;

bool is_builtin(const Node& node, std::string_view name) {
  return node.builtin && node.builtin->name == name;
}

bool is_only_result(const Value& value) {
  return std::all_of(value.uses.begin(), value.uses.end(), [](const Node* user) { return !user; });
}

// list.append(x), and list += [x] with the list of one.
bool is_list_to_append(const Node& node) {
  if (!node.is(Prim::ListConstruct) || node.inputs.size() != 1) return false;
  const auto& uses = node.output().uses;
  return uses.size() == 1 && uses[0] && is_builtin(*uses[0], "extend") &&
         uses[0]->inputs[1] == &node.output();
}
bool is_appending(const Node& node) {
  if (is_builtin(node, "append")) return true;
  return is_builtin(node, "extend") && node.input(1).node && is_list_to_append(*node.input(1).node);
}
const Value& appended_by(const Node& node) {
  return is_builtin(node, "append") ? node.input(1) : node.input(1).node->input(0);
}

bool holds_list(const Type& type) {
  if (type.kind == Kind::list || type.kind == Kind::dict || type.kind == Kind::any) return true;
  return std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef& item) { return holds_list(*item); });
}

// Works on a copy of the body, whose parameters are what it captures and then its own.
class Finder {
 public:
  Finder(Graph& copy, size_t captured) : graph_(copy), body_(copy.top()), captured_(captured) {}

  LoopRounds find() {
    const Datum* condition = constant_of(*body_.results[0]);
    if (!condition || !condition->boolean()) return {};
    sort_nodes();
    if (members_.empty() || members_.size() > Chain::max_calls) return {};
    const size_t count = members_.size();
    NodeChain found = chain_of(std::move(members_));
    if (!found.chain || found.members.size() != count) return {};
    if (!find_results(found) || !find_sources(found) || !find_appended(found)) return {};
    std::vector<bool> listed(found.outputs.size());
    for (const auto& [list, output] : made_.appended) listed[static_cast<size_t>(output)] = true;
    made_.rounds = std::make_unique<ops::Rounds>(std::move(found.chain), std::move(inputs_),
                                                 std::move(listed));
    keep_fixed();
    return std::move(made_);
  }

 private:
  // --- Nodes: those that are nothing else are members of the chain.
  void sort_nodes() {
    for (const Node* node = body_.first; node; node = node->next) appends_ |= is_appending(*node);
    for (const Node* node = body_.first; node; node = node->next) {
      if (node->is(Prim::Constant) || is_list_to_append(*node) || is_fixed(*node)) continue;
      if (is_item(*node) || is_product_of_item(*node) || is_tuple(*node) || is_folded(*node) ||
          is_builtin(*node, "__derive_index"))
        continue;
      (is_appending(*node) ? appending_ : members_).push_back(node);
    }
  }

  // Gives the same in all rounds. Nothing is written in them but lists, by appending.
  bool is_fixed(const Node& node) {
    if (!node.blocks.empty() || node.has_side_effects()) return false;
    for (const Value* input : node.inputs) {
      if (!stays(*input)) return false;
      if (appends_ && holds_list(*input->type)) return false;
    }
    fixed_.insert(&node);
    return true;
  }
  bool stays(const Value& value) const {
    if (constant_of(value) || (value.node && fixed_.contains(value.node))) return true;
    const int param = param_of(value);
    return !value.node && param < 0;
  }
  // Which of the body's own parameters it is; negative if it is none.
  int param_of(const Value& value) const {
    const auto at = std::find(body_.params.begin(), body_.params.end(), &value);
    if (at == body_.params.end()) return -1;
    return static_cast<int>(at - body_.params.begin()) - static_cast<int>(captured_);
  }
  const Value& param(int i) const { return *body_.params[captured_ + static_cast<size_t>(i)]; }

  bool is_item(const Node& node) {
    RoundSource item;
    const bool selects = node.op == &op_def<"select">() && !node.in_place;
    item.listed = is_builtin(node, "__getitem__");
    if (!selects && !item.listed) return false;
    const Value& owner = node.input(0);
    if (!stays(owner) || !find_index(*node.inputs[selects ? 2 : 1], item)) return false;
    if (item.listed &&
        (owner.type->kind != Kind::list || owner.type->items[0]->kind != Kind::tensor))
      return false;
    if (selects) {
      const Datum* dim = constant_of(node.input(1));
      if (!dim) return false;
      item.dim = dim->integer();
    }
    item.owner = need(owner);
    items_.emplace(&node.output(), item);
    return true;
  }

  // start + round * step.
  bool find_index(const Value& index, RoundSource& item) {
    if (param_of(index) == 0) return true;
    const Node* node = index.node;
    if (!node || !is_builtin(*node, "__derive_index") || param_of(node->input(0)) != 0)
      return false;
    if (!stays(node->input(1)) || !stays(node->input(2))) return false;
    item.start = need(node->input(1));
    item.step = need(node->input(2));
    return true;
  }

  // If others want it, too, it has to be part of the chain.
  bool is_product_of_item(const Node& node) {
    const bool multiplies = node.op && !node.in_place && Chain::multiplies(*node.op);
    if (!multiplies || node.op == &op_def<"addmm">()) return false;
    const auto item = items_.find(node.inputs[0]);
    const auto& uses = node.output().uses;
    const bool in_chain =
        std::all_of(uses.begin(), uses.end(), [](const Node* user) { return user && user->op; });
    if (item == items_.end() || !in_chain) return false;
    if (!std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](const Value* value) { return stays(*value); }))
      return false;
    RoundSource& made = products_[&node.output()] = item->second;
    made.value = need(node.input(1));
    if (node.inputs.size() > 2 && node.input(2).type->kind == Kind::tensor)
      made.bias = need(node.input(2));
    made.turned = node.op == &op_def<"linear">();
    return made.bias || node.inputs.size() < 3 || constant_of(node.input(2));
  }

  // Parameters that are taken apart, and results that are put together.
  bool is_tuple(const Node& node) {
    if (node.is(Prim::TupleUnpack)) return param_of(node.input(0)) > 0;
    return node.is(Prim::TupleConstruct) && is_only_result(node.output());
  }

  // --- What goes round
  static int output_of(const NodeChain& found, const Value& value) {
    const auto at = std::find(found.outputs.begin(), found.outputs.end(), &value);
    return at == found.outputs.end() ? -1 : static_cast<int>(at - found.outputs.begin());
  }
  RoundRef part_of_param(const Value& value) const {
    if (const int whole = param_of(value); whole > 0) return {RoundRef::param, whole};
    if (!value.node || !value.node->is(Prim::TupleUnpack)) return {};
    const auto& items = value.node->outputs;
    const auto at = std::find(items.begin(), items.end(), &value) - items.begin();
    return {RoundRef::param, param_of(value.node->input(0)), static_cast<int>(at)};
  }

  bool find_results(const NodeChain& found) {
    for (size_t i = 1; i < body_.results.size(); ++i) {
      const Value& value = *body_.results[i];
      const int number = static_cast<int>(i);
      RoundResult& made = made_.results.emplace_back();
      made.output = output_of(found, value);
      if (made.output >= 0 || &value == &param(number) || stays(value)) continue;
      if (!value.node || !value.node->is(Prim::TupleConstruct)) return false;
      for (size_t k = 0; k < value.node->inputs.size(); ++k) {
        const Value& item = *value.node->inputs[k];
        const RoundRef before = part_of_param(item);
        const int output = output_of(found, item);
        const bool same = before && before.index == number && before.item == static_cast<int>(k);
        if (output < 0 && !same) return false;
        made.items.push_back(output);
      }
    }
    return true;
  }

  bool find_sources(const NodeChain& found) {
    for (const Value* value : found.inputs) {
      const auto item = items_.find(value);
      const auto product = products_.find(value);
      RoundSource source;
      int carried = -1;
      if (item != items_.end()) {
        source = item->second;
      } else if (product != products_.end()) {
        source = product->second;
      } else if (stays(*value)) {
        source.value = need(*value);
      } else if (const RoundRef part = part_of_param(*value)) {
        source.value = part;
        carried = carried_by(part);
      } else {
        return false;
      }
      made_.sources.push_back(source);
      inputs_.push_back({carried, static_cast<bool>(source.owner)});
    }
    return true;
  }
  int carried_by(const RoundRef& part) const {
    const RoundResult& result = made_.results[static_cast<size_t>(part.index - 1)];
    if (part.item < 0) return result.output;
    return result.items.empty() ? -1 : result.items[static_cast<size_t>(part.item)];
  }

  bool find_appended(const NodeChain& found) {
    for (const Node* node : appending_) {
      const int output = output_of(found, appended_by(*node));
      const Value& list = node->input(0);
      const int number = param_of(list);
      const bool same = number > 0 && body_.results[static_cast<size_t>(number)] == &list;
      if (output < 0 || (!same && !stays(list))) return false;
      made_.appended.emplace_back(same ? RoundRef{RoundRef::param, number} : need(list), output);
    }
    return true;
  }

  // --- What stays becomes the results of the copy, and all else is taken out of it.
  RoundRef need(const Value& value) {
    const auto at = std::find(needed_.begin(), needed_.end(), &value);
    const auto index = static_cast<int>(at - needed_.begin());
    if (at == needed_.end()) needed_.push_back(const_cast<Value*>(&value));
    return {RoundRef::fixed, index};
  }
  void keep_fixed() {
    for (size_t i = body_.results.size(); i-- > 0;)
      graph_.remove_result(body_, static_cast<int>(i));
    for (Node *node = body_.last, *before; node; node = before) {
      before = node->previous;
      if (!node->is(Prim::Constant) && !fixed_.contains(node)) graph_.remove(*node);
    }
    while (body_.params.size() > captured_)
      graph_.remove_param(body_, static_cast<int>(body_.params.size()) - 1);
    for (Value* value : needed_) graph_.add_result(body_, *value);
    dead_code(graph_);
  }

  Graph& graph_;
  Block& body_;
  const size_t captured_;
  bool appends_ = false;
  std::unordered_set<const Node*> fixed_;
  std::vector<const Node*> members_, appending_;
  std::unordered_map<const Value*, RoundSource> items_, products_;
  std::vector<Value*> needed_;
  std::vector<ops::RoundInput> inputs_;
  LoopRounds made_;
};

}  // namespace

LoopRounds rounds_of(const Graph& graph, const Block& body) {
  for (const Node* node = body.first; node; node = node->next) {
    if (!node->blocks.empty()) return {};
  }
  std::vector<Value*> captured;
  std::unique_ptr<Graph> copy = graph.extract(body, captured);
  inlining(*copy);
  lower_tuples(*copy);
  dead_code(*copy);
  LoopRounds made = Finder(*copy, captured.size()).find();
  made.fixed = std::move(copy);
  made.captured = std::move(captured);
  return made;
}

}  // namespace wisp::graph
