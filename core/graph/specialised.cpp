#include "graph/specialised.h"

#include <algorithm>
#include <unordered_set>

#include "graph/builtins.h"
#include "graph/effects.h"
#include "graph/evaluate.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"

namespace wisp::graph {

namespace {

// Loops of more rounds, and bodies of more nodes, are left alone.
constexpr int64_t most_unrolled = 8;
constexpr int most_nodes = 1000;

// What is known of a value: the same in every run, in all rounds of this run, or only in this
// round.
enum class State : uint8_t { certain, fixed, varying };

bool is_named(const Node& node, std::initializer_list<std::string_view> names) {
  return node.builtin && std::find(names.begin(), names.end(), node.builtin->name) != names.end();
}

// Asks a tensor only for what does not change from round to round.
bool asks_for_shape(const Node& node) {
  if (node.inputs.empty() || !node.builtin) return false;
  if (is_named(node, {"__is__", "__isnot__"})) {
    const Datum* other = constant_of(node.input(1));
    return other && other->is_none();
  }
  return node.input(0).type->kind == Kind::tensor &&
         is_named(node, {"size", "dim", "numel", "len", "dtype", "device", "is_floating_point"});
}

bool is_plain(const Datum& value) {
  return value.tag() < Tag::tensor || value.tag() == Tag::string;
}

bool holds_list(const Type& type) {
  if (type.kind == Kind::list || type.kind == Kind::dict || type.kind == Kind::any) return true;
  return std::any_of(type.items.begin(), type.items.end(),
                     [](const TypeRef& item) { return holds_list(*item); });
}

bool is_tensor_list(const Datum& value) {
  if (value.tag() != Tag::list && value.tag() != Tag::tuple) return false;
  return std::any_of(value.items().begin(), value.items().end(),
                     [](const Datum& item) { return item.is_tensor() || is_tensor_list(item); });
}

class Specialiser {
 public:
  Specialiser(const Graph& body, size_t captured)
      : made_{.graph = body.clone()},
        graph_(*made_.graph),
        top_(graph_.top()),
        captured_(captured) {}

  Specialised run(const std::vector<Datum>& given) {
    for_each_node(top_, [&](Node& node) { appends_ |= is_named(node, {"append", "extend"}); });
    for (size_t i = 0; i < top_.params.size(); ++i)
      note(*top_.params[i], given[i], i < captured_ ? State::fixed : State::varying);
    for (Node* node = top_.first; node;) {
      next_ = node->next;
      if (++nodes_ > most_nodes || !visit(*node)) return {};
      node = next_;
    }
    for (Value* value : premises_) graph_.add_result(top_, *value);
    for (Value* value : conditions_) graph_.add_result(top_, *value);
    dead_code(graph_);
    return std::move(made_);
  }

 private:
  void note(const Value& value, Datum datum, State state) {
    made_.seen[&value] = std::move(datum);
    states_[&value] = state;
  }
  const Datum& seen(const Value& value) const { return made_.seen.at(&value); }
  State state(const Value& value) const { return states_.at(&value); }

  bool visit(Node& node) {
    if (node.is(Prim::Constant)) {
      note(node.output(), node.attributes.at("value"), State::certain);
      return true;
    }
    if (node.is(Prim::If)) return take_branch(node);
    if (node.is(Prim::Loop)) return unroll(node);
    if (is_named(node, {"append", "extend"})) return node.outputs.empty() && !node.input(0).node;
    if (node.op && node.in_place && !make_plain(node)) return store(node);
    if (!node.blocks.empty() || node.has_side_effects()) return false;
    if (node.is(Prim::GetAttr)) return get(node);
    return compute(node);
  }

  // --- What the body holds besides calls
  bool take_branch(Node& node) {
    Value& condition = node.input(0);
    const bool taken = seen(condition).boolean();
    if (state(condition) == State::fixed) take_as_constant(condition);
    if (state(condition) == State::varying) {
      conditions_.push_back(&condition);
      made_.assumed.push_back(taken);
    }
    put_in_place(node, [&] { return graph_.inline_block(*node.blocks[taken ? 0 : 1], {}, node); });
    return true;
  }

