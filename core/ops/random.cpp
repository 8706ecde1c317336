// Tensors of random numbers: uniform, normal, integers and permutations.
#include "ops/random.h"

#include "ops/families.h"
#include "ops/new_sizes.h"
#include "ops/number.h"

namespace wisp::ops {

void fill_integers(const Tensor& out, int64_t low, uint64_t range, cpu::RandomStream stream) {
  const int64_t n = out.numel();
  const Tensor bits = random_words(n, stream);
  const int64_t* words = bits.data<int64_t>();
  visit<dtypes::all>(out.dtype(), "random", [&]<class T>() {
    fill_through<T>(out, [&](T* data) {
      parallel_for(n, 1 << 14, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const uint64_t offset =
              range == 0 ? static_cast<uint64_t>(words[i]) : below(words[i], range);
          data[i] = convert<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + offset));
        }
      });
    });
  });
}

void check_range(const Args& args, int64_t low, int64_t high, DType dtype) {
  WISP_CHECK(!is_complex(dtype), args.name(),
             "(): random integers need an integral, floating-point or boolean dtype, got ",
             name(dtype));
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

namespace {

// rand(size, *, generator, dtype, device)
void infer_rand(Infer& infer) {
  check_new_sizes(infer, infer.integers(0));
  const DType dtype = infer.dtype_or_none(2).value_or(default_dtype());
  check_random_dtype(infer, dtype);
  infer.push(infer.integers(0), dtype, infer.device(3));
}

// name_like(self, ..., *, generator, dtype, device, memory_format), with dtype at `first`
DType infer_like(Infer& infer, int first) {
  const Tensor& self = infer.tensor(0);
  const DType dtype = infer.dtype_or_none(first).value_or(self.dtype());
  TensorSpec& spec = infer.push(self.sizes(), dtype, infer.device(first + 1, self.device()));
  const int format = first + 2;
  if (infer.has(format) && infer[format].as.memory_format != MemoryFormat::preserve) {
    spec.strides = strides_for(infer[format].as.memory_format, self.sizes());
  } else if (!self.is_contiguous()) {
    spec.strides = preserved_strides(self.sizes(), self.strides());
  }
  return dtype;
}

void infer_rand_like(Infer& infer) { check_random_dtype(infer, infer_like(infer, 2)); }

void rand_kernel(const Call& call) {
  const Tensor& out = call.out();
  const cpu::RandomStream stream = draw(call, 1, draws_of(out));
  if (const CutBits cut(out.dtype()); cut.steps > 0) {
    fill_mapped(out, stream, uniform_source, cut);
  } else {
    fill_mapped(out, stream, uniform_source, Unmapped());
  }
}

void randn_kernel(const Call& call) {
  const Tensor& out = call.out();
  const cpu::RandomStream stream = draw(call, 1, draws_of(out));
  if (!is_complex(out.dtype())) return fill_mapped(out, stream, normal_source, Unmapped());
  fill_mapped(out, stream, normal_source,
              [](auto x) { return x * static_cast<decltype(x)>(M_SQRT1_2); });
}

// randint(low, high, size, *, generator, dtype, device); the short form starts at 0
template <int high>
void infer_randint(Infer& infer) {
  const IntSpan size = infer.integers(high + 1);
  check_new_sizes(infer, size);
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
void infer_randint_like(Infer& infer) {
  const DType dtype = infer_like(infer, high + 2);
  check_range(infer, high == 2 ? infer.integer(1) : 0, infer.integer(high), dtype);
}

template <int high>
void randint_like_kernel(const Call& call) {
  const int64_t low = high == 2 ? call.integer(1) : 0;
  const uint64_t range = static_cast<uint64_t>(call.integer(high)) - static_cast<uint64_t>(low);
  fill_integers(call.out(), low, range, draw(call, high + 1, call.out().numel()));
}

void infer_randperm(Infer& infer) {
  const int64_t n = infer.integer(0);
  WISP_CHECK(n >= 0, "randperm(): n must be non-negative, got ", n);
  const DType dtype = infer.dtype_or_none(2).value_or(DType::int64);
  check_fits("randperm", n > 0 ? n - 1 : 0, dtype);
  infer.push({n}, dtype, infer.device(3));
}

// Fisher and Yates' shuffle, from the inside out.
void randperm_kernel(const Call& call) {
  const int64_t n = call.integer(0);
  const Tensor bits = random_words(n, draw(call, 1, n)), order = Tensor::empty({n}, DType::int64);
  int64_t* items = order.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    const auto j =
        static_cast<int64_t>(below(bits.data<int64_t>()[i], static_cast<uint64_t>(i + 1)));
    items[i] = items[j];
    items[j] = i;
  }
  copy_raw(call.out(), order);
}

struct RandomFactory {
  const char *schema, *doc;
  InferFn infer;
  KernelFn kernel;
  const char* onnx;
};

constexpr RandomFactory random_factories[] = {
    {"rand(int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
     "Uniform random numbers in [0, 1).\n\n>>> wisp.rand(2, 3).shape\nwisp.Size([2, 3])",
     infer_rand, rand_kernel, "RandomUniform"},
    {"randn(int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
     "Normal random numbers of mean 0 and variance 1.\n\n>>> wisp.randn(2, 3).shape\nwisp.Size([2, 3])",
     infer_rand, randn_kernel, "RandomNormal"},
    {"rand_like(Tensor self, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
     "Uniform random numbers in the shape of `self`.\n\n>>> wisp.rand_like(wisp.ones(2)).shape\nwisp.Size([2])",
     infer_rand_like, rand_kernel, "RandomUniformLike"},
    {"randn_like(Tensor self, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
     "Normal random numbers in the shape of `self`.\n\n>>> wisp.randn_like(wisp.ones(2)).shape\nwisp.Size([2])",
     infer_rand_like, randn_kernel, "RandomNormalLike"},
    {"randint(int high, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
     "Random integers from 0 up to `high`, which is excluded.\n\n>>> wisp.randint(1, (3,))\ntensor([0, 0, 0])",
     infer_randint<0>, randint_kernel<0>, "RandomUniform"},
    {"randint.low(int low, int high, int[] size, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
     "Random integers from `low` up to `high`, which is excluded.\n\n>>> wisp.randint(3, 4, (2,))\ntensor([3, 3])",
     infer_randint<1>, randint_kernel<1>, "RandomUniform"},
    {"randint_like(Tensor self, int high, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
     "Random integers below `high` in the shape and dtype of `self`.\n\n>>> wisp.randint_like(wisp.ones(2), 1)\ntensor([0., 0.])",
     infer_randint_like<1>, randint_like_kernel<1>, "RandomUniformLike"},
    {"randint_like.low(Tensor self, int low, int high, *, Generator? generator=None, Dtype? dtype=None, Device? device=None, MemoryFormat? memory_format=None) -> Tensor",
     "Random integers from `low` up to `high` in the shape and dtype of `self`.\n\n>>> wisp.randint_like(wisp.ones(2), 4, 5)\ntensor([4., 4.])",
     infer_randint_like<2>, randint_like_kernel<2>, "RandomUniformLike"},
    {"randperm(int n, *, Generator? generator=None, Dtype? dtype=None, Device? device=None) -> Tensor",
     "The numbers 0 to n - 1 in random order.\n\n>>> wisp.randperm(4).sum()\ntensor(6)",
     infer_randperm, randperm_kernel, "+ several nodes"},
};

}  // namespace

void register_random(Registry& r) {
  for (const RandomFactory& entry : random_factories) {
    r.add({.schema = entry.schema,
           .doc = entry.doc,
           .infer = entry.infer,
           .kernel = entry.kernel,
           .jvp = Jvp::none,
           .batch = Batch::loop,
           .onnx = entry.onnx,
           .traits = trait::random | trait::factory | trait::out,
           .homes = home::function});
  }
}

}  // namespace wisp::ops
