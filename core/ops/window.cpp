// Window functions of signal processing.
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

// name_window(window_length, periodic, [numbers...,] *, dtype, device)
template <int numbers>
void infer_window(Infer& infer) {
  const int64_t n = infer.integer(0);
  const DType dtype = infer.dtype_or_none(2 + numbers).value_or(default_dtype());
  WISP_CHECK(!is_integral(dtype) && dtype != DType::bool_, infer.name(),
             " expects floating point dtypes, got: ", name(dtype));
  if (is_complex(dtype)) fail_not_implemented(infer.name(), dtype);
  WISP_CHECK(n >= 0, infer.name(), " requires non-negative window_length, got window_length=", n);
  infer.push({n}, dtype, infer.device(3 + numbers));
}

// Fills with f(op(makes(x))), where x goes from 0 to 1. A periodic window lacks the last of them.
template <class Makes, class F>
void fill_window(const Call& call, cpu::Opcode op, Makes makes, F f) {
  const Tensor& out = call.out();
  const int64_t n = call.integer(0), steps = call.boolean(1) ? n : n - 1;
  auto place = [=](int64_t i) {
    return n == 1 ? 0.0 : static_cast<double>(i) / static_cast<double>(steps);
  };
  constexpr int64_t together = 256;
  parallel_for(n, 1 << 12, [&](int64_t begin, int64_t end) {
    alignas(64) double made[together], found[together];
    for (int64_t first = begin; first < end; first += together) {
      const int64_t count = std::min(together, end - first);
      for (int64_t i = 0; i < count; ++i) made[i] = makes(place(first + i));
      const void* in[] = {made};
      cpu::tile_kernel(op, DType::float64)(found, in, count, cpu::Params());
      for (int64_t i = 0; i < count; ++i) made[i] = n == 1 ? 1.0 : f(found[i]);
      cpu::kernels().cast[static_cast<int>(out.dtype())][static_cast<int>(DType::float64)](
          out->bytes() + first * static_cast<int64_t>(item_size(out.dtype())), made, count);
    }
  });
}

// With f(cosine), which goes through one period.
template <class F>
void fill_cosines(const Call& call, F f) {
  fill_window(call, cpu::Opcode::cos, [](double x) { return 2 * std::numbers::pi * x; }, f);
}

void bartlett_kernel(const Call& call) {
  fill_window(
      call, cpu::Opcode::abs, [](double x) { return 2 * x - 1; },
      [](double distance) { return 1 - distance; });
}

void hann_kernel(const Call& call) {
  fill_cosines(call, [](double c) { return 0.5 - 0.5 * c; });
}

void hamming_kernel(const Call& call) {
  const double alpha = call.real(2), beta = call.real(3);
  fill_cosines(call, [=](double c) { return alpha - beta * c; });
}

void blackman_kernel(const Call& call) {
  fill_cosines(call,
               [](double c) { return std::max(0.0, 0.42 - 0.5 * c + 0.08 * (2 * c * c - 1)); });
}

void kaiser_kernel(const Call& call) {
  const double beta = std::abs(call.real(2)), whole = std::cyl_bessel_i(0.0, beta);
  fill_window(
      call, cpu::Opcode::i0,
      [=](double x) { return beta * std::sqrt(std::max(0.0, 1 - (2 * x - 1) * (2 * x - 1))); },
      [=](double found) { return found / whole; });
}

OpDef window(OpDef def) {
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  if (!def.onnx[0]) def.onnx = "+ a constant";
  def.traits = trait::factory;
  def.homes = home::function;
  return def;
}

}  // namespace

void register_window(Registry& r) {
  r.add(window(
      {.schema =
           "bartlett_window(int window_length, bool periodic=True, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "A triangle.\n\n>>> wisp.bartlett_window(4)\ntensor([0.0000, 0.5000, 1.0000, 0.5000])",
       .infer = infer_window<0>,
       .kernel = bartlett_kernel}));
  r.add(window(
      {.schema =
           "hann_window(int window_length, bool periodic=True, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "One period of a raised cosine.\n\n"
              ">>> wisp.hann_window(4)\ntensor([0.0000, 0.5000, 1.0000, 0.5000])",
       .infer = infer_window<0>,
       .kernel = hann_kernel,
       .onnx = "+ a constant"}));
  r.add(window(
      {.schema =
           "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "`alpha - beta * cos(x)` over one period.\n\n"
              ">>> wisp.hamming_window(4)\ntensor([0.0800, 0.5400, 1.0000, 0.5400])",
       .infer = infer_window<2>,
       .kernel = hamming_kernel,
       .onnx = "+ a constant"}));
  r.add(window(
      {.schema =
           "blackman_window(int window_length, bool periodic=True, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "`0.42 - 0.5 * cos(x) + 0.08 * cos(2 * x)` over one period.\n\n"
              ">>> wisp.blackman_window(4)\ntensor([0.0000, 0.3400, 1.0000, 0.3400])",
       .infer = infer_window<0>,
       .kernel = blackman_kernel,
       .onnx = "+ a constant"}));
  r.add(window(
      {.schema =
           "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "`i0(beta * sqrt(1 - x**2)) / i0(beta)` for x from -1 to 1.\n\n"
              ">>> wisp.kaiser_window(4, beta=0.)\ntensor([1., 1., 1., 1.])",
       .infer = infer_window<1>,
       .kernel = kaiser_kernel}));
}

}  // namespace wisp::ops
