#include "graph/tails.h"

#include "graph/effects.h"

namespace wisp::graph {

namespace {

bool calls(const Node& node, std::string_view name) {
  return node.op && !node.in_place && node.op->sig.name == name;
}

bool is_tensor(const Value& value) { return value.type->kind == Kind::tensor; }

}  // namespace

bool is_convolution(const Node& node) {
  return calls(node, "conv1d") || calls(node, "conv2d") || calls(node, "conv3d");
}

Value* added_to(const Node& node, const Value& value) {
  if (!calls(node, "add") || !is_tensor(node.input(0)) || !is_tensor(node.input(1))) return nullptr;
  const Datum* alpha = constant_of(node.input(2));
  const bool plain = alpha && alpha->tag() == Tag::integer && alpha->integer() == 1;
  if (!plain || node.inputs[0] == node.inputs[1]) return nullptr;
  if (node.inputs[0] == &value) return node.inputs[1];
  return node.inputs[1] == &value ? node.inputs[0] : nullptr;
}

bool is_relu(const Node& node) { return calls(node, "relu"); }

namespace {

// The numbers of an argument for rows and columns; `missing` if it is None or an empty list.
using Pair = std::array<int64_t, 2>;
std::optional<Pair> pair_of(const Value& value, const Pair& missing) {
  const Datum* known = constant_of(value);
  if (!known) return std::nullopt;
  if (known->is_none()) return missing;
  if (known->tag() == Tag::integer) return Pair{known->integer(), known->integer()};
  if (known->tag() != Tag::list || known->items().size() > 2) return std::nullopt;
  const std::vector<Datum>& items = known->items();
  for (const Datum& item : items) {
    if (item.tag() != Tag::integer) return std::nullopt;
  }
  if (items.empty()) return missing;
  return Pair{items.front().integer(), items.back().integer()};
}

bool is_false(const Value& value) {
  const Datum* known = constant_of(value);
  return known && known->tag() == Tag::boolean && !known->boolean();
}

}  // namespace

std::optional<PoolWindows> pool_of(const Node& node) {
  if (!calls(node, "max_pool2d") || !is_tensor(node.input(0)) || !is_false(node.input(5)) ||
      !is_false(node.input(6)))
    return std::nullopt;
  const Pair nothing{0, 0}, ones{1, 1};
  const std::optional<Pair> size = pair_of(node.input(1), nothing);
  const std::optional<Pair> step = size ? pair_of(node.input(2), *size) : std::nullopt;
  if (!step || pair_of(node.input(3), nothing) != nothing || pair_of(node.input(4), ones) != ones)
    return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    if ((*size)[i] < 1 || (*size)[i] > (*step)[i]) return std::nullopt;
  }
  return PoolWindows{*size, *step};
}

const Value& outside_of(const Node& group, const Value& value) {
  const bool param = !value.node && value.block == group.blocks[0];
  return param ? group.input(value.index) : value;
}

std::optional<Tail> tail_of(const Node& group) {
  const Block& body = *group.blocks[0];
  const Node* node = body.first;
  if (!node || !is_convolution(*node)) return std::nullopt;
  Tail tail{.convolution = node, .pool = {}};
  const auto goes_on = [&] { return node->next && node->output().uses.size() == 1; };
  if (goes_on()) {
    if (const Value* other = added_to(*node->next, node->output())) {
      node = node->next;
      tail.other = &outside_of(group, *other);
    }
  }
  // Relu and the largest element of a window may come in either order: both give the same.
  std::optional<PoolWindows> pool;
  while (goes_on() && node->next->inputs[0] == &node->output()) {
    const std::optional<PoolWindows> windows = pool_of(*node->next);
    if (windows && !pool) {
      pool = windows;
    } else if (is_relu(*node->next) && !tail.relu) {
      tail.relu = true;
    } else {
      break;
    }
    node = node->next;
  }
  tail.pool = pool.value_or(PoolWindows());
  const bool all = !node->next && body.results.size() == 1 && body.results[0] == &node->output();
  return all && node != tail.convolution ? std::optional(tail) : std::nullopt;
}

}  // namespace wisp::graph
