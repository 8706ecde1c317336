// How a graph becomes instructions; see code.h.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/chains.h"
#include "graph/code.h"
#include "graph/effects.h"
#include "graph/invariants.h"
#include "graph/reads.h"

namespace wisp::graph {

inline bool owns_memory(const Type& type) {
  constexpr uint32_t counted = ~0u << static_cast<int>(Tag::tensor);
  return (tags_of(type) & counted) != 0;
}

using Values = std::unordered_set<const Value*>;

class Compiler {
 public:
  Compiler(Code::Impl& code, const Graph& graph) : code_(code), graph_(graph) {
    code_.program = graph.program;
    const Block& top = graph.top();
    code_.params = static_cast<int32_t>(top.params.size());
    for (const Value* param : top.params) at_[param] = code_.registers++;
    block(top, {});
    begin(Step::finish, {});
    results(top);
  }

 private:
  // Which values are read for the last time by which node of a block: those of the block itself
  // and `dying` ones from around it. Those that only the block's results read are under null.
  using LastUses = std::unordered_map<const Node*, Values>;

  LastUses last_uses(const Block& block, const Values& dying);

  void block(const Block& block, const Values& dying);

  // An instruction that has to jump behind its last node.
  struct OpenChain {
    size_t instruction = 0;
    const Node* end = nullptr;
  };

  // Says how the nodes from here on can be done in one step, if they can: with products, and where
  // those have to be calls of their own (they are recorded, or large) without.
  void begin_chains(const Node& node, LastUses& last, OpenChain& with_products,
                    OpenChain& pointwise);

  void begin_chain(NodeChain found, const Node& node, LastUses& last, OpenChain& open);

  // The results of the block just compiled, as inputs of the instruction just begun.
  void results(const Block& block);

  // Completes a move. What is where it belongs, or wanted nowhere (-1), is left out.
  void finish_move(const std::vector<int32_t>& targets);

  // --- Instructions are begun, given their inputs and outputs, and are complete then.
  Instruction& begin(Step step, const Span& span) {
    Instruction& made = code_.instructions.emplace_back(step);
    made.inputs = static_cast<uint32_t>(code_.inputs.size());
    made.outputs = static_cast<uint32_t>(code_.outputs.size());
    code_.spans.push_back(span);
    return made;
  }
  Instruction& current() { return code_.instructions.back(); }
  uint32_t here() const { return static_cast<uint32_t>(code_.instructions.size()); }

  int32_t place(const Value& value);

  Input& input_at(int32_t at) {
    ++current().input_count;
    code_.inputs.push_back({.at = at});
    return code_.inputs.back();
  }
  Input& input(const Value& value, bool checked = true) {
    Input& made = input_at(place(value));
    if (checked) made.tags = tags_of(*value.type);
    return made;
  }
  void output_at(int32_t at) {
    ++current().output_count;
    code_.outputs.push_back(at);
  }
  void output(const Value& value) { output_at(place_for(value)); }
  // Where a result goes; -1 if nobody wants it.
  int32_t place_for(const Value& value) {
    if (value.uses.empty()) return -1;
    const auto found = at_.find(&value);
    return found != at_.end() ? found->second : at_[&value] = fresh();
  }
  int32_t fresh() { return code_.registers++; }
  std::vector<int32_t> places(const std::vector<Value*>& values) {
    std::vector<int32_t> found;
    for (const Value* value : values) found.push_back(place_for(*value));
    return found;
  }

  // Marks the last input of the current instruction that reads each of these registers.
  void mark_last(const Values& last);

  template <class List>
  void drop(const List& values, const Span& span) {
    bool begun = false;
    for (const Value* value : values) {
      if (!owns_memory(*value->type) || is_constant(*value)) continue;
      if (!begun) begin(Step::drop, span);
      begun = true;
      input(*value, false).last = true;
    }
  }

  void simple(Step step, const Node& node, const Values& last) {
    begin(step, node.span);
    for (const Value* value : node.inputs) input(*value);
    mark_last(last);
    for (const Value* value : node.outputs) output(*value);
  }

  // Products of slices, made for many rounds at once where that can be. `begin` is the node in
  // front of which that is tried.
  struct Slices {
    const Node* begin;
    SlicedProduct nodes;
    SliceProduct* product;
    size_t instruction = 0;
  };
  void find_slices(const Node& loop, int32_t counter, int32_t limit,
                   const std::vector<const Node*>& unchanging, bool in_rounds);
  void begin_slices(Slices& slices, const Values& last);
  bool is_sliced(const Node& product) const {
    return std::any_of(slices_.begin(), slices_.end(),
                       [&](const Slices& slices) { return slices.nodes.product == &product; });
  }
  // Many rounds at once, if they can be done so.
  bool emit_rounds(const Node& loop, int32_t counter, int32_t limit, uint32_t test);

  // What lasts is computed if it is not there.
  void emit_in_block(const Node& node, const Values& last);

  void emit(const Node& node, const Values& last);
  void emit_single(Step step, const Node& node, const Values& last);
  void emit_op(const Node& node, const Values& last);
  void emit_if(const Node& node, const Values& last);
  void emit_loop(const Node& node, const Values& last);
  void emit_fusion_group(const Node& node, const Values& last);
  std::optional<size_t> emit_tail(const Node& node, const Values& last);
  void emit_parallel(const Node& node, const Values& last);
  void emit_named_call(const Node& node, const Values& last);
  void emit_fork(const Node& node, const Values& last);
  bool can_run_parallel(const Node& node);
  void emit_call(const Node& node, const Values& last, const std::string& function);
  void emit_host_call(const Node& node, const Values& last);
  void emit_attribute(Step step, const Node& node, const Values& last);
  void add_argument(const Node& node, size_t i, const Value& value, Arg& arg);
  bool reuses_operand(const Node& node);

  const Aliases& aliases() {
    if (!aliases_) aliases_.emplace(graph_);
    return *aliases_;
  }
  static const std::string& word(const Node& node) { return node.attributes.at("name").string(); }

  Code::Impl& code_;
  const Graph& graph_;
  std::optional<Aliases> aliases_;  // of the graph, once somebody has asked
  std::optional<Forks> forks_;
  std::unordered_map<const Value*, int32_t> at_;
  std::vector<Slices> slices_;
  Values lasting_;                    // the same in every round of the loop around them
  std::vector<const Value*> unused_;  // of the block whose last uses were asked for
  std::vector<Values> ending_;        // last read by the results of blocks just compiled
};

}  // namespace wisp::graph
