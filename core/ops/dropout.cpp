// Dropout: elements, or whole channels, set to zero at random.
#include <cmath>
#include <optional>

#include "base/generator.h"
#include "base/parallel.h"
#include "cpu/random.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/raw.h"
#include "tensor/arranged.h"

namespace wisp::ops {

namespace {

float scale_of(double p) { return static_cast<float>(p < 1 ? 1 / (1 - p) : 0); }

// --- _dropout_mask(size, p, dtype): 0 with probability p, else 1 / (1 - p)

void dropout_mask_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double p = call.real(1);
  const float keep = static_cast<float>(1 - p), scale = scale_of(p);
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

// --- _dropout(self, p) -> (result, which elements are kept), in one pass over float32

void infer_dropout(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  infer.push(self.sizes(), self.dtype(), self.device());
  infer.push(self.sizes(), DType::bool_, self.device());
}

// Of a contiguous tensor. Arranged images (see tensor/arranged.h) may stay so: any order of draws
// is as good.
void dropout_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out(0), &kept = call.out(1);
  const double p = call.real(1);
  const Generator::State state = default_generator().reserve(cpu::counters_for(out.numel()));
  std::optional<Arranged> use;
  if (can_arrange(out) && can_arrange(kept)) use.emplace(self);
  if (use && !use->exists()) use.reset();
  cpu::drop({.x = use ? reinterpret_cast<const float*>(use->data()) : self.data<float>(),
             .out = reinterpret_cast<float*>(use ? arrange(out, use->order()) : out->bytes()),
             .kept = reinterpret_cast<bool*>(use ? arrange(kept, use->order()) : kept->bytes()),
             .n = out.numel(),
             .keep = static_cast<float>(1 - p),
             .scale = scale_of(p)},
            {state.seed, state.counter});
}

Tensor dropout_grad(const Backward& b) {
  return invoke<"_dropout_grad">(b.grad(), b.out(1), scale_of(b.real(1)));
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
  const Tensor& self = args.tensor(0);
  if (self.dtype() == DType::float32 && self.is_contiguous() && !args.boolean(3) &&
      !mode.interceptor)
    return outs.push(invoke_many<"_dropout">(self, args.real(1))[0]);
  apply_mask(args, outs, args.tensor(0).sizes());
}

// Whole channels: one draw for all that follows the first two dimensions (one without a batch).
template <int spatial>
void channel_dropout_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  WISP_CHECK(self.ndim() >= 2, args.name(), "(): Expected at least 2 dimensions, got ",
             self.ndim());
  WISP_CHECK(spatial != 1 || self.ndim() <= 3, args.name(), "(): Expected 2D or 3D input, got ",
             self.ndim(), " dimensions");
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
  r.add(pointwise(
      Types::same,
      {.schema = "_dropout_grad(Tensor grad, Tensor kept, float scale) -> Tensor",
       .doc = "The gradient times the scale where the element was kept, else times 0.",
       .kernel =
           [](const Call& call) {
             cpu::Params params;
             params.values[0] = call.real(2);
             run_pointwise(call, cpu::Opcode::dropout_grad, params);
           },
       .vjp = {{"grad", "kept scale",
                [](const Backward& b) { return invoke<"_dropout_grad">(b.grad(), b[1], b[2]); }}},
       .onnx = "- backward only",
       .homes = home::internal}));
  r.add({.schema = "_dropout(Tensor self, float p) -> (Tensor, Tensor)",
         .doc = "dropout in training, and which elements are kept.",
         .infer = infer_dropout,
         .kernel = dropout_kernel,
         .vjp = {{"self", "p result1", dropout_grad}},
         .jvp = Jvp::elementwise,
         .batch = Batch::loop,
         .onnx = "Dropout",
         .constant_outs = 0b10,
         .traits = trait::random,
         .homes = home::internal,
         .node = "MulBackward0"});
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
       .onnx = "+ random numbers of ONNX",
       .traits = trait::random,
       .homes = home::function | home::functional});
}

}  // namespace wisp::ops