  // Of a number of rounds that is known.
  bool unroll(Node& node) {
    const Block& body = *node.blocks[0];
    const Datum* goes_on = constant_of(*body.results[0]);
    const Value &count = node.input(0), &begins = node.input(1);
    if (!goes_on || !goes_on->boolean() || state(count) == State::varying) return false;
    if (state(begins) != State::certain || !seen(begins).boolean()) return false;
    const int64_t rounds = seen(count).integer();
    if (rounds > most_unrolled) return false;
    if (state(count) == State::fixed) take_as_constant(*node.inputs[0]);
    put_in_place(node, [&] {
      std::vector<Value*> carried(node.inputs.begin() + 2, node.inputs.end());
      for (int64_t i = 0; i < rounds; ++i) {
        carried.insert(carried.begin(), &int_constant(graph_, node, i));
        carried = graph_.inline_block(body, carried, node);
        carried.erase(carried.begin());
      }
      return carried;
    });
    return true;
  }

  // Goes on with the first node that `make` has put in front of this one, whose outputs it gives.
  template <class F>
  void put_in_place(Node& node, F make) {
    Node* const before = node.previous;
    replace_node(graph_, node, make());
    next_ = before ? before->next : top_.first;
  }

  bool get(Node& node) {
    if (state(node.input(0)) == State::varying) return false;
    ObjectData& object = seen(node.input(0)).object();
    const int slot = object.cls->find(node.attributes.at("name").string());
    if (slot < 0) return false;
    note(node.output(), object.slots[static_cast<size_t>(slot)], State::fixed);
    return true;
  }

  // Writes where others can see it: only a copy into what belongs to the round can be done later.
  bool store(Node& node) {
    if (node.op->sig.name != "copy") return false;
    note(node.output(), seen(node.input(0)), State::varying);
    return node.output().uses.empty();
  }

  // Memory that was made in this round, and that nobody reads afterwards under its old name.
  bool make_plain(Node& node) {
    const Value& self = node.input(0);
    if (!ops::Chain::computes(*node.op) || !self.node || !self.node->op || self.node->in_place)
      return false;
    if (made_.views.contains(&self) || state(self) != State::varying) return false;
    if (!ops::Chain::computes(*self.node->op) && !ops::Chain::multiplies(*self.node->op))
      return false;
    for (const Node* user : self.uses) {
      if (user == &node) continue;
      if (!user || user->block != node.block || !comes_before(*user, node)) return false;
      for (const Value* made : user->outputs) {
        if (made_.views.contains(made) || made->type->kind != Kind::tensor) return false;
      }
    }
    const auto& uses = self.uses;
    if (std::count(uses.begin(), uses.end(), &node) != 1) return false;
    node.in_place = false;
    const bool alike = compute(node) && same_type(seen(node.output()), seen(self));
    node.in_place = !alike;
    return alike;
  }
  static bool comes_before(const Node& node, const Node& other) {
    for (const Node* at = &node; at; at = at->next) {
      if (at == &other) return true;
    }
    return false;
  }
  static bool same_type(const Datum& a, const Datum& b) {
    return a.tensor().dtype() == b.tensor().dtype() &&
           wisp::same(a.tensor().sizes(), b.tensor().sizes());
  }

  // --- Calls and constructors
  bool compute(Node& node) {
    if (states_.contains(node.outputs.empty() ? nullptr : node.outputs[0])) return true;
    if (take_apart(node)) return true;
    std::vector<Datum> inputs;
    for (const Value* input : node.inputs) inputs.push_back(seen(*input));
    std::optional<std::vector<Datum>> found = evaluate(node, std::move(inputs));
    if (!found || found->size() != node.outputs.size()) return false;
    const State made = state_of(node);
    for (size_t i = 0; i < found->size(); ++i) note(*node.outputs[i], (*found)[i], made);
    if (made == State::certain) return fold(node);
    if (made == State::fixed) return true;
    if (node.op) fix_arguments(node);
    if (is_named(node, {"__derive_index"}) && state(node.input(2)) == State::fixed)
      fix_argument(node, 2);
    return find_views(node);
  }

