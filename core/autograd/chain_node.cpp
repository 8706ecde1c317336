#include "autograd/chain_node.h"

#include "autograd/chain_rules.h"
#include "autograd/engine.h"
#include "autograd/record.h"
#include "autograd/saved_hooks.h"
#include "ops/ops.h"

namespace wisp::autograd {

using ops::Chain;

ChainNode::ChainNode(std::shared_ptr<const ChainRecording> recording, const Plan& plan,
                     std::span<TensorImpl* const> inputs, const Tensor* made,
                     std::span<const Ref<ChainNode>> earlier)
    : Node(static_cast<uint32_t>(recording->parts[earlier.size()].slot_count)),
      recording_(std::move(recording)),
      plan_(plan),
      number_(earlier.size()),
      earlier_(earlier.begin(), earlier.end()) {
  own_edges_.reserve(part().uses.size());
  for (const ChainPart::Use& use : part().uses) own_edges_.push_back(edge_to(use.value, inputs));
  edges_ = own_edges_.data();
  edge_count_ = static_cast<uint32_t>(own_edges_.size());
  save(inputs, made);
  finish();
}

std::string ChainNode::name() const { return recording_->calls[part().calls.back()].op->node_name; }

Edge ChainNode::edge_to(int value, std::span<TensorImpl* const> inputs) const {
  if (value < recording_->inputs) return grad_edge(Tensor::share(inputs[value]));
  const ChainRecording::Value& known = recording_->values[value];
  Edge edge;
  edge.node = NodeRef(earlier_[known.part].get());
  edge.output = static_cast<uint32_t>(known.slot);
  edge.dtype = plan_.inputs[0].dtype;
  return edge;
}

// Results are saved without history: that would be this node.
void ChainNode::save(std::span<TensorImpl* const> inputs, const Tensor* made) {
  saved_.reserve(part().kept.size());
  for (const int value : part().kept) {
    const Plan::Value& shape = plan_.values[value];
    const bool given = shape.owner < recording_->inputs, piece = shape.owner != value;
    const Tensor owner =
        given ? Tensor::share(inputs[shape.owner]) : made[recording_->values[shape.owner].made_at];
    owner->storage().watch();
    Tensor kept = given && !piece ? owner : owner.alias();
    if (piece) {
      kept = owner.alias(shape.sizes, shape.strides, owner->offset() + shape.offset);
    }
    saved_.push_back({std::move(kept), owner->version()});
  }
}

void ChainNode::check_saved() const {
  if (released_ && !part().kept.empty()) fail_released(*this);
  for (const Saved& saved : saved_) check_version(*saved.tensor.impl(), saved.version, *this);
}

void ChainNode::release_saved() {
  released_ = true;
  saved_.clear();
}

Tensor ChainNode::kept(int at) {
  const int value = part().kept[at];
  const ChainRecording::Value& known = recording_->values[value];
  const Tensor& saved = saved_[at].tensor;
  if (!mode.grad || value < recording_->inputs || !known.active) return saved;
  Tensor with_history = saved.alias();
  const auto part = static_cast<size_t>(known.part);
  set_history(with_history, part == number_ ? this : earlier_[part].get(),
              static_cast<uint32_t>(known.slot));
  return with_history;
}

Tensor ChainNode::fit(Tensor grad, const ChainPart::Use& use) const {
  const Dims& sizes = plan_.values[use.value].sizes;
  if (!grad.defined() || same(grad.sizes(), sizes)) return grad;
  return ops::sum_to_size(grad, sizes);
}

void ChainNode::apply(TensorList& grads, TensorList& results) {
  check_saved();
  const bool plain = !rules_are_differentiated() && !mode.deferrer && !backward_is_partial;
  if (!plain) return run_chain_rules(*this, grads, results);
  uint64_t defined = 0;
  for (size_t i = 0; i < grads.size(); ++i) defined |= uint64_t(grads[i].defined()) << i;
  const int number = static_cast<int>(number_);
  if (const ChainGradient* known = recording_->gradient(number, plan_, defined)) {
    if (!run_known(*known, grads, results)) run_chain_rules(*this, grads, results);
  } else if (recording_->learns_more()) {
    recording_->learn(number, plan_, defined, learn_chain_rules(*this, grads, results));
  } else {
    run_chain_rules(*this, grads, results);
  }
}

bool ChainNode::run_known(const ChainGradient& known, TensorList& grads, TensorList& results) {
  if (!known.possible) return false;
  using Source = ChainGradient::Source;
  Tensor made[Chain::max_outputs];
  const auto given = [&](const Source& from) -> const Tensor& {
    return from.kind == Source::grad ? grads[from.index] : saved_[from.index].tensor;
  };
  if (known.chain) {
    TensorImpl* inputs[Chain::max_inputs];
    for (size_t i = 0; i < known.inputs.size(); ++i) inputs[i] = given(known.inputs[i]).impl();
    if (!known.chain->run_unrecorded({inputs, known.inputs.size()}, made)) return false;
  }
  for (size_t e = 0; e < known.edges.size(); ++e) {
    const Source& from = known.edges[e];
    if (from.kind == Source::nothing) continue;
    const Tensor& grad = from.kind == Source::made ? made[from.index] : given(from);
    results[e] = fit(grad, part().uses[e]);
  }
  return true;
}

namespace {

bool record_chain(const Chain& chain, std::span<TensorImpl* const> inputs, Tensor* outs) {
  if (anomaly.enabled || mode.transforms > 0 || saved_hooks) return false;
  uint32_t wanted = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->is_inference()) return false;
    wanted |= uint32_t(inputs[i]->requires_grad()) << i;
  }
  const std::shared_ptr<const ChainRecording> recording = recording_of(chain, wanted);
  if (!recording || !recording->possible) return false;
  Tensor made[Chain::max_outputs];
  const Chain::Plan* plan = recording->forward->run_unrecorded(inputs, made);
  if (!plan) return false;
  std::vector<Ref<ChainNode>> nodes;
  while (nodes.size() < recording->parts.size()) {
    nodes.push_back(Ref<ChainNode>::adopt(new ChainNode(recording, *plan, inputs, made, nodes)));
  }
  for (size_t i = 0; i < recording->outputs.size(); ++i) {
    const ChainRecording::Value& value = recording->values[recording->outputs[i]];
    outs[i] = std::move(made[i]);
    if (!value.active) continue;
    set_history(outs[i], nodes[value.part].get(), static_cast<uint32_t>(value.slot));
  }
  return true;
}

}  // namespace

void install_chains() { ops::record_chain = record_chain; }

}  // namespace wisp::autograd
