// Nodes that hold blocks.
#include "graph/compiler.h"
#include "graph/tails.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

// Whether nobody reads it but convolutions, with or without a tail.
bool goes_to_convolutions(const Value& value) {
  return std::all_of(value.uses.begin(), value.uses.end(), [](const Node* user) {
    return user && (is_convolution(*user) || user->is(Prim::FusionGroup));
  });
}

}  // namespace

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

bool Compiler::emit_rounds(const Node& loop, int32_t counter, int32_t limit, uint32_t test) {
  const Block& body = *loop.blocks[0];
  std::vector<Value*> captured;
  std::unique_ptr<Graph> copy = rounds_body(graph_, body, captured);
  if (!copy) return false;
  RoundsCall& call = code_.rounds.emplace_back();
  call.body = std::move(copy);
  call.counter = counter;
  call.limit = limit;
  call.next = fresh();
  begin(Step::rounds, loop.span).rounds = &call;
  current().target = test;
  for (const Value* value : captured) input(*value);
  for (size_t i = 1; i < body.params.size(); ++i) output_at(at_.at(body.params[i]));
  return true;
}

void Compiler::find_slices(const Node& loop, int32_t counter, int32_t limit,
                           const std::vector<const Node*>& unchanging, bool in_rounds) {
  for (const SlicedProduct& found : sliced_products(*loop.blocks[0], aliases(), unchanging)) {
    const Node &select = *found.select, &product = *found.product;
    SliceProduct& made = code_.slice_products.emplace_back();
    made = {.dim = constant_of(select.input(1))->integer(),
            .turned = product.op == &op_def<"linear">(),
            .biased = product.inputs.size() > 2 && !is_constant(product.input(2)),
            .counter = counter,
            .limit = limit,
            .made = fresh(),
            .first = fresh(),
            .in_rounds = in_rounds};
    const bool only_here = select.output().uses.size() == 1 && select.next == &product;
    slices_.push_back({only_here ? &select : &product, found, &made});
  }
}

void Compiler::begin_slices(Slices& slices, const Values& last) {
  const Node &select = *slices.nodes.select, &product = *slices.nodes.product;
  slices.instruction = here();
  begin(Step::slices, product.span).slices = slices.product;
  input(select.input(0));
  input(product.input(1));
  if (slices.product->biased) input(product.input(2));
  if (slices.begin == &product) input(select.output());
  mark_last(last);
  output(product.output());
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
  const std::vector<const Node*> unchanging = unchanging_calls(body, aliases());
  for (const Node* call : unchanging) {
    lasting_.insert(&call->output());
    captured.insert(&call->output());
  }
  const size_t outer_slices = slices_.size();
  const bool in_rounds = emit_rounds(node, counter, limit, test);
  find_slices(node, counter, limit, unchanging, in_rounds);
  block(body, {});
  begin(Step::move, node.span);
  results(body);
  if (is_constant(*body.results[0]) && code_.constants[~place(*body.results[0])].boolean())
    round[0] = -1;  // it goes on for as long as it may
  finish_move(round);
  begin(Step::loop_next, node.span).target = test;
  output_at(counter);
  code_.instructions[test].target = here();
  if (slices_.size() > outer_slices) begin(Step::drop, node.span);
  for (size_t i = outer_slices; i < slices_.size(); ++i)
    input_at(slices_[i].product->made).last = true;
  slices_.resize(outer_slices);
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
  call = {node.op,
          static_cast<uint32_t>(args),
          tail->other != nullptr,
          {.scale = {},
           .shift = {},
           .other = {},
           .relu = tail->relu,
           .window = tail->pool.size,
           .step = tail->pool.step,
           .plain = !goes_to_convolutions(group.output())}};
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
  fork.may_run_beside = forks_->may_run_beside(node, fork.calls);
  fork.waits |= std::any_of(captured.begin(), captured.end(),
                            [](const Value* value) { return value->type->kind == Kind::future; });
  begin(Step::fork, node.span).fork = &fork;
  for (const Value* value : captured) input(*value);
  mark_last(last);
  output(node.output());
}

}  // namespace wisp::graph
