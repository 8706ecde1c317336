// Large calls that need nothing of each other become branches of a prim::Parallel, which may run on
// several threads: where values come together, each of them is followed back to where they part.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/aliases.h"
#include "graph/beside.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"
#include "tensor/shape.h"

namespace wisp::graph {

namespace {

// The work of longer runs of nodes would be looked at too often.
constexpr size_t most_nodes = 4096;
// Multiplications; what has fewer is over before another thread is awake.
constexpr int64_t little_work = 1 << 16;

bool is_large_operator(const OpDef& op) {
  static const std::unordered_set<std::string_view> names = {"mm",
                                                             "bmm",
                                                             "addmm",
                                                             "baddbmm",
                                                             "addbmm",
                                                             "matmul",
                                                             "linear",
                                                             "bilinear",
                                                             "einsum",
                                                             "conv1d",
                                                             "conv2d",
                                                             "conv3d",
                                                             "lstm",
                                                             "gru",
                                                             "rnn_tanh",
                                                             "rnn_relu",
                                                             "lstm_cell",
                                                             "gru_cell",
                                                             "conv_transpose1d",
                                                             "conv_transpose2d",
                                                             "conv_transpose3d",
                                                             "scaled_dot_product_attention"};
  return names.contains(op.sig.base);
}

int64_t elements(const Value& value) {
  const auto* sizes = known_sizes(value);
  return sizes ? count_elements(IntSpan(*sizes)) : -1;
}

// How often each element of the result is added to, in a product of matrices or a convolution whose
// sizes are known; else -1.
int64_t depth_of(const Node& node) {
  if (const Value* weight = argument(node, "weight")) {
    const auto* sizes = known_sizes(*weight);
    return sizes && !sizes->empty() ? elements(*weight) / std::max<int64_t>((*sizes)[0], 1) : -1;
  }
  if (node.inputs.size() != 2) return -1;
  const auto* sizes = known_sizes(node.input(0));
  return sizes && !sizes->empty() ? sizes->back() : -1;
}

bool is_large(const Node& node) {
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (is_large(*inner)) return true;
    }
  }
  if (!node.op || node.outputs.empty() || node.op->has(trait::view)) return false;
  const int64_t size = elements(node.output());
  if (!is_large_operator(*node.op)) return size >= little_work;
  const int64_t depth = size < 0 ? -1 : depth_of(node);
  return depth < 0 || size * depth >= little_work;
}

bool may_raise(const Node& node) {
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) {
      if (inner->is(Prim::RaiseException) || may_raise(*inner)) return true;
    }
  }
  return false;
}

// Calls f with every value that a node and its blocks read.
template <class F>
void each_read(const Node& node, const F& f) {
  for (const Value* input : node.inputs) f(*input);
  for (const Block* block : node.blocks) {
    for (const Node* inner = block->first; inner; inner = inner->next) each_read(*inner, f);
    for (const Value* result : block->results) f(*result);
  }
}

