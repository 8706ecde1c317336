// What recording a chain of small pointwise calls (ops/chain.h) for backward comes to.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/call.h"
#include "ops/chain_plan.h"

namespace wisp::autograd {

// Backward of a part, where it is a chain itself.
struct ChainGradient {
  struct Source {
    enum Kind : uint8_t { nothing, grad, kept, made } kind = nothing;
    int index = 0;  // of a gradient that comes in, of ChainPart::kept, of the chain's outputs
  };
  bool possible = false;
  std::unique_ptr<ops::Chain> chain;    // null if all gradients pass through
  std::vector<Source> inputs;           // of the chain
  std::vector<ops::ChainShape> shapes;  // of those that were kept
  std::vector<Source> edges;            // what goes along each
};

// Calls of a chain that become one node.
struct ChainPart {
  // A value from outside that a call reads; its gradient is rule `rule` of the call.
  struct Use {
    int value, call, rule;
  };
  std::vector<int> calls;
  std::vector<Use> uses;     // the node's edges, in the order in which single nodes would deliver
  std::vector<int> kept;     // values that the rules read
  std::vector<int> kept_at;  // of each value of the chain: its place in `kept`, or -1
  // Inputs and outputs in whose memory these lie; of each of `kept`, which of them, or -1: in that
  // of hidden values.
  std::vector<int> held, held_at;
  int slot_count = 0;  // outputs of the node
};

// Which values a chain keeps and where gradients go, given which of its inputs want some.
//
// Each result that others see ends a part: its node has the name of the call that made it, and its
// gradient is known when the calls after it have been gone back through. (Somebody may ask for it,
// or change it in a hook.)
class ChainRecording {
 public:
  using Plan = ops::Chain::Plan;
  static constexpr size_t max_parts = ops::Chain::max_outputs;
  ChainRecording(const ops::Chain& chain, uint32_t wanted);

  const uint32_t wanted;  // bit per input
  bool possible = true;   // else the calls are recorded one by one
  const int inputs;
  const std::vector<int> outputs;
  const std::vector<ops::ChainCall> calls;
  std::vector<int> first_results;  // of each call
  std::vector<ChainPart> parts;
  struct Value {
    bool active = false;  // its gradient is wanted
    int part = -1;        // that computes it; -1 for inputs
    int slot = -1;        // which output of that part's node it is
    int made_at = -1;     // which output of `forward` it is
  };
  std::vector<Value> values;
  std::unique_ptr<ops::Chain> forward;  // the chain; what else is kept is hidden among its outputs

  // The value that a rule of a call differentiates by, or -1.
  static int operand_of(const ops::ChainCall& call, const Vjp& rule);
  // What is known of backward for these shapes and gradients; null if nothing is.
  const ChainGradient* gradient(int part, const Plan& plan, uint64_t defined) const;
  bool learns_more() const;
  void learn(int part, const Plan& plan, uint64_t defined, ChainGradient made) const;

 private:
  bool is_output(int value) const;
  template <class F>
  void for_active_operands(int call, F f) const;
  void find_active();
  void find_parts();
  void find_kept(int call);
  void find_uses();
  void number_slots();
  void make_forward();
  void find_held(const std::vector<int>& owner);

  struct Learned {
    int part;
    const Plan* plan;
    uint64_t defined;
    ChainGradient gradient;
  };
  mutable std::mutex learning_;
  mutable std::vector<std::unique_ptr<Learned>> learned_;
};

// The recording of a chain for inputs of which these want gradients, made when first needed; null
// if there are too many.
std::shared_ptr<const ChainRecording> recording_of(const ops::Chain& chain, uint32_t wanted);

}  // namespace wisp::autograd
