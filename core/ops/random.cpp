// Random numbers: uniform, normal, integers, permutations and draws from common distributions.
#include "cpu/random.h"

#include <cmath>

#include "base/generator.h"
#include "base/parallel.h"
#include "ops/families.h"
#include "ops/ops.h"
#include "ops/promotion.h"
#include "ops/raw.h"

namespace wisp::ops {

namespace {

cpu::RandomStream draw(const Args& args, int generator, int64_t n) {
  Generator* given = args.generator(generator);
  const Generator::State state =
      (given ? *given : default_generator()).reserve(cpu::counters_for(n));
  return {state.seed, state.counter};
}

// Runs fill(pointer) on out's memory, or on a buffer that is then converted into it.
template <class T, class F>
void fill_through(const Tensor& out, F fill) {
  if (out.dtype() == dtype_of<T> && out.is_contiguous()) {
    fill(out.data<T>());
    return;
  }
  Tensor buffer = Tensor::empty(out.sizes(), dtype_of<T>);
  fill(buffer.data<T>());
  copy_raw(out, buffer);
}

// Real and imaginary parts of a complex tensor, in a last dimension of two.
Tensor parts_of(const Tensor& t) {
  Dims sizes(t.sizes()), strides(t.strides());
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  Tensor parts = t.alias(sizes, strides, 2 * t->offset());
  parts->set_dtype(to_real(t.dtype()));
  return parts;
}

// Draws uniform (or normal) numbers and maps each with f, in double for float64 and complex128,
// else in float. Complex numbers get two independent parts of half the variance.
template <class Source, class F>
void fill_mapped(const Tensor& out, cpu::RandomStream stream, Source source, F f) {
  auto run = [&]<class T>(T* data, int64_t n) {
    source(data, n, stream);
    parallel_for(n, 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(f(data[i]));
    });
  };
  if (is_complex(out.dtype())) {
    fill_mapped(parts_of(out), stream, source, f);
  } else if (out.dtype() == DType::float64) {
    fill_through<double>(out, [&](double* data) { run(data, out.numel()); });
  } else {
    fill_through<float>(out, [&](float* data) { run(data, out.numel()); });
  }
}

constexpr auto uniform_source = [](auto* data, int64_t n, cpu::RandomStream s) {
  cpu::fill_uniform(data, n, s);
};
constexpr auto normal_source = [](auto* data, int64_t n, cpu::RandomStream s) {
  cpu::fill_normal(data, n, s);
};

int64_t draws_of(const Tensor& out) { return out.numel() * (is_complex(out.dtype()) ? 2 : 1); }

void check_random_dtype(const Args& args, DType dtype) {
  WISP_CHECK_KIND(not_implemented, is_differentiable(dtype), args.name(),
                  "(): not implemented for '", legacy_name(dtype),
                  "'; random numbers of this kind need a floating-point dtype");
}

void check_sizes(const Args& args, IntSpan sizes) {
  for (int64_t size : sizes) {
    WISP_CHECK(size >= 0, args.name(), "(): Trying to create tensor with negative dimension ", size,
               ": ", sizes);
  }
}

// rand(size, *, generator, dtype, device)
void infer_rand(Infer& infer) {
  check_sizes(infer, infer.integers(0));
  const DType dtype = infer.dtype_or_none(2).value_or(default_dtype());
  check_random_dtype(infer, dtype);
  infer.push(infer.integers(0), dtype, infer.device(3));
}

// rand_like(self, *, generator, dtype, device, memory_format)
void infer_rand_like(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const DType dtype = infer.dtype_or_none(2).value_or(self.dtype());
  check_random_dtype(infer, dtype);
  TensorSpec& spec = infer.push(self.sizes(), dtype, self.device());
  if (infer.has(4) && infer[4].as.memory_format != MemoryFormat::preserve) {
    spec.strides = strides_for(infer[4].as.memory_format, self.sizes());
  } else if (!self.is_contiguous()) {
    spec.strides = preserved_strides(self.sizes(), self.strides());
  }
}

// Cuts a number in [0, 1) down to the bits a dtype keeps, so that rounding does not reach 1.
struct CutBits {
  explicit CutBits(DType dtype)
      : steps(dtype == DType::float16    ? 2048
              : dtype == DType::bfloat16 ? 256
                                         : 0) {}
  template <class T>
  T operator()(T x) const {
    return steps > 0 ? std::floor(x * static_cast<T>(steps)) / static_cast<T>(steps) : x;
  }
  int steps;
};

void rand_kernel(const Call& call) {
  const Tensor& out = call.out();
  fill_mapped(out, draw(call, 1, draws_of(out)), uniform_source, CutBits(out.dtype()));
}

void randn_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double scale = is_complex(out.dtype()) ? std::sqrt(0.5) : 1.0;
  fill_mapped(out, draw(call, 1, draws_of(out)), normal_source,
              [scale](auto x) { return x * static_cast<decltype(x)>(scale); });
}

