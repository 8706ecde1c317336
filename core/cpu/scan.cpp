#include "cpu/scan.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/reduce.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_elements = 1 << 14;
constexpr int64_t chunk_elements = 1 << 15;  // of a long line
constexpr size_t max_scan_acc = 32;

const ScanKernel& kernel_for(Scan op, DType dtype) {
  const ScanKernel& kernel = kernels().scan[static_cast<int>(op)][static_cast<int>(dtype)];
  if (!kernel.row) {
    static constexpr const char* names[] = {
#define WISP_NAME(name) "cum" #name,
        WISP_FOR_EACH_SCAN(WISP_NAME)
#undef WISP_NAME
    };
    fail_not_implemented(names[static_cast<int>(op)], dtype);
  }
  return kernel;
}

// Cuts lines into jobs: whole lines if they are consecutive, else blocks of neighbouring columns.
// f(first element, columns)
template <class F>
void for_each_line(const Lines& lines, F f) {
  if (lines.outer * lines.length * lines.inner == 0) return;
  const int64_t width = std::min(lines.inner, max_scan_columns);
  const int64_t blocks = (lines.inner + width - 1) / width;
  const int64_t grain = std::max<int64_t>(1, grain_elements / (lines.length * width));
  parallel_for(lines.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t first = job % blocks * width;
      f(job / blocks * lines.length * lines.inner + first, std::min(width, lines.inner - first));
    }
  });
}

// A few long lines: the sum of every chunk first, then all chunks at once, each from where it
// begins.
void sum_long_lines(const ScanCall& call, const ScanKernel& kernel) {
  const int64_t item = static_cast<int64_t>(item_size(call.dtype)), length = call.lines.length;
  const int64_t chunks = (length + chunk_elements - 1) / chunk_elements,
                jobs = call.lines.outer * chunks;
  const ReduceKernel& total =
      reduce_kernel(Reduction::sum, call.dtype);  // has the accumulators of the scan
  std::vector<char> sums(static_cast<size_t>(jobs) * total.acc_bytes);
  auto sum_at = [&](int64_t job) {
    return sums.data() + static_cast<size_t>(job) * total.acc_bytes;
  };
  auto first_of = [&](int64_t job) {
    return job / chunks * length + job % chunks * chunk_elements;
  };
  auto size_of = [&](int64_t job) {
    return std::min(chunk_elements, length - job % chunks * chunk_elements);
  };
  total.init(sums.data(), jobs);
  parallel_for(jobs, 1, [&](int64_t job, int64_t) {
    total.row(sum_at(job), call.in + first_of(job) * item, size_of(job), 0, {});
  });
  std::vector<char> starts(sums.size());
  total.init(starts.data(), jobs);
  auto start_at = [&](int64_t job) {
    return starts.data() + static_cast<size_t>(job) * total.acc_bytes;
  };
  for (int64_t line = 0; line < call.lines.outer; ++line) {
    for (int64_t c = 1; c < chunks; ++c) {
      const int64_t job = line * chunks + (call.reverse ? chunks - 1 - c : c),
                    before = job + (call.reverse ? 1 : -1);
      total.merge(start_at(job), start_at(before), 1);
      total.merge(start_at(job), sum_at(before), 1);
    }
  }
  parallel_for(jobs, 1, [&](int64_t job, int64_t) {
    const int64_t n = size_of(job), at = (first_of(job) + (call.reverse ? n - 1 : 0)) * item;
    kernel.row(start_at(job), call.in + at, call.out + at, nullptr, n, call.reverse ? -1 : 1, 0);
  });
}

void scan_rows(const ScanCall& call, const ScanKernel& kernel) {
  const int64_t item = static_cast<int64_t>(item_size(call.dtype)), length = call.lines.length;
  const int64_t start = call.reverse ? length - 1 : 0, step = call.reverse ? -1 : 1;
  if (length == 0) return;
  const int64_t grain = std::max<int64_t>(4, grain_elements / length);
  parallel_for(call.lines.outer, even_grain(call.lines.outer, grain, 4),
               [&](int64_t begin, int64_t end) {
                 alignas(16) char accs[4 * max_scan_acc];
                 for (int64_t row = begin; row < end;) {
                   const int64_t first = row * length, at = (first + start) * item;
                   int64_t* places = call.places ? call.places + first : nullptr;
                   const bool four = end - row >= 4;
                   kernel.init(accs, four ? 4 : 1);
                   if (four) {
                     kernel.four_rows(accs, call.in + at, call.out + at, places, length, step);
                   } else {
                     kernel.row(accs, call.in + at, call.out + at, places, length, step, 0);
                   }
                   row += four ? 4 : 1;
                 }
               });
}

}  // namespace

Lines lines_of(IntSpan sizes, int64_t dim) {
  Lines lines{1, 1, 1};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    (at < dim ? lines.outer : at == dim ? lines.length : lines.inner) *= sizes[i];
  }
  return lines;
}

