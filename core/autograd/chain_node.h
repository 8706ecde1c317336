// The node of small pointwise calls that ran as one (ops/chain.h). Backward is one step too: the
// rules of the calls are run once, and what they call is written down as another chain.
#pragma once

#include "autograd/chain_recording.h"
#include "autograd/node.h"

namespace wisp::autograd {

class ChainNode final : public Node {
 public:
  using Plan = ops::Chain::Plan;
  // What recording->forward was given, and what it made.
  struct Run {
    const std::shared_ptr<const ChainRecording>& recording;
    const Plan& plan;
    std::span<TensorImpl* const> inputs;
    const Tensor* made;
    const Ref<Storage>& hidden;
  };
  // `before` is the node of the part before this one.
  static Ref<ChainNode> make(const Run& run, size_t part, Ref<ChainNode> before);
  // That of the last call: what single calls would show for most chains.
  std::string name() const override;
  void apply(TensorList& grads, TensorList& results) override;
  void release_saved() override;

  const ChainRecording& recording() const { return *recording_; }
  const ChainPart& part() const { return recording_->parts[number_]; }
  const Plan& plan() const { return plan_; }
  // What was kept, by its place in part().kept; if the derivative is itself differentiated, with
  // the history that single calls would have given it.
  Tensor kept(int at);
  // What goes along an edge: summed where the value was repeated.
  Tensor fit(Tensor grad, const ChainPart::Use& use) const;

 private:
  // An input, or the memory of an output: the tensor would hold this node.
  struct Held {
    Tensor tensor;
    Ref<Storage> storage;
    uint32_t version = 0;
    uint32_t now() const { return tensor.defined() ? tensor->version() : storage->version(); }
    char* data() const { return tensor.defined() ? tensor->bytes() : storage->data(); }
  };
  ChainNode(const Run& run, size_t part, Ref<ChainNode> before);
  ~ChainNode() override;
  static size_t bytes_of(const ChainPart& part);
  void free_memory() override;
  std::span<Held> held() { return {held_, part().held.size()}; }

  ChainNode& node_of(int part);
  Edge edge_to(int value, std::span<TensorImpl* const> inputs);
  void hold(const Run& run);
  void check_saved();
  int64_t hidden_at(int value) const;
  Tensor tensor_of(int at);
  char* data_of(int at) const;
  bool needs_all_edges();
  bool run_known(const ChainGradient& known, TensorList& grads, TensorList& results);

  const std::shared_ptr<const ChainRecording> recording_;
  const Plan& plan_;  // of recording_->forward
  const size_t number_;
  const Ref<ChainNode> before_;
  Ref<Storage> hidden_;  // memory of values that nobody else sees
  Held* held_;           // behind this, and behind the edges
  bool released_ = false;
};

// Fills ops::record_chain.
void install_chains();

}  // namespace wisp::autograd
