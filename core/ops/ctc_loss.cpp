// The loss of unaligned sequences of labels.
#include "cpu/ctc_loss.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/loss.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)
//         -> (losses, log_alpha)

int64_t longest_of(IntSpan lengths) {
  int64_t longest = 0;
  for (int64_t length : lengths) longest = std::max(longest, length);
  return longest;
}

void check_lengths(const Infer& infer) {
  const Tensor &probs = infer.tensor(0), &targets = infer.tensor(1);
  const IntSpan inputs = infer.integers(2), labels = infer.integers(3);
  const auto batch = static_cast<size_t>(probs->size(1));
  WISP_CHECK(inputs.size() == batch, "input_lengths must be of size batch_size");
  WISP_CHECK(labels.size() == batch, "target_lengths must be of size batch_size");
  int64_t total = 0;
  for (size_t n = 0; n < batch; ++n) {
    WISP_CHECK(inputs[n] >= 0 && inputs[n] <= probs->size(0),
               "Expected input_lengths to have value at most ", probs->size(0), ", but got value ",
               inputs[n], " (while checking arguments for ctc_loss_cpu)");
    WISP_CHECK(labels[n] >= 0, "Expected target_lengths to have value at least 0, but got value ",
               labels[n], " (while checking arguments for ctc_loss_cpu)");
    total += labels[n];
  }
  if (targets.ndim() == 1) {
    WISP_CHECK(targets.numel() == total, "Expected tensor to have size ", total,
               " at dimension 0, but got size ", targets.numel(),
               " for argument #2 'targets' (while checking arguments for ctc_loss_cpu)");
  } else {
    WISP_CHECK(targets.ndim() == 2 && targets->size(0) == probs->size(1) &&
                   targets->size(1) >= longest_of(labels),
               "Expected tensor to have size at least ", longest_of(labels),
               " at dimension 1, but got shape ", targets.sizes(),
               " for argument #2 'targets' (while checking arguments for ctc_loss_cpu)");
  }
}

void infer_ctc_loss(Infer& infer) {
  const Tensor& probs = infer.tensor(0);
  WISP_CHECK(probs.ndim() == 3, "ctc_loss(): expected log_probs of 2 or 3 dimensions, got ",
             probs.sizes());
  if (!contains(dtypes::real_math, probs.dtype())) fail_not_implemented("ctc_loss", probs.dtype());
  const int64_t classes = probs->size(2);
  WISP_CHECK(infer.integer(4) >= 0 && infer.integer(4) < classes, "blank must be in label range");
  check_lengths(infer);
  infer.push({probs->size(1)}, probs.dtype(), probs.device());
  infer.push({probs->size(1), probs->size(0), 2 * longest_of(infer.integers(3)) + 1}, probs.dtype(),
             probs.device());
}

// The arguments of the kernels, which live as long as this.
struct Job {
  Job(const Args& args, int first)
      : log_probs(consecutive(args.tensor(first))),
        targets(consecutive(args.tensor(first + 1), DType::int64)) {
    const IntSpan lengths = args.integers(first + 3);
    const bool joined = targets.ndim() == 1;
    int64_t begin = 0;
    for (int64_t length : lengths) {
      begins.push_back(begin);
      begin += joined ? length : targets->size(1);
    }
    shape = {.dtype = log_probs.dtype(),
             .time = log_probs->size(0),
             .batch = log_probs->size(1),
             .classes = log_probs->size(2),
             .blank = args.integer(first + 4),
             .longest = longest_of(lengths),
             .input_lengths = args.integers(first + 2).data(),
             .target_lengths = lengths.data(),
             .targets = targets.data<int64_t>(),
             .target_begin = begins.data(),
             .target_step = 1,
             .log_probs = log_probs->bytes()};
    for (size_t n = 0; n < lengths.size(); ++n) {
      for (int64_t i = 0; i < lengths[n]; ++i) check_label(shape.targets[begins[n] + i]);
    }
  }
  void check_label(int64_t label) const {
    WISP_CHECK(label >= 0 && label < shape.classes,
               "ctc_loss(): expected labels below the number of classes, ", shape.classes, ", got ",
               label);
  }
  Tensor log_probs, targets;
  Dims begins;
  cpu::CtcShape shape;
};

void ctc_loss_kernel(const Call& call) {
  const Job job(call, 0);
  cpu::ctc_loss(job.shape, call.out(0)->bytes(), call.out(1)->bytes());
}

// --- _ctc_loss_grad(grad, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity,
// losses, log_alpha)

