// What several passes need.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/effects.h"
#include "graph/graph.h"

namespace wisp::graph {

// All nodes, those of blocks before the node that holds them. `node` may be removed in f.
template <class F>
void for_each_node(Block& block, F f) {
  block.for_each([&](Node& node) {
    for (Block* inner : node.blocks) for_each_node(*inner, f);
    f(node);
  });
}

// Whether it calls that operator of the table, not in place.
bool is_op(const Node& node, std::string_view name);
bool is_op(const Value& value, std::string_view name);  // whether such a node computes it
bool is_builtin(const Node& node, std::string_view full_name);

std::optional<int64_t> constant_int(const Value& value);
std::optional<bool> constant_bool(const Value& value);
bool is_none(const Value& value);  // a constant None

// All sizes of a tensor, if they are known.
const std::vector<int64_t>* known_sizes(const Value& value);
bool has_sizes(const Value& value, size_t ndim);       // known, and that many
bool same_known_type(const Value& a, const Value& b);  // tensors of the same known sizes and dtype

// Whether `value` is known where `place` stands.
bool is_known_at(const Value& value, const Node& place);

// The same of a value that can be brought there, as constants can.
bool can_be_known_at(const Value& value, const Node& place);
void bring_before(Graph& graph, Node& place, Value& value);

// A call of an operator in front of `place`, at whose line it is said to be.
Value& call_before(Graph& graph, Node& place, std::string_view op, std::vector<Value*> inputs,
                   TypeRef type = simple_type(Kind::tensor));
Value& int_constant(Graph& graph, Node& place, int64_t value);
// A list of tensors.
Value& list_before(Graph& graph, Node& place, const std::vector<Value*>& items);

// Tensors joined along a dimension, now if they are constants. That costs at each run if they are
// not: is_cheap_to_join() says whether they are small enough.
Value& join_before(Graph& graph, Node& place, const std::vector<Value*>& values, int64_t dim);
bool is_cheap_to_join(const std::vector<Value*>& values);
// The pieces of a tensor along a dimension, of these sizes.
std::vector<Value*> cut_before(Graph& graph, Node& place, Value& value,
                               const std::vector<int64_t>& sizes, int64_t dim);

// The outputs of `node` are `values` from now on, and the node is gone.
void replace_node(Graph& graph, Node& node, const std::vector<Value*>& values);

}  // namespace wisp::graph
