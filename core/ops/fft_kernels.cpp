// Fourier transforms as operators: complex to complex, real to complex and complex to real.
#include <cmath>

#include "cpu/fft.h"
#include "ops/families.h"
#include "ops/fft.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// --- Kernels (self, dim[], normalization, ...)

Dims dims_of(const Args& args, IntSpan sizes) {
  return wrap_dims(args.integers(1), static_cast<int64_t>(sizes.size()), args.name());
}

void check_dtype(const Infer& infer, DTypeSet allowed) {
  const DType dtype = infer.tensor(0).dtype();
  WISP_CHECK(contains(allowed, dtype), infer.name(), "(): Unsupported dtype ", legacy_name(dtype));
}

void check_lengths(const Infer& infer, IntSpan sizes, const Dims& dims) {
  for (int64_t dim : dims) {
    WISP_CHECK(sizes[dim] >= 1, infer.name(), "(): Invalid number of data points (", sizes[dim],
               ") specified");
  }
}

void infer_c2c(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_dtype(infer, dtypes::complex);
  check_lengths(infer, self.sizes(), dims_of(infer, self.sizes()));
  infer.push(self.sizes(), self.dtype(), self.device());
}

void infer_r2c(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_dtype(infer, dtypes::real_math);
  const Dims dims = dims_of(infer, self.sizes());
  WISP_CHECK(!dims.empty(), infer.name(), "(): must transform at least one axis");
  check_lengths(infer, self.sizes(), dims);
  TensorSpec& spec = infer.push(self.sizes(), to_complex(self.dtype()), self.device());
  if (infer.boolean(3)) spec.sizes[dims.back()] = self->size(dims.back()) / 2 + 1;
}

void infer_c2r(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  check_dtype(infer, dtypes::complex);
  const Dims dims = dims_of(infer, self.sizes());
  WISP_CHECK(!dims.empty(), infer.name(), "(): must transform at least one axis");
  check_lengths(infer, self.sizes(), dims);
  const int64_t n = infer.integer(3), given = self->size(dims.back());
  WISP_CHECK(n >= 1, infer.name(), "(): Invalid number of data points (", n, ") specified");
  WISP_CHECK(given >= n / 2 + 1, infer.name(), "(): expected at least ", n / 2 + 1,
             " numbers in the last dimension, got ", given);
  infer.push(self.sizes(), to_real(self.dtype()), self.device()).sizes[dims.back()] = n;
}

double scale_of(const Args& args, IntSpan lengths, const Dims& dims) {
  const auto norm = static_cast<FftNorm>(args.integer(2));
  double n = 1;
  for (int64_t dim : dims) n *= static_cast<double>(lengths[dim]);
  return norm == FftNorm::none ? 1 : 1 / (norm == FftNorm::n ? n : std::sqrt(n));
}

void run(cpu::FftKind kind, const Tensor& out, const Tensor& in, int64_t dim, int64_t n,
         bool forward, double scale) {
  cpu::fft({.kind = kind,
            .dtype = to_real(out.dtype()),
            .n = n,
            .sizes = out.sizes(),
            .dim = dim,
            .in = in->bytes(),
            .in_strides = in.strides(),
            .out = out->bytes(),
            .out_strides = out.strides(),
            .forward = forward,
            .scale = scale});
}

// Along several dimensions, the last first; the first of them reads `in`, the others what is there.
void run_complex(const Tensor& out, const Tensor& in, IntSpan dims, bool forward, double scale) {
  Tensor from = in;
  for (size_t i = dims.size(); i-- > 0; from = out, scale = 1)
    run(cpu::FftKind::complex, out, from, dims[i], out->size(dims[i]), forward, scale);
}

void c2c_kernel(const Call& call) {
  const Tensor& self = call.tensor(0);
  const Dims dims = dims_of(call, self.sizes());
  if (dims.empty()) return copy_raw(call.out(), self);
  run_complex(call.out(), self, dims, call.boolean(3), scale_of(call, self.sizes(), dims));
}

void r2c_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const Dims dims = dims_of(call, self.sizes());
  run(cpu::FftKind::from_real, out, self, dims.back(), self->size(dims.back()), true,
      scale_of(call, self.sizes(), dims));
  run_complex(out, out, IntSpan(dims).first(dims.size() - 1), true, 1);
}

