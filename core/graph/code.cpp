#include "graph/code.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/chains.h"
#include "graph/effects.h"
#include "graph/invariants.h"
#include "graph/reads.h"
#include "graph/tails.h"

namespace wisp::graph {

namespace {

bool owns_memory(const Type& type) {
  constexpr uint32_t counted = ~0u << static_cast<int>(Tag::tensor);
  return (tags_of(type) & counted) != 0;
}

using Values = std::unordered_set<const Value*>;

class Compiler {
 public:
  Compiler(Code::Impl& code, const Graph& graph) : code_(code), graph_(graph) {
    code_.program = graph.program;
    const Block& top = graph.top();
    code_.params = static_cast<int32_t>(top.params.size());
    for (const Value* param : top.params) at_[param] = code_.registers++;
    block(top, {});
    begin(Step::finish, {});
    results(top);
  }

 private:
  // Which values are read for the last time by which node of a block: those of the block itself
  // and `dying` ones from around it. Those that only the block's results read are under null.
  using LastUses = std::unordered_map<const Node*, Values>;

  LastUses last_uses(const Block& block, const Values& dying) {
    std::unordered_map<const Value*, const Node*> last;
    auto owned = [&](const Value& value) {
      return (value.block == &block && !lasting_.contains(&value)) || dying.contains(&value);
    };
    std::vector<const Value*> all(dying.begin(), dying.end());
    all.insert(all.end(), block.params.begin(), block.params.end());
    for (const Node* node = block.first; node; node = node->next) {
      if (is_folded(*node)) continue;
      auto note = [&](const Value& value) {
        if (owned(value) && !is_constant(value)) last[&value] = node;
      };
      each_input(*node, note);
      each_inner_input(*node, note);
    }
    for (const Value* value : block.results) {
      if (owned(*value)) last[value] = nullptr;
    }
    LastUses result;
    for (const auto& [value, node] : last) result[node].insert(value);
    unused_.clear();
    for (const Value* value : all) {
      if (!last.contains(value)) unused_.push_back(value);
    }
    return result;
  }

  void block(const Block& block, const Values& dying) {
    LastUses last = last_uses(block, dying);
    drop(unused_, {});
    size_t chain = 0;
    const Node* chain_end = nullptr;
    for (const Node* node = block.first; node; node = node->next) {
      if (is_folded(*node)) continue;
      if (!chain_end) chain_end = begin_chain(*node, last, chain);
      emit_in_block(*node, last[node]);
      if (node != chain_end) continue;
      code_.instructions[chain].target = here();
      chain_end = nullptr;
    }
    ending_.push_back(std::move(last[nullptr]));
  }

  // Says how the nodes from here on can be done in one step, if they can. Gives the last of them,
  // and the instruction that has to jump behind it.
  const Node* begin_chain(const Node& node, LastUses& last, size_t& instruction) {
    if (!node.op) return nullptr;
    NodeChain found = chain_from(node);
    if (!found.chain) return nullptr;
    instruction = here();
    begin(Step::chain, node.span).chain = found.chain.get();
    code_.chains.push_back(std::move(found.chain));
    for (const Value* value : found.inputs) {
      const auto dies_in = [&](const Node* member) { return last[member].contains(value); };
      input(*value).last = std::any_of(found.members.begin(), found.members.end(), dies_in);
    }
    for (const Value* value : found.outputs) output(*value);
    return found.members.back();
  }

  // The results of the block just compiled, as inputs of the instruction just begun.
  void results(const Block& block) {
    const Values last = std::move(ending_.back());
    ending_.pop_back();
    for (const Value* value : block.results) input(*value, false);
    mark_last(last);
  }

  // Completes a move. What is where it belongs, or wanted nowhere (-1), is left out.
  void finish_move(const std::vector<int32_t>& targets) {
    const size_t first = current().inputs;
    std::vector<Input> kept;
    for (size_t i = 0; i < targets.size(); ++i) {
      const Input& input = code_.inputs[first + i];
      if (targets[i] < 0 || input.at == targets[i]) continue;
      kept.push_back(input);
      output_at(targets[i]);
    }
    // One after the other will do unless something is read after it was written.
    for (size_t i = 0; i < kept.size(); ++i) {
      for (size_t k = i + 1; k < kept.size(); ++k) {
        if (kept[k].at == code_.outputs[current().outputs + i]) current().target = 1;
      }
    }
    code_.inputs.resize(first);
    code_.inputs.insert(code_.inputs.end(), kept.begin(), kept.end());
    current().input_count = static_cast<uint16_t>(kept.size());
    if (kept.empty()) {
      code_.instructions.pop_back();
      code_.spans.pop_back();
    }
  }

