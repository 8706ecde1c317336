// Images of another size.
#include "ops/families.h"
#include "ops/image.h"
#include "ops/ops.h"

namespace wisp::ops {

namespace {

// --- (self, size, mode, align_corners, antialias, scales): the kernels of interpolate. `scales`
// are the factors the caller gave, or 0 where they follow from the sizes.

cpu::Interpolation interpolation(std::string_view mode) {
  if (mode == "nearest") return cpu::Interpolation::nearest;
  if (mode == "nearest-exact") return cpu::Interpolation::nearest_exact;
  return mode == "bicubic" ? cpu::Interpolation::cubic : cpu::Interpolation::linear;
}

double scale_of(const Args& args, size_t d) { return d < args[5].size ? args[5].as.reals[d] : 0; }

std::vector<cpu::Taps> taps_for(const Args& args, IntSpan in, IntSpan out) {
  std::vector<cpu::Taps> taps;
  for (size_t d = 0; d < in.size(); ++d) {
    taps.push_back(cpu::resize_taps(in[d], out[d],
                                    {.mode = interpolation(args.string(2)),
                                     .align_corners = args.boolean(3),
                                     .antialias = args.boolean(4),
                                     .scale = scale_of(args, d)}));
  }
  return taps;
}

void infer_upsample(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const IntSpan out = infer.integers(1);
  const int64_t dims = static_cast<int64_t>(out.size());
  WISP_CHECK(self.ndim() == dims + 2, "It is expected input_size equals to ", dims + 2,
             ", but got size ", self.ndim());
  if (!is_floating(self.dtype()) && self.dtype() != DType::uint8)
    fail_not_implemented("interpolate", self.dtype());
  const IntSpan in = image_sizes(self, dims);
  for (size_t d = 0; d < out.size(); ++d)
    WISP_CHECK(in[d] > 0 && out[d] > 0,
               "Input and output sizes should be greater than 0, but got input ", in,
               " and output ", out);
  WISP_CHECK(self->size(1) > 0 || self.numel() > 0, "Non-empty ", dims + 2,
             "D data tensor expected but got a tensor with sizes ", self.sizes());
  push_image(infer, self, out, self.dtype());
}

// Bytes are rounded to the nearest, and stay in their range.
void round_bytes(const Tensor& out, const Tensor& work) {
  const float* from = work.data<float>();
  uint8_t* to = out.data<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i)
    to[i] = static_cast<uint8_t>(std::clamp(from[i] + 0.5f, 0.f, 255.f));
}

void run(const Call& call, std::vector<cpu::Taps> taps) {
  const Tensor& out = call.out();
  const bool bytes = out.dtype() == DType::uint8;
  const DType dtype = bytes ? DType::float32 : math_dtype(out.dtype());
  const Target target(out, dtype);
  const Image image(call.tensor(0), static_cast<int64_t>(taps.size()), dtype,
                    can_arrange(target.work()));
  cpu::resample({.dtype = dtype,
                 .shape = image.shape,
                 .taps = std::move(taps),
                 .x = image.bytes(),
                 .y = image.target(target.work())});
  if (bytes) return round_bytes(out, target.work());
  target.finish();
}

void upsample_kernel(const Call& call) {
  const int64_t dims = static_cast<int64_t>(call.integers(1).size());
  run(call, taps_for(call, image_sizes(call.tensor(0), dims), call.integers(1)));
}

void upsample_grad_kernel(const Call& call) {
  const int64_t dims = static_cast<int64_t>(call.integers(1).size());
  std::vector<cpu::Taps> taps = taps_for(call, call.integers(1), image_sizes(call.tensor(0), dims));
  for (cpu::Taps& along : taps) along = cpu::transposed(along);
  run(call, std::move(taps));
}

Tensor upsample_grad(const Backward& b) {
  return invoke<"_upsample_grad">(b.grad(), b.shape(0).last(b.integers(1).size()), b[2], b[3], b[4],
                                  b[5]);
}

Tensor upsample_grad_grad(const Backward& b) {
  return invoke<"_upsample_linear1d">(b.grad(), b.shape(0).last(b.integers(1).size()), b[2], b[3],
                                      b[4], b[5]);
}

}  // namespace

void register_upsample(Registry& r) {
  const struct {
    const char *name, *node;
  } entries[] = {{"_upsample_nearest1d", "UpsampleNearest1DBackward0"},
                 {"_upsample_nearest2d", "UpsampleNearest2DBackward0"},
                 {"_upsample_nearest3d", "UpsampleNearest3DBackward0"},
                 {"_upsample_nearest_exact1d", "UpsampleNearestExact1DBackward0"},
                 {"_upsample_nearest_exact2d", "UpsampleNearestExact2DBackward0"},
                 {"_upsample_nearest_exact3d", "UpsampleNearestExact3DBackward0"},
                 {"_upsample_linear1d", "UpsampleLinear1DBackward0"},
                 {"_upsample_bilinear2d", "UpsampleBilinear2DBackward0"},
                 {"_upsample_trilinear3d", "UpsampleTrilinear3DBackward0"},
                 {"_upsample_bicubic2d", "UpsampleBicubic2DBackward0"},
                 {"_upsample_bilinear2d_aa", "UpsampleBilinear2DAaBackward0"},
                 {"_upsample_bicubic2d_aa", "UpsampleBicubic2DAaBackward0"}};
  // The same operator under the names that graph nodes have.
  static std::vector<std::string> schemas;
  schemas.reserve(std::size(entries));
  for (const auto& entry : entries) {
    schemas.push_back(
        std::string(entry.name) +
        "(Tensor self, int[] size, str mode, bool align_corners, bool antialias, float[] scales) -> Tensor");
    r.add(
        {.schema = schemas.back().c_str(),
         .doc =
             "The kernel of interpolate.\n\n>>> wisp.nn.functional._upsample_linear1d(wisp.tensor([[[0., 1.]]]), (3,), 'linear', True, False, ())\ntensor([[[0.0000, 0.5000, 1.0000]]])",
         .infer = infer_upsample,
         .kernel = upsample_kernel,
         .vjp = {{"self", "self.shape size mode align_corners antialias scales", upsample_grad}},
         .jvp = Jvp::linear,
         .batch = Batch::loop,
         .onnx = "Resize",
         .homes = home::functional,
         .node = entry.node});
  }
  r.add(
      {.schema =
           "_upsample_grad(Tensor grad, int[] size, str mode, bool align_corners, bool antialias, float[] scales) -> Tensor",
       .doc = "The derivative of interpolate.",
       .infer =
           [](Infer& infer) {
             push_image(infer, infer.tensor(0), infer.integers(1), infer.tensor(0).dtype());
           },
       .kernel = upsample_grad_kernel,
       .vjp = {{"grad", "grad.shape size mode align_corners antialias scales", upsample_grad_grad}},
       .jvp = Jvp::linear,
       .batch = Batch::loop,
       .onnx = "- backward only",
       .homes = home::internal});
}

}  // namespace wisp::ops
