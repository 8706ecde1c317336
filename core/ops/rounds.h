// Rounds of a loop whose body is a chain, done together: what goes from one round to the next never
// becomes a tensor, and where the rows of a batch have nothing to do with one another each thread
// takes some of them through all rounds.
#pragma once

#include "ops/chain.h"

namespace wisp::ops {

// An input of the chain: the same in every round (neither of these), the output of this number of
// the round before, or a tensor of each round's own.
struct RoundInput {
  int carried = -1;
  bool varies = false;
};

class Rounds {
 public:
  static constexpr int64_t most_elements = 1 << 16;  // of a tensor

  // `listed`: of which outputs every round's is wanted, not only the last.
  Rounds(std::unique_ptr<Chain> chain, std::vector<RoundInput> inputs, std::vector<bool> listed);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  const Chain& chain() const { return *chain_; }
  const std::vector<RoundInput>& inputs() const { return inputs_; }
  const std::vector<bool>& listed() const { return listed_; }

  struct Given {
    std::span<TensorImpl* const> inputs;  // of the first round
    // Of inputs that vary, in their order: where their elements lie, one address per round.
    std::span<const std::vector<char*>> addresses;
    int64_t count;  // of rounds, at most
  };
  // Makes some rounds and returns how many, with the last of each output, and of those that are
  // listed all. None if the rounds have to be made one by one.
  int64_t run(const Given& given, Tensor* last, std::vector<Tensor>* all) const;
  struct Plan;

 private:
  const Plan* plan_for(std::span<TensorImpl* const> inputs) const;

  std::unique_ptr<Chain> chain_;
  std::vector<RoundInput> inputs_;
  std::vector<bool> listed_;
  mutable std::mutex adding_;
  mutable std::vector<std::unique_ptr<Plan>> plans_;
};

}  // namespace wisp::ops