  // --- Instructions are begun, given their inputs and outputs, and are complete then.
  Instruction& begin(Step step, const Span& span) {
    Instruction& made = code_.instructions.emplace_back(step);
    made.inputs = static_cast<uint32_t>(code_.inputs.size());
    made.outputs = static_cast<uint32_t>(code_.outputs.size());
    code_.spans.push_back(span);
    return made;
  }
  Instruction& current() { return code_.instructions.back(); }
  uint32_t here() const { return static_cast<uint32_t>(code_.instructions.size()); }

  int32_t place(const Value& value) {
    const auto found = at_.find(&value);
    if (found != at_.end()) return found->second;
    WISP_CHECK(is_constant(value), "graph: %", value.name, " is read before it is computed");
    code_.constants.push_back(value.node->attributes.at("value"));
    return at_[&value] = ~static_cast<int32_t>(code_.constants.size() - 1);
  }

  Input& input_at(int32_t at) {
    ++current().input_count;
    code_.inputs.push_back({.at = at});
    return code_.inputs.back();
  }
  Input& input(const Value& value, bool checked = true) {
    Input& made = input_at(place(value));
    if (checked) made.tags = tags_of(*value.type);
    return made;
  }
  void output_at(int32_t at) {
    ++current().output_count;
    code_.outputs.push_back(at);
  }
  void output(const Value& value) { output_at(place_for(value)); }
  // Where a result goes; -1 if nobody wants it.
  int32_t place_for(const Value& value) {
    if (value.uses.empty()) return -1;
    const auto found = at_.find(&value);
    return found != at_.end() ? found->second : at_[&value] = fresh();
  }
  int32_t fresh() { return code_.registers++; }
  std::vector<int32_t> places(const std::vector<Value*>& values) {
    std::vector<int32_t> found;
    for (const Value* value : values) found.push_back(place_for(*value));
    return found;
  }

  // Marks the last input of the current instruction that reads each of these registers.
  void mark_last(const Values& last) {
    std::unordered_set<int32_t> registers;
    for (const Value* value : last) registers.insert(place(*value));
    for (size_t i = code_.inputs.size(); i-- > current().inputs;) {
      Input& input = code_.inputs[i];
      if (input.items < 0 && input.at >= 0) input.last = registers.erase(input.at) > 0;
    }
  }

  template <class List>
  void drop(const List& values, const Span& span) {
    bool begun = false;
    for (const Value* value : values) {
      if (!owns_memory(*value->type) || is_constant(*value)) continue;
      if (!begun) begin(Step::drop, span);
      begun = true;
      input(*value, false).last = true;
    }
  }

  void simple(Step step, const Node& node, const Values& last) {
    begin(step, node.span);
    for (const Value* value : node.inputs) input(*value);
    mark_last(last);
    for (const Value* value : node.outputs) output(*value);
  }

  // What lasts is computed if it is not there.
  void emit_in_block(const Node& node, const Values& last) {
    if (node.outputs.size() != 1 || !lasting_.contains(&node.output())) return emit(node, last);
    const uint32_t once = here();
    begin(Step::once, node.span);
    output(node.output());
    emit(node, last);
    code_.instructions[once].target = here();
  }

  void emit(const Node& node, const Values& last);
  void emit_single(Step step, const Node& node, const Values& last);
  void emit_op(const Node& node, const Values& last);
  void emit_if(const Node& node, const Values& last);
  void emit_loop(const Node& node, const Values& last);
  void emit_fusion_group(const Node& node, const Values& last);
  std::optional<size_t> emit_tail(const Node& node, const Values& last);
  void emit_parallel(const Node& node, const Values& last);
  void emit_fork(const Node& node, const Values& last);
  bool can_run_parallel(const Node& node);
  void emit_call(const Node& node, const Values& last, const std::string& function);
  void emit_host_call(const Node& node, const Values& last);
  void emit_attribute(Step step, const Node& node, const Values& last);
  void add_argument(const Node& node, size_t i, const Value& value, Arg& arg);
  bool reuses_operand(const Node& node);

  const Aliases& aliases() {
    if (!aliases_) aliases_.emplace(graph_);
    return *aliases_;
  }
  static const std::string& word(const Node& node) { return node.attributes.at("name").string(); }

