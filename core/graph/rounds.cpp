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

// Works on a copy of the body, whose parameters are what it captures and then its own.
class Finder {
 public:
  Finder(Specialised& given, size_t captured)
      : given_(given), graph_(*given.graph), body_(graph_.top()), captured_(captured) {}

  LoopRounds find() {
    sort_nodes();
    if (members_.empty() || members_.size() > Chain::max_calls) return {};
    const size_t count = members_.size();
    NodeChain found = chain_of(std::move(members_), given_.views, wanted_);
    if (!found.chain || found.members.size() != count) return {};
    if (!find_results(found) || !find_sources(found) || !find_appended(found) ||
        !find_stores(found) || !find_tests())
      return {};
    std::vector<bool> listed(found.outputs.size());
    for (const RoundAppend& one : made_.appended) listed[static_cast<size_t>(one.output)] = true;
    for (const RoundStore& one : made_.stores) listed[static_cast<size_t>(one.output)] = true;
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
          is_question(*node) || makes_list_of_views(*node))
        continue;
      const bool stores = node->op && node->in_place, appends = is_appending(*node);
      if (stores || appends) wanted_.insert(shown_by(stores ? node->input(1) : appended_by(*node)));
      (stores ? storing_ : appends ? appending_ : members_).push_back(node);
    }
  }

  // Gives the same in all rounds. What is written in them is nothing that others read.
  bool is_fixed(const Node& node) {
    if (!node.blocks.empty() || node.has_side_effects()) return false;
    for (const Value* input : node.inputs) {
      if (!stays(*input) || (appends_ && may_be_appended_to(*input))) return false;
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
  size_t own_params() const { return body_.params.size() - captured_; }
  const Value& param(int i) const { return *body_.params[captured_ + static_cast<size_t>(i)]; }
  const Datum& seen(const Value& value) const { return given_.seen.at(&value); }

  bool is_item(const Node& node) {
    RoundItem item;
    item.listed = is_builtin(node, "__getitem__");
    if (!item.listed && (!node.op || node.in_place)) return false;
    if (node.inputs.size() < 2 || !stays(node.input(0))) return false;
    if (!(item.listed ? is_item_of_list(node, item) : is_slice(node, item))) return false;
    item.owner = need(node.input(0));
    items_.emplace(&node.output(), item);
    return true;
  }
  bool is_item_of_list(const Node& node, RoundItem& item) {
    const Type& owner = *node.input(0).type;
    return owner.kind == Kind::list && owner.items[0]->kind == Kind::tensor &&
           find_int(node.input(1), item.index);
  }
  bool is_slice(const Node& node, RoundItem& item) {
    const bool selects = node.op == &op_def<"select">(), cuts = node.op == &op_def<"slice">();
    if (!selects && !cuts && node.op != &op_def<"narrow">()) return false;
    const Datum* dim = constant_of(node.input(1));
    if (!dim || !find_int(node.input(2), item.index)) return false;
    item.dim = dim->integer();
    if (selects) return true;
    RoundInt end;
    if (!find_int(node.input(3), end)) return false;
    item.length = end.offset - (cuts ? item.index.offset : 0);
    if (!cuts) return end.param < 0 && !end.plus && item.length > 0;
    const Datum* step = constant_of(node.input(4));
    return end.param == item.index.param && end.factor == item.index.factor && !end.plus &&
           !item.index.plus && item.length > 0 && step && step->integer() == 1;
  }

  // --- Numbers that belong to the round
  bool find_int(const Value& value, RoundInt& made) {
    if (value.type->kind != Kind::integer) return false;
    made = {};
    if (const Datum* constant = constant_of(value)) {
      made.offset = constant->integer();
    } else if (stays(value)) {
      made.plus = need(value);
    } else if (const int param = param_of(value); param >= 0) {
      made.param = param;
      made.factor = 1;
    } else {
      return find_sum(*value.node, made);
    }
    return true;
  }
  bool find_sum(const Node& node, RoundInt& made) {
    RoundInt a, b;
    if (is_builtin(node, "__derive_index"))
      return find_int(node.input(0), a) && find_int(node.input(2), b) && multiply(a, b, made) &&
             find_int(node.input(1), b) && add(made, b, 1, made);
    const bool adds = is_builtin(node, "add"), subtracts = is_builtin(node, "sub");
    if (!adds && !subtracts && !is_builtin(node, "mul")) return false;
    if (!find_int(node.input(0), a) || !find_int(node.input(1), b)) return false;
    return adds || subtracts ? add(a, b, adds ? 1 : -1, made) : multiply(a, b, made);
  }
  static bool add(const RoundInt& a, const RoundInt& b, int64_t sign, RoundInt& made) {
    if ((a.param >= 0 && b.param >= 0 && a.param != b.param) || (b.plus && (a.plus || sign < 0)))
      return false;
    made = {std::max(a.param, b.param), a.factor + sign * b.factor, a.offset + sign * b.offset,
            a.plus ? a.plus : b.plus};
    return true;
  }
  static bool multiply(RoundInt a, RoundInt b, RoundInt& made) {
    if (a.param < 0 && !a.plus) std::swap(a, b);
    if (b.param >= 0 || b.plus || (a.plus && b.offset != 1)) return false;
    made = {a.param, a.factor * b.offset, a.offset * b.offset, a.plus};
    return true;
  }

  // --- Conditions: that of the loop, and those of branches that were taken.
  bool find_tests() {
    const size_t first = own_params() + given_.premises.size();
    for (size_t i = 0; i < given_.premises.size(); ++i)
      made_.premises.emplace_back(need(*body_.results[own_params() + i]), given_.premises[i]);
    for (size_t i = 0; i < given_.assumed.size(); ++i) {
      if (!find_test(*body_.results[first + i], given_.assumed[i])) return false;
    }
    made_.branches = made_.tests.size();
    return find_test(*body_.results[0], true);
  }
  bool find_test(const Value& value, bool wanted) {
    if (const Datum* constant = constant_of(value)) return constant->boolean() == wanted;
    const Node* node = value.node;
    if (!node || !node->builtin) return false;
    if (is_builtin(*node, "__not__")) return find_test(node->input(0), !wanted);
    if (is_builtin(*node, wanted ? "__and__" : "__or__"))
      return find_test(node->input(0), wanted) && find_test(node->input(1), wanted);
    static constexpr std::string_view names[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    const auto kind = std::find(std::begin(names), std::end(names), node->builtin->name);
    RoundTest test{.kind = static_cast<RoundTest::Kind>(kind - std::begin(names)),
                   .left = {},
                   .right = {},
                   .wanted = wanted};
    if (kind == std::end(names) || !find_int(node->input(0), test.left) ||
        !find_int(node->input(1), test.right))
      return false;
    made_.tests.push_back(test);
    return true;
  }

  // If others want it, too, it has to be part of the chain.
  bool is_product_of_item(const Node& node) {
    if (!node.op || node.in_place || !Chain::multiplies(*node.op)) return false;
    const bool added = node.op == &op_def<"addmm">();
    const auto item = items_.find(node.inputs[added ? 1 : 0]);
    const auto& uses = node.output().uses;
    const bool in_chain =
        std::all_of(uses.begin(), uses.end(), [](const Node* user) { return user && user->op; });
    if (item == items_.end() || !in_chain) return false;
    for (const Value* value : node.inputs) {
      if (value != item->first && !stays(*value)) return false;
    }
    RoundSource made{.item = item->second, .of_item = shape_of(*item->first)};
    made.value = need(node.input(added ? 2 : 1));
    made.turned = node.op == &op_def<"linear">();
    const Value* bias = added ? node.inputs[0] : node.inputs.size() > 2 ? node.inputs[2] : nullptr;
    if (added && (!is_one(node.input(3)) || !is_one(node.input(4)))) return false;
    if (bias && bias->type->kind == Kind::tensor) made.bias = need(*bias);
    products_.emplace(&node.output(), made);
    return made.bias || !bias || constant_of(*bias);
  }
  static bool is_one(const Value& value) {
    const Datum* constant = constant_of(value);
    return constant && constant->scalar().real() == 1;
  }

  // Parameters that are taken apart, and results that are put together.
  bool is_tuple(const Node& node) {
    if (node.is(Prim::TupleUnpack) || node.is(Prim::TupleIndex)) return param_of(node.input(0)) > 0;
    return node.is(Prim::TupleConstruct) && is_only_result(node.output());
  }

  // Its answer is a number that belongs to the round: whoever needs it finds out which.
  static bool is_question(const Node& node) {
    return node.builtin && node.outputs.size() == 1 && !node.has_side_effects() &&
           node.output().type->kind != Kind::tensor;
  }
  // The views are taken from the list by nodes of their own.
  static bool makes_list_of_views(const Node& node) {
    return node.op && !node.in_place && node.outputs.size() == 1 &&
           node.output().type->kind == Kind::list;
  }

  // --- What goes round
  static int output_of(const NodeChain& found, const Value& value) {
    const auto at = std::find(found.outputs.begin(), found.outputs.end(), &value);
    return at == found.outputs.end() ? -1 : static_cast<int>(at - found.outputs.begin());
  }
  RoundRef part_of_param(const Value& value) const {
    if (const int whole = param_of(value); whole > 0) return {RoundRef::param, whole};
    const Node* node = value.node;
    if (!node || !(node->is(Prim::TupleUnpack) || node->is(Prim::TupleIndex))) return {};
    const int owner = param_of(node->input(0));
    if (node->is(Prim::TupleIndex))
      return {RoundRef::param, owner, static_cast<int>(node->attributes.at("index").integer())};
    const auto at = std::find(node->outputs.begin(), node->outputs.end(), &value);
    return {RoundRef::param, owner, static_cast<int>(at - node->outputs.begin())};
  }

  bool find_results(const NodeChain& found) {
    for (size_t i = 1; i < own_params(); ++i) {
      const Value& value = *body_.results[i];
      const int number = static_cast<int>(i);
      RoundResult& made = made_.results.emplace_back();
      made.output = output_of(found, value);
      if (made.output >= 0 || &value == &param(number) || stays_as_it_is(value, number)) continue;
      if (value.node && value.node->is(Prim::TupleConstruct)) {
        if (!find_items(found, *value.node, number, made.items)) return false;
        continue;
      }
      RoundInt next;
      if (!find_int(value, next) || next.param != number || next.factor != 1 || next.plus)
        return false;
      made.step = next.offset;
    }
    return true;
  }
  // It was set to the same in the round before.
  bool stays_as_it_is(const Value& value, int number) const {
    if (!stays(value)) return false;
    const Datum *constant = constant_of(value), &before = seen(param(number));
    return constant && before.tag() < Tag::tensor && equal(*constant, before);
  }
  bool find_items(const NodeChain& found, const Node& tuple, int number, std::vector<int>& items) {
    for (size_t k = 0; k < tuple.inputs.size(); ++k) {
      const RoundRef before = part_of_param(*tuple.inputs[k]);
      const int output = output_of(found, *tuple.inputs[k]);
      const bool same = before && before.index == number && before.item == static_cast<int>(k);
      if (output < 0 && !same) return false;
      items.push_back(output);
    }
    return true;
  }

  ops::ChainShape shape_of(const Value& value) const {
    const Tensor& tensor = seen(value).tensor();
    return {tensor.dtype(), Dims(tensor.sizes()), Dims(tensor.strides())};
  }

  bool find_sources(const NodeChain& found) {
    for (const Value* value : found.inputs) {
      const auto item = items_.find(value);
      const auto product = products_.find(value);
      RoundSource source;
      int carried = -1;
      if (item != items_.end()) {
        source.item = item->second;
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
      if (!seen(*value).is_tensor()) return false;
      made_.shapes.push_back(shape_of(*value));
      made_.sources.push_back(source);
      inputs_.push_back({carried, static_cast<bool>(source.item.owner)});
    }
    return true;
  }
  int carried_by(const RoundRef& part) const {
    const RoundResult& result = made_.results[static_cast<size_t>(part.index - 1)];
    if (part.item < 0) return result.output;
    return result.items.empty() ? -1 : result.items[static_cast<size_t>(part.item)];
  }

  // --- What is kept of all rounds
  // The value that lies where this one does.
  const Value* shown_by(const Value& value) const {
    const Value* found = &value;
    for (auto at = given_.views.find(found); at != given_.views.end();
         at = given_.views.find(found))
      found = at->second.base;
    return found;
  }
  std::shared_ptr<const ops::ChainView> view_of(const Value& value) const {
    const Value* whole = shown_by(value);
    if (whole == &value) return nullptr;
    return std::make_shared<ops::ChainView>(seen(*whole).tensor(), seen(value).tensor());
  }

  bool find_appended(const NodeChain& found) {
    for (const Node* node : appending_) {
      const Value& item = appended_by(*node);
      const int output = output_of(found, *shown_by(item));
      const Value& list = node->input(0);
      const int number = param_of(list);
      const bool same = number > 0 && body_.results[static_cast<size_t>(number)] == &list;
      if (output < 0 || (!same && !stays(list))) return false;
      made_.appended.push_back(
          {same ? RoundRef{RoundRef::param, number} : need(list), output, view_of(item)});
    }
    return true;
  }

  // Copies of whole outputs into what belongs to the round and is not read.
  bool find_stores(const NodeChain& found) {
    for (const Node* node : storing_) {
      const auto to = items_.find(node->inputs[0]);
      const Value& from = node->input(1);
      if (to == items_.end() || to->second.listed || to->first->uses.size() != 1) return false;
      const int output = output_of(found, *shown_by(from));
      const auto view = view_of(from);
      const Tensor &there = seen(*to->first).tensor(), &here = seen(from).tensor();
      const bool whole =
          !view || (view->offset == 0 && is_contiguous(view->sizes, view->strides) &&
                    count_elements(view->sizes) == count_elements(view->whole_sizes));
      if (output < 0 || !whole || there.dtype() != here.dtype() ||
          !wisp::same(there.sizes(), here.sizes()))
        return false;
      made_.stores.push_back({to->second, output});
    }
    return storing_.empty() || watch_fixed();
  }
  // Whatever is read of fixed tensors: it must not be what is written.
  bool watch_fixed() {
    for (const Node* node : fixed_) {
      for (const Value* input : node->inputs) {
        const Kind kind = input->type->kind;
        if (kind == Kind::tensor && !constant_of(*input)) need(*input);
        if (kind == Kind::list && node->op && !input->node) return false;
        if (node->op && is_written(*input)) return false;
      }
    }
    return true;
  }

  bool is_written(const Value& value) {
    const RoundRef ref = kind_is_tensor(value) ? need(value) : RoundRef{};
    return ref && std::any_of(made_.stores.begin(), made_.stores.end(), [&](const RoundStore& one) {
             return one.to.owner.index == ref.index;
           });
  }
  static bool kind_is_tensor(const Value& value) { return value.type->kind == Kind::tensor; }

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
    made_.fixed = std::move(given_.graph);
  }

  Specialised& given_;
  Graph& graph_;
  Block& body_;
  const size_t captured_;
  bool appends_ = false;
  std::unordered_set<const Node*> fixed_;
  std::vector<const Node*> members_, appending_, storing_;
  std::unordered_set<const Value*> wanted_;
  std::unordered_map<const Value*, RoundItem> items_;
  std::unordered_map<const Value*, RoundSource> products_;
  std::vector<Value*> needed_;
  std::vector<ops::RoundInput> inputs_;
  LoopRounds made_;
};

// Has only what may become part of a chain, or be decided before.
bool may_be_rounds(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    if (node->is(Prim::CallFunction) || node->is(Prim::CallMethod) || node->is(Prim::HostCall) ||
        node->is(Prim::Fork) || node->is(Prim::Parallel) || node->is(Prim::SetAttr) ||
        node->is(Prim::Print))
      return false;
    for (const Block* inner : node->blocks) {
      if (!may_be_rounds(*inner)) return false;
    }
  }
  return true;
}

bool has_calls(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    if (node->op && (Chain::computes(*node->op) || Chain::multiplies(*node->op))) return true;
    for (const Block* inner : node->blocks) {
      if (has_calls(*inner)) return true;
    }
  }
  return false;
}

}  // namespace

std::unique_ptr<Graph> rounds_body(const Graph& graph, const Block& body,
                                   std::vector<Value*>& captured) {
  std::unique_ptr<Graph> copy = graph.extract(body, captured);
  inlining(*copy);
  if (!may_be_rounds(copy->top()) || !has_calls(copy->top())) return nullptr;
  lower_tuples(*copy);
  dead_code(*copy);
  return copy;
}

bool add_forms(const Datum& value, RoundForms& forms) {
  forms.push_back({value.tag(), {}});
  if (value.tag() == Tag::tuple) {
    return std::all_of(value.items().begin(), value.items().end(),
                       [&](const Datum& item) { return add_forms(item, forms); });
  }
  if (!value.is_tensor()) return true;
  const Tensor& tensor = value.tensor();
  forms.back().shape = {tensor.dtype(), Dims(tensor.sizes()), Dims(tensor.strides())};
  return tensor.numel() <= ops::Rounds::most_elements;
}

bool same_forms(const RoundForms& a, const RoundForms& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.tag == y.tag && ops::same_shape(x.shape, y.shape);
  });
}

LoopRounds rounds_of(Specialised body, size_t captured) {
  if (!body.graph) return {};
  return Finder(body, captured).find();
}

}  // namespace wisp::graph
