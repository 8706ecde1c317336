// What nodes read once they are instructions: lists that are only arguments, or only taken apart,
// are never built.
#pragma once

#include "graph/graph.h"

namespace wisp::graph {

inline bool is_list_param(const Param& param) {
  return param.type == ParamType::integers || param.type == ParamType::reals ||
         param.takes_tensors();
}

// A list that is built only to be the argument of one operator beside it is never built.
inline bool is_folded(const Node& node) {
  if (!node.is(Prim::ListConstruct) || node.output().uses.size() != 1) return false;
  const Node* user = node.output().uses[0];
  if (!user || !user->op || user->block != node.block) return false;
  for (size_t i = 0; i < user->inputs.size(); ++i) {
    if (user->inputs[i] == &node.output()) return is_list_param(user->op->sig.params[i]);
  }
  return false;
}

// A list that an operator returns only to be taken apart: its items go where they are wanted.
inline bool is_fused_unpack(const Node& node) {
  if (!node.is(Prim::ListUnpack) || node.outputs.size() < 2) return false;
  const Value& list = node.input(0);
  return list.node && list.node->op && list.node->block == node.block && list.uses.size() == 1 &&
         list.node->op->sig.returns_list();
}

inline bool is_constant(const Value& value) { return value.node && value.node->is(Prim::Constant); }

// Calls f with every value that a node reads itself.
template <class F>
void each_input(const Node& node, F f) {
  if (is_fused_unpack(node)) return;
  for (const Value* value : node.inputs) {
    if (value->node && is_folded(*value->node)) {
      for (const Value* item : value->node->inputs) f(*item);
    } else {
      f(*value);
    }
  }
}

// Calls f with every value that the blocks of a node read, their own included.
template <class F>
void each_inner_input(const Node& node, const F& f) {
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (is_folded(*inner)) continue;
      each_input(*inner, f);
      each_inner_input(*inner, f);
    }
    for (const Value* value : block->results) f(*value);
  }
}

}  // namespace wisp::graph
