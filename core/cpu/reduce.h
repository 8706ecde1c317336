// Reductions over any set of dimensions of strided memory.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// X(name): each has a kernel for the compute dtypes it makes sense for (kernels/reduce.cpp).
#define WISP_FOR_EACH_REDUCTION(X) \
  X(sum)                           \
  X(prod)                          \
  X(min)                           \
  X(max)                           \
  X(argmin)                        \
  X(argmax)                        \
  X(any)                           \
  X(all)                           \
  X(norm_0)                        \
  X(norm_1)                        \
  X(norm_2)                        \
  X(norm_inf)                      \
  X(norm_minus_inf)                \
  X(norm_p)                        \
  X(moments)

enum class Reduction : uint8_t {
#define WISP_ENUMERATOR(name) name,
  WISP_FOR_EACH_REDUCTION(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
      count
};
constexpr int num_reductions = static_cast<int>(Reduction::count);

struct ReduceParams {
  double p = 2;           // of norm_p
  double divisor = 1;     // sums are divided by it (mean)
  double correction = 1;  // of variance: moments divides by max(0, n - correction)
  bool take_root = false; // of variance: standard deviation
};

// A reduction of one dtype, as functions over its accumulators. An accumulator is plain memory of
// `acc_bytes`; elements are of the compute dtype, results of `result`.
struct ReduceKernel {
  size_t acc_bytes = 0;
  DType result = DType::float32;
  void (*init)(void* accs, int64_t n) = nullptr;
  // Folds n consecutive elements, the first of which has position `index`, into one accumulator.
  void (*row)(void* acc, const void* x, int64_t n, int64_t index, const ReduceParams& params) = nullptr;
  // Folds one element into each of n accumulators; all have position `index`.
  void (*column)(void* accs, const void* x, int64_t n, int64_t index, const ReduceParams& params) = nullptr;
  void (*merge)(void* acc, const void* later) = nullptr;
  // Writes n results; a kernel with a second result (argmax's value, the mean) writes it if asked.
  void (*finish)(void* out, void* second, const void* accs, int64_t n, const ReduceParams& params) = nullptr;
};

struct Reduce {
  Reduction op;
  DType compute;
  IntSpan sizes;      // of the input
  Operand in;
  uint64_t reduced;   // bit per dimension of the input
  Operand out;        // consecutive, in the order of the kept dimensions; of the kernel's result dtype
  void* second = nullptr;
  ReduceParams params;
};

const ReduceKernel& reduce_kernel(Reduction op, DType compute);
void reduce(const Reduce& call);

}  // namespace wisp::cpu
