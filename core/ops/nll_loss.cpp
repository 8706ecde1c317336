// The negative log-likelihood of classes, and cross entropy.
#include "cpu/nll_loss.h"

#include "cpu/softmax.h"
#include "ops/families.h"
#include "ops/loss.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// Up to here log_softmax() of several rows at once is faster than a kernel that does all of a row.
constexpr int64_t few_classes = 64;

// --- _nll_loss(self, target, weight, reduction, ignore_index) -> (output, total_weight)

int64_t class_dim(IntSpan sizes) { return sizes.size() == 1 ? 0 : 1; }

Dims target_shape(IntSpan sizes) {
  Dims shape(sizes);
  shape.erase(static_cast<size_t>(class_dim(sizes)));
  return shape;
}

void check_weight(const Tensor& weight, int64_t classes) {
  WISP_CHECK(weight.ndim() == 1 && weight.numel() == classes,
             "weight tensor should be defined either for all ", classes,
             " classes or no classes but got weight tensor of shape: ", weight.sizes());
}

void infer_nll_loss(Infer& infer) {
  const Tensor &self = infer.tensor(0), &target = infer.tensor(1);
  WISP_CHECK_VALUE(self.ndim() > 0, "Expected 1 or more dimensions (got 0)");
  WISP_CHECK(is_floating(self.dtype()),
             "expected scalar type Float for input of nll_loss but found ",
             legacy_name(self.dtype()));
  WISP_CHECK(target.dtype() == DType::int64 || target.dtype() == DType::uint8,
             "expected scalar type Long but found ", legacy_name(target.dtype()));
  const Dims expected = target_shape(self.sizes());
  if (self.ndim() > 1 && target.ndim() > 0) {
    WISP_CHECK_VALUE(target->size(0) == self->size(0), "Expected input batch_size (", self->size(0),
                     ") to match target batch_size (", target->size(0), ").");
  }
  WISP_CHECK(same(target.sizes(), expected) || (self.ndim() == 1 && target.numel() == 1),
             "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
  if (infer.has(2)) {
    check_weight(infer.tensor(2), self->size(class_dim(self.sizes())));
    WISP_CHECK(infer.tensor(2).dtype() == self.dtype(), "expected scalar type ",
               legacy_name(self.dtype()), " but found ", legacy_name(infer.tensor(2).dtype()));
  }
  const bool none = infer.integer(3) == static_cast<int64_t>(Reduction::none);
  infer.push(none ? IntSpan(expected) : IntSpan(), self.dtype(), self.device());
  infer.push(IntSpan(), self.dtype(), self.device());
}

// The arguments of the kernels, consecutive and in the dtype that is computed in.
struct Job {
  Job(IntSpan sizes, DType dtype, const Tensor& targets, const Arg& weights, int64_t ignore_index)
      : target(consecutive(targets, DType::int64)) {
    if (weights.is_tensor()) weight = consecutive(weights.tensor(), dtype);
    const bool single = sizes.size() == 1;
    int64_t inner = 1;
    for (size_t i = 2; i < sizes.size(); ++i) inner *= sizes[i];
    shape = {.dtype = dtype,
             .outer = single ? 1 : sizes[0],
             .classes = sizes[single ? 0 : 1],
             .inner = inner,
             .ignore_index = ignore_index,
             .target = target.data<int64_t>(),
             .weight = weight.defined() ? weight->bytes() : nullptr};
    cpu::check_targets(shape);
  }
  Tensor target, weight;
  cpu::NllShape shape;
};

void set_number(const Tensor& out, double value) {
  visit<dtypes::floating>(out.dtype(), "nll_loss",
                          [&]<class T>() { *out.data<T>() = convert<T>(value); });
}

void nll_loss_kernel(const Call& call) {
  const auto how = static_cast<Reduction>(call.integer(3));
  const DType compute = math_dtype(call.tensor(0).dtype());
  const Tensor self = consecutive(call.tensor(0), compute);
  const Job job(self.sizes(), compute, call.tensor(1), call[2], call.integer(4));
  const Tensor each =
      how == Reduction::none ? Tensor::empty(call.out(0).sizes(), compute) : Tensor();
  const cpu::NllSums sums =
      cpu::nll_loss(job.shape, self->bytes(), each.defined() ? each->bytes() : nullptr);
  if (each.defined()) {
    copy_raw(call.out(0), each);
  } else {
    set_number(call.out(0), how == Reduction::mean ? sums.loss / sums.weight : sums.loss);
  }
  set_number(call.out(1), each.defined() ? 0 : sums.weight);
}

Tensor nll_loss_self_grad(const Backward& b) {
  return invoke<"_nll_loss_grad">(b.grad(), b[1], b[2], b.out(1), b.shape(0), b[3], b[4]);
}

// --- _nll_loss_grad(grad, target, weight, total_weight, size, reduction, ignore_index)

void nll_loss_grad_kernel(const Call& call) {
  const auto how = static_cast<Reduction>(call.integer(5));
  const Tensor& out = call.out();
  const DType compute = math_dtype(out.dtype());
  const Job job(out.sizes(), compute, call.tensor(1), call[2], call.integer(6));
  const Tensor x_grad = out.dtype() == compute ? out : Tensor::empty(out.sizes(), compute);
  const char zero[16] = {};
  cpu::fill(x_grad.sizes(), operand(x_grad), zero);
  if (how == Reduction::none) {
    const Tensor grad = consecutive(call.tensor(0), compute);
    cpu::nll_loss_grad(job.shape, grad->bytes(), 1, x_grad->bytes());
  } else {
    const double grad = call.tensor(0).item().real();
    const double scale = how == Reduction::mean ? grad / call.tensor(3).item().real() : grad;
    cpu::nll_loss_grad(job.shape, nullptr, scale, x_grad->bytes());
  }
  if (!x_grad.is_same(out)) copy_raw(out, x_grad);
}

// --- _cross_entropy(self, target, weight, reduction, ignore_index)
//         -> (output, total_weight, stats): both at once for rows of classes

void infer_cross_entropy(Infer& infer) {
  infer_nll_loss(infer);
  const Tensor& self = infer.tensor(0);
  infer.push({self.ndim() == 1 ? 1 : self->size(0), 2}, DType::float64, self.device());
}

void cross_entropy_kernel(const Call& call) {
  const auto how = static_cast<Reduction>(call.integer(3));
  const DType compute = math_dtype(call.tensor(0).dtype());
  const Tensor self = consecutive(call.tensor(0), compute);
  const Job job(self.sizes(), compute, call.tensor(1), call[2], call.integer(4));
  const Tensor each =
      how == Reduction::none ? Tensor::empty(call.out(0).sizes(), compute) : Tensor();
  const cpu::NllSums sums = cpu::cross_entropy(job.shape, self->bytes(), call.out(2).data<double>(),
                                               each.defined() ? each->bytes() : nullptr);
  if (each.defined()) {
    copy_raw(call.out(0), each);
  } else {
    set_number(call.out(0), how == Reduction::mean ? sums.loss / sums.weight : sums.loss);
  }
  set_number(call.out(1), each.defined() ? 0 : sums.weight);
}

// _cross_entropy_grad(grad, self, target, weight, total_weight, stats, reduction, ignore_index)
void cross_entropy_grad_kernel(const Call& call) {
  const auto how = static_cast<Reduction>(call.integer(6));
  const Tensor& out = call.out();
  const DType compute = math_dtype(out.dtype());
  const Tensor self = consecutive(call.tensor(1), compute);
  const Job job(out.sizes(), compute, call.tensor(2), call[3], call.integer(7));
  const Tensor stats = consecutive(call.tensor(5));
  const Tensor x_grad = out.dtype() == compute ? out : Tensor::empty(out.sizes(), compute);
  const Tensor grad = how == Reduction::none ? consecutive(call.tensor(0), compute) : Tensor();
  double scale = 1;
  if (how != Reduction::none) scale = call.tensor(0).item().real();
  if (how == Reduction::mean) scale /= call.tensor(4).item().real();
  cpu::cross_entropy_grad(job.shape, self->bytes(), stats.data<double>(),
                          grad.defined() ? grad->bytes() : nullptr, scale, x_grad->bytes());
  if (!x_grad.is_same(out)) copy_raw(out, x_grad);
}

// One kernel, unless the gradient is itself to be differentiated.
Tensor cross_entropy_self_grad(const Backward& b) {
  if (!rules_are_differentiated()) {
    return invoke<"_cross_entropy_grad">(b.grad(), b[0], b[1], b[2], b.out(1), b.out(2), b[3],
                                         b[4]);
  }
  const Tensor& self = b.tensor(0);
  const int64_t dim = class_dim(self.sizes());
  const Tensor grad =
      invoke<"_nll_loss_grad">(b.grad(), b[1], b[2], b.out(1), self.sizes(), b[3], b[4]);
  return invoke<"_log_softmax_grad">(grad, log_softmax(self, dim), dim);
}

void register_cross_entropy(Registry& r) {
  r.add(
      {.schema =
           "_cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight, Tensor stats)",
       .doc = "The kernel of cross_entropy of rows, the sum of the weights, and for each row the "
              "largest element and the sum of the exponentials.",
       .infer = infer_cross_entropy,
       .kernel = cross_entropy_kernel,
       .vjp = {{"self", "self target weight reduction ignore_index result1 result2",
                cross_entropy_self_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "SoftmaxCrossEntropyLoss",
       .homes = home::internal,
       .node = "NllLossBackward0"});
  r.add(
      {.schema =
           "_cross_entropy_grad(Tensor grad, Tensor self, Tensor target, Tensor? weight, Tensor total_weight, Tensor stats, int reduction, int ignore_index) -> Tensor",
       .doc = "The derivative of cross_entropy by its input.",
       .infer =
           [](Infer& infer) {
             infer.push(infer.tensor(1).sizes(), infer.tensor(1).dtype(), infer.tensor(1).device());
           },
       .kernel = cross_entropy_grad_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

void register_kernels(Registry& r) {
  r.add(
      {.schema =
           "_nll_loss(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)",
       .doc = "The kernel of nll_loss, and the sum of the weights.",
       .infer = infer_nll_loss,
       .kernel = nll_loss_kernel,
       .vjp = {{"self", "self.shape target weight reduction ignore_index result1",
                nll_loss_self_grad}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "NegativeLogLikelihoodLoss",
       .homes = home::internal,
       .node = "NllLossBackward0"});
  r.add(
      {.schema =
           "_nll_loss_grad(Tensor grad, Tensor target, Tensor? weight, Tensor total_weight, int[] size, int reduction, int ignore_index) -> Tensor",
       .doc = "The derivative of nll_loss by its input.",
       .infer =
           [](Infer& infer) {
             infer.push(infer.integers(4), infer.tensor(0).dtype(), infer.tensor(0).device());
           },
       .kernel = nll_loss_grad_kernel,
       .vjp = {{"grad", "target weight reduction ignore_index",
                [](const Backward& b) {
                  return invoke<"_nll_loss">(b.grad(), b[1], b[2], b[5], b[6]);
                }}},
       .jvp = Jvp::transposed,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

// --- The public functions: (input, target, weight, size_average, ignore_index, reduce, reduction)

void nll_loss_body(const Args& args, TensorList& outs) {
  const auto how = static_cast<int64_t>(reduction_of(args, 6, 3, 5));
  outs.push(invoke<"_nll_loss">(args[0], args[1], args[2], how, args[4]));
}

// A weight per class, with the dimensions of x.
Tensor spread_weight(const Tensor& weight, const Tensor& x, int64_t dim) {
  check_weight(weight, x->size(dim));
  Dims shape(static_cast<size_t>(x.ndim()), 1);
  shape[static_cast<size_t>(dim)] = x->size(dim);
  return view(weight, shape);
}

int64_t elements_per_class(const Tensor& x, int64_t dim) {
  int64_t count = 1;
  for (int64_t i = 0; i < x.ndim(); ++i) count *= i == dim ? 1 : x->size(i);
  return count;
}

// Targets that are probabilities of classes.
Tensor entropy_of_probabilities(const Args& args, Reduction how, double smoothing) {
  const Tensor &x = args.tensor(0), &given = args.tensor(1);
  WISP_CHECK(is_floating(given.dtype()),
             "Expected floating point type for target with class probabilities, got ",
             legacy_name(given.dtype()));
  WISP_CHECK(args.integer(4) < 0, "ignore_index is not supported for floating point target");
  const int64_t dim = class_dim(x.sizes());
  Tensor target = given;
  if (smoothing > 0)
    target = add(mul(target, 1 - smoothing), smoothing / static_cast<double>(x->size(dim)));
  Tensor terms = mul(log_softmax(x, dim), target);
  if (args.has(2)) terms = mul(terms, spread_weight(args.tensor(2), x, dim));
  if (how == Reduction::none) return neg(sum(terms, IntSpan(&dim, 1)));
  const Tensor total = neg(sum(terms));
  return how == Reduction::sum ? total
                               : div(total, static_cast<double>(elements_per_class(x, dim)));
}

// The entropy against equal probabilities of all classes, at targets that are not ignored.
Tensor smooth_part(const Args& args, const Tensor& log_p, Reduction how) {
  const int64_t dim = class_dim(log_p.sizes());
  const Tensor& target = args.tensor(1);
  const Tensor ignored = eq(target, Scalar(args.integer(4)));
  const Tensor terms = args.has(2) ? mul(log_p, spread_weight(args.tensor(2), log_p, dim)) : log_p;
  const Tensor each = masked_fill(neg(sum(terms, IntSpan(&dim, 1))), ignored, Scalar(0));
  if (how != Reduction::mean) return reduced(each, how);
  if (!args.has(2)) return div(sum(each), sum(logical_not(ignored)));
  const Tensor classes = flatten(masked_fill(target, ignored, Scalar(0)));
  const Tensor weights =
      masked_fill(index_select(args.tensor(2), 0, classes), flatten(ignored), Scalar(0));
  return div(sum(each), sum(weights));
}

void cross_entropy_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 6, 3, 5);
  const Tensor &x = args.tensor(0), &target = args.tensor(1);
  const double smoothing = args.real(7);
  WISP_CHECK(smoothing >= 0 && smoothing <= 1,
             "label_smoothing must be between 0.0 and 1.0. Got: ", smoothing);
  WISP_CHECK(x.ndim() > 0, "cross_entropy(): expected an input of at least one dimension");
  if (same(x.sizes(), target.sizes()))
    return outs.push(entropy_of_probabilities(args, how, smoothing));
  const int64_t dim = class_dim(x.sizes());
  const bool rows = x.ndim() <= 2 && x->size(dim) > few_classes;
  if (rows && smoothing == 0 && is_floating(x.dtype())) {
    return outs.push(
        invoke<"_cross_entropy">(x, target, args[2], static_cast<int64_t>(how), args[4]));
  }
  const Tensor log_p = log_softmax(x, dim);
  const Tensor loss =
      invoke<"_nll_loss">(log_p, target, args[2], static_cast<int64_t>(how), args[4]);
  if (smoothing == 0) return outs.push(loss);
  const double share = smoothing / static_cast<double>(x->size(dim));
  outs.push(add(mul(loss, 1 - smoothing), mul(smooth_part(args, log_p, how), share)));
}

}  // namespace

void register_nll_loss(Registry& r) {
  register_kernels(r);
  register_cross_entropy(r);
  r.add(
      {.schema =
           "nll_loss(Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor",
       .doc =
           "The weighted mean (or sum, or each) of `-input[target]`, where input holds log-probabilities of classes.\n\n"
           ">>> wisp.nn.functional.nll_loss(wisp.tensor([[-1., -2.], [-3., -4.]]), wisp.tensor([0, 1]))\ntensor(2.5000)",
       .body = nll_loss_body,
       .onnx = "NegativeLogLikelihoodLoss",
       .homes = home::functional});
  r.add(
      {.schema =
           "cross_entropy(Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor",
       .doc =
           "nll_loss of `log_softmax(input)`. Targets are classes, or probabilities of them if they have input's shape.\n\n"
           ">>> wisp.nn.functional.cross_entropy(wisp.tensor([[2., 0.], [0., 2.]]), wisp.tensor([0, 1]))\ntensor(0.1269)",
       .body = cross_entropy_body,
       .onnx = "SoftmaxCrossEntropyLoss",
       .homes = home::functional});
}

}  // namespace wisp::ops
