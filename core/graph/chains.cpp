#include "graph/chains.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/op_args.h"
#include "graph/reads.h"
#include "ops/chain_kernel.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

using ops::Chain;

const Datum* constant_in(const Value& value) {
  const bool constant = value.node && value.node->is(Prim::Constant);
  return constant ? &value.node->attributes.at("value") : nullptr;
}

bool is_number(const Value& value) {
  const Datum* constant = constant_in(value);
  return constant && (constant->tag() == Tag::integer || constant->tag() == Tag::real);
}

bool is_integer(const Value& value) {
  const Datum* constant = constant_in(value);
  return constant && constant->tag() == Tag::integer;
}

bool is_tensor(const Value& value) {
  return value.type->kind == Kind::tensor && !constant_in(value);
}

bool is_none(const Value& value) {
  const Datum* constant = constant_in(value);
  return constant && constant->tag() == Tag::none;
}

// The arguments of a node, of those that are constants of a kind that owns nothing.
std::vector<Arg> constants_of(const Node& node) {
  std::vector<Arg> args(node.inputs.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const Datum* constant = constant_in(*node.inputs[i]);
    if (!constant) continue;
    Scratch none_needed;
    const bool owns_nothing = constant->tag() < Tag::list && constant->tag() != Tag::tensor;
    if (owns_nothing) set_arg(*constant, node.op->sig.params[i], none_needed, args[i]);
  }
  return args;
}

bool has_all_inputs(const Node& node) {
  return node.inputs.size() == node.op->sig.params.size() && node.outputs.size() == 1;
}

bool is_operand(const OpDef& op, size_t param) {
  const auto end = op.operands.begin() + op.operand_count;
  return std::find(op.operands.begin(), end, param) != end;
}

// Tensors, numbers or nothing to compute with, and beside them constants.
bool computes(const Node& node) {
  if (!Chain::computes(*node.op) || !has_all_inputs(node)) return false;
  bool any = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = *node.inputs[i];
    any |= is_tensor(value);
    const bool known = is_operand(*node.op, i)
                           ? is_tensor(value) || is_number(value) || is_none(value)
                           : constant_in(value) != nullptr;
    if (!known) return false;
  }
  return any && ops::has_plain_args(*node.op, constants_of(node).data());
}

// The pointwise calls that an activation function makes.
std::vector<ops::ChainCall> parts_of(const Node& node) {
  if (!node.op->has(trait::spelled_out) || !has_all_inputs(node) || !is_tensor(node.input(0)))
    return {};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (!constant_in(*node.inputs[i])) return {};
  }
  return ops::parts_of(*node.op, constants_of(node));
}

// The list of pieces goes to the node after it, which takes it apart.
bool cuts(const Node& node) {
  if (!Chain::cuts(*node.op) || !is_tensor(node.input(0))) return false;
  if (!is_integer(node.input(1)) || !is_integer(node.input(2))) return false;
  const auto& uses = node.output().uses;
  return uses.size() == 1 && uses[0] && uses[0]->is(Prim::ListUnpack) &&
         uses[0]->outputs.size() > 1 && uses[0] == node.next;
}

bool takes_apart(const Node& node, const std::vector<const Node*>& before) {
  return node.is(Prim::ListUnpack) && !before.empty() && node.inputs[0]->node == before.back();
}

// A list of tensors that is made only for this.
bool joins(const Node& node) {
  if (!Chain::joins(*node.op) || !is_integer(node.input(1))) return false;
  const Node* list = node.input(0).node;
  return list && is_folded(*list) && !list->inputs.empty() &&
         std::all_of(list->inputs.begin(), list->inputs.end(),
                     [](const Value* item) { return is_tensor(*item); });
}

bool is_one(const Value& value) {
  const Datum* constant = is_number(value) ? constant_in(value) : nullptr;
  return constant && constant->scalar().real() == 1;
}

// Of tensors; a bias may be None.
bool multiplies(const Node& node) {
  if (!Chain::multiplies(*node.op) || node.outputs.size() != 1) return false;
  if (!is_tensor(node.input(0)) || !is_tensor(node.input(1))) return false;
  if (node.op == &op_def<"addmm">())
    return is_tensor(node.input(2)) && is_one(node.input(3)) && is_one(node.input(4));
  if (node.inputs.size() < 3 || is_tensor(node.input(2))) return true;
  const Datum* bias = constant_in(node.input(2));
  return bias && bias->tag() == Tag::none;
}

