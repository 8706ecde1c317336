#include "graph/invariants.h"

#include <algorithm>

#include "graph/effects.h"
#include "ops/chain.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

// A view of memory that is seen outside anyway; only whoever keeps it could tell.
bool is_passing_view(const Node& node) {
  const auto& uses = node.output().uses;
  return node.op->view && std::all_of(uses.begin(), uses.end(), [](const Node* user) {
           return user && user->op && !user->in_place;
         });
}

bool may_stay(const Node& node, const Aliases& aliases) {
  if (!node.op || node.in_place || node.outputs.size() != 1) return false;
  const Value& output = node.output();
  return output.type->kind == Kind::tensor && !output.uses.empty() && aliases.is_movable(node) &&
         (!aliases.escapes(output) || is_passing_view(node));
}

// Grad mode may change between rounds, or what a function that is called writes.
bool has_barrier(const Block& body) {
  for (const Node* node = body.first; node; node = node->next) {
    if (holds_barrier(*node)) return true;
  }
  return false;
}

bool goes_on(const Block& body) {
  const Datum* condition = constant_of(*body.results[0]);
  return condition && condition->boolean();
}

// Of a tensor from outside, by the number of the round.
bool selects_round(const Node* node, const Block& body) {
  if (!node || node->block != &body || node->op != &op_def<"select">()) return false;
  return node->input(0).block != &body && constant_of(node->input(1)) &&
         node->inputs[2] == body.params[0];
}

}  // namespace

std::vector<const Node*> unchanging_calls(const Block& body, const Aliases& aliases) {
  std::vector<const Node*> found;
  if (has_barrier(body)) return found;
  const auto changes = [&](const Value* input) {
    const bool inside = input->block == &body && !(input->node && input->node->is(Prim::Constant));
    return inside && std::find(found.begin(), found.end(), input->node) == found.end();
  };
  for (const Node* node = body.first; node; node = node->next) {
    const bool same = std::none_of(node->inputs.begin(), node->inputs.end(), changes);
    if (same && may_stay(*node, aliases)) found.push_back(node);
  }
  return found;
}

std::vector<SlicedProduct> sliced_products(const Block& body, const Aliases& aliases,
                                           const std::vector<const Node*>& unchanging) {
  std::vector<SlicedProduct> found;
  if (!goes_on(body) || has_barrier(body)) return found;
  const auto stays = [&](const Value* value) {
    return value->block != &body || constant_of(*value) ||
           std::find(unchanging.begin(), unchanging.end(), value->node) != unchanging.end();
  };
  for (const Node* node = body.first; node; node = node->next) {
    if (!node->op || node->in_place || !ops::Chain::multiplies(*node->op)) continue;
    if (node->op == &op_def<"addmm">()) continue;  // something else comes first
    const Node* select = node->input(0).node;
    if (selects_round(select, body) && aliases.is_movable(*select) && aliases.is_movable(*node) &&
        !aliases.escapes(node->output()) &&
        std::all_of(node->inputs.begin() + 1, node->inputs.end(), stays))
      found.push_back({select, node});
  }
  return found;
}

}  // namespace wisp::graph