// Integers in [low, low + range); range 0 means all 2^64.
void fill_integers(const Tensor& out, int64_t low, uint64_t range, cpu::RandomStream stream) {
  const int64_t n = out.numel();
  Tensor bits = Tensor::empty({n}, DType::int64);
  auto* words = reinterpret_cast<uint64_t*>(bits.data<int64_t>());
  cpu::fill_bits(words, n, stream);
  visit<dtypes::all>(out.dtype(), "random", [&]<class T>() {
    fill_through<T>(out, [&](T* data) {
      parallel_for(n, 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          // The high half of a product spreads evenly over the range.
          const uint64_t offset =
              range == 0
                  ? words[i]
                  : static_cast<uint64_t>((static_cast<unsigned __int128>(words[i]) * range) >> 64);
          data[i] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + offset));
        }
      });
    });
  });
}

void check_range(const Args& args, int64_t low, int64_t high, DType dtype) {
  WISP_CHECK(low < high, args.name(), "(): expects 'from' to be less than 'to', but got from=", low,
             " >= to=", high);
  visit<dtypes::all>(dtype, args.name(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, int64_t>) {
      constexpr int64_t least = static_cast<int64_t>(std::numeric_limits<T>::min());
      constexpr int64_t most = static_cast<int64_t>(std::numeric_limits<T>::max());
      WISP_CHECK(low >= least && low <= most, args.name(), "(): from is out of bounds for ",
                 name(dtype), ": ", low);
      WISP_CHECK(high - 1 >= least && high - 1 <= most, args.name(),
                 "(): to - 1 is out of bounds for ", name(dtype), ": ", high - 1);
    }
  });
}

// randint(low, high, size, *, generator, dtype, device); the short form starts at 0
template <int high>
void infer_randint(Infer& infer) {
  const IntSpan size = infer.integers(high + 1);
  check_sizes(infer, size);
  const DType dtype = infer.dtype_or_none(high + 3).value_or(DType::int64);
  check_range(infer, high ? infer.integer(0) : 0, infer.integer(high), dtype);
  infer.push(size, dtype, infer.device(high + 4));
}

template <int high>
void randint_kernel(const Call& call) {
  const int64_t low = high ? call.integer(0) : 0;
  const uint64_t range = static_cast<uint64_t>(call.integer(high)) - static_cast<uint64_t>(low);
  fill_integers(call.out(), low, range, draw(call, high + 2, call.out().numel()));
}

// randint_like(self, [low,] high, *, generator, dtype, device, memory_format)
template <int high>
void randint_like_body(const Args& args, TensorList& outs) {
  const Tensor& self = args.tensor(0);
  const DType dtype = args.dtype_or_none(high + 2).value_or(self.dtype());
  const int64_t low = high == 2 ? args.integer(1) : 0;
  outs.push(to(invoke<"randint.low">(low, args.integer(high), self.sizes(), args[high + 1], dtype),
               dtype));
}

void infer_randperm(Infer& infer) {
  const int64_t n = infer.integer(0);
  WISP_CHECK(n >= 0, "randperm(): n must be non-negative, got ", n);
  infer.push({n}, infer.dtype_or_none(2).value_or(DType::int64), infer.device(3));
}

