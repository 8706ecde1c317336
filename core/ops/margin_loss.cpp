// Losses made of other operators: margins, embeddings, distributions.
#include <cmath>
#include <numbers>

#include "ops/families.h"
#include "ops/loss.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

Tensor at_least_zero(const Tensor& x) { return invoke<"clamp_min">(x, 0); }
Tensor log_sigmoid(const Tensor& x) { return invoke<"_log_sigmoid">(x); }
Tensor sum_along(const Tensor& x, int64_t dim) { return sum(x, IntSpan(&dim, 1)); }

// --- Distributions

// (self, target, size_average, reduce, reduction, log_target)
void kl_div_body(const Args& args, TensorList& outs) {
  const Tensor &x = args.tensor(0), &t = args.tensor(1);
  const Tensor each = args.boolean(5) ? mul(exp(t), sub(t, x)) : sub(xlogy(t, t), mul(t, x));
  const bool old = args.has(2) || args.has(3);
  if (!old && args.string(4) == "batchmean") {
    return outs.push(x.ndim() == 0 ? sum(each) : div(sum(each), static_cast<double>(x->size(0))));
  }
  const Reduction how = reduction_of(args, 4, 2, 3);
  if (!old && how == Reduction::mean) {
    warn(
        "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides only by "
        "the batch size, and aligns with the KL div math definition.");
  }
  outs.push(reduced(each, how));
}

// (self, target, log_input, full, size_average, eps, reduce, reduction)
void poisson_nll_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 7, 4, 6);
  const Tensor &x = args.tensor(0), &t = args.tensor(1);
  Tensor each =
      args.boolean(2) ? sub(exp(x), mul(t, x)) : sub(x, mul(t, log(add(x, args.real(5)))));
  if (args.boolean(3)) {  // Stirling's approximation of log(t!)
    const Tensor stirling =
        add(sub(mul(t, log(t)), t), mul(log(mul(t, 2 * std::numbers::pi)), 0.5));
    each = add(each, where(le(t, 1), Scalar(0), stirling));
  }
  outs.push(reduced(each, how));
}

// The variance as a tensor that broadcasts to the input.
Tensor variance_for(const Args& args) {
  const Tensor& x = args.tensor(0);
  if (!args[2].is_tensor()) {
    WISP_CHECK_VALUE(args.real(2) >= 0, "var has negative entry/margin_losses");
    return full_like(x, Scalar(args.real(2)));
  }
  const Tensor& var = args.tensor(2);
  WISP_CHECK_VALUE(var.numel() == 0 || !var->is_readable() || !any(lt(var, 0)).item().truth(),
                   "var has negative entry/margin_losses");
  if (same(var.sizes(), x.sizes()) || x.ndim() == 0) return var;
  const IntSpan lead = x.sizes().first(static_cast<size_t>(x.ndim() - 1));
  if (same(var.sizes(), lead)) return unsqueeze(var, -1);
  int64_t shared = 0;  // along one dimension
  for (int64_t dim = 0; var.ndim() == x.ndim() && dim < x.ndim(); ++dim)
    shared += var->size(dim) != x->size(dim) ? var->size(dim) : 0;
  WISP_CHECK_VALUE(shared == 1, "var is of incorrect size");
  return var;
}

// (self, target, var, full, eps, reduction). The gradient passes through the lower bound of the
// variance.
void gaussian_nll_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 5);
  const Tensor given = variance_for(args), fixed = detach(given);
  const Tensor var = add(given, sub(invoke<"clamp_min">(fixed, args.real(4)), fixed));
  Tensor each = mul(add(log(var), div(square(sub(args.tensor(0), args.tensor(1))), var)), 0.5);
  if (args.boolean(3)) each = add(each, 0.5 * std::log(2 * std::numbers::pi));
  outs.push(reduced(each, how));
}

// --- Margins

// (self, target, size_average, reduce, reduction)
void soft_margin_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 4, 2, 3);
  outs.push(reduced(neg(log_sigmoid(mul(args.tensor(1), args.tensor(0)))), how));
}

// (self, target, margin, size_average, reduce, reduction)
void hinge_embedding_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 5, 3, 4);
  const Tensor &x = args.tensor(0), &t = args.tensor(1);
  const Tensor apart = where(ne(t, 1), at_least_zero(sub(Scalar(args.real(2)), x)), Scalar(0));
  outs.push(reduced(add(apart, where(ne(t, -1), x, Scalar(0))), how));
}

// (input1, input2, target, margin, size_average, reduce, reduction)
void margin_ranking_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 6, 4, 5);
  WISP_CHECK(
      args.tensor(0).ndim() == args.tensor(1).ndim() &&
          args.tensor(0).ndim() == args.tensor(2).ndim(),
      "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ",
      args.tensor(0).sizes(), ", input2: ", args.tensor(1).sizes(),
      ", target: ", args.tensor(2).sizes(), " ");
  const Tensor gap = sub(args.tensor(0), args.tensor(1));
  outs.push(reduced(at_least_zero(sub(Scalar(args.real(3)), mul(args.tensor(2), gap))), how));
}

