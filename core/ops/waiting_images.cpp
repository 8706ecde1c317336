#include "ops/waiting_images.h"

#include <optional>

#include "cpu/onednn.h"
#include "ops/pool.h"

namespace wisp::ops {

namespace {

// Of a convolution: that oneDNN would do it, and that it is worth the writing down.
bool convolution_waits(const Infer& infer) {
  const auto waits = [](const Tensor& t) { return can_wait(t) && !differentiated(t); };
  const Tensor &x = infer.tensor(0), &weight = infer.tensor(1);
  if (infer.boolean(6) || !waits(x) || !waits(weight)) return false;
  if (infer.has(2) && !waits(infer.tensor(2))) return false;
  if (x.ndim() < 4 || !cpu::onednn::enabled() || convolution_stays_last(x, weight)) return false;
  constexpr int64_t least_work = 150'000;  // oneDNN's own limit
  const int64_t elements = count_elements(infer.out().sizes);
  return elements > least_result && elements * (weight.numel() / weight->size(0)) >= least_work;
}

// Rows of channels in training only: what waits holds its input, which nobody else does otherwise,
// and where nothing joins it (most activations) that is one image more in the caches.
bool norm_waits(const Infer& infer) {
  const Tensor& x = infer.tensor(0);
  const bool rows = !x.is_contiguous() && !x->storage().is_arranged();
  return can_wait(x) && is_dense_image(*x.impl()) && x.numel() > least_result &&
         (infer.boolean(5) || !rows);
}

// The windows of _max_pool2d, if they do not overlap and lie inside of the image.
std::optional<ConvTail> windows_of(const Args& args) {
  const Geometry g = geometry(args, args.tensor(0).sizes().last(2), 4, 5);
  ConvTail windows;
  for (size_t i = 0; i < 2; ++i) {
    if (g.kernel[i] > g.stride[i] || g.padding[i] != 0 || g.dilation[i] != 1) return std::nullopt;
    windows.window[i] = g.kernel[i];
    windows.step[i] = g.stride[i];
  }
  return args.boolean(5) ? std::nullopt : std::optional(windows);
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
  if (&infer.op() == &op_def<"_max_pool2d">()) return targets.empty() && can_join_pool(infer);
  return &infer.op() == &op_def<"relu">() && last_ < relu_step() && is_newest(infer, 0);
}

// With given statistics.
bool WaitingImages::can_join_norm(const Infer& infer) const {
  if (infer.boolean(5) || last_ >= normalised || !is_newest(infer, 0)) return false;
  for (int i = 0; i <= 4; ++i) {
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

// If there is a kernel that takes the largest of windows along with a convolution.
bool WaitingImages::can_join_pool(const Infer& infer) const {
  if (!convolves() || pools() || !is_newest(infer, 0) || differentiated(infer.tensor(0)))
    return false;
  const std::optional<ConvTail> windows = windows_of(infer);
  if (!windows) return false;
  ConvTail tail = tail_until(last_);
  tail.window = windows->window;
  tail.step = windows->step;
  Tensor image = parts_.results[last_];
  return with_convolution(image, [&](const Call& call) { return suits_rows(call, tail); });
}

bool WaitingImages::join(const Call& call, std::mutex& looking) {
  const bool normalises = &call.op() == &op_def<"_batch_norm">();
  ChannelAffine affine = normalises ? normalisation_of(call) : ChannelAffine();
  if (!affine.moderate) return false;
  const std::lock_guard lock(looking);
  if (normalises) {
    affine_ = std::move(affine);
    add_result(normalised, call.out());
  } else if (&call.op() == &op_def<"add">()) {
    parts_.reads[other] = call.tensor(is_newest(call.tensor(0)) ? 1 : 0).alias();
    add_result(added, call.out());
  } else if (&call.op() == &op_def<"_max_pool2d">()) {
    before_pool_ = last_;
    windows_ = *windows_of(call);
    add_result(pooled, call.out());
  } else {
    add_result(relu_step(), call.out());
  }
  return true;
}

void WaitingImages::run(bool plain) {
  plain_ = plain;
  if (!run_in_one(last_)) run_steps();
}

// What has joined it, up to a step.
ConvTail WaitingImages::tail_until(int last) const {
  ConvTail tail;
  tail.scale = affine_.scale;
  tail.shift = affine_.shift;
  tail.other = parts_.reads[other];
  tail.relu =
      last == rectified || last == rectified_later || (last == pooled && before_pool_ == rectified);
  tail.plain = plain_;
  if (last < pooled) return tail;
  tail.window = windows_.window;
  tail.step = windows_.step;
  return tail;
}

// Calls f with the convolution, whose result is `out`.
template <class F>
bool WaitingImages::with_convolution(Tensor& out, F f) const {
  const auto& reads = parts_.reads;
  const Arg args[] = {reads[input],  reads[weight],         reads[bias],
                      steps_.stride, steps_.padding,        steps_.dilation,
                      false,         steps_.output_padding, groups_};
  return f(Call(op_def<"convolution">(), args, &out, DType::float32));
}

// All steps up to one, if nobody wants those before it.
bool WaitingImages::run_in_one(int last) {
  const auto& results = parts_.results;
  if (std::any_of(results, results + last, is_held)) return false;
  if (convolves()) return last != convolved && run_convolution_in_one(last);
  keep(last, run_norm_in_one(last));
  return true;
}

bool WaitingImages::run_convolution_in_one(int last) {
  const auto& results = parts_.results;
  const ConvTail tail = tail_until(last);
  Tensor made = tail.has_pool() ? results[before_pool_] : new_image_like(results[last]);
  const bool done = with_convolution(made, [&](const Call& call) {
    if (!tail.has_pool()) return convolve_with_tail(call, tail);
    made = convolve_rows(call, tail);
    return made.defined();
  });
  if (done) keep(last, std::move(made));
  return done;
}

Tensor WaitingImages::run_norm_in_one(int last) {
  const Tensor& x = parts_.reads[input];
  Tensor out = new_image_like(x);
  run_affine(x, affine_, parts_.reads[other], last == rectified, out);
  return out;
}

Tensor WaitingImages::run_image_steps() {
  const auto& reads = parts_.reads;
  Tensor now = reads[input];
  if (convolves()) {
    now = keep(convolved, invoke<"convolution">(reads[input], reads[weight], reads[bias],
                                                steps_.stride, steps_.padding, steps_.dilation,
                                                false, steps_.output_padding, groups_));
  }
  if (affine_.scale.defined()) {
    Tensor next = new_image_like(now);
    run_affine(now, affine_, Tensor(), false, next);
    now = keep(normalised, std::move(next));
  }
  if (reads[other].defined()) now = keep(added, invoke<"add">(now, reads[other]));
  const bool relu = (pools() ? before_pool_ : last_) == rectified;
  return relu ? keep(rectified, invoke<"relu">(now)) : now;
}

void WaitingImages::run_steps() {
  const bool together = pools() && run_in_one(before_pool_);
  Tensor now = together ? parts_.results[before_pool_] : run_image_steps();
  if (!pools()) return;
  static constexpr int64_t none[] = {0, 0}, one[] = {1, 1};
  now = keep(pooled, invoke<"_max_pool2d">(now, IntSpan(windows_.window), IntSpan(windows_.step),
                                           IntSpan(none), IntSpan(one), false));
  if (last_ == rectified_later) keep(rectified_later, invoke<"relu">(now));
}

}  // namespace wisp::ops