  Code::Impl& code_;
  const Graph& graph_;
  std::optional<Aliases> aliases_;  // of the graph, once somebody has asked
  std::optional<Forks> forks_;
  std::unordered_map<const Value*, int32_t> at_;
  Values lasting_;                    // the same in every round of the loop around them
  std::vector<const Value*> unused_;  // of the block whose last uses were asked for
  std::vector<Values> ending_;        // last read by the results of blocks just compiled
};

// A constant goes where it will be read; anything else is filled in by each call.
void Compiler::add_argument(const Node& node, size_t i, const Value& value, Arg& arg) {
  const Param& param = node.op->sig.params[i];
  if (is_constant(value)) {
    set_arg(code_.constants[~place(value)], param, code_.arg_lists.emplace_back(), arg);
    return;
  }
  if (!value.node || !is_folded(*value.node)) {
    Input& made = input(value);
    made.param = static_cast<uint8_t>(i);
    made.tensor = param.takes_tensor();
    return;
  }
  Input& list = input_at(0);
  list.param = static_cast<uint8_t>(i);
  list.items = static_cast<int32_t>(value.node->inputs.size());
  for (const Value* item : value.node->inputs) input(*item);
}

// Of the operator just begun.
bool Compiler::reuses_operand(const Node& node) {
  constexpr uint32_t wanted = trait::pointwise | trait::in_place;
  if (node.in_place || !node.op->has(wanted) || node.outputs.size() != 1 ||
      current().input_count == 0 || op_has_effects(node))
    return false;
  const Input& self = code_.inputs[current().inputs];
  return self.param == 0 && self.tensor && self.last && self.items < 0;
}

void Compiler::emit_op(const Node& node, const Values& last) {
  WISP_CHECK(node.inputs.size() == node.op->sig.params.size() && node.inputs.size() <= 16,
             node.kind(), ": expected ", node.op->sig.params.size(), " inputs, got ",
             node.inputs.size());
  begin(node.in_place ? Step::op_in_place : Step::op, node.span).op = node.op;
  const size_t first = code_.args.size();
  current().target = static_cast<uint32_t>(first);
  code_.args.resize(first + node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i)
    add_argument(node, i, node.input(static_cast<int>(i)), code_.args[first + i]);
  mark_last(last);
  if (reuses_operand(node)) current().step = Step::op_reuse;
  const bool taken_apart = node.outputs.size() == 1 && node.output().uses.size() == 1 &&
                           node.output().uses[0] && is_fused_unpack(*node.output().uses[0]);
  for (const Value* value : taken_apart ? node.output().uses[0]->outputs : node.outputs)
    output(*value);
}

void Compiler::emit_if(const Node& node, const Values& last) {
  Values inner = last;
  bool captured = false;
  each_inner_input(node, [&](const Value& value) { captured |= &value == node.inputs[0]; });
  begin(Step::jump_unless, node.span);
  Input& condition = input(node.input(0));
  if (!captured) condition.last = inner.erase(node.inputs[0]) > 0 && condition.at >= 0;
  const size_t branch = code_.instructions.size() - 1;
  size_t skip = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (i == 1) code_.instructions[branch].target = here();
    block(*node.blocks[i], inner);
    begin(Step::move, node.span);
    results(*node.blocks[i]);
    finish_move(places(node.outputs));
    if (i == 1) break;
    skip = here();
    begin(Step::jump, node.span);
  }
  code_.instructions[skip].target = here();
}

void Compiler::emit_loop(const Node& node, const Values& last) {
  const Block& body = *node.blocks[0];
  const int32_t counter = fresh(), limit = fresh(), condition = fresh();
  for (const Value* param : body.params) at_[param] = fresh();
  Values captured;
  each_inner_input(node, [&](const Value& value) {
    if (last.contains(&value)) captured.insert(&value);
  });
  // What goes round is moved into the registers of the block's parameters, and stays there.
  std::vector<int32_t> round = {condition};
  for (size_t i = 1; i < body.params.size(); ++i) round.push_back(at_.at(body.params[i]));
  Values entering;
  for (const Value* value : last) {
    if (!captured.contains(value)) entering.insert(value);
  }
  begin(Step::move, node.span);
  for (const Value* value : node.inputs) input(*value, false);
  mark_last(entering);
  std::vector<int32_t> targets = round;
  targets.insert(targets.begin(), limit);
  finish_move(targets);
  begin(Step::loop_start, node.span);
  output_at(counter);
  const uint32_t test = here();
  begin(Step::loop_test, node.span);
  for (const int32_t at : {counter, limit, condition}) input_at(at);
  output_at(at_.at(body.params[0]));
  for (const Node* call : unchanging_calls(body, aliases())) {
    lasting_.insert(&call->output());
    captured.insert(&call->output());
  }
  block(body, {});
  begin(Step::move, node.span);
  results(body);
  if (is_constant(*body.results[0]) && code_.constants[~place(*body.results[0])].boolean())
    round[0] = -1;  // it goes on for as long as it may
  finish_move(round);
  begin(Step::loop_next, node.span).target = test;
  output_at(counter);
  code_.instructions[test].target = here();
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    at_[node.outputs[i]] = at_.at(body.params[i + 1]);
    if (node.outputs[i]->uses.empty()) captured.insert(node.outputs[i]);
  }
  drop(captured, node.span);
}