void ctc_loss_grad_kernel(const Call& call) {
  const Job job(call, 1);
  const Tensor grad = consecutive(call.tensor(0)), losses = consecutive(call.tensor(7)),
               alpha = consecutive(call.tensor(8));
  cpu::ctc_loss_grad(job.shape, grad->bytes(), losses->bytes(), alpha->bytes(), call.boolean(6),
                     call.out()->bytes());
}

// --- ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)

Dims lengths_at(const Args& args, int i) {
  if (!args[i].is_tensor()) return Dims(args.integers(i));
  const Tensor& given = args.tensor(i);
  WISP_CHECK(is_integral(given.dtype()), args.op().sig.params[static_cast<size_t>(i)].name,
             " must be integral");
  const Tensor lengths = consecutive(given, DType::int64);
  return Dims(IntSpan(lengths.data<int64_t>(), static_cast<size_t>(lengths.numel())));
}

void ctc_loss_body(const Args& args, TensorList& outs) {
  const bool single = args.tensor(0).ndim() == 2;
  const Tensor probs = single ? unsqueeze(args.tensor(0), 1) : args.tensor(0);
  const Dims inputs = lengths_at(args, 2), labels = lengths_at(args, 3);
  Tensor each = invoke<"_ctc_loss">(probs, args[1], inputs, labels, args[4], args[6]);
  if (args.boolean(6)) {
    const Scalar inf(std::numeric_limits<double>::infinity());
    each = where(eq(each, inf), Scalar(0), each);
  }
  const auto how = static_cast<Reduction>(args.integer(5));
  if (how == Reduction::mean) {
    const Tensor counts = Tensor::empty({static_cast<int64_t>(labels.size())}, DType::int64);
    for (size_t n = 0; n < labels.size(); ++n)
      counts.data<int64_t>()[n] = std::max<int64_t>(labels[n], 1);
    return outs.push(reduced(div(each, to(counts, each.dtype())), how));
  }
  outs.push(how == Reduction::none && single ? select(each, 0, 0) : reduced(each, how));
}

}  // namespace

void register_ctc_loss(Registry& r) {
  r.add(
      {.schema =
           "_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity) -> (Tensor, Tensor)",
       .doc = "The losses of all samples, and what their derivative needs.",
       .infer = infer_ctc_loss,
       .kernel = ctc_loss_kernel,
       .vjp = {{"log_probs",
                "log_probs targets input_lengths target_lengths blank zero_infinity result result1",
                [](const Backward& b) {
                  return invoke<"_ctc_loss_grad">(b.grad(), b[0], b[1], b[2], b[3], b[4], b[5],
                                                  b.out(0), b.out(1));
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- no such node",
       .constant_outs = 0b10,
       .homes = home::internal,
       .node = "CtcLossBackward0"});
  r.add(
      {.schema =
           "_ctc_loss_grad(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool zero_infinity, Tensor losses, Tensor log_alpha) -> Tensor",
       .doc = "The derivative of ctc_loss; it has none itself by log_probs.",
       .infer =
           [](Infer& infer) {
             infer.push(infer.tensor(1).sizes(), infer.tensor(1).dtype(), infer.tensor(1).device());
           },
       .kernel = ctc_loss_grad_kernel,
       .vjp =
           {{"grad",
             "grad.shape log_probs targets input_lengths target_lengths blank zero_infinity losses log_alpha",
             [](const Backward& b) {
               const Tensor one = ones(b.shape(0), b.input_dtype(0));
               const Tensor each =
                   invoke<"_ctc_loss_grad">(one, b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]);
               const int64_t time_and_classes[] = {0, 2};
               return sum(mul(b.grad(), each), time_and_classes);
             }},
            {"log_probs", "",
             [](const Backward&) -> Tensor {
               fail(ErrorKind::runtime,
                    "the derivative for '_ctc_loss_backward' is not implemented.");
             }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
  const char* doc =
      "The negative log-likelihood of sequences of labels given log-probabilities over time, (time, batch, classes), whatever the alignment of both. Reduction: 0 none, 1 mean, 2 sum.\n\n"
      ">>> wisp.ctc_loss(wisp.full((2, 1, 2), 0.5).log(), wisp.tensor([[1]]), [2], [1])\ntensor(0.2877)";
  r.add(
      {.schema =
           "ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
       .doc = doc,
       .body = ctc_loss_body,
       .onnx = "+ Scan",
       .homes = home::function});
  r.add(
      {.schema =
           "ctc_loss.tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
       .doc = doc,
       .body = ctc_loss_body,
       .onnx = "+ Scan",
       .homes = home::function});
}

}  // namespace wisp::ops