// (input1, input2, target, margin, size_average, reduce, reduction)
void cosine_embedding_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 6, 4, 5);
  const Tensor &a = args.tensor(0), &b = args.tensor(1), &t = args.tensor(2);
  WISP_CHECK(t.ndim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  WISP_CHECK(a.ndim() == t.ndim() + 1 && b.ndim() == t.ndim() + 1,
             t.ndim() == 1
                 ? "1D target tensor expects 2D input tensors, but found inputs with sizes "
                 : "0D target tensor expects 1D input tensors, but found inputs with sizes ",
             a.sizes(), " and ", b.sizes(), ".");
  const int64_t dim = t.ndim();
  constexpr double tiny = 1e-12;
  const Tensor lengths =
      mul(add(sum_along(square(a), dim), tiny), add(sum_along(square(b), dim), tiny));
  const Tensor cosine = mul(sum_along(mul(a, b), dim), rsqrt(lengths));
  const Tensor alike = where(eq(t, 1), sub(Scalar(1), cosine), Scalar(0));
  const Tensor apart = where(eq(t, -1), at_least_zero(sub(cosine, args.real(3))), Scalar(0));
  outs.push(reduced(add(alike, apart), how));
}

// (anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction)
void triplet_margin_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 9, 7, 8);
  WISP_CHECK_VALUE(args.real(3) > 0, "margin must be greater than 0, got ", args.real(3));
  auto distance = [&](int i, int j) {
    return invoke<"pairwise_distance">(args[i], args[j], args.real(4), args.real(5));
  };
  const Tensor near = distance(0, 1);
  Tensor far = distance(0, 2);
  if (args.boolean(6)) far = invoke<"minimum">(far, distance(1, 2));
  outs.push(reduced(at_least_zero(add(sub(near, far), args.real(3))), how));
}

// --- Margins of classes

// Input and target with a batch dimension, which is taken away again in the end, unless a target of
// one dimension less (one number for each sample) has it.
struct Batched {
  Batched(const Args& args, int64_t target_ndim)
      : single(args.tensor(0).ndim() <= 1 && args.tensor(1).ndim() < target_ndim),
        x(args.tensor(0)),
        target(args.tensor(1)) {
    if (x.ndim() <= 1) {
      const int64_t row[] = {1, x.numel()}, flat[] = {1, target.numel()};
      x = reshape(x, row);
      target = reshape(target, target_ndim == 2 ? IntSpan(flat) : IntSpan(flat + 1, 1));
    }
    WISP_CHECK(x.ndim() == 2 && x->size(1) > 0, args.name(),
               "(): Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
               args.tensor(0).sizes());
    WISP_CHECK(target.ndim() == target_ndim && target->size(0) == x->size(0), args.name(),
               "(): inconsistent target size, expected ", x->size(0), " but got ",
               args.tensor(1).sizes());
  }
  Tensor finish(const Tensor& each, Reduction how) const {
    return reduced(single ? reshape(each, IntSpan()) : each, how);
  }
  bool single;
  Tensor x, target;
};

// (self, target, p, margin, weight, size_average, reduce, reduction)
void multi_margin_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 7, 5, 6);
  const int64_t p = args.integer(2);
  WISP_CHECK_VALUE(p == 1 || p == 2, "only p == 1 and p == 2 supported");
  const Batched b(args, 1);
  const Tensor column = unsqueeze(b.target, 1);
  Tensor each = at_least_zero(add(sub(b.x, gather(b.x, 1, column)), args.real(3)));
  if (p == 2) each = square(each);
  if (args.has(4)) each = mul(each, unsqueeze(index_select(args.tensor(4), 0, b.target), 1));
  each = scatter_value(each, 1, column, Scalar(0));
  outs.push(b.finish(div(sum_along(each, 1), static_cast<double>(b.x->size(1))), how));
}

// (self, target, size_average, reduce, reduction); a target of -1 ends a row of targets.
void multilabel_margin_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 4, 2, 3);
  const Batched b(args, 2);
  WISP_CHECK(same(b.x.sizes(), b.target.sizes()),
             "multilabel_margin_loss(): inconsistent target size: ", b.target.sizes(),
             " for input of size: ", b.x.sizes());
  const Tensor listed = gt(cumprod(to(ge(b.target, 0), DType::int64), 1), 0);
  const Tensor index = where(listed, b.target, Scalar(0));
  const Tensor hits = scatter_add(zeros_like(b.target), 1, index, to(listed, DType::int64));
  const Tensor gaps =
      at_least_zero(add(sub(unsqueeze(b.x, 1), unsqueeze(gather(b.x, 1, index), 2)), 1));
  const Tensor counted = logical_and(unsqueeze(listed, 2), unsqueeze(eq(hits, 0), 1));
  const Tensor each = where(counted, gaps, Scalar(0));
  const int64_t dims[] = {1, 2};
  outs.push(b.finish(div(sum(each, dims), static_cast<double>(b.x->size(1))), how));
}