// The group in one step, if it is a convolution with a tail: gives the instruction that has to jump
// behind it then.
std::optional<size_t> Compiler::emit_tail(const Node& group, const Values& last) {
  const std::optional<Tail> tail = tail_of(group);
  if (!tail) return std::nullopt;
  const Node& node = *tail->convolution;
  const size_t args = code_.args.size(), instruction = here();
  code_.args.resize(args + node.inputs.size());
  TailedCall& call = code_.tailed_calls.emplace_back();
  call = {node.op, static_cast<uint32_t>(args), tail->other != nullptr, tail->relu};
  begin(Step::tail, node.span).tailed = &call;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = outside_of(group, node.input(static_cast<int>(i)));
    add_argument(node, i, value, code_.args[args + i]);
  }
  if (tail->other) input(*tail->other);
  mark_last(last);
  output(group.output());
  return instruction;
}

void Compiler::emit_fusion_group(const Node& node, const Values& last) {
  const std::optional<size_t> tail = emit_tail(node, last);
  const Block& body = *node.blocks[0];
  for (const Value* param : body.params) at_[param] = fresh();
  begin(Step::move, node.span);
  for (const Value* value : node.inputs) input(*value, false);
  mark_last(last);
  finish_move(places(body.params));
  begin(Step::collect, node.span);
  block(body, {});
  begin(Step::move, node.span);
  results(body);
  finish_move(places(node.outputs));
  begin(Step::run_collected, node.span);
  if (tail) code_.instructions[*tail].target = here();
}

// The text of a graph may hold anything in such blocks; what may not run beside the rest does not.
bool Compiler::can_run_parallel(const Node& node) {
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (!can_run_beside(*inner, aliases())) return false;
    }
  }
  return true;
}

// The blocks stand one after the other, to be run so or each on a thread of its own. What they read
// from around them stays until all are done.
void Compiler::emit_parallel(const Node& node, const Values& last) {
  const bool possible = can_run_parallel(node);
  const size_t start = here();
  Branches* branches = possible ? &code_.branches.emplace_back() : nullptr;
  if (possible) {
    begin(Step::parallel, node.span).branches = branches;
    for (const Value* value : captured_values(node)) {
      if (is_mutable(*value->type)) input(*value);  // may be watched
    }
  }
  const std::vector<int32_t> all = places(node.outputs);
  auto first = all.begin();
  for (const Block* body : node.blocks) {
    if (possible) branches->begins.push_back(here());
    block(*body, {});
    begin(Step::move, node.span);
    results(*body);
    const auto end = first + static_cast<std::ptrdiff_t>(body->results.size());
    finish_move({first, end});
    first = end;
    if (possible) begin(Step::end_branch, node.span);
  }
  if (possible) code_.instructions[start].target = here();
  drop(last, node.span);
}

void Compiler::emit_fork(const Node& node, const Values& last) {
  std::vector<Value*> captured;
  const std::unique_ptr<Graph> body = graph_.extract(*node.blocks[0], captured);
  if (!forks_) forks_.emplace(graph_);
  ForkBody& fork = code_.forks.emplace_back();
  fork.code = std::make_shared<Code>(*body, code_.function_name);
  fork.may_wait = forks_->may_wait(node, fork.calls);
  begin(Step::fork, node.span).fork = &fork;
  for (const Value* value : captured) input(*value);
  mark_last(last);
  output(node.output());
}

void Compiler::emit_call(const Node& node, const Values& last, const std::string& name) {
  Function* function = code_.program ? code_.program->find_function(name) : nullptr;
  WISP_CHECK(function, node.kind(), ": there is no function '", name, "' in this program");
  WISP_CHECK(function->graph && function->graph->top().params.size() == node.inputs.size(),
             node.kind(), ": '", name, "' takes another number of arguments");
  begin(Step::call, node.span).function = function;
  for (const Value* value : node.inputs) input(*value);
  mark_last(last);
  for (const Value* value : node.outputs) output(*value);
}

