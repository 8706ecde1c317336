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

const Value& outside_of(const Node& group, const Value& value) {
  const bool param = !value.node && value.block == group.blocks[0];
  return param ? group.input(value.index) : value;
}

std::optional<Tail> tail_of(const Node& group) {
  const Block& body = *group.blocks[0];
  const Node* node = body.first;
  if (!node || !is_convolution(*node)) return std::nullopt;
  Tail tail{.convolution = node};
  const auto goes_on = [&] { return node->next && node->output().uses.size() == 1; };
  if (goes_on()) {
    if (const Value* other = added_to(*node->next, node->output())) {
      node = node->next;
      tail.other = &outside_of(group, *other);
    }
  }
  if (goes_on() && is_relu(*node->next) && node->next->inputs[0] == &node->output()) {
    node = node->next;
    tail.relu = true;
  }
  const bool all = !node->next && body.results.size() == 1 && body.results[0] == &node->output();
  return all && node != tail.convolution ? std::optional(tail) : std::nullopt;
}

}  // namespace wisp::graph