  // Items of tuples and lists whose making is known, and casts, are just what they are made of.
  bool take_apart(Node& node) {
    if (node.is(Prim::UncheckedCast)) {
      Value& from = node.input(0);
      if (seen(from).is_none()) return false;
      from.type = node.output().type;
      replace_node(graph_, node, {&from});
      return true;
    }
    const bool unpacks = node.is(Prim::TupleUnpack) || node.is(Prim::ListUnpack);
    if (!unpacks && !node.is(Prim::TupleIndex)) return false;
    const Node* maker = node.input(0).node;
    if (!maker || !(maker->is(Prim::TupleConstruct) || maker->is(Prim::ListConstruct)))
      return false;
    if (maker->is(Prim::ListConstruct) && node.input(0).uses.size() != 1) return false;
    if (!unpacks) {
      const int64_t index = node.attributes.at("index").integer();
      replace_node(graph_, node, {maker->inputs[static_cast<size_t>(index)]});
      return true;
    }
    if (maker->inputs.size() != node.outputs.size()) return false;
    replace_node(graph_, node, maker->inputs);
    return true;
  }

  State state_of(const Node& node) const {
    if (asks_for_shape(node)) {
      State rest = state(node.input(0)) == State::fixed ? State::fixed : State::certain;
      for (size_t i = 1; i < node.inputs.size(); ++i) rest = std::max(rest, state(*node.inputs[i]));
      return rest;
    }
    State found = State::certain;
    for (const Value* input : node.inputs) {
      found = std::max(found, state(*input));
      if (appends_ && may_be_appended_to(*input)) found = State::varying;
    }
    const bool makes_new = node.op && found == State::certain;
    return makes_new ? State::fixed : found;
  }

  bool fold(Node& node) {
    for (Value* output : node.outputs) {
      const Datum& value = seen(*output);
      if (!is_plain(value)) continue;
      Value& constant = graph_.constant(node, value, output->type);
      note(constant, value, State::certain);
      graph_.replace_uses(*output, constant);
    }
    return true;
  }

  // Plain arguments of what belongs to the round.
  void fix_arguments(Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = *node.inputs[i];
      if (state(value) != State::fixed || seen(value).is_tensor() || is_tensor_list(seen(value)))
        continue;
      fix_argument(node, i);
    }
  }
  void fix_argument(Node& node, size_t i) {
    Value& value = *node.inputs[i];
    take_as_constant(value);
    if (!is_plain(seen(value))) return;
    Value& constant = graph_.constant(node, seen(value), value.type);
    note(constant, seen(value), State::certain);
    graph_.replace_input(node, static_cast<int>(i), constant);
  }
  void take_as_constant(Value& value) {
    premises_.push_back(&value);
    made_.premises.push_back(seen(value));
  }

  // --- Views of what belongs to the round; those that show all of it are the same as what they
  // show.
  bool find_views(Node& node) {
    Value* base = base_of(node);
    if (!base || state(*base) != State::varying) return true;
    for (Value* output : node.outputs) {
      const Datum& value = seen(*output);
      if (!value.is_tensor()) return true;
      const Tensor &view = value.tensor(), &whole = seen(*base).tensor();
      if (view.impl() == whole.impl() && node.outputs.size() == 1) {
        replace_node(graph_, node, {base});
        return true;
      }
      if (view.dtype() != whole.dtype() || &view->storage() != &whole->storage()) return true;
      made_.views.insert_or_assign(output, ViewOf{base, ops::ChainView(whole, view)});
    }
    return true;
  }
  // What the tensors that a node gives may be views of: its first argument, or that of the operator
  // whose list it takes apart.
  Value* base_of(const Node& node) const {
    if (node.inputs.empty()) return nullptr;
    const Node* from = &node;
    if (node.is(Prim::ListUnpack) || is_named(node, {"__getitem__"})) from = node.input(0).node;
    if (!from || from->inputs.empty() || !(from->op || from->builtin)) return nullptr;
    Value& base = from->input(0);
    return seen(base).is_tensor() ? &base : nullptr;
  }

  Specialised made_;
  Graph& graph_;
  Block& top_;
  const size_t captured_;
  int nodes_ = 0;
  bool appends_ = false;
  Node* next_ = nullptr;
  std::unordered_map<const Value*, State> states_;
  std::vector<Value*> premises_, conditions_;
};

}  // namespace

bool may_be_appended_to(const Value& value) {
  const bool made_here = value.node && (value.node->is(Prim::ListConstruct) || value.node->op);
  return !made_here && holds_list(*value.type);
}

Specialised specialised(const Graph& body, size_t captured, const std::vector<Datum>& given) {
  return Specialiser(body, captured).run(given);
}

}  // namespace wisp::graph
