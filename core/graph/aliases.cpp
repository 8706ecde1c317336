#include "graph/aliases.h"

#include <string_view>

#include "graph/effects.h"

namespace wisp::graph {

namespace {

// Composites may give an input, or a view of one, as their result, unless they are known not to.
bool makes_new_memory(const OpDef& op) {
  static const std::unordered_set<std::string_view> composites = {"linear",
                                                                  "conv1d",
                                                                  "conv2d",
                                                                  "conv3d",
                                                                  "conv_transpose1d",
                                                                  "conv_transpose2d",
                                                                  "conv_transpose3d",
                                                                  "batch_norm",
                                                                  "layer_norm",
                                                                  "matmul",
                                                                  "cat",
                                                                  "stack"};
  if (op.has(trait::composite)) return composites.contains(op.sig.base);
  return !op.has(trait::view);
}

// What the changeable parts of a value are: a list of numbers and a tensor never share memory.
enum Contents { numbers, tensors, both };

Contents contents(const Type& type) {
  if (type.kind == Kind::tensor) return tensors;
  if (type.kind == Kind::any || type.kind == Kind::object) return both;
  std::optional<Contents> found;
  for (const TypeRef& item : type.items) {
    if (!is_mutable(*item)) continue;
    const Contents inner = contents(*item);
    found = found && *found != inner ? both : inner;
  }
  return found.value_or(numbers);
}

// A write to a list, dict or object, not to the tensors in it.
bool changes_holder(const Node& node, const Value& written) {
  const Kind kind = written.type->kind;
  return !node.op && !is_barrier(node) &&
         (kind == Kind::list || kind == Kind::dict || kind == Kind::object);
}

}  // namespace

// The class of the null pointer is what is outside.
Aliases::Aliases(const Graph& graph, std::unordered_set<const Value*> apart)
    : apart_(std::move(apart)) {
  join(nullptr, nullptr);
  for (const Value* param : graph.top().params)
    join(param, apart_.contains(param) ? param : nullptr);
  visit(graph.top());
  escaping_.insert(find(nullptr));
  for (const Value* result : graph.top().results) escaping_.insert(find(*result));
  escaping_.erase(unknown);  // results that cannot be changed
  for (const auto& [storage, value] : storages_) constants_.insert(find(*value));
  find_writes(graph.top());
  for (const auto& [value, at] : index_) {
    if (value) ++sizes_[root(at)];
  }
}

void Aliases::find_writes(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    for (const Value* value : written_inputs(*node)) {
      written_.insert(find(*value));
      if (!changes_holder(*node, *value)) stored_.insert(find(*value));
    }
    if (is_barrier(*node)) {
      written_.insert(find(nullptr));
      stored_.insert(find(nullptr));
    }
    for (const Block* inner : node->blocks) find_writes(*inner);
  }
}

int Aliases::root(int at) const {
  while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
  return at;
}

int Aliases::find(const Value* value) const {
  const auto found = index_.find(value);
  return found == index_.end() ? unknown : root(found->second);
}

void Aliases::join(const Value* a, const Value* b) {
  for (const Value* value : {a, b}) {
    if (value && !is_mutable(*value->type)) return;
    const auto [at, fresh] = index_.emplace(value, static_cast<int>(parents_.size()));
    if (fresh) parents_.push_back(at->second);
  }
  parents_[root(index_[a])] = root(index_[b]);
}

void Aliases::join_all(const Node& node) {
  const Value* firsts[] = {nullptr, nullptr};  // of numbers and of tensors
  const auto join_with = [&](const Value* value, Contents kind) {
    if (firsts[kind]) join(value, firsts[kind]);
    firsts[kind] = value;
  };
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (!is_mutable(*value->type)) continue;
      const Contents kind = contents(*value->type);
      if (kind != tensors) join_with(value, numbers);
      if (kind != numbers) join_with(value, tensors);
    }
  }
}

void Aliases::join_outside(const Node& node) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) join(value, nullptr);
  }
}

void Aliases::visit(const Block& block) {
  for (const Node* node = block.first; node; node = node->next) {
    for (const Value* output : node->outputs) join(output, output);
    visit(*node);
    for (const Block* inner : node->blocks) visit(*inner);
  }
}

