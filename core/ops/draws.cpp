// Random numbers that overwrite a tensor: x.uniform_() and the like.
#include "cpu/opcode.h"
#include "ops/families.h"
#include "ops/number.h"
#include "ops/random.h"

namespace wisp::ops {

namespace {

void infer_float(Infer& infer) {
  check_random_dtype(infer, infer.tensor(0).dtype());
  infer_like_self(infer);
}

// The same for distributions that have no complex form.
void infer_real(Infer& infer) {
  WISP_CHECK(is_floating(infer.tensor(0).dtype()), infer.name(),
             "_(): a continuous distribution needs a floating-point dtype, got ",
             legacy_name(infer.tensor(0).dtype()));
  infer_like_self(infer);
}

// Argument `i`, which must be positive.
template <int i>
void infer_positive(Infer& infer) {
  infer_real(infer);
  const char* parameter = infer.op().sig.params[i].name.c_str();
  WISP_CHECK(infer.real(i) > 0, infer.name(), "_ expects ", parameter, " > 0.0, but found ",
             parameter, "=", infer.real(i));
}

void infer_uniform(Infer& infer) {
  infer_float(infer);
  WISP_CHECK(infer.real(1) <= infer.real(2),
             "uniform_ expects to return a [from, to) range, but found from=", infer.real(1),
             " > to=", infer.real(2));
  const DType dtype = infer.tensor(0).dtype();
  auto is_number = [&](double x) { return std::isfinite(x) && fits(x, dtype); };
  WISP_CHECK(is_number(infer.real(1)), "uniform_: from is out of bounds for ", name(dtype));
  WISP_CHECK(is_number(infer.real(2)), "uniform_: to is out of bounds for ", name(dtype));
  WISP_CHECK(is_number(infer.real(2) - infer.real(1)), "uniform_: the distance from ",
             infer.real(1), " to ", infer.real(2), " is out of bounds for ", name(dtype));
}

void uniform_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double low = call.real(1), span = call.real(2) - low;
  const auto spread = [low, span](auto x) {
    using T = decltype(x);
    const T first = static_cast<T>(low), y = first + x * static_cast<T>(span);
    return y >= static_cast<T>(low + span) && span > 0 ? first : y;  // rounded up to the end
  };
  const cpu::RandomStream stream = draw(call, 3, draws_of(out));
  if (const CutBits cut(out.dtype()); cut.steps > 0) {
    fill_mapped(out, stream, uniform_source, [=](auto x) { return spread(cut(x)); });
  } else {
    fill_mapped(out, stream, uniform_source, spread);
  }
}

void infer_normal(Infer& infer) {
  infer_float(infer);
  WISP_CHECK(infer.real(2) >= 0, "normal expects std >= 0.0, but found std ", infer.real(2));
}

void normal_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double mean = call.real(1),
               std = call.real(2) * (is_complex(out.dtype()) ? std::sqrt(0.5) : 1.0);
  fill_mapped(out, draw(call, 3, draws_of(out)), normal_source, [mean, std](auto x) {
    return static_cast<decltype(x)>(mean) + x * static_cast<decltype(x)>(std);
  });
}

// A distribution given by the inverse of its cumulative function, applied to uniform numbers.
template <class F>
void by_inverse(const Call& call, int generator, F f) {
  fill_mapped(call.out(), draw(call, generator, call.out().numel()), uniform_source,
              [f](auto x) { return f(static_cast<double>(x)); });
}

// -log(1 - u) / rate in double, whose logarithms are made many at once.
template <class T>
void make_exponential(T* data, int64_t n, double rate) {
  double u[drawn_tile];
  const void* in = u;
  for (int64_t i = 0; i < n; ++i) u[i] = -static_cast<double>(data[i]);
  cpu::tile_kernel(cpu::Opcode::log1p, DType::float64)(u, &in, n, cpu::Params());
  for (int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(-u[i] / rate);
}

void exponential_kernel(const Call& call) {
  const double rate = call.real(1);
  fill_mapped(call.out(), draw(call, 2, call.out().numel()), uniform_source,
              [rate](auto* data, int64_t n) { make_exponential(data, n, rate); });
}

void cauchy_kernel(const Call& call) {
  const double median = call.real(1), sigma = call.real(2);
  by_inverse(call, 3, [=](double u) { return median + sigma * std::tan(M_PI * (u - 0.5)); });
}

void log_normal_kernel(const Call& call) {
  const double mean = call.real(1), std = call.real(2);
  fill_mapped(call.out(), draw(call, 3, call.out().numel()), normal_source,
              [=](auto x) { return std::exp(mean + static_cast<double>(x) * std); });
}

void infer_geometric(Infer& infer) {
  const DType dtype = infer.tensor(0).dtype();
  if (!contains(dtypes::real, dtype)) fail_not_implemented("geometric_", dtype);
  WISP_CHECK(infer.real(1) > 0 && infer.real(1) < 1,
             "geometric_ expects p to be in (0, 1), but got p=", infer.real(1));
  infer_like_self(infer);
}

void geometric_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double scale = 1 / std::log1p(-call.real(1));
  const Tensor wide = Tensor::empty(out.sizes(), DType::float64);
  fill_mapped(wide, draw(call, 2, out.numel()), uniform_source,
              [scale](auto u) { return std::max(1.0, std::ceil(std::log1p(-u) * scale)); });
  copy_raw(out, wide);
}

