#include "autograd/chain_node.h"

#include <algorithm>

#include "autograd/chain_rules.h"
#include "autograd/engine.h"
#include "autograd/record.h"
#include "autograd/saved_hooks.h"
#include "ops/ops.h"

namespace wisp::autograd {

using ops::Chain;

// A block of memory: the node, its edges and what it holds.
size_t ChainNode::bytes_of(const ChainPart& part) {
  return sizeof(ChainNode) + part.uses.size() * sizeof(Edge) + part.held.size() * sizeof(Held);
}

Ref<ChainNode> ChainNode::make(const Run& run, size_t part, Ref<ChainNode> before) {
  const size_t bytes = bytes_of(run.recording->parts[part]);
  return Ref<ChainNode>::adopt(new (memory::allocate(bytes))
                                   ChainNode(run, part, std::move(before)));
}

ChainNode::ChainNode(const Run& run, size_t part_number, Ref<ChainNode> before)
    : Node(static_cast<uint32_t>(run.recording->parts[part_number].slot_count)),
      recording_(run.recording),
      plan_(run.plan),
      number_(part_number),
      before_(std::move(before)),
      hidden_(run.hidden) {
  edges_ = reinterpret_cast<Edge*>(this + 1);
  edge_count_ = static_cast<uint32_t>(part().uses.size());
  for (size_t e = 0; e < edge_count_; ++e)
    new (&edges_[e]) Edge(edge_to(part().uses[e].value, run.inputs));
  held_ = reinterpret_cast<Held*>(edges_ + edge_count_);
  hold(run);
  finish();
}

ChainNode::~ChainNode() {
  for (Held& one : held()) one.~Held();
  for (Edge& edge : edges()) edge.~Edge();
}

void ChainNode::free_memory() {
  const size_t bytes = bytes_of(part());
  this->~ChainNode();
  memory::deallocate(this, bytes);
}

std::string ChainNode::name() const { return recording_->calls[part().calls.back()].op->node_name; }

ChainNode& ChainNode::node_of(int part) {
  ChainNode* node = this;
  while (node->number_ != static_cast<size_t>(part)) node = node->before_.get();
  return *node;
}

Edge ChainNode::edge_to(int value, std::span<TensorImpl* const> inputs) {
  if (value < recording_->inputs) return grad_edge(Tensor::share(inputs[value]));
  const ChainRecording::Value& known = recording_->values[value];
  Edge edge;
  edge.node = NodeRef(&node_of(known.part));
  edge.output = static_cast<uint32_t>(known.slot);
  edge.dtype = plan_.values[value].dtype;
  return edge;
}

void ChainNode::hold(const Run& run) {
  for (size_t i = 0; i < part().held.size(); ++i) {
    const int value = part().held[i];
    Held& one = *new (&held_[i]) Held;
    if (value < recording_->inputs) {
      one.tensor = Tensor::share(run.inputs[value]);
      one.tensor->storage().watch();
    } else {
      one.storage = run.made[recording_->values[value].made_at]->storage_ref();
      one.storage->watch();
    }
    one.version = one.now();
  }
}

void ChainNode::check_saved() {
  if (released_ && !part().kept.empty()) fail_released(*this);
  for (const Held& one : held()) {
    if (WISP_LIKELY(one.now() == one.version)) continue;
    for (size_t at = 0; at < part().kept.size(); ++at) {
      const int from = part().held_at[at];
      if (from >= 0 && &held_[from] == &one)
        check_version(*tensor_of(static_cast<int>(at)).impl(), one.version, *this);
    }
  }
}

void ChainNode::release_saved() {
  released_ = true;
  hidden_.reset();
  for (Held& one : held()) one = Held();
}

// Where a hidden value begins, in bytes.
int64_t ChainNode::hidden_at(int value) const {
  const auto visible = recording_->outputs.size();
  return plan_.hidden[static_cast<size_t>(recording_->values[value].made_at) - visible];
}

char* ChainNode::data_of(int at) const {
  const Plan::Value& shape = plan_.values[part().kept[at]];
  const int from = part().held_at[at];
  char* const owner = from >= 0 ? held_[from].data() : hidden_->data() + hidden_at(shape.owner);
  return owner + shape.offset * static_cast<int64_t>(item_size(shape.dtype));
}

// Results come without history: that would be this node.
Tensor ChainNode::tensor_of(int at) {
  const int value = part().kept[at], from = part().held_at[at];
  const Plan::Value& shape = plan_.values[value];
  if (from >= 0 && held_[from].tensor.defined()) {
    const Tensor& owner = held_[from].tensor;
    if (shape.owner == value) return owner;
    return owner.alias(shape.sizes, shape.strides, owner->offset() + shape.offset);
  }
  const auto item = static_cast<int64_t>(item_size(shape.dtype));
  const int64_t start = from >= 0 ? 0 : hidden_at(shape.owner) / item;
  return Tensor::adopt(TensorImpl::make(from >= 0 ? held_[from].storage : hidden_, shape.dtype,
                                        shape.sizes, shape.strides, start + shape.offset));
}

Tensor ChainNode::kept(int at) {
  const int value = part().kept[at];
  const ChainRecording::Value& known = recording_->values[value];
  Tensor saved = tensor_of(at);
  if (!mode.grad || value < recording_->inputs || !known.active) return saved;
  Tensor with_history = saved.alias();
  set_history(with_history, &node_of(known.part), static_cast<uint32_t>(known.slot));
  return with_history;
}

Tensor ChainNode::fit(Tensor grad, const ChainPart::Use& use) const {
  const Dims& sizes = plan_.values[use.value].sizes;
  if (!grad.defined() || same(grad.sizes(), sizes)) return grad;
  return ops::sum_to_size(grad, sizes);
}

void ChainNode::apply(TensorList& grads, TensorList& results) {
  check_saved();
  if (rules_are_differentiated() || mode.deferrer) return run_chain_rules(*this, grads, results);
  uint64_t defined = 0;
  for (size_t i = 0; i < grads.size(); ++i) defined |= uint64_t(grads[i].defined()) << i;
  const int number = static_cast<int>(number_);
  if (const ChainGradient* known = recording_->gradient(number, plan_, defined)) {
    if (!run_known(*known, grads, results)) run_chain_rules(*this, grads, results);
  } else if (recording_->learns_more() && needs_all_edges()) {
    recording_->learn(number, plan_, defined, learn_chain_rules(*this, grads, results));
  } else {
    run_chain_rules(*this, grads, results);
  }
}

bool ChainNode::needs_all_edges() {
  return !backward_is_partial || std::all_of(edges().begin(), edges().end(),
                                             [](const Edge& edge) { return edge_is_needed(edge); });
}

bool ChainNode::run_known(const ChainGradient& known, TensorList& grads, TensorList& results) {
  if (!known.possible) return false;
  using Source = ChainGradient::Source;
  Tensor made[Chain::max_outputs];
  if (known.chain) {
    ops::ChainInput inputs[Chain::max_inputs];
    for (size_t i = 0; i < known.inputs.size(); ++i) {
      const Source& from = known.inputs[i];
      if (from.kind == Source::grad) {
        inputs[i].tensor = grads[from.index].impl();
      } else {
        inputs[i] = {nullptr, data_of(from.index), &known.shapes[i]};
      }
    }
    if (!known.chain->run_unrecorded({inputs, known.inputs.size()}, made)) return false;
  }
  for (size_t e = 0; e < known.edges.size(); ++e) {
    const Source& from = known.edges[e];
    if (from.kind == Source::nothing) continue;
    if (backward_is_partial && !edge_is_needed(edge(e))) continue;
    Tensor grad = from.kind == Source::made   ? made[from.index]
                  : from.kind == Source::grad ? grads[from.index]
                                              : tensor_of(from.index);
    results[e] = fit(std::move(grad), part().uses[e]);
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
  ops::ChainInput given[Chain::max_inputs];
  for (size_t i = 0; i < inputs.size(); ++i) given[i].tensor = inputs[i];
  Tensor made[Chain::max_outputs];
  Ref<Storage> hidden;
  const Chain::Plan* plan =
      recording->forward->run_unrecorded({given, inputs.size()}, made, &hidden);
  if (!plan) return false;
  const ChainNode::Run run{recording, *plan, inputs, made, hidden};
  Ref<ChainNode> nodes[ChainRecording::max_parts];
  for (size_t part = 0; part < recording->parts.size(); ++part)
    nodes[part] = ChainNode::make(run, part, part > 0 ? nodes[part - 1] : nullptr);
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
