// Random numbers whose distribution is given by tensors.
#include <algorithm>
#include <atomic>
#include <bit>

#include "base/parallel.h"
#include "cpu/gamma.h"
#include "cpu/sampling.h"
#include "ops/families.h"
#include "ops/map_elements.h"
#include "ops/random.h"

namespace wisp::ops {

namespace {

void infer_bernoulli(Infer& infer) {
  check_random_dtype(infer, infer.tensor(0).dtype());
  infer_like_self(infer);
}

void infer_bernoulli_tensor(Infer& infer) {
  const IntSpan sizes = infer.tensor(0).sizes(), p = infer.tensor(1).sizes();
  check_random_dtype(infer, infer.tensor(1).dtype());
  WISP_CHECK(same(broadcast(sizes, p), sizes), "bernoulli_(): probabilities of shape ", p,
             " do not broadcast to shape ", sizes);
  infer_like_self(infer);
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

// normal.tensors(mean, std, *, generator)
void infer_normal_tensors(Infer& infer) {
  const Operand mean = infer.operand(0), std = infer.operand(1);
  WISP_CHECK_TYPE(mean.is_tensor() || std.is_tensor(),
                  "normal(): mean or std must be a Tensor, or a size must be given");
  const Tensor& shaped = mean.is_tensor() ? mean.tensor() : std.tensor();
  check_random_dtype(infer, shaped.dtype());
  if (std.is_tensor()) {
    WISP_CHECK(!is_complex(std.tensor().dtype()),
               "normal expects standard deviation to be non-complex");
    const Tensor wide = consecutive(std.tensor(), DType::float64);
    const double* begin = wide.data<double>();
    WISP_CHECK(!std.tensor()->is_readable() ||
                   std::all_of(begin, begin + wide.numel(), [](double x) { return x >= 0; }),
               "normal expects all elements of std >= 0.0");
  } else {
    WISP_CHECK(std.scalar().real() >= 0, "normal expects std >= 0.0, but found std ",
               std.scalar().real());
  }
  infer.push(mean.is_tensor() && std.is_tensor()
                 ? broadcast(mean.tensor().sizes(), std.tensor().sizes())
                 : Dims(shaped.sizes()),
             shaped.dtype(), shaped.device());
}

void normal_tensors_kernel(const Call& call) {
  GradMode no_grad(false);
  const Tensor& out = call.out();
  const Tensor noise = invoke<"randn">(out.sizes(), call[2], out.dtype());
  copy_raw(out, add(mul(noise, call.operand(1)), call.operand(0)));
}

// Like the other samplers, it passes no gradients to its parameters.
template <int parameter>
Tensor zeros_like_parameter(const Backward& b) {
  return zeros(b.shape(parameter), b.input_dtype(parameter));
}

void normal_size_body(const Args& args, TensorList& outs) {
  const DType dtype = args.dtype_or_none(4).value_or(default_dtype());
  Tensor out = Tensor::empty(args.integers(2), dtype, args.device(5));
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

// The weights of a row, added up block by block: the blocks' sums do not wait for one another.
template <class T>
struct Weights {
  static constexpr int64_t block = 64;

  Weights(const T* all, int64_t n)
      : w(all), count(n), ends(static_cast<size_t>((n + block - 1) / block)) {
    std::atomic<bool> signs{false};
    parallel_for(static_cast<int64_t>(ends.size()), 256, [&](int64_t from, int64_t to) {
      bool negative = false;
      for (int64_t b = from; b < to; ++b) {
        const T* first = w + b * block;
        const int64_t size = std::min(block, count - b * block);
        ends[static_cast<size_t>(b)] = sum_of(first, size);
        negative |= has_sign(first, size);
      }
      if (negative) signs = true;
    });
    for (double& end : ends) end = total += end;
    // What may be wrong is looked at closely: -0 is no negative weight, and finite ones may add up
    // to inf.
    bool valid = true;
    for (int64_t i = 0; i < n && (signs || !std::isfinite(total)); ++i) {
      valid &= w[i] >= 0 && std::isfinite(w[i]);
    }
    WISP_CHECK(valid, "probability tensor contains either `inf`, `nan` or element < 0");
    WISP_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }

  static double sum_of(const T* w, int64_t n) {
    double sums[4] = {0, 0, 0, 0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (int lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(w[i + lane]);
    }
    for (; i < n; ++i) sums[0] += static_cast<double>(w[i]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  static bool has_sign(const T* w, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    Bits all = 0;
    for (int64_t i = 0; i < n; ++i) all |= std::bit_cast<Bits>(w[i]);
    return all >> (8 * sizeof(T) - 1) != 0;
  }

  int64_t positive() const {
    return std::count_if(w, w + count, [](T weight) { return weight > 0; });
  }

  // The category at a point between 0 and the total.
  int64_t at(double point) const {
    const int64_t after = std::upper_bound(ends.begin(), ends.end(), point) - ends.begin();
    const int64_t which = std::min(after, static_cast<int64_t>(ends.size()) - 1);
    double sum = which > 0 ? ends[static_cast<size_t>(which - 1)] : 0;
    int64_t i = which * block;
    for (const int64_t last = std::min(i + block, count) - 1; i < last; ++i) {
      if ((sum += static_cast<double>(w[i])) > point) break;
    }
    while (i > 0 && w[i] == 0) --i;
    return i;
  }

  const T* w;
  int64_t count;
  double total = 0;
  std::vector<double> ends;
};

template <class T>
void draw_without_replacement(const T* weights, int64_t n, const double* u, int64_t count,
                              int64_t* out) {
  std::vector<std::pair<double, int64_t>> race(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    race[i] = {-std::log1p(-u[i]) / static_cast<double>(weights[i]), i};
  }
  std::partial_sort(race.begin(), race.begin() + count, race.end());
  for (int64_t k = 0; k < count; ++k) out[k] = race[k].second;
}

template <class T>
void multinomial_rows(const Call& call, const Tensor& weights) {
  const int64_t n = weights.size(-1), rows = n ? weights.numel() / n : 0, count = call.integer(1);
  const bool replacement = call.boolean(2);
  const int64_t draws = replacement ? count : n;
  Tensor uniform = Tensor::empty({rows * draws}, DType::float64);
  cpu::fill_uniform(uniform.data<double>(), rows * draws, draw(call, 3, rows * draws));
  for (int64_t r = 0; r < rows; ++r) {
    const T* w = weights.data<T>() + r * n;
    const Weights<T> row(w, n);
    WISP_CHECK(
        replacement || row.positive() >= count,
        "invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
    const double* u = uniform.data<double>() + r * draws;
    int64_t* out = call.out().data<int64_t>() + r * count;
    if (replacement) {
      for (int64_t k = 0; k < count; ++k) out[k] = row.at(u[k] * row.total);
    } else {
      draw_without_replacement(w, n, u, count, out);
    }
  }
}

void multinomial_kernel(const Call& call) {
  if (call.tensor(0).dtype() == DType::float64) {
    multinomial_rows<double>(call, consecutive(call.tensor(0), DType::float64));
  } else {
    multinomial_rows<float>(call, consecutive(call.tensor(0), DType::float32));
  }
}

// --- Samplers that take a varying number of random numbers per element

// Fills with sample(stream of its own, i) for every element. The streams depend on the generator
// and the place of the element alone.
template <class F>
void fill_samples(const Call& call, int generator, F sample) {
  const Tensor& out = call.out();
  const Tensor words = random_words(out.numel(), draw(call, generator, out.numel()));
  fill_each<double>(out, [&](int64_t i) {
    cpu::ElementStream stream(static_cast<uint64_t>(words.data<int64_t>()[i]));
    return sample(stream, i);
  });
}

void check_sampled_dtype(const Infer& infer, DType dtype) {
  if (!is_floating(dtype)) fail_not_implemented(infer.name(), dtype);
}

void infer_poisson(Infer& infer) {
  check_sampled_dtype(infer, infer.tensor(0).dtype());
  infer_like_self(infer);
}

void poisson_kernel(const Call& call) {
  const Elements<double> rates(call[0], call.out().sizes());
  fill_samples(call, 1, [&](cpu::ElementStream& stream, int64_t i) {
    WISP_CHECK(rates[i] >= 0, "invalid Poisson rate, expected rate to be non-negative");
    return cpu::sample_poisson(rates[i], stream);
  });
}

// binomial(count, prob, *, generator)
void infer_binomial(Infer& infer) {
  const Tensor &count = infer.tensor(0), &prob = infer.tensor(1);
  WISP_CHECK_VALUE(
      is_floating(count.dtype()),
      "binomial only supports floating-point dtypes for count, got: ", legacy_name(count.dtype()));
  WISP_CHECK_VALUE(
      is_floating(prob.dtype()),
      "binomial only supports floating-point dtypes for prob, got: ", legacy_name(prob.dtype()));
  WISP_CHECK(count.dtype() == prob.dtype(), "Found dtype ", legacy_name(prob.dtype()),
             " but expected ", legacy_name(count.dtype()));
  infer.push(broadcast(count.sizes(), prob.sizes()), count.dtype(), count.device());
}

void binomial_kernel(const Call& call) {
  const Elements<double> counts(call[0], call.out().sizes()), probs(call[1], call.out().sizes());
  fill_samples(call, 2, [&](cpu::ElementStream& stream, int64_t i) {
    return cpu::sample_binomial(counts[i], probs[i], stream);
  });
}

void standard_gamma_kernel(const Call& call) {
  const Elements<double> shapes(call[0], call.out().sizes());
  // Small shapes give numbers that round to 0, where the density is infinite.
  const double least =
      visit<dtypes::floating>(call.out().dtype(), call.name(), []<class T>() -> double {
        if constexpr (std::is_same_v<T, Half>) return 0x1p-14;
        if constexpr (std::is_same_v<T, BFloat16>) return 0x1p-126;
        if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::min();
      });
  fill_samples(call, 1, [&](cpu::ElementStream& stream, int64_t i) {
    const double x = cpu::sample_gamma(shapes[i], stream);
    return x < least ? least : x;
  });
}

void infer_gamma_grad(Infer& infer) {
  infer_pointwise(infer, Types::same);
  check_compute(infer, dtypes::real_math);
}

// Gamma-distributed numbers, divided by their sum along the last dimension. Of a small shape they
// are too small to be told from 0: their logarithms are those of the shape one higher, plus
// log(u) / shape.
void dirichlet_body(const Args& args, TensorList& outs) {
  const Tensor& shape = args.tensor(0);
  const Tensor larger = invoke<"_standard_gamma">(add(shape, 1), args[1]);
  const Tensor uniform = invoke<"rand_like">(detach(shape), args[1]);
  const Tensor powers = div(log1p(neg(uniform)), shape);
  outs.push(softmax(add(log(larger), powers), -1));
}

// Fills what samplers have in common.
OpDef sampler(OpDef def) {
  def.jvp = Jvp::none;
  def.batch = Batch::loop;
  if (!def.onnx[0]) def.onnx = "+ random numbers of ONNX";
  def.traits |= trait::random;
  return def;
}

void register_samplers(Registry& r) {
  r.add(sampler({.schema = "poisson(Tensor self, Generator? generator=None) -> Tensor",
                 .doc = "Numbers of the Poisson distribution with the given rates.\n\n"
                        ">>> wisp.poisson(wisp.tensor([0., 0.]))\ntensor([0., 0.])",
                 .infer = infer_poisson,
                 .kernel = poisson_kernel,
                 .vjp = {{"self", "", no_gradient}},
                 .homes = home::function}));
  r.add(sampler(
      {.schema = "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor",
       .doc = "How many of `count` trials of probability `prob` succeed.\n\n"
              ">>> wisp.binomial(wisp.tensor([5., 5.]), wisp.tensor([0., 1.]))\ntensor([0., 5.])",
       .infer = infer_binomial,
       .kernel = binomial_kernel,
       .vjp = {{"prob", "prob.shape", zeros_like_parameter<1>}},
       .homes = home::function}));
  r.add(sampler({.schema = "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor",
                 .doc = "Numbers of the gamma distribution with the given shapes and scale 1.\n\n"
                        ">>> (wisp._standard_gamma(wisp.ones(9)) > 0).all()\ntensor(True)",
                 .infer = infer_poisson,
                 .kernel = standard_gamma_kernel,
                 .vjp = {{"self", "self result",
                          [](const Backward& b) {
                            return mul(b.grad(),
                                       invoke<"_standard_gamma_grad">(b.tensor(0), b.out()));
                          }}},
                 .homes = home::function}));
  r.add(
      {.schema = "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
       .doc =
           "The derivative of gamma-distributed numbers by the shapes they were drawn with.\n\n"
           ">>> wisp._standard_gamma_grad(wisp.tensor([1.]), wisp.tensor([1.]))\ntensor([1.1736])",
       .infer = infer_gamma_grad,
       .kernel =
           [](const Call& c) {
             map_two(c, [](double a, double x) { return cpu::gamma_sample_slope(a, x); });
           },
       .jvp = Jvp::none,
       .batch = Batch::pointwise,
       .onnx = "- has no ONNX operator",
       .traits = trait::pointwise,
       .homes = home::function});
  r.add({.schema = "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor",
         .doc = "Points of the Dirichlet distribution with the given concentrations.\n\n"
                ">>> wisp._sample_dirichlet(wisp.ones(3)).shape\nwisp.Size([3])",
         .body = dirichlet_body,
         .onnx = "+ random numbers of ONNX",
         .traits = trait::random,
         .homes = home::function});
}

void register_parametrised(Registry& r) {
  r.add(sampler(
      {.schema = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with the given probabilities, else zeros.\n\n>>> wisp.bernoulli(wisp.tensor([0., 1.]))\ntensor([0., 1.])",
       .infer = infer_bernoulli,
       .kernel =
           [](const Call& c) { bernoulli_into(c.out(), c.tensor(0), draw(c, 1, c.out().numel())); },
       .vjp = {{"self", "", no_gradient}},
       .onnx = "Bernoulli",
       .traits = trait::out}));
  r.add(sampler(
      {.schema = "bernoulli.p(Tensor self, float p=0.5, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with probability `p`, in the shape of `self`.\n\n>>> wisp.empty(2).bernoulli_(1.0)\ntensor([1., 1.])",
       .infer =
           [](Infer& infer) {
             check_probability(infer, infer.real(1));
             infer_like_self(infer);
           },
       .kernel = bernoulli_p_kernel,
       .vjp = {{"self", "", no_gradient}},
       .onnx = "Bernoulli",
       .traits = trait::in_place | trait::writes_self}));
  r.add(sampler(
      {.schema = "bernoulli.tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
       .doc =
           "Ones with the probabilities `p`, in the shape of `self`.\n\n>>> wisp.empty(2).bernoulli_(wisp.tensor([0., 1.]))\ntensor([0., 1.])",
       .infer = infer_bernoulli_tensor,
       .kernel =
           [](const Call& c) { bernoulli_into(c.out(), c.tensor(1), draw(c, 2, c.out().numel())); },
       .vjp = {{"self", "", no_gradient}},
       .onnx = "Bernoulli",
       .traits = trait::in_place | trait::writes_self}));
  r.add(sampler(
      {.schema =
           "normal.tensors(Tensor|Scalar mean, Tensor|Scalar std=1, *, Generator? generator=None) -> Tensor",
       .doc =
           "Normal random numbers with means and deviations given by tensors.\n\n>>> wisp.normal(wisp.tensor([1., 2.]), 0.)\ntensor([1., 2.])",
       .infer = infer_normal_tensors,
       .kernel = normal_tensors_kernel,
       .vjp = {{"mean", "mean.shape", zeros_like_parameter<0>},
               {"std", "std.shape", zeros_like_parameter<1>}},
       .onnx = "RandomNormal",
       .traits = trait::out,
       .homes = home::function}));
  r.add(
      {.schema =
           "normal.size(float mean, float std, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
       .doc =
           "Normal random numbers of the given size.\n\n>>> wisp.normal(2., 0., (3,))\ntensor([2., 2., 2.])",
       .body = normal_size_body,
       .onnx = "RandomNormal",
       .traits = trait::random | trait::factory | trait::out,
       .homes = home::function});
  r.add(sampler(
      {.schema =
           "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
       .doc =
           "Indices drawn with the given weights, per row.\n\n>>> wisp.multinomial(wisp.tensor([0., 1., 0.]), 1)\ntensor([1])",
       .infer = infer_multinomial,
       .kernel = multinomial_kernel,
       .onnx = "Multinomial",
       .traits = trait::out}));
}

}  // namespace

void register_distributions(Registry& r) {
  register_parametrised(r);
  register_samplers(r);
}

}  // namespace wisp::ops