// random_([from,] to): `form` is how many of the two there are. Without an end, all integers from
// `from` on that the dtype holds exactly.
uint64_t open_range(DType dtype) {
  const int bits = dtype == DType::float64    ? 53
                   : dtype == DType::float32  ? 24
                   : dtype == DType::float16  ? 11
                   : dtype == DType::bfloat16 ? 8
                   : dtype == DType::bool_
                       ? 1
                       : static_cast<int>(item_size(dtype)) * 8 - (is_signed(dtype) ? 1 : 0);
  return (uint64_t(1) << bits) + (is_floating(dtype) ? 1 : 0);
}

template <int form>
void infer_random(Infer& infer) {
  const DType dtype = infer.tensor(0).dtype();
  if (!contains(dtypes::all_real, dtype)) fail_not_implemented("random_", dtype);
  if (form > 0 && infer.has(form))
    check_range(infer, form == 2 ? infer.integer(1) : 0, infer.integer(form), dtype);
  infer_like_self(infer);
}

template <int form>
void random_kernel(const Call& call) {
  const Tensor& out = call.out();
  const int64_t low = form == 2 ? call.integer(1) : 0;
  const uint64_t end = form > 0 && call.has(form) ? static_cast<uint64_t>(call.integer(form))
                                                  : open_range(out.dtype());
  fill_integers(out, low, end - static_cast<uint64_t>(low), draw(call, form + 1, out.numel()));
}

struct Draw {
  const char *schema, *doc;
  InferFn infer;
  KernelFn kernel;
  const char* onnx = "+ random numbers of ONNX";
};

constexpr Draw draws[] = {
    {"uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor",
     "Overwrites with uniform random numbers in [from, to).\n\n>>> wisp.empty(2).uniform_(3, 3)\ntensor([3., 3.])",
     infer_uniform, uniform_kernel, "RandomUniformLike"},
    {"normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
     "Overwrites with normal random numbers.\n\n>>> wisp.empty(2).normal_(5, 0)\ntensor([5., 5.])",
     infer_normal, normal_kernel, "RandomNormalLike"},
    {"exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
     "Overwrites with exponentially distributed numbers of rate `lambd`.\n\n>>> (wisp.empty(9).exponential_() >= 0).all()\ntensor(True)",
     infer_positive<1>, exponential_kernel},
    {"cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor",
     "Overwrites with numbers of the Cauchy distribution.\n\n>>> wisp.empty(3).cauchy_().shape\nwisp.Size([3])",
     infer_positive<2>, cauchy_kernel},
    {"log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor",
     "Overwrites with numbers whose logarithm is normal.\n\n>>> (wisp.empty(9).log_normal_() > 0).all()\ntensor(True)",
     infer_positive<2>, log_normal_kernel},
    {"geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     "Overwrites with the number of trials until the first success of probability `p`.\n\n>>> (wisp.empty(9).geometric_(0.5) >= 1).all()\ntensor(True)",
     infer_geometric, geometric_kernel},
    {"random(Tensor self, *, Generator? generator=None) -> Tensor",
     "Overwrites with random integers over the dtype's whole (for floats: exact) range.\n\n>>> (wisp.empty(9).random_() >= 0).all()\ntensor(True)",
     infer_random<0>, random_kernel<0>, "- numbers without a limit"},
    {"random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
     "Overwrites with random integers from 0 up to `to`, which is excluded.\n\n>>> wisp.empty(2).random_(1)\ntensor([0., 0.])",
     infer_random<1>, random_kernel<1>},
    {"random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
     "Overwrites with random integers from `from` up to `to`, which is excluded.\n\n>>> wisp.empty(2).random_(3, 4)\ntensor([3., 3.])",
     infer_random<2>, random_kernel<2>},
};

}  // namespace

void register_draws(Registry& r) {
  for (const Draw& entry : draws) {
    r.add({.schema = entry.schema,
           .doc = entry.doc,
           .infer = entry.infer,
           .kernel = entry.kernel,
           .vjp = {{"self", "", no_gradient}},
           .jvp = Jvp::none,
           .batch = Batch::loop,
           .onnx = entry.onnx,
           .traits = trait::random | trait::in_place | trait::in_place_only | trait::writes_self,
           .homes = home::method});
  }
}

}  // namespace wisp::ops