void randperm_kernel(const Call& call) {
  const int64_t n = call.integer(0);
  const cpu::RandomStream stream = draw(call, 1, n);
  Tensor bits = Tensor::empty({n}, DType::int64);
  auto* words = reinterpret_cast<uint64_t*>(bits.data<int64_t>());
  cpu::fill_bits(words, n, stream);
  Tensor order = Tensor::empty({n}, DType::int64);
  int64_t* items = order.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {  // Fisher and Yates, from the inside out
    const auto j = static_cast<int64_t>(
        (static_cast<unsigned __int128>(words[i]) * static_cast<uint64_t>(i + 1)) >> 64);
    items[i] = items[j];
    items[j] = i;
  }
  copy_raw(call.out(), order);
}

// --- in-place draws: x.uniform_() and the like

void infer_self(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  TensorSpec& spec = infer.push(self.sizes(), self.dtype(), self.device());
  if (!self.is_contiguous()) spec.strides = preserved_strides(self.sizes(), self.strides());
}

void infer_float_self(Infer& infer) {
  check_random_dtype(infer, infer.tensor(0).dtype());
  infer_self(infer);
}

void infer_uniform(Infer& infer) {
  infer_float_self(infer);
  WISP_CHECK(infer.real(1) <= infer.real(2),
             "uniform_ expects to return a [from, to) range, but found from=", infer.real(1),
             " > to=", infer.real(2));
}

void uniform_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double low = call.real(1), span = call.real(2) - low;
  const CutBits cut(out.dtype());
  fill_mapped(out, draw(call, 3, draws_of(out)), uniform_source, [low, span, cut](auto x) {
    const auto y = static_cast<decltype(x)>(low + cut(x) * span);
    return y >= static_cast<decltype(x)>(low + span) && span > 0 ? static_cast<decltype(x)>(low)
                                                                 : y;  // rounded up to the end
  });
}

void infer_normal(Infer& infer) {
  infer_float_self(infer);
  WISP_CHECK(infer.real(2) >= 0, "normal expects std >= 0.0, but found std ", infer.real(2));
}

void normal_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double mean = call.real(1),
               std = call.real(2) * (is_complex(out.dtype()) ? std::sqrt(0.5) : 1.0);
  fill_mapped(out, draw(call, 3, draws_of(out)), normal_source,
              [mean, std](auto x) { return mean + x * std; });
}

// A distribution given by the inverse of its cumulative function, applied to uniform numbers.
template <class F>
void by_inverse(const Call& call, int generator, F f) {
  fill_mapped(call.out(), draw(call, generator, call.out().numel()), uniform_source,
              [f](auto x) { return f(static_cast<double>(x)); });
}

