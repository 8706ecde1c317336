#include "ops/waiting_gradient.h"

#include "dispatch/awaited.h"
#include "ops/batch_norm.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

bool is_large_image(const Arg& arg) {
  return arg.is_tensor() && can_wait(arg.tensor()) && !differentiated(arg.tensor()) &&
         arg.tensor().numel() > least_result;
}

// Whether gradients are being added up in memory that nobody else knows.
bool is_sum_of_gradients(const Infer& infer, std::span<const Tensor> targets) {
  if (!AddingGradients::now() || &infer.op() != &op_def<"add">() || targets.empty()) return false;
  return targets[0].is_same(infer.tensor(0)) && targets[0]->storage().use_count() == 1 &&
         infer.scalar(2).equals(1);
}

// The contents of a private storage, which becomes a promise.
Tensor take_contents(const Tensor& from) {
  Tensor taken = Tensor::promise(from.sizes(), from.strides(), from.dtype());
  taken->storage().take_memory(from->storage());
  from->storage().set_pending(true);
  return taken;
}

}  // namespace

bool WaitingGradient::can_begin(const Infer& infer, std::span<const Tensor> targets) {
  const bool rectifies = &infer.op() == &op_def<"relu_grad">() && targets.empty();
  if (!rectifies && !is_sum_of_gradients(infer, targets)) return false;
  return is_large_image(infer[0]) && is_large_image(infer[1]) &&
         lie_alike(infer.tensor(0), infer.tensor(1));
}

WaitingGradient::WaitingGradient(const Call& call) {
  if (&call.op() == &op_def<"relu_grad">()) {
    parts_.reads[grad] = call.tensor(0).alias();
    parts_.reads[output] = call.tensor(1).alias();
    add_result(rectified, call.out());
  } else {
    parts_.reads[grad] = take_contents(call.out());
    parts_.reads[addend] = call.tensor(1).alias();
    add_result(summed, call.out());
  }
}

bool WaitingGradient::can_join(const Infer& infer, std::span<const Tensor> targets) const {
  return targets.empty() && &infer.op() == &op_def<"relu_grad">() && last_ == summed &&
         is_newest(infer, 0) && is_alike(infer[1]) && !differentiated(infer.tensor(1));
}

bool WaitingGradient::join(const Call& call, std::mutex& looking) {
  const std::lock_guard lock(looking);
  parts_.reads[output] = call.tensor(1).alias();
  add_result(rectified, call.out());
  return true;
}

// A sum that was done before something failed is not done again.
void WaitingGradient::run(bool) {
  const auto& reads = parts_.reads;
  const Tensor& sum = parts_.results[summed];
  if (is_sum() && sum->storage().is_pending()) {
    // Past call(), which would have this run before anybody writes what it reads.
    const Arg args[] = {reads[grad], reads[addend], 1};
    Tensor out = reads[grad];
    run_kernel(Call(op_def<"add">(), args, &out, DType::float32));
    keep(summed, out);
  }
  if (last_ == rectified) keep(rectified, relu_grad(is_sum() ? sum : reads[grad], reads[output]));
}

bool WaitingGradient::can_end_with(const Infer& infer) const {
  return &infer.op() == &op_def<"_batch_norm_grads">() && last_ == rectified &&
         is_newest(infer, 0) && is_alike(infer[1]) && !any_held_before_last();
}

void WaitingGradient::run_with(const Call& call) {
  const auto& reads = parts_.reads;
  keep(rectified, batch_norm_grads_through_relu(call, {reads[grad], reads[addend], reads[output]}));
}

}  // namespace wisp::ops
