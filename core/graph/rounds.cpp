#include "graph/rounds.h"

#include <algorithm>
#include <unordered_map>

#include "graph/builtins.h"
#include "graph/chains.h"
#include "graph/effects.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

using ops::Chain;

bool is_builtin(const Node& node, std::string_view name) {
  return node.builtin && node.builtin->name == name;
}

bool is_outside(const Value& value, const Block& body) {
  return value.block != &body || constant_of(value);
}

class Finder {
 public:
  Finder(const Block& body, const std::vector<const Node*>& unchanging)
      : body_(body), unchanging_(unchanging) {}

  LoopRounds find() {
    const Datum* condition = constant_of(*body_.results[0]);
    if (!condition || !condition->boolean() || !sort_nodes()) return {};
    const size_t count = members_.size();
    NodeChain found = chain_of(std::move(members_));
    if (!found.chain || found.members.size() != count) return {};
    if (!find_results(found) || !find_sources(found) || !find_appended(found)) return {};
    std::vector<bool> listed(found.outputs.size());
    for (const auto& [list, output] : made_.appended) listed[static_cast<size_t>(output)] = true;
    made_.rounds = std::make_unique<ops::Rounds>(std::move(found.chain), std::move(inputs_),
                                                 std::move(listed));
    return std::move(made_);
  }

 private:
  bool stays(const Value& value) const {
    return is_outside(value, body_) || (value.node && is_unchanging(value.node));
  }
  // A parameter that is the same in all rounds but the first.
  bool stays_as_parameter(size_t i) const {
    return body_.results[i] == body_.params[i] || stays(*body_.results[i]);
  }

  // Every node belongs to the chain, or is known to be something else.
  bool sort_nodes() {
    for (const Node* node = body_.first; node; node = node->next) {
      const bool passes = node->is(Prim::Constant) || is_unchanging(node) ||
                          is_builtin(*node, "__derive_index") || is_list_to_append(*node);
      if (passes || is_item(*node) || is_product_of_item(*node)) continue;
      (is_appending(*node) ? appending_ : members_).push_back(node);
    }
    return members_.size() <= Chain::max_calls;
  }
  bool is_unchanging(const Node* node) const {
    return std::find(unchanging_.begin(), unchanging_.end(), node) != unchanging_.end();
  }

  bool is_item(const Node& node) {
    RoundItem item;
    const bool selects = node.op == &op_def<"select">() && !node.in_place;
    item.listed = is_builtin(node, "__getitem__");
    if (!selects && !item.listed) return false;
    item.owner = node.inputs[0];
    if (!stays(*item.owner) || !find_index(*node.inputs[selects ? 2 : 1], item)) return false;
    const Type& owner = *item.owner->type;
    if (item.listed && (owner.kind != Kind::list || owner.items[0]->kind != Kind::tensor))
      return false;
    if (selects) {
      const Datum* dim = constant_of(node.input(1));
      if (!dim) return false;
      item.dim = dim->integer();
    }
    items_.emplace(&node.output(), item);
    return true;
  }

  // start + round * step.
  bool find_index(const Value& index, RoundItem& item) const {
    if (&index == body_.params[0]) return true;
    const Node* node = index.node;
    if (!node || node->block != &body_ || !is_builtin(*node, "__derive_index")) return false;
    item.start = node->inputs[1];
    item.step = node->inputs[2];
    return node->inputs[0] == body_.params[0] && is_outside(*item.start, body_) &&
           is_outside(*item.step, body_);
  }

  // list.append(x), list += [x]
  bool is_appending(const Node& node) const {
    if (is_builtin(node, "append")) return true;
    if (!is_builtin(node, "extend")) return false;
    return node.input(1).node && is_list_to_append(*node.input(1).node);
  }
  bool is_list_to_append(const Node& node) const {
    if (node.block != &body_ || !node.is(Prim::ListConstruct) || node.inputs.size() != 1)
      return false;
    const auto& uses = node.output().uses;
    return uses.size() == 1 && uses[0] && is_builtin(*uses[0], "extend") &&
           uses[0]->inputs[1] == &node.output();
  }
  const Value& appended_by(const Node& node) const {
    return is_builtin(node, "append") ? node.input(1) : node.input(1).node->input(0);
  }

  // Others may want it, too: then it has to be part of the chain.
  bool is_product_of_item(const Node& node) {
    if (!node.op || node.in_place || !Chain::multiplies(*node.op)) return false;
    const auto item = items_.find(node.inputs[0]);
    if (item == items_.end() || !goes_to_chain(node.output())) return false;
    const bool biased = node.inputs.size() > 2 && !constant_of(node.input(2));
    if (!std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](const Value* value) { return stays(*value); }))
      return false;
    products_[&node.output()] = {.value = node.inputs[1],
                                 .item = item->second,
                                 .bias = biased ? node.inputs[2] : nullptr,
                                 .turned = node.op == &op_def<"linear">()};
    return true;
  }
  bool goes_to_chain(const Value& value) const {
    return std::all_of(value.uses.begin(), value.uses.end(),
                       [&](const Node* user) { return user && user->op; });
  }

  bool find_results(const NodeChain& found) {
    for (size_t i = 1; i < body_.results.size(); ++i) {
      const int output = output_of(found, *body_.results[i]);
      if (output < 0 && !stays_as_parameter(i)) return false;
      made_.results.push_back(output);
    }
    return true;
  }

  bool find_sources(const NodeChain& found) {
    for (const Value* value : found.inputs) {
      const auto param = std::find(body_.params.begin(), body_.params.end(), value);
      const auto item = items_.find(value);
      const auto product = products_.find(value);
      const bool varies = item != items_.end() || product != products_.end();
      if (param == body_.params.end() && !varies && !stays(*value)) return false;
      RoundSource source = {.value = value};
      if (item != items_.end()) source = {.item = item->second};
      if (product != products_.end()) source = product->second;
      made_.sources.push_back(source);
      const auto number = static_cast<size_t>(param - body_.params.begin());
      const bool carried = param != body_.params.end();
      inputs_.push_back({carried ? made_.results[number - 1] : -1, varies});
    }
    return true;
  }

  bool find_appended(const NodeChain& found) {
    for (const Node* node : appending_) {
      const int output = output_of(found, appended_by(*node));
      if (output < 0 || !is_list_that_stays(node->input(0))) return false;
      made_.appended.emplace_back(node->inputs[0], output);
    }
    return true;
  }
  bool is_list_that_stays(const Value& list) const {
    if (stays(list)) return true;
    const auto param = std::find(body_.params.begin(), body_.params.end(), &list);
    return param != body_.params.end() &&
           stays_as_parameter(static_cast<size_t>(param - body_.params.begin()));
  }

  static int output_of(const NodeChain& found, const Value& value) {
    const auto at = std::find(found.outputs.begin(), found.outputs.end(), &value);
    return at == found.outputs.end() ? -1 : static_cast<int>(at - found.outputs.begin());
  }

  const Block& body_;
  const std::vector<const Node*>& unchanging_;
  std::vector<const Node*> members_, appending_;
  std::unordered_map<const Value*, RoundItem> items_;
  std::unordered_map<const Value*, RoundSource> products_;
  std::vector<ops::RoundInput> inputs_;
  LoopRounds made_;
};

}  // namespace

LoopRounds rounds_of(const Block& body, const std::vector<const Node*>& unchanging) {
  return Finder(body, unchanging).find();
}

}  // namespace wisp::graph