// A run of nodes of a block that could stand in any order that their values allow.
class Segment {
 public:
  Segment(Graph& graph, const Aliases& aliases, std::vector<Node*> nodes)
      : graph_(graph), nodes_(std::move(nodes)) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      index_[nodes_[i]] = static_cast<int>(i);
      inputs_.push_back(makers_of_inputs(*nodes_[i]));
      fixed_.push_back(nodes_[i]->is(Prim::Constant) || !can_run_beside(*nodes_[i], aliases));
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (may_raise(*nodes_[i])) keep_behind(i);
    }
  }

  // Makes one group, as late as possible. True if there is one; `before` gets the nodes that stand
  // before it: the rest need not be looked at again.
  bool group(std::vector<Node*>& before) {
    bool found = form_branches(ends());
    for (size_t i = nodes_.size(); i-- > 0 && !found;) found = form_branches(inputs_[i]);
    if (found) before = regroup();
    return found;
  }

 private:
  static constexpr int nobody = -1, several = -2;

  int find(const Node* node) const {
    const auto found = index_.find(node);
    return found == index_.end() ? nobody : found->second;
  }

  std::vector<int> makers_of_inputs(const Node& node) const {
    std::vector<int> found;
    each_read(node, [&](const Value& value) {
      const int at = find(value.node);
      if (at >= 0 && std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
    });
    return found;
  }

  // What uses a tensor stays behind the node that checks it.
  void keep_behind(size_t check) {
    std::unordered_set<const Value*> tensors;
    find_tensors(*nodes_[check], tensors);
    for (size_t i = check + 1; i < nodes_.size(); ++i) {
      bool uses = false;
      each_read(*nodes_[i], [&](const Value& value) { uses = uses || tensors.contains(&value); });
      if (uses) inputs_[i].push_back(static_cast<int>(check));
    }
  }

  // The tensors that a node reads, or that the numbers it reads come from.
  void find_tensors(const Node& node, std::unordered_set<const Value*>& found) const {
    each_read(node, [&](const Value& value) {
      if (is_mutable(*value.type) ? !found.insert(&value).second : find(value.node) < 0) return;
      if (!is_mutable(*value.type)) find_tensors(*value.node, found);
    });
  }

  // The nodes whose values are used behind the segment.
  std::vector<int> ends() const {
    std::vector<int> found;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto& outputs = nodes_[i]->outputs;
      const bool used = std::any_of(outputs.begin(), outputs.end(), [&](const Value* output) {
        return std::any_of(output->uses.begin(), output->uses.end(),
                           [&](const Node* user) { return find(user) == nobody; });
      });
      if (used && !nodes_[i]->is(Prim::Constant)) found.push_back(static_cast<int>(i));
    }
    return found;
  }

  // Labels each node with the one of `joined` that needs it, if there is only one; of those that
  // need each other, with the last. Nodes of different labels need nothing of each other. True if
  // there is enough to do for several.
  bool form_branches(const std::vector<int>& joined) {
    if (joined.size() < 2) return false;
    labels_.assign(nodes_.size(), nobody);
    const std::unordered_set<int> ends(joined.begin(), joined.end());
    std::unordered_set<int> large;
    for (int i = *std::max_element(joined.begin(), joined.end()); i >= 0; --i) {
      if (labels_[i] == nobody && ends.contains(i)) labels_[i] = i;
      if (labels_[i] == nobody) continue;
      if (fixed_[i]) labels_[i] = several;
      for (const int input : inputs_[i]) add_label(input, labels_[i]);
      if (labels_[i] >= 0 && is_large(*nodes_[i])) large.insert(labels_[i]);
    }
    for (int& label : labels_) {
      if (!large.contains(label)) label = nobody;
    }
    return large.size() >= 2;
  }
  void add_label(int at, int label) {
    labels_[at] = labels_[at] == nobody || labels_[at] == label ? label : several;
  }

  // What follows from the branches stays behind them; the others go before.
  std::vector<Node*> regroup() {
    Node& group = graph_.make(Prim::Parallel);
    graph_.insert_before(*nodes_[0], group);
    std::vector<bool> follows(nodes_.size());
    std::vector<Node*> before;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (labels_[i] >= 0) {
        if (!group.span.source) group.span = nodes_[i]->span;
        follows[i] = true;
        continue;
      }
      for (const int input : inputs_[i]) follows[i] = follows[i] || follows[input];
      if (follows[i]) continue;
      graph_.move_before(group, *nodes_[i]);
      before.push_back(nodes_[i]);
    }
    fill(group);
    return before;
  }

  void fill(Node& group) {
    std::unordered_map<int, Block*> blocks;  // by label, in the order of their first nodes
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (labels_[i] < 0) continue;
      Block*& block = blocks[labels_[i]];
      if (!block) block = &graph_.add_block(group);
      graph_.move_to_end(*block, *nodes_[i]);
    }
    for (Block* block : group.blocks) {
      block->for_each([&](Node& node) {
        for (Value* output : node.outputs) give_out(*output, group, *block);
      });
    }
  }

  void give_out(Value& value, Node& group, Block& block) {
    const std::vector<Node*> users = value.uses;
    const auto is_inside = [&](const Node* user) {
      while (user && user->block != &block) user = user->block->owner;
      return user != nullptr;
    };
    if (std::all_of(users.begin(), users.end(), is_inside)) return;
    Value& made = graph_.add_output(group, value.type);
    graph_.replace_uses(value, made);
    for (Node* user : users) {
      if (is_inside(user)) restore(*user, made, value);
    }
    graph_.add_result(block, value);
  }

  void restore(Node& user, Value& made, Value& value) {
    for (size_t i = 0; i < user.inputs.size(); ++i) {
      if (user.inputs[i] == &made) graph_.replace_input(user, static_cast<int>(i), value);
    }
    for (Block* block : user.blocks) {
      for (size_t i = 0; i < block->results.size(); ++i) {
        if (block->results[i] == &made) graph_.replace_result(*block, static_cast<int>(i), value);
      }
    }
  }

  Graph& graph_;
  const std::vector<Node*> nodes_;
  std::unordered_map<const Node*, int> index_;
  std::vector<std::vector<int>> inputs_;  // the nodes that compute those of each node
  std::vector<bool> fixed_;               // which cannot stand in a branch
  std::vector<int> labels_;
};

class Brancher {
 public:
  explicit Brancher(Graph& graph) : graph_(graph), aliases_(graph) {}

  bool run(Block& block) {
    std::vector<Node*> nodes;
    block.for_each([&](Node& node) {
      const bool movable = !node.is(Prim::RaiseException) &&
                           (aliases_.is_movable(node) || can_run_beside(node, aliases_));
      if (!movable || nodes.size() == most_nodes) group(std::exchange(nodes, {}));
      if (movable) return nodes.push_back(&node);
      run_inside(node);
    });
    group(std::move(nodes));
    return changed_;
  }

 private:
  void run_inside(Node& node) {
    if (node.is(Prim::Parallel) || node.is(Prim::FusionGroup)) return;
    for (Block* inner : node.blocks) run(*inner);
  }

  void group(std::vector<Node*> nodes) {
    const auto large = [](const std::vector<Node*>& some) {
      return std::count_if(some.begin(), some.end(), [](Node* node) { return is_large(*node); });
    };
    std::vector<Node*> left = nodes;
    while (large(left) >= 2 && Segment(graph_, aliases_, left).group(left)) changed_ = true;
    // What has not become part of a branch may hold some.
    for (Node* node : nodes) {
      if (!node->block->owner || !node->block->owner->is(Prim::Parallel)) run_inside(*node);
    }
  }

  Graph& graph_;
  const Aliases aliases_;
  bool changed_ = false;
};

}  // namespace

bool parallel_branches(Graph& graph) { return Brancher(graph).run(graph.top()); }

}  // namespace wisp::graph