using MayHave = std::function<bool(const Node&)>;
using Views = std::unordered_map<const Value*, ViewOf>;
using Wanted = std::unordered_set<const Value*>;

bool gives_views(const Node& node, const Views& views) {
  return !node.outputs.empty() &&
         std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](const Value* value) { return views.contains(value); });
}

bool is_call(const Node& node, const MayHave& may_have) {
  if (!node.op || node.in_place) return false;
  return computes(node) || cuts(node) || ((multiplies(node) || joins(node)) && may_have(node)) ||
         !parts_of(node).empty();
}

std::vector<const Node*> run_from(const Node& first, const MayHave& may_have) {
  std::vector<const Node*> members;
  for (const Node* node = &first; node && members.size() < Chain::max_calls; node = node->next) {
    if (node->is(Prim::Constant) || is_folded(*node)) continue;
    if (!is_call(*node, may_have) && !takes_apart(*node, members)) break;
    members.push_back(node);
  }
  if (!members.empty() && members.back()->op && cuts(*members.back())) members.pop_back();
  return members;
}

class Builder {
 public:
  explicit Builder(std::vector<const Node*> members) {
    made_.members = std::move(members);
    drop_escaping_pieces();
  }
  Builder(std::vector<const Node*> members, const Views& views, const Wanted& wanted)
      : views_(&views), wanted_(&wanted) {
    made_.members = std::move(members);
  }

  NodeChain build(int least_products, int least_calls = 2) {
    for (const Node* node : made_.members) {
      if (views_ && gives_views(*node, *views_)) {
        for (const Value* value : node->outputs) add_view(*value);
      } else if (node->op && node->op->has(trait::spelled_out)) {
        add_parts(*node);
      } else if (node->op) {
        calls_.push_back(call_of(*node));
      }
    }
    int computing = 0, multiplying = 0;
    for (const ops::ChainCall& call : calls_) {
      computing += Chain::computes(*call.op);
      multiplying += Chain::multiplies(*call.op);
    }
    if (multiplying < least_products || computing + multiplying < least_calls)
      return std::move(made_);
    if (made_.inputs.size() > Chain::max_inputs) return std::move(made_);
    number_results();
    if (made_.outputs.empty() || made_.outputs.size() > Chain::max_outputs) return std::move(made_);
    made_.chain = std::make_unique<Chain>(static_cast<int>(made_.inputs.size()), std::move(calls_),
                                          std::move(outputs_));
    return std::move(made_);
  }

 private:
  bool is_used_outside(const Value& value) const {
    const auto& members = made_.members;
    return std::any_of(value.uses.begin(), value.uses.end(), [&](const Node* user) {
      if (user && is_folded(*user)) user = user->output().uses[0];
      return std::find(members.begin(), members.end(), user) == members.end();
    });
  }

  // Pieces are views: where others hold one, the chain ends before the cut.
  void drop_escaping_pieces() {
    auto& members = made_.members;
    for (size_t i = 0; i < members.size();) {
      const bool escapes = members[i]->is(Prim::ListUnpack) &&
                           std::any_of(members[i]->outputs.begin(), members[i]->outputs.end(),
                                       [&](const Value* piece) { return is_used_outside(*piece); });
      ++i;
      if (!escapes) continue;
      members.resize(i - 2);
      i = 0;  // what was inside may be outside now
    }
  }

  ops::ChainOperand operand(const Value& value) {
    if (is_none(value)) return {.absent = true};
    if (!is_tensor(value))
      return {.number = constant_in(value)->scalar().real(), .whole = is_integer(value)};
    if (results_.contains(&value)) return {.value = result_mark(value)};
    auto& inputs = made_.inputs;
    auto found = std::find(inputs.begin(), inputs.end(), &value);
    if (found == inputs.end()) found = inputs.insert(inputs.end(), &value);
    return {.value = static_cast<int>(found - inputs.begin())};
  }

