// Images on their way forward: a convolution, batch norm, a sum, relu, the largest of windows.
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
  bool join(const Call& call, std::mutex& looking) override;
  void run(bool plain) override;

 private:
  enum Read { input, weight, bias, other };
  // In this order; relu before or after the largest of windows.
  enum Step { convolved, normalised, added, rectified, pooled, rectified_later };
  bool can_join_norm(const Infer& infer) const;
  bool can_join_sum(const Infer& infer) const;
  bool can_join_pool(const Infer& infer) const;
  bool convolves() const { return parts_.reads[weight].defined(); }
  int relu_step() const { return last_ < pooled ? rectified : rectified_later; }
  bool pools() const { return last_ >= pooled; }
  ConvTail tail_until(int last) const;
  template <class F>
  bool with_convolution(Tensor& out, F f) const;
  bool run_in_one(int last);
  bool run_convolution_in_one(int last);
  Tensor run_norm_in_one(int last);
  Tensor run_image_steps();
  void run_steps();

  Steps steps_;
  int64_t groups_ = 1;
  ChannelAffine affine_;
  ConvTail windows_;  // of them only the sizes
  int before_pool_ = convolved;
  bool plain_ = true;
};

}  // namespace wisp::ops