void Aliases::visit(const Node& node) {
  if (node.op) return visit_op(node);
  switch (node.prim) {
    case Prim::If:
    case Prim::Loop:
    case Prim::FusionGroup:
    case Prim::Fork:
      return visit_blocks(node);
    case Prim::Parallel:
      return visit_parallel(node);
    case Prim::CallFunction:
    case Prim::CallMethod:
    case Prim::HostCall:
      return join_outside(node);
    case Prim::Print:
      return;
    case Prim::GetAttr:
      if (!apart_.contains(&node.output())) join_all(node);
      return;
    case Prim::SetAttr:
      if (!apart_.contains(node.inputs[0])) return join_all(node);
      return join(node.inputs[1], nullptr);
    case Prim::Constant:
      return visit_constant(node.output(), *constant_of(node.output()));
    default:
      return join_all(node);
  }
}

// The same tensor may be a constant in several places.
void Aliases::visit_constant(const Value& value, const Datum& datum) {
  if (datum.tag() == Tag::list || datum.tag() == Tag::tuple) {
    for (const Datum& item : datum.items()) visit_constant(value, item);
  } else if (datum.tag() == Tag::dict) {
    for (const auto& entry : datum.dict_data().entries) visit_constant(value, entry.second);
  } else if (datum.tag() == Tag::object) {
    join(&value, nullptr);
  } else if (datum.is_tensor()) {
    const auto [known, fresh] = storages_.emplace(&datum.tensor()->storage(), &value);
    join(&value, known->second);
  }
}

void Aliases::visit_op(const Node& node) {
  if (!node.in_place && makes_new_memory(*node.op)) {
    const bool may_overwrite = argument(node, "inplace") && !is_off(argument(node, "inplace"));
    if (may_overwrite) join(node.outputs[0], node.inputs[0]);
    return;
  }
  const bool first_only = node.in_place || node.op->has(trait::view);
  for (const Value* output : node.outputs) {
    if (first_only) {
      join(output, node.inputs[0]);
      continue;
    }
    for (const Value* input : node.inputs) {
      if (contents(*input->type) != numbers) join(output, input);
    }
  }
}

void Aliases::visit_blocks(const Node& node) {
  const bool loop = node.is(Prim::Loop);
  for (const Block* block : node.blocks) {
    for (size_t i = loop; i < block->params.size(); ++i) {
      join(block->params[i], node.inputs[i + loop]);
    }
    for (size_t i = loop; i < block->results.size(); ++i) {
      join(block->results[i], node.outputs[i - loop]);
      if (loop) join(block->results[i], block->params[i]);
    }
  }
}

void Aliases::visit_parallel(const Node& node) {
  size_t output = 0;
  for (const Block* block : node.blocks) {
    for (const Value* result : block->results) join(result, node.outputs[output++]);
  }
}

bool Aliases::escapes(const Value& value) const {
  return find(value) == unknown || escaping_.contains(find(value));
}

void Aliases::replaced(const Value& value, const Value& other) {
  if (!is_mutable(*value.type) || !is_mutable(*other.type)) return;
  const bool known = find(value) != unknown, constant = is_constant(value);
  const bool written = known && written_.contains(find(value)), escaping = known && escapes(value);
  const bool stored = known && stored_.contains(find(value));
  const int size = class_size(value);
  join(&value, &other);
  const int both = find(other);
  if (written) written_.insert(both);
  if (stored) stored_.insert(both);
  if (escaping) escaping_.insert(both);
  if (constant) constants_.insert(both);
  sizes_[both] += size;
}

int Aliases::class_size(const Value& value) const {
  const auto found = sizes_.find(find(value));
  return found == sizes_.end() ? 0 : found->second;
}

bool Aliases::is_movable(const Node& node) const {
  if (!node.blocks.empty() || node.has_side_effects()) return false;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (is_mutable(*value->type) && is_written(*value)) return false;
    }
  }
  return true;
}

bool Aliases::makes_new(const Node& node) const {
  for (const Value* output : node.outputs) {
    for (const Value* input : node.inputs) {
      if (is_mutable(*output->type) && is_mutable(*input->type) && may_share(*output, *input)) {
        return false;
      }
    }
  }
  return true;
}

bool Aliases::may_replace(const Value& value, const Value& other) const {
  if (!is_mutable(*value.type)) return true;
  if (is_written(value) || is_written(other)) return false;
  return may_share(value, other) || !escapes(value) || !escapes(other);
}

}  // namespace wisp::graph
