// Dropout: elements, or whole channels, set to zero at random.
#include <cmath>

#include "base/generator.h"
#include "base/parallel.h"
#include "cpu/random.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- _dropout_mask(size, p, dtype): 0 with probability p, else 1 / (1 - p)

void dropout_mask_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double p = call.real(1);
  const auto keep = static_cast<float>(1 - p), scale = static_cast<float>(p < 1 ? 1 / (1 - p) : 0);
  const Generator::State state = default_generator().reserve(cpu::counters_for(out.numel()));
  const Tensor mask =
      out.dtype() == DType::float32 ? out : Tensor::empty(out.sizes(), DType::float32);
  float* data = mask.data<float>();
  cpu::fill_uniform(data, out.numel(), {state.seed, state.counter});
  if (out.dtype() == DType::float64) {  // the scale in full precision
    double* wide = out.data<double>();
    parallel_for(out.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) wide[i] = data[i] < keep ? 1 / (1 - p) : 0;
    });
    return;
  }
  parallel_for(out.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) data[i] = data[i] < keep ? scale : 0;
  });
  if (!mask.is_same(out)) copy_raw(out, mask);
}

void check_probability(double p) {
  WISP_CHECK_VALUE(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

Tensor mask_for(const Tensor& self, IntSpan shape, double p) {
  return invoke<"_dropout_mask">(shape, p, self.dtype());
}

// (self, p, training, inplace)
void apply_mask(const Args& args, TensorList& outs, IntSpan shape) {
  const Tensor& self = args.tensor(0);
  const Tensor mask = mask_for(self, shape, args.real(1));
  outs.push(args.boolean(3) ? Tensor(mul_(self, mask)) : mul(self, mask));
}

bool idle(const Args& args) {
  check_probability(args.real(1));
  return !args.boolean(2) || args.real(1) == 0 || args.tensor(0).numel() == 0;
}

void dropout_body(const Args& args, TensorList& outs) {
  if (idle(args)) return outs.push(args.tensor(0));
  apply_mask(args, outs, args.tensor(0).sizes());
}

// Whole channels: one draw for all that follows the first two dimensions (one without a batch).
template <int spatial>
void channel_dropout_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() >= 2, args.name(), "(): Expected at least 2 dimensions, got ",
             self.ndim());
  if (idle(args)) return outs.push(self);
  const bool batched = self.ndim() != spatial + 1 || spatial == 2 || spatial == 3;
  Dims shape(static_cast<size_t>(self.ndim()), 1);
  shape[0] = self->size(0);
  if (batched) shape[1] = self->size(1);
  apply_mask(args, outs, shape);
}

// Dropped elements become the value selu has at minus infinity, and all are scaled and shifted back
// to mean 0 and variance 1.
void alpha_dropout_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  if (idle(args)) return outs.push(self);
  constexpr double saturation = 1.7580993408473766;
  const double p = args.real(1);
  const double scale = p < 1 ? 1 / std::sqrt((saturation * saturation * p + 1) * (1 - p)) : 0;
  const Tensor kept = gt(mask_for(self, self.sizes(), p), 0);
  const Tensor shift =
      where(kept, Scalar(saturation * scale * p), Scalar(saturation * scale * (p - 1)));
  const Tensor factor = mul(to(kept, self.dtype()), scale);
  const Tensor result = add(mul(self, factor), to(shift, self.dtype()));
  outs.push(args.boolean(3) ? Tensor(copy_(self, result)) : result);
}

}  // namespace

void register_dropout(Registry& r) {
  r.add({.schema = "_dropout_mask(int[] size, float p, Dtype dtype) -> Tensor",
         .doc = "0 with probability p, else 1 / (1 - p).",
         .infer = [](Infer& infer) { infer.push(infer.integers(0), infer.dtype(2)); },
         .kernel = dropout_mask_kernel,
         .jvp = Jvp::none,
         .batch = Batch::loop,
         .onnx = "- part of Dropout",
         .traits = trait::random,
         .homes = home::internal});
  r.add(
      {.schema =
           "dropout(Tensor self, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
       .doc =
           "In training, elements become 0 with probability p and the others are divided by 1 - p.\n\n"
           ">>> wisp.nn.functional.dropout(wisp.ones(2), training=False)\ntensor([1., 1.])",
       .body = dropout_body,
       .onnx = "Dropout",
       .traits = trait::random,
       .homes = home::function | home::functional});
  const struct {
    const char *schema, *doc;
    BodyFn body;
  } channels[] = {
      {"dropout1d(Tensor self, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
       "dropout of whole channels of shape (length).\n\n>>> wisp.nn.functional.dropout1d(wisp.ones(1, 2), training=False)\ntensor([[1., 1.]])",
       channel_dropout_body<1>},
      {"dropout2d(Tensor self, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
       "dropout of whole channels of shape (height, width).\n\n>>> wisp.nn.functional.dropout2d(wisp.ones(1, 2), training=False)\ntensor([[1., 1.]])",
       channel_dropout_body<2>},
      {"dropout3d(Tensor self, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
       "dropout of whole channels of shape (depth, height, width).\n\n>>> wisp.nn.functional.dropout3d(wisp.ones(1, 2), training=False)\ntensor([[1., 1.]])",
       channel_dropout_body<3>}};
  for (const auto& row : channels) {
    r.add({.schema = row.schema,
           .doc = row.doc,
           .body = row.body,
           .onnx = "Dropout",
           .traits = trait::random,
           .homes = home::functional});
  }
  r.add(
      {.schema =
           "alpha_dropout(Tensor self, float p=0.5, bool training=False, bool inplace=False) -> Tensor",
       .doc =
           "dropout that keeps mean and variance of what selu gives.\n\n>>> wisp.nn.functional.alpha_dropout(wisp.ones(2))\ntensor([1., 1.])",
       .body = alpha_dropout_body,
       .onnx = "- random",
       .traits = trait::random,
       .homes = home::function | home::functional});
}

}  // namespace wisp::ops