  ops::ChainCall call_of(const Node& node) {
    ops::ChainCall call{.op = node.op};
    if (Chain::cuts(*node.op)) {
      const Node& unpack = *node.output().uses[0];
      call.operands[call.operand_count++] = operand(node.input(0));
      call.cut = constant_in(node.input(1))->integer();
      call.dim = constant_in(node.input(2))->integer();
      call.results = static_cast<int>(unpack.outputs.size());
      for (const Value* piece : unpack.outputs) add_result(*piece);
      return call;
    }
    if (Chain::joins(*node.op)) {
      call.dim = constant_in(node.input(1))->integer();
      for (const Value* piece : node.input(0).node->inputs)
        call.pieces.push_back(operand(*piece).value);
    } else if (Chain::multiplies(*node.op)) {
      std::vector<Value*> factors = node.inputs;
      if (node.op == &op_def<"addmm">()) factors = {factors[1], factors[2], factors[0]};
      for (const Value* value : factors) {
        if (is_tensor(*value)) call.operands[call.operand_count++] = operand(*value);
      }
    } else {
      call.args = constants_of(node);
      for (int i = 0; i < node.op->operand_count; ++i) {
        call.operands[call.operand_count++] = operand(*node.inputs[node.op->operands[i]]);
      }
    }
    add_result(node.output());
    return call;
  }

  // Value 0 of the parts is the node's first input, the last one its result.
  void add_parts(const Node& node) {
    std::vector<ops::ChainCall> parts = parts_of(node);
    const int self = operand(node.input(0)).value, first = count_;
    for (ops::ChainCall& part : parts) {
      for (ops::ChainOperand& operand : part.operands) {
        if (operand.value == 0) {
          operand.value = self;
        } else if (operand.value > 0) {
          operand.value = -2 - (first + operand.value - 1);
        }
      }
      calls_.push_back(std::move(part));
    }
    count_ += static_cast<int>(parts.size()) - 1;
    add_result(node.output());
  }

  void add_view(const Value& value) {
    const ViewOf& view = views_->at(&value);
    ops::ChainCall call{.op = &op_def<"select">()};
    call.operands[call.operand_count++] = operand(*view.base);
    call.view = std::make_shared<ops::ChainView>(view.place);
    calls_.push_back(std::move(call));
    results_.emplace(&value, count_++);
  }

  // Results are numbered after the inputs, of which more may come: until then, they are counted
  // from below.
  void add_result(const Value& value) {
    results_.emplace(&value, count_++);
    if (is_used_outside(value) || (wanted_ && wanted_->contains(&value)))
      made_.outputs.push_back(&value);
  }
  int result_mark(const Value& value) const { return -2 - results_.at(&value); }

  void number_results() {
    const int inputs = static_cast<int>(made_.inputs.size());
    for (ops::ChainCall& call : calls_) {
      for (ops::ChainOperand& operand : call.operands) {
        if (operand.value < -1) operand.value = inputs - 2 - operand.value;
      }
      for (int& piece : call.pieces) {
        if (piece < -1) piece = inputs - 2 - piece;
      }
    }
    for (const Value* value : made_.outputs) outputs_.push_back(inputs + results_.at(value));
  }

  const Views* views_ = nullptr;
  const Wanted* wanted_ = nullptr;
  NodeChain made_;
  std::vector<ops::ChainCall> calls_;
  std::unordered_map<const Value*, int> results_;
  int count_ = 0;  // of results, those without a name included
  std::vector<int> outputs_;
};

}  // namespace

NodeChain chain_from(const Node& first) {
  return Builder(run_from(first, [](const Node&) { return false; })).build(0);
}

NodeChain product_chain_from(const Node& first, const MayHave& may_have) {
  return Builder(run_from(first, may_have)).build(1);
}

NodeChain chain_of(std::vector<const Node*> nodes, const Views& views, const Wanted& wanted) {
  for (const Node* node : nodes) {
    if (!gives_views(*node, views) && !is_call(*node, [](const Node&) { return true; })) return {};
  }
  return Builder(std::move(nodes), views, wanted).build(0, 1);
}

}  // namespace wisp::graph