void exponential_kernel(const Call& call) {
  const double rate = call.real(1);
  by_inverse(call, 2, [rate](double u) { return -std::log1p(-u) / rate; });
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

void geometric_kernel(const Call& call) {
  const double p = call.real(1);
  const Tensor& out = call.out();
  Tensor wide = Tensor::empty(out.sizes(), DType::float64);
  cpu::fill_uniform(wide.data<double>(), out.numel(), draw(call, 2, out.numel()));
  double* data = wide.data<double>();
  for (int64_t i = 0; i < out.numel(); ++i)
    data[i] = std::ceil(std::log1p(-data[i]) / std::log1p(-p));
  for (int64_t i = 0; i < out.numel(); ++i) data[i] = std::max(data[i], 1.0);
  copy_raw(out, wide);
}

// random_(from, to): integers that the dtype can hold exactly.
template <int form>
void random_kernel(const Call& call) {
  const Tensor& out = call.out();
  int64_t low = 0, high = 0;
  if constexpr (form == 2) {
    low = call.integer(1);
    if (call.has(2)) high = call.integer(2);
  } else if constexpr (form == 1) {
    high = call.integer(1);
  }
  const bool open = form == 0 || (form == 2 && !call.has(2));
  if (!open) check_range(call, low, high, out.dtype());
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (open) {
    switch (out.dtype()) {
      case DType::float64:
        range = (uint64_t(1) << 53) + 1 - static_cast<uint64_t>(low);
        break;
      case DType::float32:
        range = (uint64_t(1) << 24) + 1 - static_cast<uint64_t>(low);
        break;
      case DType::float16:
        range = (1 << 11) + 1 - static_cast<uint64_t>(low);
        break;
      case DType::bfloat16:
        range = (1 << 8) + 1 - static_cast<uint64_t>(low);
        break;
      case DType::bool_:
        range = 2;
        break;
      default:
        range = (uint64_t(1) << (item_size(out.dtype()) * 8 - (is_signed(out.dtype()) ? 1 : 0))) -
                static_cast<uint64_t>(low);
    }
  }
  fill_integers(out, low, range, draw(call, form + 1, out.numel()));
}

Tensor no_gradient(const Backward& b) { return zeros_like(b.grad()); }

OpDef in_place_draw(OpDef def) {
  def.vjp = {{"self", "", no_gradient}};
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  def.onnx = def.onnx[0] ? def.onnx : "- has no ONNX operator";
  def.traits |= trait::random | trait::in_place | trait::in_place_only | trait::writes_self;
  def.homes = home::method;
  return def;
}

OpDef random_factory(OpDef def) {
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  def.traits |= trait::random | trait::factory | trait::out;
  def.homes = home::function;
  return def;
}

void register_factories(Registry& r) {
  r.add(random_factory(
      {.schema =
           "rand(int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "Uniform random numbers in [0, 1).\n\n>>> wisp.rand(2, 3).shape\nwisp.Size([2, 3])",
       .infer = infer_rand,
       .kernel = rand_kernel,
       .onnx = "RandomUniform"}));
  r.add(random_factory(
      {.schema =
           "randn(int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Normal random numbers of mean 0 and variance 1.\n\n>>> wisp.randn(2, 3).shape\nwisp.Size([2, 3])",
       .infer = infer_rand,
       .kernel = randn_kernel,
       .onnx = "RandomNormal"}));
  r.add(random_factory(
      {.schema =
           "rand_like(Tensor self, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "Uniform random numbers in the shape of `self`.\n\n>>> wisp.rand_like(wisp.ones(2)).shape\nwisp.Size([2])",
       .infer = infer_rand_like,
       .kernel = rand_kernel,
       .onnx = "RandomUniformLike"}));
  r.add(random_factory(
      {.schema =
           "randn_like(Tensor self, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
       .doc =
           "Normal random numbers in the shape of `self`.\n\n>>> wisp.randn_like(wisp.ones(2)).shape\nwisp.Size([2])",
       .infer = infer_rand_like,
       .kernel = randn_kernel,
       .onnx = "RandomNormalLike"}));
  r.add(random_factory(
      {.schema =
           "randint(int high, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Random integers from 0 up to `high`, which is excluded.\n\n>>> wisp.randint(1, (3,))\ntensor([0, 0, 0])",
       .infer = infer_randint<0>,
       .kernel = randint_kernel<0>,
       .onnx = "RandomUniform"}));
  r.add(random_factory(
      {.schema =
           "randint.low(int low, int high, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Random integers from `low` up to `high`, which is excluded.\n\n>>> wisp.randint(3, 4, (2,))\ntensor([3, 3])",
       .infer = infer_randint<1>,
       .kernel = randint_kernel<1>,
       .onnx = "RandomUniform"}));
  r.add(
      {.schema =
           "randint_like(Tensor self, int high, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Random integers below `high` in the shape and dtype of `self`.\n\n>>> wisp.randint_like(wisp.ones(2), 1)\ntensor([0., 0.])",
       .body = randint_like_body<1>,
       .onnx = "RandomUniformLike",
       .traits = trait::random | trait::factory,
       .homes = home::function});
  r.add(
      {.schema =
           "randint_like.low(Tensor self, int low, int high, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Random integers from `low` up to `high` in the shape and dtype of `self`.\n\n>>> wisp.randint_like(wisp.ones(2), 4, 5)\ntensor([4., 4.])",
       .body = randint_like_body<2>,
       .onnx = "RandomUniformLike",
       .traits = trait::random | trait::factory,
       .homes = home::function});
  r.add(random_factory(
      {.schema =
           "randperm(int n, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc = "The numbers 0 to n - 1 in random order.\n\n>>> wisp.randperm(4).sum()\ntensor(6)",
       .infer = infer_randperm,
       .kernel = randperm_kernel,
       .onnx = "- has no ONNX operator"}));
}

void register_in_place_draws(Registry& r) {
  r.add(in_place_draw(
      {.schema =
           "uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with uniform random numbers in [from, to).\n\n>>> wisp.empty(2).uniform_(3, 3)\ntensor([3., 3.])",
       .infer = infer_uniform,
       .kernel = uniform_kernel,
       .onnx = "RandomUniformLike"}));
  r.add(in_place_draw(
      {.schema =
           "normal(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with normal random numbers.\n\n>>> wisp.empty(2).normal_(5, 0)\ntensor([5., 5.])",
       .infer = infer_normal,
       .kernel = normal_kernel,
       .onnx = "RandomNormalLike"}));
  r.add(in_place_draw(
      {.schema = "exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with exponentially distributed numbers of rate `lambd`.\n\n>>> (wisp.empty(9).exponential_() >= 0).all()\ntensor(True)",
       .infer =
           [](Infer& infer) {
             infer_float_self(infer);
             WISP_CHECK(infer.real(1) > 0,
                        "exponential_ expects lambda > 0.0, but found lambda=", infer.real(1));
           },
       .kernel = exponential_kernel}));
  r.add(in_place_draw(
      {.schema =
           "cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with numbers of the Cauchy distribution.\n\n>>> wisp.empty(3).cauchy_().shape\nwisp.Size([3])",
       .infer =
           [](Infer& infer) {
             infer_float_self(infer);
             WISP_CHECK(infer.real(2) > 0,
                        "cauchy_ expects sigma > 0.0, but found sigma=", infer.real(2));
           },
       .kernel = cauchy_kernel}));
  r.add(in_place_draw(
      {.schema =
           "log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with numbers whose logarithm is normal.\n\n>>> (wisp.empty(9).log_normal_() > 0).all()\ntensor(True)",
       .infer =
           [](Infer& infer) {
             infer_float_self(infer);
             WISP_CHECK(infer.real(2) > 0,
                        "log_normal_ expects std > 0.0, but found std=", infer.real(2));
           },
       .kernel = log_normal_kernel}));
  r.add(in_place_draw(
      {.schema = "geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with the number of trials until the first success of probability `p`.\n\n>>> (wisp.empty(9).geometric_(0.5) >= 1).all()\ntensor(True)",
       .infer =
           [](Infer& infer) {
             infer_self(infer);
             WISP_CHECK(infer.real(1) > 0 && infer.real(1) < 1,
                        "geometric_ expects p to be in (0, 1), but got p=", infer.real(1));
           },
       .kernel = geometric_kernel}));
  r.add(in_place_draw(
      {.schema = "random(Tensor self, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with random integers over the dtype's whole (for floats: exact) range.\n\n>>> (wisp.empty(9).random_() >= 0).all()\ntensor(True)",
       .infer = infer_self,
       .kernel = random_kernel<0>}));
  r.add(in_place_draw(
      {.schema = "random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with random integers from 0 up to `to`, which is excluded.\n\n>>> wisp.empty(2).random_(1)\ntensor([0., 0.])",
       .infer = infer_self,
       .kernel = random_kernel<1>}));
  r.add(in_place_draw(
      {.schema =
           "random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
       .doc =
           "Overwrites with random integers from `from` up to `to`, which is excluded.\n\n>>> wisp.empty(2).random_(3, 4)\ntensor([3., 3.])",
       .infer = infer_self,
       .kernel = random_kernel<2>}));
}

// --- draws whose parameters are tensors

void infer_bernoulli(Infer& infer) {
  check_random_dtype(infer, infer.tensor(0).dtype());
  infer_self(infer);
}

void infer_bernoulli_tensor(Infer& infer) {
  const IntSpan sizes = infer.tensor(0).sizes(), p = infer.tensor(1).sizes();
  WISP_CHECK(same(broadcast(sizes, p), sizes), "bernoulli_(): probabilities of shape ", p,
             " do not broadcast to shape ", sizes);
  infer_self(infer);
}

void bernoulli_into(const Tensor& out, const Tensor& p, cpu::RandomStream stream) {
  const Tensor wide = consecutive(p, out.sizes(), DType::float64);
  const double* probability = wide.data<double>();
  Tensor uniform = Tensor::empty(out.sizes(), DType::float64);
  double* u = uniform.data<double>();
  cpu::fill_uniform(u, out.numel(), stream);
  parallel_for(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      WISP_CHECK(probability[i] >= 0 && probability[i] <= 1,
                 "Expected p_in >= 0 && p_in <= 1 to be true, but got p=", probability[i]);
      u[i] = u[i] < probability[i] ? 1 : 0;
    }
  });
  copy_raw(out, uniform);
}

