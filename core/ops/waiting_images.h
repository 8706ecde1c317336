// Images on their way forward: a convolution, batch norm, a sum, relu.
#pragma once

#include "ops/batch_norm.h"
#include "ops/conv.h"
#include "ops/waiting.h"

namespace wisp::ops {

// It begins with a convolution whose result nobody differentiates (a batch norm would save it), or
// with a batch norm, which saves its input only: a sum saves nothing, and relu its own result.
class WaitingImages final : public Waiting {
 public:
  static bool begins_with(const OpDef& op);
  static bool can_begin(const Infer& infer);
  explicit WaitingImages(const Call& call);
  bool can_join(const Infer& infer, std::span<const Tensor> targets) const override;
  void join(const Call& call, std::mutex& looking) override;
  void run() override;

 private:
  enum Read { input, weight, bias, other };
  enum Step { convolved, normalised, added, rectified };
  bool can_join_norm(const Infer& infer) const;
  bool can_join_sum(const Infer& infer) const;
  bool convolves() const { return parts_.reads[weight].defined(); }
  bool run_convolution_in_one();
  void run_norm_in_one();
  void run_steps();

  Steps steps_;
  int64_t groups_ = 1;
  ChannelAffine affine_;
};

}  // namespace wisp::ops
