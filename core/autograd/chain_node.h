// The node of small pointwise calls that ran as one (ops/chain.h). Backward is one step too: the
// rules of the calls are run once, and what they call is written down as another chain.
#pragma once

#include "autograd/chain_recording.h"
#include "autograd/node.h"

namespace wisp::autograd {

class ChainNode final : public Node {
 public:
  using Plan = ops::Chain::Plan;
  // `made` are the results of recording->forward, `earlier` the nodes of the parts before this one.
  ChainNode(std::shared_ptr<const ChainRecording> recording, const Plan& plan,
            std::span<TensorImpl* const> inputs, const Tensor* made,
            std::span<const Ref<ChainNode>> earlier);
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
  struct Saved {
    Tensor tensor;
    uint32_t version;
  };
  Edge edge_to(int value, std::span<TensorImpl* const> inputs) const;
  void save(std::span<TensorImpl* const> inputs, const Tensor* made);
  void check_saved() const;
  bool run_known(const ChainGradient& known, TensorList& grads, TensorList& results);

  const std::shared_ptr<const ChainRecording> recording_;
  const Plan& plan_;  // of recording_->forward
  const size_t number_;
  const std::vector<Ref<ChainNode>> earlier_;
  std::vector<Edge> own_edges_;
  std::vector<Saved> saved_;
  bool released_ = false;
};

// Fills ops::record_chain.
void install_chains();

}  // namespace wisp::autograd
