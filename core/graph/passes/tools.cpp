#include "graph/passes/tools.h"

#include <algorithm>
#include <functional>

#include "graph/builtins.h"
#include "graph/evaluate.h"
#include "tensor/shape.h"

namespace wisp::graph {

bool is_op(const Node& node, std::string_view name) {
  return node.op && !node.in_place && node.op->sig.name == name;
}
bool is_op(const Value& value, std::string_view name) {
  return value.node && is_op(*value.node, name);
}
bool is_builtin(const Node& node, std::string_view full_name) {
  return node.builtin && node.builtin->full_name() == full_name;
}

std::optional<int64_t> constant_int(const Value& value) {
  const Datum* constant = constant_of(value);
  if (!constant || constant->tag() != Tag::integer) return {};
  return constant->integer();
}

std::optional<bool> constant_bool(const Value& value) {
  const Datum* constant = constant_of(value);
  if (!constant || constant->tag() != Tag::boolean) return {};
  return constant->boolean();
}

bool is_none(const Value& value) {
  const Datum* constant = constant_of(value);
  return constant && constant->is_none();
}

const std::vector<int64_t>* known_sizes(const Value& value) {
  const Type& type = *value.type;
  if (type.kind != Kind::tensor || !type.sizes) return nullptr;
  const bool all =
      std::none_of(type.sizes->begin(), type.sizes->end(), [](int64_t size) { return size < 0; });
  return all ? &*type.sizes : nullptr;
}

bool has_sizes(const Value& value, size_t ndim) {
  const auto* sizes = known_sizes(value);
  return sizes && sizes->size() == ndim;
}

bool same_known_type(const Value& a, const Value& b) {
  return known_sizes(a) && known_sizes(b) && a.type->dtype && same(*a.type, *b.type);
}

bool is_known_at(const Value& value, const Node& place) {
  // The node around `place` that stands in the value's block.
  const Node* at = &place;
  while (at && at->block != value.block) at = at->block->owner;
  if (!at) return false;
  if (!value.node) return true;
  for (const Node* node = at->previous; node; node = node->previous) {
    if (node == value.node) return true;
  }
  return false;
}

bool can_be_known_at(const Value& value, const Node& place) {
  return is_known_at(value, place) || (constant_of(value) && value.block == place.block);
}

void bring_before(Graph& graph, Node& place, Value& value) {
  if (!is_known_at(value, place)) graph.move_before(place, *value.node);
}

Value& call_before(Graph& graph, Node& place, std::string_view op, std::vector<Value*> inputs,
                   TypeRef type) {
  Node& node = graph.make(registry().get(op));
  node.span = place.span;
  for (Value* input : inputs) graph.add_input(node, *input);
  graph.insert_before(place, node);
  return graph.add_output(node, std::move(type));
}

Value& int_constant(Graph& graph, Node& place, int64_t value) {
  return graph.constant(place, Datum(value), simple_type(Kind::integer));
}

Value& list_before(Graph& graph, Node& place, const std::vector<Value*>& items) {
  Node& node = graph.make(Prim::ListConstruct);
  node.span = place.span;
  for (Value* item : items) graph.add_input(node, *item);
  graph.insert_before(place, node);
  return graph.add_output(node, list_of(simple_type(Kind::tensor)));
}

namespace {

TypeRef joined_type(const std::vector<Value*>& values, int64_t dim) {
  if (!known_sizes(*values[0])) return simple_type(Kind::tensor);
  std::vector<int64_t> sizes = *known_sizes(*values[0]);
  const size_t at = dim < 0 ? dim + sizes.size() : dim;
  for (size_t i = 1; i < values.size(); ++i) {
    if (!has_sizes(*values[i], sizes.size())) return simple_type(Kind::tensor);
    sizes[at] += (*known_sizes(*values[i]))[at];
  }
  return tensor_of(values[0]->type->dtype, std::move(sizes));
}

}  // namespace

bool is_cheap_to_join(const std::vector<Value*>& values) {
  constexpr int64_t small = 1 << 16;
  if (std::all_of(values.begin(), values.end(), [](Value* value) { return constant_of(*value); })) {
    return true;
  }
  int64_t elements = 0;
  for (const Value* value : values) {
    const auto* sizes = known_sizes(*value);
    if (!sizes) return false;
    elements += count_elements(IntSpan(*sizes));
  }
  return elements <= small;
}

Value& join_before(Graph& graph, Node& place, const std::vector<Value*>& values, int64_t dim) {
  const TypeRef type = joined_type(values, dim);
  Value& list = list_before(graph, place, values);
  Value& joined = call_before(graph, place, "cat", {&list, &int_constant(graph, place, dim)}, type);
  std::vector<Datum> constants;
  for (const Value* value : values) {
    if (const Datum* constant = constant_of(*value)) constants.push_back(*constant);
  }
  if (constants.size() != values.size()) return joined;
  const auto made = evaluate(*joined.node, {Datum::list(std::move(constants)), Datum(dim)});
  return made ? graph.constant(place, (*made)[0], type) : joined;
}

std::vector<Value*> cut_before(Graph& graph, Node& place, Value& value,
                               const std::vector<int64_t>& sizes, int64_t dim) {
  const bool equal =
      std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
  Value& at = int_constant(graph, place, dim);
  const TypeRef list = list_of(simple_type(Kind::tensor));
  Value* pieces;
  if (equal) {
    Value& count = int_constant(graph, place, static_cast<int64_t>(sizes.size()));
    pieces = &call_before(graph, place, "chunk", {&value, &count, &at}, list);
  } else {
    Datum numbers = Datum::list(std::vector<Datum>(sizes.begin(), sizes.end()));
    Value& wanted = graph.constant(place, std::move(numbers), list_of(simple_type(Kind::integer)));
    pieces = &call_before(graph, place, "split_with_sizes", {&value, &wanted, &at}, list);
  }
  Node& unpack = graph.make(Prim::ListUnpack);
  unpack.span = place.span;
  graph.add_input(unpack, *pieces);
  graph.insert_before(place, unpack);
  for (size_t i = 0; i < sizes.size(); ++i) graph.add_output(unpack, simple_type(Kind::tensor));
  return unpack.outputs;
}

void replace_node(Graph& graph, Node& node, const std::vector<Value*>& values) {
  for (size_t i = 0; i < node.outputs.size(); ++i) graph.replace_uses(*node.outputs[i], *values[i]);
  graph.remove(node);
}

}  // namespace wisp::graph
