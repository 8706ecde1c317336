// Convolutions with a tail: an image is added to what they give, then relu, then the largest of
// windows that do not overlap. The pass conv_tails puts such into a group, and the interpreter does
// the group in one step where it can.
#pragma once

#include <array>
#include <optional>

#include "graph/graph.h"

namespace wisp::graph {

bool is_convolution(const Node& node);
// Whether the node adds two tensors, one of which is `value`; gives the other, or null.
Value* added_to(const Node& node, const Value& value);
bool is_relu(const Node& node);

struct PoolWindows {
  std::array<int64_t, 2> size{1, 1}, step{1, 1};
};
// The windows of a max_pool2d, if they are known, do not overlap and have no padding.
std::optional<PoolWindows> pool_of(const Node& node);

struct Tail {
  const Node* convolution;
  const Value* other = nullptr;  // as it is called outside of the group; null: nothing is added
  bool relu = false;
  PoolWindows pool;
};
// What a prim::FusionGroup is, if it is nothing else.
std::optional<Tail> tail_of(const Node& group);

// The input of the group that a value inside of it stands for, or the value itself.
const Value& outside_of(const Node& group, const Value& value);

}  // namespace wisp::graph
