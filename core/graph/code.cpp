#include "graph/code.h"

#include <algorithm>

#include "graph/compiler.h"

namespace wisp::graph {

namespace {

ClassDef& class_of(const Value& value) {
  WISP_CHECK(value.type->kind == Kind::object && value.type->cls, "graph: %", value.name,
             " is no object");
  return *value.type->cls;
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

}  // namespace

Compiler::LastUses Compiler::last_uses(const Block& block, const Values& dying) {
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

void Compiler::block(const Block& block, const Values& dying) {
  LastUses last = last_uses(block, dying);
  drop(unused_, {});
  OpenChain with_products, pointwise;
  for (const Node* node = block.first; node; node = node->next) {
    if (is_folded(*node)) continue;
    begin_chains(*node, last, with_products, pointwise);
    emit_in_block(*node, last[node]);
    for (OpenChain* chain : {&with_products, &pointwise}) {
      if (node != chain->end) continue;
      code_.instructions[chain->instruction].target = here();
      chain->end = nullptr;
    }
  }
  ending_.push_back(std::move(last[nullptr]));
}

void Compiler::begin_chains(const Node& node, LastUses& last, OpenChain& with_products,
                            OpenChain& pointwise) {
  if (!node.op) return;
  if (!with_products.end) {
    const auto each_time = [&](const Node& product) {
      return !lasting_.contains(&product.output()) && !is_sliced(product);
    };
    begin_chain(product_chain_from(node, each_time), node, last, with_products);
  }
  if (!pointwise.end) begin_chain(chain_from(node), node, last, pointwise);
}

void Compiler::begin_chain(NodeChain found, const Node& node, LastUses& last, OpenChain& open) {
  if (!found.chain) return;
  open = {here(), found.members.back()};
  begin(Step::chain, node.span).chain = found.chain.get();
  code_.chains.push_back(std::move(found.chain));
  for (const Value* value : found.inputs) {
    const auto dies_in = [&](const Node* member) { return last[member].contains(value); };
    input(*value).last = std::any_of(found.members.begin(), found.members.end(), dies_in);
  }
  for (const Value* value : found.outputs) output(*value);
}

void Compiler::results(const Block& block) {
  const Values last = std::move(ending_.back());
  ending_.pop_back();
  for (const Value* value : block.results) input(*value, false);
  mark_last(last);
}

void Compiler::finish_move(const std::vector<int32_t>& targets) {
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

int32_t Compiler::place(const Value& value) {
  const auto found = at_.find(&value);
  if (found != at_.end()) return found->second;
  WISP_CHECK(is_constant(value), "graph: %", value.name, " is read before it is computed");
  code_.constants.push_back(value.node->attributes.at("value"));
  return at_[&value] = ~static_cast<int32_t>(code_.constants.size() - 1);
}

void Compiler::mark_last(const Values& last) {
  std::unordered_set<int32_t> registers;
  for (const Value* value : last) registers.insert(place(*value));
  for (size_t i = code_.inputs.size(); i-- > current().inputs;) {
    Input& input = code_.inputs[i];
    if (input.items < 0 && input.at >= 0) input.last = registers.erase(input.at) > 0;
  }
}

void Compiler::emit_in_block(const Node& node, const Values& last) {
  for (Slices& slices : slices_) {
    if (slices.begin == &node) begin_slices(slices, last);
  }
  const bool lasts = node.outputs.size() == 1 && lasting_.contains(&node.output());
  const uint32_t once = here();
  if (lasts) {
    begin(Step::once, node.span);
    output(node.output());
  }
  emit(node, last);
  if (lasts) code_.instructions[once].target = here();
  for (const Slices& slices : slices_) {
    if (slices.nodes.product == &node) code_.instructions[slices.instruction].target = here();
  }
}

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

void Compiler::emit_named_call(const Node& node, const Values& last) {
  NamedCall& call = code_.named_calls.emplace_back();
  call = {word(node), node.output().type};
  simple(Step::call_named, node, last);
  current().named_call = &call;
}

void Compiler::emit_host_call(const Node& node, const Values& last) {
  HostFunction& function = code_.host_functions.emplace_back();
  function.name = word(node);
  for (const Value* value : node.inputs) function.params.push_back(value->type);
  function.result = node.outputs.empty() ? simple_type(Kind::none) : node.output().type;
  simple(Step::host_call, node, last);
  current().host_function = &function;
}

void Compiler::emit_attribute(Step step, const Node& node, const Values& last) {
  const ClassDef& cls = class_of(node.input(0));
  const int slot = cls.find(word(node));
  WISP_CHECK(slot >= 0, cls.name, " has no attribute '", word(node), "'");
  simple(step, node, last);
  current().target = static_cast<uint32_t>(slot);
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
      if (node.input(0).type->kind == Kind::any) return emit_named_call(node, last);
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

namespace {

bool is_one_call(const Code::Impl& code) {
  const std::vector<Instruction>& all = code.instructions;
  if (all.size() != 2 || (all[0].step != Step::op && all[0].step != Step::op_reuse)) return false;
  const auto& returns = all[0].op->sig.returns;
  const bool gives_one = returns.size() == 1 && returns[0].is_tensor && !returns[0].is_list &&
                         !returns[0].optional && all[1].input_count == 1;
  const Input* const inputs = code.inputs.data() + all[0].inputs;
  return gives_one && code.inputs[all[1].inputs].at == code.outputs[all[0].outputs] &&
         std::all_of(inputs, inputs + all[0].input_count, [&](const Input& input) {
           return input.tensor && input.items < 0 && input.at >= 0 && input.at < code.params;
         });
}

}  // namespace

Code::Code(const Graph& graph, std::string function_name) : impl_(std::make_unique<Impl>()) {
  impl_->function_name = std::move(function_name);
  Compiler(*impl_, graph);
  impl_->one_call = is_one_call(*impl_);
}

Code::~Code() = default;

}  // namespace wisp::graph
