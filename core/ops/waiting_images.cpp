#include "ops/waiting_images.h"

#include "cpu/onednn.h"

namespace wisp::ops {

namespace {

// Of a convolution: that oneDNN would do it, and that it is worth the writing down.
bool convolution_waits(const Infer& infer) {
  const auto waits = [](const Tensor& t) { return can_wait(t) && !differentiated(t); };
  const Tensor &x = infer.tensor(0), &weight = infer.tensor(1);
  if (infer.boolean(6) || !waits(x) || !waits(weight)) return false;
  if (infer.has(2) && !waits(infer.tensor(2))) return false;
  if (!infer.out().strides.empty() || x.ndim() < 4 || !cpu::onednn::enabled()) return false;
  constexpr int64_t least_work = 150'000;  // oneDNN's own limit
  const int64_t elements = count_elements(infer.out().sizes);
  return elements > least_result && elements * (weight.numel() / weight->size(0)) >= least_work;
}

bool norm_waits(const Infer& infer) {
  const Tensor& x = infer.tensor(0);
  return can_wait(x) && x.is_contiguous() && x.numel() > least_result;
}

}  // namespace

bool WaitingImages::begins_with(const OpDef& op) {
  return &op == &op_def<"convolution">() || &op == &op_def<"_batch_norm">();
}

bool WaitingImages::can_begin(const Infer& infer) {
  if (!begins_with(infer.op())) return false;
  return &infer.op() == &op_def<"convolution">() ? convolution_waits(infer) : norm_waits(infer);
}

WaitingImages::WaitingImages(const Call& call) {
  parts_.reads[input] = call.tensor(0).alias();
  if (&call.op() == &op_def<"_batch_norm">()) {
    affine_ = normalisation_of(call);
    add_result(normalised, call.out());
    return;
  }
  steps_ = steps_of(call, call.out().ndim() - 2);
  groups_ = call.integer(8);
  parts_.reads[weight] = call.tensor(1).alias();
  if (call.has(2)) parts_.reads[bias] = call.tensor(2).alias();
  add_result(convolved, call.out());
}

bool WaitingImages::can_join(const Infer& infer, std::span<const Tensor> targets) const {
  if (!targets.empty() && !is_newest(targets[0])) return false;
  if (&infer.op() == &op_def<"_batch_norm">()) return can_join_norm(infer);
  if (&infer.op() == &op_def<"add">()) return can_join_sum(infer);
  return &infer.op() == &op_def<"relu">() && last_ < rectified && is_newest(infer, 0);
}

// With given statistics.
bool WaitingImages::can_join_norm(const Infer& infer) const {
  if (infer.boolean(5) || last_ >= normalised || !is_newest(infer, 0)) return false;
  for (int i = 1; i <= 4; ++i) {
    if (infer.has(i) && (differentiated(infer.tensor(i)) || infer.tensor(i)->is_meta()))
      return false;
  }
  return true;
}

bool WaitingImages::can_join_sum(const Infer& infer) const {
  if (last_ >= added || !infer.scalar(2).equals(1)) return false;
  const int newest = is_newest(infer, 0) ? 0 : 1;
  return is_newest(infer, newest) && is_alike(infer[1 - newest]);
}

void WaitingImages::join(const Call& call, std::mutex& looking) {
  const bool normalises = &call.op() == &op_def<"_batch_norm">();
  if (normalises) affine_ = normalisation_of(call);
  const std::lock_guard lock(looking);
  if (normalises) {
    add_result(normalised, call.out());
  } else if (&call.op() == &op_def<"add">()) {
    parts_.reads[other] = call.tensor(is_newest(call.tensor(0)) ? 1 : 0).alias();
    add_result(added, call.out());
  } else {
    add_result(rectified, call.out());
  }
}

void WaitingImages::run() {
  if (any_held_before_last()) return run_steps();
  if (!convolves()) return run_norm_in_one();
  if (last_ == convolved || !run_convolution_in_one()) run_steps();
}

bool WaitingImages::run_convolution_in_one() {
  const auto& reads = parts_.reads;
  const Arg args[] = {reads[input],  reads[weight],         reads[bias],
                      steps_.stride, steps_.padding,        steps_.dilation,
                      false,         steps_.output_padding, groups_};
  Tensor out = Tensor::empty(parts_.results[last_].sizes(), DType::float32);
  const Call call(op_def<"convolution">(), args, &out, DType::float32);
  ConvTail tail;
  tail.scale = affine_.scale;
  tail.shift = affine_.shift;
  tail.other = reads[other];
  tail.relu = last_ == rectified;
  if (!convolve_with_tail(call, tail)) return false;
  keep(last_, std::move(out));
  return true;
}

void WaitingImages::run_norm_in_one() {
  const Tensor& x = parts_.reads[input];
  Tensor out = Tensor::empty(x.sizes(), DType::float32);
  run_affine(x, affine_, parts_.reads[other], last_ == rectified, out);
  keep(last_, std::move(out));
}

void WaitingImages::run_steps() {
  const auto& reads = parts_.reads;
  Tensor now = reads[input];
  if (convolves()) {
    now = keep(convolved, invoke<"convolution">(reads[input], reads[weight], reads[bias],
                                                steps_.stride, steps_.padding, steps_.dilation,
                                                false, steps_.output_padding, groups_));
  }
  if (affine_.scale.defined()) {
    Tensor next = Tensor::empty(now.sizes(), DType::float32);
    run_affine(now, affine_, Tensor(), false, next);
    now = keep(normalised, std::move(next));
  }
  if (reads[other].defined()) now = keep(added, invoke<"add">(now, reads[other]));
  if (last_ == rectified) keep(rectified, invoke<"relu">(now));
}

}  // namespace wisp::ops