void check_probability(const Args& args, double p) {
  WISP_CHECK(p >= 0 && p <= 1, args.name(), "_ expects p to be in [0, 1], but got p=", p);
}

void bernoulli_p_kernel(const Call& call) {
  const Tensor& out = call.out();
  const double p = call.real(1);
  const cpu::RandomStream stream = draw(call, 2, out.numel());
  Tensor uniform = Tensor::empty(out.sizes(), DType::float32);
  cpu::fill_uniform(uniform.data<float>(), out.numel(), stream);
  float* u = uniform.data<float>();
  parallel_for(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) u[i] = static_cast<double>(u[i]) < p ? 1.0f : 0.0f;
  });
  copy_raw(out, uniform);
}

void normal_tensors_body(const Args& args, TensorList& outs) {
  const Operand mean = args.operand(0), std = args.operand(1);
  WISP_CHECK_TYPE(mean.is_tensor() || std.is_tensor(),
                  "normal(): mean or std must be a Tensor, or a size must be given");
  const Tensor& shaped = mean.is_tensor() ? mean.tensor() : std.tensor();
  if (std.is_tensor()) {
    WISP_CHECK(!is_complex(std.tensor().dtype()),
               "normal expects standard deviation to be non-complex");
    WISP_CHECK(std.tensor().numel() == 0 || ge(std.tensor(), 0).numel() ==
                                                invoke<"sum">(ge(std.tensor(), 0)).item().integer(),
               "normal expects all elements of std >= 0.0");
  } else {
    WISP_CHECK(std.scalar().real() >= 0, "normal expects std >= 0.0, but found std ",
               std.scalar().real());
  }
  const Dims size = mean.is_tensor() && std.is_tensor()
                        ? broadcast(mean.tensor().sizes(), std.tensor().sizes())
                        : Dims(shaped.sizes());
  const Tensor noise = invoke<"randn">(size, args[2], shaped.dtype());
  outs.push(add(mul(noise, std), mean));
}

