// Gradients on their way back through relu: the sum of two, those where relu's output is positive,
// and batch norm's derivative, which makes both while it reads them.
#pragma once

#include "ops/waiting.h"

namespace wisp::ops {

class WaitingGradient final : public Waiting {
 public:
  static bool can_begin(const Infer& infer, std::span<const Tensor> targets);
  explicit WaitingGradient(const Call& call);
  bool can_join(const Infer& infer, std::span<const Tensor> targets) const override;
  bool join(const Call& call, std::mutex& looking) override;
  void run(bool plain) override;
  bool can_end_with(const Infer& infer) const override;
  void run_with(const Call& call) override;

 private:
  enum Read { grad, addend, output };
  enum Step { summed, rectified };
  bool is_sum() const { return parts_.reads[addend].defined(); }
};

}  // namespace wisp::ops
