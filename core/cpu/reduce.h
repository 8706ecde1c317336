// Reductions over any set of dimensions of strided memory.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// X(name): each has a kernel for the compute dtypes it makes sense for (kernels/reduce.cpp,
// extremes.cpp, norms.cpp).
#define WISP_FOR_EACH_REDUCTION(X) \
  X(sum)                           \
  X(nansum)                        \
  X(prod)                          \
  X(any)                           \
  X(all)                           \
  X(count_nonzero)                 \
  X(min)                           \
  X(max)                           \
  X(min_max)                       \
  X(argmin)                        \
  X(argmax)                        \
  X(norm_0)                        \
  X(norm_1)                        \
  X(norm_2)                        \
  X(norm_inf)                      \
  X(norm_minus_inf)                \
  X(norm_p)                        \
  X(moments)                       \
  X(logsumexp)

enum class Reduction : uint8_t {
#define WISP_ENUMERATOR(name) name,
  WISP_FOR_EACH_REDUCTION(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
      count
};
constexpr int num_reductions = static_cast<int>(Reduction::count);

struct ReduceParams {
  double p = 2;            // of norm_p
  double divisor = 1;      // sums are divided by it (mean)
  double correction = 1;   // of variance: moments divides by max(0, n - correction)
  bool take_root = false;  // of variance: standard deviation
};

constexpr int64_t max_columns = 1024;  // accumulators that are folded into at once
constexpr size_t max_acc_bytes = 32;

// A reduction of one dtype, as functions over its accumulators. An accumulator is plain memory of
// `acc_bytes`; elements are of the compute dtype, results of `result`. `index` is the position of
// the first element.
struct ReduceKernel {
  size_t acc_bytes = 0;
  DType result = DType::float32;
  void (*init)(void* accs, int64_t n) = nullptr;
  // Folds n consecutive elements into one accumulator.
  void (*row)(void* acc, const void* x, int64_t n, int64_t index,
              const ReduceParams& params) = nullptr;
  // Folds `rows` rows of n <= max_columns consecutive elements into n accumulators, one element
  // each.
  void (*columns)(void* accs, int64_t n, const void* x, int64_t row_bytes, int64_t rows,
                  int64_t index, const ReduceParams& params) = nullptr;
  // Joins n accumulators with those of elements that come later.
  void (*merge)(void* accs, const void* later, int64_t n) = nullptr;
  // Writes n results; a kernel with a second one (argmax's value, the mean) writes it if asked, in
  // the compute dtype.
  void (*finish)(void* out, void* second, const void* accs, int64_t n,
                 const ReduceParams& params) = nullptr;
};

struct Reduce {
  Reduction op;
  DType compute;
  IntSpan sizes;  // of the input
  Operand in;
  uint64_t reduced;  // bit per dimension of the input
  // Consecutive, in the order of the kept dimensions. Results are converted to their dtype.
  Operand out, second;
  ReduceParams params;
};

const ReduceKernel& reduce_kernel(Reduction op, DType compute);
void reduce(const Reduce& call);

// How many elements of a long row are folded into one accumulator, and how many of these at once:
// sums come out the same wherever they are made.
constexpr int64_t reduce_chunk = 1 << 15;
constexpr int64_t reduce_tile = 4096;
// Joins `count` accumulators (or blocks of n), each pair of neighbours first, so that errors grow
// with the logarithm of their number.
void merge_accumulators(const ReduceKernel& kernel, void* accs, int64_t count, int64_t n);

}  // namespace wisp::cpu
