// Running sums, products and the like along one dimension of consecutive memory.
#pragma once

#include "cpu/strided.h"

namespace wisp::cpu {

// X(name): kernels in kernels/scan.cpp
#define WISP_FOR_EACH_SCAN(X) X(sum) X(prod) X(max) X(min) X(logsumexp)

enum class Scan : uint8_t {
#define WISP_ENUMERATOR(name) name,
  WISP_FOR_EACH_SCAN(WISP_ENUMERATOR)
#undef WISP_ENUMERATOR
      count
};
constexpr int num_scans = static_cast<int>(Scan::count);

// Memory as [outer][length][inner]: the scanned dimension is the one in the middle.
struct Lines {
  int64_t outer, length, inner;
};
Lines lines_of(IntSpan sizes, int64_t dim);

constexpr int64_t max_scan_columns = 64;  // scanned together

// A scan of one dtype, as functions over its accumulators (plain memory of `acc_bytes`).
struct ScanKernel {
  size_t acc_bytes = 0;
  void (*init)(void* accs, int64_t n) = nullptr;
  // n elements, `step` (1 or -1) apart; the first one is at position `index`.
  void (*row)(void* acc, const void* x, void* y, int64_t* places, int64_t n, int64_t step,
              int64_t index) = nullptr;
  // Four whole rows of n elements, one behind the other.
  void (*four_rows)(void* accs, const void* x, void* y, int64_t* places, int64_t n,
                    int64_t step) = nullptr;
  // `rows` rows of n <= max_scan_columns elements, `step` elements apart; an accumulator for each
  // column.
  void (*columns)(void* accs, int64_t n, const void* x, void* y, int64_t* places, int64_t rows,
                  int64_t step, int64_t index) = nullptr;
};

struct ScanCall {
  Scan op;
  DType dtype;
  Lines lines;
  const char* in;  // consecutive, of `dtype`, as is `out`
  char* out;
  int64_t* places = nullptr;  // of max and min: where the values come from
  bool reverse = false;       // from the end to the beginning; not for max and min
};
void scan(const ScanCall& call);
// The same where `in` is a matrix in the order of its columns, `column` bytes apart: blocks of it
// are turned around into the result and scanned there.
void scan_turned(const ScanCall& call, int64_t column);

// y[i] = x[i] + a[i] y[i - 1], or in reverse y[i] = x[i] + a[i + 1] y[i + 1].
struct LinearScanCall {
  DType dtype;
  Lines lines;
  const char *x, *a;  // consecutive, of `dtype`, as is `y`
  char* y;
  bool reverse = false;
};
void linear_scan(const LinearScanCall& call);

// The kernel of linear_scan, over n <= max_scan_columns columns. The first a is not read.
struct LinearScanKernel {
  void (*row)(const void* x, const void* a, void* y, int64_t n, int64_t step) = nullptr;
  void (*columns)(const void* x, const void* a, void* y, int64_t n, int64_t rows,
                  int64_t step) = nullptr;
};

}  // namespace wisp::cpu