void normal_size_body(const Args& args, TensorList& outs) {
  const DType dtype = args.dtype_or_none(4).value_or(default_dtype());
  Tensor out = Tensor::empty(args.integers(2), dtype);
  invoke_in_place<"normal">(out, args.real(0), args.real(1), args[3]);
  outs.push(out);
}

// Draws `count` categories per row of weights; without replacement by the largest of exponential
// races.
void infer_multinomial(Infer& infer) {
  const Tensor& self = infer.tensor(0);
  const int64_t count = infer.integer(1);
  WISP_CHECK(self.ndim() == 1 || self.ndim() == 2, "prob_dist must be 1 or 2 dim");
  WISP_CHECK(
      is_floating(self.dtype()),
      "multinomial only supports floating-point dtypes for input, got: ", name(self.dtype()));
  WISP_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  WISP_CHECK(infer.boolean(2) || count <= self.size(-1),
             "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Dims size(self.sizes());
  size[size.size() - 1] = count;
  infer.push(size, DType::int64, self.device());
}

void draw_with_replacement(const double* weights, int64_t n, double total, const double* u,
                           int64_t count, int64_t* out) {
  std::vector<double> cumulative(static_cast<size_t>(n));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) cumulative[i] = sum += weights[i];
  for (int64_t k = 0; k < count; ++k) {
    int64_t at =
        std::upper_bound(cumulative.begin(), cumulative.end(), u[k] * total) - cumulative.begin();
    at = std::min(at, n - 1);
    while (at > 0 && weights[at] == 0) --at;
    out[k] = at;
  }
}

void draw_without_replacement(const double* weights, int64_t n, const double* u, int64_t count,
                              int64_t* out) {
  std::vector<std::pair<double, int64_t>> race(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) race[i] = {-std::log1p(-u[i]) / weights[i], i};
  std::partial_sort(race.begin(), race.begin() + count, race.end());
  for (int64_t k = 0; k < count; ++k) out[k] = race[k].second;
}