void scan(const ScanCall& call) {
  const ScanKernel& kernel = kernel_for(call.op, call.dtype);
  const Lines& lines = call.lines;
  if (call.op == Scan::sum && lines.inner == 1 && lines.outer < 16 &&
      lines.length > 2 * chunk_elements) {
    return sum_long_lines(call, kernel);
  }
  if (lines.inner == 1) return scan_rows(call, kernel);
  const int64_t item = static_cast<int64_t>(item_size(call.dtype));
  const int64_t start = call.reverse ? (lines.length - 1) * lines.inner : 0;
  const int64_t step = call.reverse ? -lines.inner : lines.inner;
  for_each_line(lines, [&](int64_t first, int64_t columns) {
    alignas(16) char accs[max_scan_columns * max_scan_acc];
    const int64_t at = (first + start) * item;
    int64_t* places = call.places ? call.places + first : nullptr;
    kernel.init(accs, columns);
    kernel.columns(accs, columns, call.in + at, call.out + at, places, lines.length, step, 0);
  });
}

namespace {

constexpr int64_t turned_lines = 32, turned_length = 128;

// A block of the result: rows and columns from these on.
struct TurnedBlock {
  const ScanCall& call;
  int64_t column;  // of the input, in bytes
  int64_t item = static_cast<int64_t>(item_size(call.dtype));
  int64_t pitch = call.lines.outer == 1 ? call.lines.inner : call.lines.length;  // of the result

  char* fill(int64_t row, int64_t rows, int64_t col, int64_t cols) const {
    char* out = call.out + (row * pitch + col) * item;
    kernels().turn(call.in + row * item + col * column, column, out, pitch * item, rows, cols,
                   static_cast<size_t>(item));
    return out;
  }
};

// Along the rows of the result: some of them, piece by piece.
void scan_turned_rows(const TurnedBlock& block, const ScanKernel& kernel, int64_t row,
                      int64_t rows) {
  const ScanCall& call = block.call;
  const int64_t length = call.lines.length;
  alignas(16) char accs[turned_lines * max_scan_acc];
  kernel.init(accs, rows);
  for (int64_t done = 0; done < length; done += turned_length) {
    const int64_t n = std::min(turned_length, length - done);
    const int64_t col = call.reverse ? length - done - n : done;
    char* out = block.fill(row, rows, col, n);
    for (int64_t i = 0; i < rows; ++i) {
      char* first = out + (i * length + (call.reverse ? n - 1 : 0)) * block.item;
      kernel.row(accs + i * static_cast<int64_t>(kernel.acc_bytes), first, first, nullptr, n,
                 call.reverse ? -1 : 1, 0);
    }
  }
}

// Along its columns: some of them, a few rows at a time.
void scan_turned_columns(const TurnedBlock& block, const ScanKernel& kernel, int64_t col,
                         int64_t cols) {
  const ScanCall& call = block.call;
  const int64_t length = call.lines.length, step = call.lines.inner;
  alignas(16) char accs[max_scan_columns * max_scan_acc];
  kernel.init(accs, cols);
  for (int64_t done = 0; done < length; done += turned_lines) {
    const int64_t n = std::min(turned_lines, length - done);
    const int64_t row = call.reverse ? length - done - n : done;
    char* out = block.fill(row, n, col, cols) + (call.reverse ? (n - 1) * step * block.item : 0);
    kernel.columns(accs, cols, out, out, nullptr, n, call.reverse ? -step : step, 0);
  }
}

}  // namespace

void scan_turned(const ScanCall& call, int64_t column) {
  const ScanKernel& kernel = kernel_for(call.op, call.dtype);
  const TurnedBlock block{call, column};
  const Lines& lines = call.lines;
  const int64_t width = lines.inner == 1 ? turned_lines : max_scan_columns;
  const int64_t all = lines.inner == 1 ? lines.outer : lines.inner;
  parallel_for(all, width, [&](int64_t begin, int64_t end) {
    lines.inner == 1 ? scan_turned_rows(block, kernel, begin, end - begin)
                     : scan_turned_columns(block, kernel, begin, end - begin);
  });
}

void linear_scan(const LinearScanCall& call) {
  const LinearScanKernel& kernel = kernels().linear_scan[static_cast<int>(call.dtype)];
  if (!kernel.row) fail_not_implemented("linear_scan", call.dtype);
  const Lines& lines = call.lines;
  const int64_t item = static_cast<int64_t>(item_size(call.dtype));
  const int64_t start = call.reverse ? (lines.length - 1) * lines.inner : 0;
  for_each_line(lines, [&](int64_t first, int64_t columns) {
    const int64_t at = (first + start) * item;
    // In reverse, the factor is the one of the element just visited.
    const char* a = call.a + at + (call.reverse ? lines.inner * item : 0);
    if (lines.inner == 1) {
      kernel.row(call.x + at, a, call.y + at, lines.length, call.reverse ? -1 : 1);
    } else {
      const int64_t step = call.reverse ? -lines.inner : lines.inner;
      kernel.columns(call.x + at, a, call.y + at, columns, lines.length, step);
    }
  });
}

}  // namespace wisp::cpu
