// A batch norm that has its statistics and factors fixed is a factor and a shift per channel: they
// go into the weight and bias of the convolution or linear layer before it, if those are constants.
#include <array>

#include "graph/aliases.h"
#include "graph/passes.h"
#include "graph/passes/tools.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

struct Folded {
  Tensor weight, bias;
};

bool is_constant_tensor(const Value& value) {
  const Datum* constant = constant_of(value);
  return constant && constant->is_tensor();
}
Tensor tensor_or_none(const Value* value) {
  const Datum* constant = constant_of(*value);
  return constant->is_tensor() ? constant->tensor() : Tensor();
}

// Layers whose output channels are the first dimension of their weight.
bool is_layer(const Node& node) {
  constexpr std::array names{"conv1d", "conv2d", "conv3d", "linear"};
  for (const char* name : names) {
    if (is_op(node, name)) return true;
  }
  return false;
}

// A question about the sizes of a tensor, such as modules ask to check their input: the answer does
// not depend on what the tensor holds.
bool asks_for_sizes(const Node* user) {
  constexpr std::array names{"dim", "size", "size.int", "numel", "len.Tensor"};
  for (const char* name : names) {
    if (user && is_builtin(*user, name)) return true;
  }
  return false;
}

class Folding {
 public:
  Folding(Graph& graph, const Aliases& aliases, Node& norm)
      : graph_(graph), aliases_(aliases), norm_(norm) {}

  bool run() {
    if (!is_fixed() || !find_layer()) return false;
    const Folded folded = fold();
    Value& weight = constant(folded.weight);
    Value& bias = constant(folded.bias);
    std::vector<Value*> inputs = layer_->inputs;
    inputs[1] = &weight;
    inputs[2] = &bias;
    Value& result = call_before(graph_, *layer_, layer_->op->sig.name, inputs, norm_.output().type);
    replace_node(graph_, norm_, {&result});
    replace_node(graph_, *layer_, {&result});
    return true;
  }

 private:
  const Value* of_norm(std::string_view name) const { return argument(norm_, name); }

  bool is_fixed() const {
    if (!is_op(norm_, "batch_norm") || !is_off(of_norm("training"))) return false;
    if (!constant_of(*of_norm("eps"))) return false;
    for (const char* name : {"running_mean", "running_var"}) {
      if (!is_constant_tensor(*of_norm(name))) return false;
    }
    for (const char* name : {"weight", "bias"}) {
      if (!constant_of(*of_norm(name))) return false;
    }
    return !norm_.has_side_effects() && !writes_constants(norm_);
  }

  // What it computes may well be written: it is new either way.
  bool writes_constants(const Node& node) const {
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Value& input = *node.inputs[i];
      if (is_mutable(*input.type) && aliases_.is_written(input)) return true;
    }
    return false;
  }

  bool find_layer() {
    Node* node = norm_.input(0).node;
    if (!node || !is_layer(*node) || node->block != norm_.block) return false;
    if (!is_only_normed(node->output()) || aliases_.is_written(node->output())) return false;
    if (node->has_side_effects() || writes_constants(*node)) return false;
    if (!is_constant_tensor(node->input(1)) || !constant_of(node->input(2))) return false;
    // A linear layer's channels are its last dimension, a batch norm's the second.
    if (is_op(*node, "linear") &&
        !(node->output().type->sizes && node->output().type->sizes->size() == 2)) {
      return false;
    }
    layer_ = node;
    return true;
  }

  bool is_only_normed(const Value& value) const {
    for (const Node* user : value.uses) {
      if (user != &norm_ && !asks_for_sizes(user)) return false;
    }
    return true;
  }

  Folded fold() const {
    const GradMode no_grad(false);
    const Tensor weight = tensor_or_none(&layer_->input(1)),
                 bias = tensor_or_none(&layer_->input(2));
    const Tensor mean = tensor_or_none(of_norm("running_mean"));
    const Tensor gain = tensor_or_none(of_norm("weight")), shift = tensor_or_none(of_norm("bias"));
    const double eps = constant_of(*of_norm("eps"))->scalar().real();
    Tensor scale = ops::rsqrt(ops::add(tensor_or_none(of_norm("running_var")), Scalar(eps)));
    if (gain.defined()) scale = ops::mul(scale, gain);
    Tensor moved = bias.defined() ? ops::sub(bias, mean) : ops::neg(mean);
    moved = ops::mul(moved, scale);
    if (shift.defined()) moved = ops::add(moved, shift);
    Dims shape(static_cast<size_t>(weight.ndim()), 1);
    shape[0] = scale.numel();
    return {ops::to(ops::mul(weight, ops::view(scale, shape)), weight.dtype()),
            ops::to(moved, weight.dtype())};
  }

  Value& constant(const Tensor& tensor) {
    const std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
    return graph_.constant(*layer_, Datum(tensor), tensor_of(tensor.dtype(), sizes));
  }

  Graph& graph_;
  const Aliases& aliases_;
  Node& norm_;
  Node* layer_ = nullptr;
};

}  // namespace

bool conv_batch_norm(Graph& graph) {
  const Aliases aliases(graph);
  bool changed = false;
  for_each_node(graph.top(), [&](Node& node) {
    if (is_op(node, "batch_norm")) changed |= Folding(graph, aliases, node).run();
  });
  return changed;
}

}  // namespace wisp::graph