// (self, target, weight, size_average, reduce, reduction)
void multilabel_soft_margin_loss_body(const Args& args, TensorList& outs) {
  const Reduction how = reduction_of(args, 5, 3, 4);
  const Tensor &x = args.tensor(0), &t = args.tensor(1);
  Tensor each = neg(add(mul(t, log_sigmoid(x)), mul(sub(Scalar(1), t), log_sigmoid(neg(x)))));
  if (args.has(2)) each = mul(each, args.tensor(2));
  const int64_t classes = x.ndim() - 1;
  outs.push(reduced(x.ndim() == 0 ? each : mean(each, IntSpan(&classes, 1)), how));
}

struct MarginLoss {
  const char *schema, *doc;
  BodyFn body;
};

constexpr MarginLoss margin_losses[] = {
    {"kl_div(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', bool log_target=False) -> Tensor",
     "`target * (log(target) - input)`: how far a distribution is from one given by its logarithm.\n\n"
     ">>> wisp.nn.functional.kl_div(wisp.tensor([[-1., -1.]]), wisp.tensor([[0.5, 0.5]]), reduction='batchmean')\ntensor(0.3069)",
     kl_div_body},
    {"poisson_nll_loss(Tensor self, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean') -> Tensor",
     "`exp(input) - target * input`: counts and the logarithms of their expected values.\n\n"
     ">>> wisp.nn.functional.poisson_nll_loss(wisp.tensor([0.]), wisp.tensor([2.]))\ntensor(1.)",
     poisson_nll_loss_body},
    {"gaussian_nll_loss(Tensor self, Tensor target, Tensor|Scalar var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor",
     "`(log(var) + (input - target)**2 / var) / 2`.\n\n"
     ">>> wisp.nn.functional.gaussian_nll_loss(wisp.tensor([1.]), wisp.tensor([3.]), wisp.tensor([1.]))\ntensor(2.)",
     gaussian_nll_loss_body},
    {"soft_margin_loss(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "`log(1 + exp(-target * input))` of targets 1 and -1.\n\n"
     ">>> wisp.nn.functional.soft_margin_loss(wisp.tensor([0.]), wisp.tensor([1.]))\ntensor(0.6931)",
     soft_margin_loss_body},
    {"hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "`input` where the target is 1, `max(0, margin - input)` where it is -1.\n\n"
     ">>> wisp.nn.functional.hinge_embedding_loss(wisp.tensor([0.5, 0.5]), wisp.tensor([1., -1.]))\ntensor(0.5000)",
     hinge_embedding_loss_body},
    {"margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "`max(0, margin - target * (input1 - input2))`: which of both should be larger.\n\n"
     ">>> wisp.nn.functional.margin_ranking_loss(wisp.tensor([1.]), wisp.tensor([3.]), wisp.tensor([1.]))\ntensor(2.)",
     margin_ranking_loss_body},
    {"cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "`1 - cos` where the target is 1, `max(0, cos - margin)` where it is -1.\n\n"
     ">>> wisp.nn.functional.cosine_embedding_loss(wisp.tensor([[1., 0.]]), wisp.tensor([[0., 1.]]), wisp.tensor([1.]))\ntensor(1.)",
     cosine_embedding_loss_body},
    {"triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "`max(0, margin + |anchor - positive| - |anchor - negative|)`.\n\n"
     ">>> wisp.nn.functional.triplet_margin_loss(wisp.zeros(1, 2), wisp.zeros(1, 2), wisp.ones(1, 2), margin=2.0)\ntensor(0.5858)",
     triplet_margin_loss_body},
    {"multi_margin_loss(Tensor self, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "The sum of `max(0, margin - input[target] + input[i])**p` over other classes i, per class.\n\n"
     ">>> wisp.nn.functional.multi_margin_loss(wisp.tensor([[0.5, 1.]]), wisp.tensor([1]))\ntensor(0.2500)",
     multi_margin_loss_body},
    {"multilabel_margin_loss(Tensor self, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "multi_margin_loss for several classes at once, listed until the first -1.\n\n"
     ">>> wisp.nn.functional.multilabel_margin_loss(wisp.tensor([[0.5, 1.]]), wisp.tensor([[1, -1]]))\ntensor(0.2500)",
     multilabel_margin_loss_body},
    {"multilabel_soft_margin_loss(Tensor self, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
     "binary_cross_entropy_with_logits, averaged over classes.\n\n"
     ">>> wisp.nn.functional.multilabel_soft_margin_loss(wisp.tensor([[0., 0.]]), wisp.tensor([[1., 0.]]))\ntensor(0.6931)",
     multilabel_soft_margin_loss_body},
};

}  // namespace

void register_margin_loss(Registry& r) {
  for (const MarginLoss& e : margin_losses) {
    r.add({.schema = e.schema,
           .doc = e.doc,
           .body = e.body,
           .onnx = "+ a few pointwise operators",
           .homes = home::functional});
  }
}

}  // namespace wisp::ops