void Compiler::emit_host_call(const Node& node, const Values& last) {
  HostFunction& function = code_.host_functions.emplace_back();
  function.name = word(node);
  for (const Value* value : node.inputs) function.params.push_back(value->type);
  function.result = node.outputs.empty() ? simple_type(Kind::none) : node.output().type;
  simple(Step::host_call, node, last);
  current().host_function = &function;
}

ClassDef& class_of(const Value& value) {
  WISP_CHECK(value.type->kind == Kind::object && value.type->cls, "graph: %", value.name,
             " is no object");
  return *value.type->cls;
}

void Compiler::emit_attribute(Step step, const Node& node, const Values& last) {
  const ClassDef& cls = class_of(node.input(0));
  const int slot = cls.find(word(node));
  WISP_CHECK(slot >= 0, cls.name, " has no attribute '", word(node), "'");
  simple(step, node, last);
  current().target = static_cast<uint32_t>(slot);
}

const std::string& method_of(const Node& node, const std::string& name) {
  const ClassDef& cls = class_of(node.input(0));
  const auto method = cls.methods.find(name);
  WISP_CHECK(method != cls.methods.end(), cls.name, " has no method '", name, "'");
  return method->second->name;
}

// Of forms that one instruction does, with the inputs and outputs of the node.
std::optional<Step> single_step(Prim prim) {
  switch (prim) {
    case Prim::ListConstruct:
      return Step::make_list;
    case Prim::TupleConstruct:
      return Step::make_tuple;
    case Prim::DictConstruct:
      return Step::make_dict;
    case Prim::ListUnpack:
    case Prim::TupleUnpack:
      return Step::unpack;
    case Prim::TupleIndex:
      return Step::item;
    case Prim::CreateObject:
      return Step::create;
    case Prim::UncheckedCast:
      return Step::cast;
    case Prim::RaiseException:
      return Step::raise;
    case Prim::Print:
      return Step::print;
    case Prim::Wait:
      return Step::wait;
    default:
      return std::nullopt;
  }
}

void Compiler::emit_single(Step step, const Node& node, const Values& last) {
  if (is_fused_unpack(node)) return;
  simple(step, node, last);
  if (step == Step::item) {
    current().target = static_cast<uint32_t>(node.attributes.at("index").integer());
  } else if (step == Step::create) {
    current().cls = &class_of(node.output());
  } else if (step == Step::cast) {
    code_.inputs.back().tags = tags_of(*node.output().type);
  }
}

void Compiler::emit(const Node& node, const Values& last) {
  if (node.op) return emit_op(node, last);
  if (node.builtin) {
    const bool plain = node.inputs.size() <= few_inputs &&
                       std::none_of(node.inputs.begin(), node.inputs.end(),
                                    [](const Value* value) { return owns_memory(*value->type); });
    simple(plain ? Step::plain_builtin : Step::builtin, node, last);
    current().builtin = node.builtin;
    return;
  }
  if (const std::optional<Step> step = single_step(node.prim)) {
    return emit_single(*step, node, last);
  }
  switch (node.prim) {
    case Prim::Constant:
      return;
    case Prim::If:
      return emit_if(node, last);
    case Prim::Loop:
      return emit_loop(node, last);
    case Prim::FusionGroup:
      return emit_fusion_group(node, last);
    case Prim::Parallel:
      return emit_parallel(node, last);
    case Prim::GetAttr:
      return emit_attribute(Step::get, node, last);
    case Prim::SetAttr:
      return emit_attribute(Step::set, node, last);
    case Prim::Fork:
      return emit_fork(node, last);
    case Prim::CallFunction:
      return emit_call(node, last, word(node));
    case Prim::CallMethod:
      return emit_call(node, last, method_of(node, word(node)));
    case Prim::HostCall:
      return emit_host_call(node, last);
    case Prim::Uninitialized:
      begin(Step::move, node.span);
      code_.constants.emplace_back();
      input_at(~static_cast<int32_t>(code_.constants.size() - 1));
      output(node.output());
      return;
    default:
      fail(ErrorKind::runtime, "graph: cannot run ", node.kind());
  }
}

}  // namespace

Code::Code(const Graph& graph, std::string function_name) : impl_(std::make_unique<Impl>()) {
  impl_->function_name = std::move(function_name);
  Compiler(*impl_, graph);
}

Code::~Code() = default;

}  // namespace wisp::graph