void multinomial_kernel(const Call& call) {
  const Tensor weights = consecutive(call.tensor(0), DType::float64);
  const int64_t n = weights.size(-1), rows = n ? weights.numel() / n : 0, count = call.integer(1);
  const bool replacement = call.boolean(2);
  const int64_t draws = replacement ? count : n;
  Tensor uniform = Tensor::empty({rows * draws}, DType::float64);
  cpu::fill_uniform(uniform.data<double>(), rows * draws, draw(call, 3, rows * draws));
  for (int64_t r = 0; r < rows; ++r) {
    const double* w = weights.data<double>() + r * n;
    double total = 0;
    int64_t positive = 0;
    for (int64_t i = 0; i < n; ++i) {
      WISP_CHECK(w[i] >= 0 && std::isfinite(w[i]),
                 "probability tensor contains either `inf`, `nan` or element < 0");
      total += w[i];
      positive += w[i] > 0;
    }
    WISP_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    WISP_CHECK(
        replacement || positive >= count,
        "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
    const double* u = uniform.data<double>() + r * draws;
    int64_t* out = call.out().data<int64_t>() + r * count;
    if (replacement) {
      draw_with_replacement(w, n, total, u, count, out);
    } else {
      draw_without_replacement(w, n, u, count, out);
    }
  }
}

void register_parametrised(Registry& r) {
  r.add(
      {.schema = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with the given probabilities, else zeros.\n\n>>> wisp.bernoulli(wisp.tensor([0., 1.]))\ntensor([0., 1.])",
       .infer = infer_bernoulli,
       .kernel =
           [](const Call& c) { bernoulli_into(c.out(), c.tensor(0), draw(c, 1, c.out().numel())); },
       .vjp = {{"self", "", no_gradient}},
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "Bernoulli",
       .traits = trait::random | trait::out});
  r.add(
      {.schema = "bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with probability `p`, in the shape of `self`.\n\n>>> wisp.empty(2).bernoulli_(1.0)\ntensor([1., 1.])",
       .infer =
           [](Infer& infer) {
             check_probability(infer, infer.real(1));
             infer_self(infer);
           },
       .kernel = bernoulli_p_kernel,
       .vjp = {{"self", "", no_gradient}},
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "Bernoulli",
       .traits = trait::random | trait::in_place | trait::writes_self});
  r.add(
      {.schema = "bernoulli.tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with the probabilities `p`, in the shape of `self`.\n\n>>> wisp.empty(2).bernoulli_(wisp.tensor([0., 1.]))\ntensor([0., 1.])",
       .infer = infer_bernoulli_tensor,
       .kernel =
           [](const Call& c) { bernoulli_into(c.out(), c.tensor(1), draw(c, 2, c.out().numel())); },
       .vjp = {{"self", "", no_gradient}},
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "Bernoulli",
       .traits = trait::random | trait::in_place | trait::writes_self});
  r.add(
      {.schema =
           "normal.tensors(Tensor|Scalar mean, Tensor|Scalar std=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Normal random numbers with means and deviations given by tensors.\n\n>>> wisp.normal(wisp.tensor([1., 2.]), 0.)\ntensor([1., 2.])",
       .body = normal_tensors_body,
       .onnx = "RandomNormal",
       .traits = trait::random | trait::out,
       .homes = home::function});
  r.add(
      {.schema =
           "normal.size(float mean, float std, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Normal random numbers of the given size.\n\n>>> wisp.normal(2., 0., (3,))\ntensor([2., 2., 2.])",
       .body = normal_size_body,
       .onnx = "RandomNormal",
       .traits = trait::random | trait::factory | trait::out,
       .homes = home::function});
  r.add(
      {.schema =
           "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
       .doc =
           "Indices drawn with the given weights, per row.\n\n>>> wisp.multinomial(wisp.tensor([0., 1., 0.]), 1)\ntensor([1])",
       .infer = infer_multinomial,
       .kernel = multinomial_kernel,
       .jvp = Jvp::none,
       .batch = Batch::loop,
       .onnx = "Multinomial",
       .traits = trait::random | trait::out});
}

}  // namespace

void register_random(Registry& r) {
  register_factories(r);
  register_in_place_draws(r);
  register_parametrised(r);
}

}  // namespace wisp::ops