void c2r_kernel(const Call& call) {
  const Tensor &self = call.tensor(0), &out = call.out();
  const Dims dims = dims_of(call, self.sizes());
  Tensor from = self;
  if (dims.size() > 1) {
    from = Tensor::empty(self.sizes(), self.dtype());
    run_complex(from, self, IntSpan(dims).first(dims.size() - 1), false, 1);
  }
  run(cpu::FftKind::to_real, out, from, dims.back(), call.integer(3), false,
      scale_of(call, out.sizes(), dims));
}

// --- Derivatives

// Half a spectrum stands for a whole one, in which all but the ends appear twice: those are scaled.
Tensor weighted(const Tensor& half, int64_t dim, int64_t n, double weight) {
  const int64_t size = half->size(dim);
  const Tensor weights = full(Dims{size}, weight, to_real(half.dtype()));
  fill_(narrow(weights, 0, 0, 1), 1);
  if (n % 2 == 0) fill_(narrow(weights, 0, n / 2, 1), 1);
  Dims shape(half.sizes().size(), 1);
  shape[dim] = size;
  return mul(half, view(weights, shape));
}

Tensor c2c_grad(const Backward& b) {
  return fft_c2c(b.grad(), b.integers(1), FftNorm(b.integer(2)), !b.boolean(3));
}

Tensor r2c_grad(const Backward& b) {
  const IntSpan dims = b.integers(1);
  const auto norm = FftNorm(b.integer(2));
  if (!b.boolean(3)) return real(fft_c2c(b.grad(), dims, norm, false));
  const int64_t last = dims_of(b, b.shape(0)).back(), n = b.shape(0)[last];
  return fft_c2r(weighted(b.grad(), last, n, 0.5), dims, norm, n);
}

// What the transform ignores (numbers beyond n / 2) has no gradient.
Tensor c2r_grad(const Backward& b) {
  const IntSpan dims = b.integers(1);
  const int64_t last = dims_of(b, b.shape(0)).back(), n = b.integer(3);
  const Tensor half = fft_r2c(b.grad(), dims, FftNorm(b.integer(2)), true);
  const Tensor grad = weighted(half, last, n, 2);
  const int64_t ignored = b.shape(0)[last] - half->size(last);
  if (ignored == 0) return grad;
  Dims pad(2 * (b.shape(0).size() - static_cast<size_t>(last)), 0);
  pad.back() = ignored;
  return constant_pad_nd(grad, pad, 0);
}

OpDef linear_transform(OpDef def) {
  def.jvp = Jvp::linear;
  def.batch = Batch::loop;
  def.onnx = "DFT";
  def.homes = home::internal;
  return def;
}

}  // namespace

Tensor fft_c2c(const Tensor& self, IntSpan dims, FftNorm norm, bool forward) {
  return invoke<"_fft_c2c">(self, dims, static_cast<int64_t>(norm), forward);
}
Tensor fft_r2c(const Tensor& self, IntSpan dims, FftNorm norm, bool onesided) {
  return invoke<"_fft_r2c">(self, dims, static_cast<int64_t>(norm), onesided);
}
Tensor fft_c2r(const Tensor& self, IntSpan dims, FftNorm norm, int64_t last_dim_size) {
  return invoke<"_fft_c2r">(self, dims, static_cast<int64_t>(norm), last_dim_size);
}

void register_fft_kernels(Registry& r) {
  r.add(linear_transform(
      {.schema = "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
       .doc = "The Fourier transform of complex numbers along dimensions.",
       .infer = infer_c2c,
       .kernel = c2c_kernel,
       .vjp = {{"self", "dim normalization forward", c2c_grad}},
       .node = "FftC2CBackward0"}));
  r.add(linear_transform(
      {.schema = "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
       .doc = "The Fourier transform of real numbers; of the last dimension only the first half is "
              "kept if `onesided`.",
       .infer = infer_r2c,
       .kernel = r2c_kernel,
       .vjp = {{"self", "self.shape dim normalization onesided", r2c_grad}},
       .node = "FftR2CBackward0"}));
  r.add(linear_transform(
      {.schema = "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
       .doc = "The inverse Fourier transform of the first half of the spectrum of real numbers.",
       .infer = infer_c2r,
       .kernel = c2r_kernel,
       .vjp = {{"self", "self.shape dim normalization last_dim_size", c2r_grad}},
       .node = "FftC2RBackward0"}));
}

}  // namespace wisp::ops
