#include "cpu/distinct.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"
#include "cpu/scratch.h"
#include "cpu/stored_dtypes.h"
#include "cpu/strided.h"

namespace wisp::cpu {

namespace {

constexpr int64_t block = 1024;              // elements compared at once
constexpr int64_t chunk_elements = 1 << 15;  // one thread's share

// differs[i] = a[i] != b[i]
void compare(DType dtype, const char* a, const char* b, int64_t n, uint8_t* differs) {
  const DType compute = contains(dtypes::half, dtype)     ? DType::float32
                        : contains(dtypes::stored, dtype) ? kernel_dtype(dtype)
                                                          : dtype;
  const TileFn kernel = tile_kernel(Opcode::ne, compute);
  const CastFn widen = compute == dtype ? nullptr : kernels().cast[int(compute)][int(dtype)];
  const int64_t item = static_cast<int64_t>(item_size(dtype));
  alignas(64) char wide_a[block * 8], wide_b[block * 8];
  for (int64_t at = 0; at < n; at += block) {
    const int64_t count = std::min(block, n - at);
    const void* in[] = {a + at * item, b + at * item};
    if (widen) {
      widen(wide_a, in[0], count);
      widen(wide_b, in[1], count);
      in[0] = wide_a;
      in[1] = wide_b;
    }
    kernel(differs + at, in, count, Params());
  }
}

}  // namespace

int64_t count_runs(const uint8_t* starts, int64_t n) {
  int64_t total = 0;
  for (int64_t at = 0; at < n; at += 255) {
    uint8_t part = 0;
    const int64_t end = std::min(at + 255, n);
    for (int64_t i = at; i < end; ++i) part = static_cast<uint8_t>(part + (starts[i] != 0));
    total += part;
  }
  return total;
}

void mark_run_starts(const Neighbours& rows, uint8_t* starts) {
  if (rows.n == 0) return;
  starts[0] = 1;
  const int64_t width = rows.width, row = width * static_cast<int64_t>(item_size(rows.dtype));
  const int64_t each = std::max<int64_t>(1, chunk_elements / std::max<int64_t>(width, 1));
  parallel_for(rows.n - 1, each, [&](int64_t begin, int64_t end) {
    const char *before = rows.in + begin * row, *after = before + row;
    const int64_t count = end - begin;
    if (width == 1) return compare(rows.dtype, after, before, count, starts + begin + 1);
    const Scratch<uint8_t> differs(count * width);
    compare(rows.dtype, after, before, count * width, differs.data());
    for (int64_t i = 0; i < count; ++i) {
      starts[begin + 1 + i] =
          width > 0 && std::memchr(differs.data() + i * width, 1, static_cast<size_t>(width));
    }
  });
}

namespace {

// The rows from `begin` to `end`, among which `runs` begin; before them `runs_before` have begun.
struct Piece {
  const Neighbours& rows;
  const uint8_t* starts;
  int64_t begin, end, runs_before, runs;

  // f(row, run) for all rows of the runs that begin here, backwards and without branches: whatever
  // is written at the place of a run, its first row is written last.
  template <class F>
  void each_row(F f) const {
    for (int64_t run = runs_before + runs - 1, i = end - 1; run >= runs_before; --i) {
      f(i, run);
      run -= starts[i] != 0;
    }
  }
  // f(row, run) for the first row of each of them, which are few: most of what is looked at are
  // eight rows at once where nothing begins.
  template <class F>
  void each_start(F f) const {
    int64_t run = runs_before;
    for (int64_t i = begin; run < runs_before + runs;) {
      uint64_t eight = 1;
      if (i + 8 <= end) std::memcpy(&eight, starts + i, 8);
      if (eight == 0) {
        i += 8;
        continue;
      }
      for (const int64_t stop = std::min(i + 8, end); i < stop; ++i) {
        if (starts[i]) f(i, run++);
      }
    }
  }

  // f(row, run), by which a run's first row is what counts in the end.
  template <class F>
  void each(F f) const {
    if (runs * 16 < end - begin) return each_start(f);
    each_row(f);
  }

  void write_firsts(char* out) const {
    if (rows.width == 1) {
      return by_item_size(item_size(rows.dtype), [&]<class T>() {
        const T* in = reinterpret_cast<const T*>(rows.in);
        T* firsts = reinterpret_cast<T*>(out);
        each([=](int64_t i, int64_t run) { firsts[run] = in[i]; });
      });
    }
    const int64_t row = rows.width * static_cast<int64_t>(item_size(rows.dtype));
    each_start([&](int64_t i, int64_t run) {
      std::memcpy(out + run * row, rows.in + i * row, static_cast<size_t>(row));
    });
  }

  void write_numbers(int64_t* numbers, const int64_t* order) const {
    int64_t run = runs_before - 1;
    if (order) {
      for (int64_t i = begin; i < end; ++i) numbers[order[i]] = run += starts[i] != 0;
    } else if (runs * 16 < end - begin) {
      int64_t done = begin;
      each_start([&](int64_t i, int64_t next) {
        std::fill(numbers + done, numbers + i, next - 1);
        done = i;
      });
      std::fill(numbers + done, numbers + end, runs_before + runs - 1);
    } else {
      for (int64_t i = begin; i < end; ++i) numbers[i] = run += starts[i] != 0;
    }
  }
};

}  // namespace

void split_runs(const Neighbours& rows, const uint8_t* starts, const RunParts& parts) {
  const int64_t pieces = (rows.n + chunk_elements - 1) / chunk_elements;
  const Scratch<int64_t> counts(pieces), before(pieces);
  int64_t runs = 0;
  for (int64_t i = 0, at = 0; i < pieces; ++i, at += chunk_elements) {
    before[i] = runs;
    runs += counts[i] = count_runs(starts + at, std::min(chunk_elements, rows.n - at));
  }
  parallel_for(rows.n, chunk_elements, [&](int64_t begin, int64_t end) {
    const int64_t i = begin / chunk_elements;
    const Piece piece{rows, starts, begin, end, before[i], counts[i]};
    piece.write_firsts(parts.firsts);
    if (parts.numbers) piece.write_numbers(parts.numbers, parts.order);
    if (int64_t* places = parts.lengths)
      piece.each([=](int64_t at, int64_t run) { places[run] = at; });
  });
  if (!parts.lengths) return;
  for (int64_t i = 0; i < runs; ++i)  // so far, where they begin
    parts.lengths[i] = (i + 1 < runs ? parts.lengths[i + 1] : rows.n) - parts.lengths[i];
}

}  // namespace wisp::cpu
