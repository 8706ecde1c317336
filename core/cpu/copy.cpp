#include "cpu/copy.h"

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/odometer.h"
#include "cpu/stream.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_bytes = 128 << 10;
constexpr int64_t shortest_line = 16;  // elements that are worth a step of their own
constexpr int64_t shortest_plane = 8;

int64_t item_of(const Operand& operand) { return static_cast<int64_t>(item_size(operand.dtype)); }

bool consecutive(const LoopPlan& plan, int operand, int64_t item) {
  return plan.ndim() == 0 || (plan.ndim() == 1 && plan.strides[operand][0] == item);
}

bool is_constant(const Dims& strides) {
  for (int64_t stride : strides) {
    if (stride != 0) return false;
  }
  return true;
}

// --- Two dimensions, each operand consecutive along another one: square blocks, so that both sides
// touch whole cache lines.

template <class T>
constexpr int64_t turned_side = 64 / sizeof(T) < 8 ? 8 : 64 / sizeof(T);

template <class T>
void transpose_rows(char* out, int64_t out_row, const char* in, int64_t in_col, int64_t rows,
                    int64_t cols) {
  constexpr int64_t side = turned_side<T>, item = sizeof(T);
  alignas(64) T block[side * side];
  for (int64_t c = 0; c < cols; c += side) {
    const int64_t n = std::min(side, cols - c);
    for (int64_t first = 0; first < rows; first += side) {
      const int64_t some = std::min(side, rows - first);
      kernels().turn(in + c * in_col + first * item, in_col, block, side * item, some, n, item);
      for (int64_t r = 0; r < some; ++r) {
        char* to = out + (first + r) * out_row + c * item;
        if (n == side) {
          std::memcpy(to, block + r * side, side * item);
        } else {
          std::memcpy(to, block + r * side, static_cast<size_t>(n * item));
        }
      }
    }
  }
}

// How many rows are turned around in one go: of a large matrix more than a cache line holds,
// because memory is quicker at giving several lines that follow each other.
template <class T>
int64_t rows_at_once(const LoopPlan& plan) {
  constexpr int64_t side = turned_side<T>, lines = 4, many = 32;
  const int64_t rows = plan.sizes[plan.ndim() - 2];
  return rows >= many * lines * side ? lines * side : side;
}

// The last two dimensions are a transposition, the ones before are walked.
template <class T>
void transpose(const LoopPlan& plan, char* out, char* in) {
  const int64_t height = rows_at_once<T>(plan);
  const int last = plan.ndim() - 1;
  const int64_t rows = plan.sizes[last - 1], cols = plan.sizes[last];
  Odometer<2> start{.at = {out, in}};
  int64_t jobs = 1;
  for (int dim = 0; dim < last; ++dim) {
    const int64_t each = dim == last - 1 ? height : 1;
    start.counts.push_back((plan.sizes[dim] + each - 1) / each);
    for (int k = 0; k < 2; ++k) start.steps[k].push_back(plan.strides[k][dim] * each);
    jobs *= start.counts[dim];
  }
  const int64_t job_bytes = height * cols * static_cast<int64_t>(sizeof(T));
  parallel_for(jobs, even_grain(jobs, std::max<int64_t>(1, grain_bytes / job_bytes), 1),
               [&](int64_t begin, int64_t end) {
                 Odometer<2> place = start;
                 place.seek(begin);
                 for (int64_t job = begin; job < end; ++job, place.advance()) {
                   transpose_rows<T>(place.at[0], plan.strides[0][last - 1], place.at[1],
                                     plan.strides[1][last],
                                     std::min(height, rows - place.index[last - 1] * height), cols);
                 }
               });
}

bool try_transpose(const LoopPlan& plan, const Operand& out, const Operand& in) {
  const int n = plan.ndim();
  const int64_t item = item_of(out);
  if (n < 2 || plan.strides[0][n - 1] != item || plan.strides[1][n - 2] != item) return false;
  if (plan.strides[1][n - 1] < item || plan.sizes[n - 1] < 4 || plan.sizes[n - 2] < 4) return false;
  by_item_size(item_size(out.dtype), [&]<class T>() { transpose<T>(plan, out.data, in.data); });
  return true;
}

// --- Line by line, where the last dimension is long enough

// Copies n elements, `step` bytes apart on either side; one value again and again if in_step is 0.
void move_line(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t n,
               int64_t item) {
  if (out_step == item && in_step == item) {
    std::memmove(out, in, static_cast<size_t>(n * item));
    return;
  }
  if (out_step == item && in_step == -item)
    return kernels().reverse(out, in, static_cast<size_t>(item), n);
  by_item_size(static_cast<size_t>(item), [&]<class T>() {
    if (out_step == item) {
      gather_line(reinterpret_cast<T*>(out), in, in_step, n);
    } else {
      for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * out_step, in + i * in_step, sizeof(T));
    }
  });
}

struct LineCopy {
  int64_t out_item, in_item, out_step, in_step;
  CastFn cast;  // null: same dtype

  void operator()(char* out, const char* in, int64_t n) const {
    if (!cast) return move_line(out, out_step, in, in_step, n, out_item);
    alignas(64) char raw[tile_bytes], converted[tile_bytes];
    const int64_t chunk = tile_bytes / std::max(out_item, in_item);
    for (int64_t at = 0; at < n; at += chunk) {
      const int64_t count = std::min(chunk, n - at);
      const char* from = in + at * in_step;
      char* to = out + at * out_step;
      if (in_step != in_item) {
        move_line(raw, in_item, from, in_step, count, in_item);
        from = raw;
      }
      cast(out_step == out_item ? to : converted, from, count);
      if (out_step != out_item) move_line(to, out_step, converted, out_item, count, out_item);
    }
  }
};

bool try_lines(const LoopPlan& plan, const Operand& out, const Operand& in, CastFn cast) {
  const int last = plan.ndim() - 1;
  if (plan.sizes[last] < shortest_line) return false;
  const LineCopy line{item_of(out), item_of(in), plan.strides[0][last], plan.strides[1][last],
                      cast};
  const int64_t segment = grain_bytes / line.out_item;  // long lines are cut
  Odometer<2> start{.counts = plan.sizes, .at = {out.data, in.data}};
  for (int k = 0; k < 2; ++k) {
    start.steps[k] = plan.strides[k];
    start.steps[k][last] *= segment;
  }
  start.counts[last] = (plan.sizes[last] + segment - 1) / segment;
  const int64_t jobs = plan.numel / plan.sizes[last] * start.counts[last];
  const int64_t length = std::min(segment, plan.sizes[last]);
  parallel_for(jobs, even_grain(jobs, std::max<int64_t>(1, segment / length), 1),
               [&](int64_t begin, int64_t end) {
                 Odometer<2> place = start;
                 place.seek(begin);
                 for (int64_t job = begin; job < end; ++job, place.advance()) {
                   line(place.at[0], place.at[1],
                        std::min(segment, plan.sizes[last] - place.index[last] * segment));
                 }
               });
  return true;
}

// Where the last dimension is too short for lines, the one before may do.
void lengthen_lines(LoopPlan& plan) {
  const int last = plan.ndim() - 1;
  if (last < 1 || plan.sizes[last] >= shortest_line) return;
  if (plan.sizes[last - 1] <= plan.sizes[last]) return;
  std::swap(plan.sizes[last], plan.sizes[last - 1]);
  for (int k = 0; k < 2; ++k) std::swap(plan.strides[k][last], plan.strides[k][last - 1]);
}

// --- Two short dimensions at once

bool try_planes(const LoopPlan& plan, const Operand& out, const Operand& in) {
  const int last = plan.ndim() - 1;
  if (last < 1 || plan.sizes[last] * plan.sizes[last - 1] < shortest_plane) return false;
  const int64_t rows = plan.sizes[last - 1], n = plan.sizes[last];
  const int64_t out_row = plan.strides[0][last - 1], in_row = plan.strides[1][last - 1];
  const int64_t out_step = plan.strides[0][last], in_step = plan.strides[1][last];
  Odometer<2> start{.at = {out.data, in.data}};
  for (int dim = 0; dim < last - 1; ++dim) {
    start.counts.push_back(plan.sizes[dim]);
    for (int k = 0; k < 2; ++k) start.steps[k].push_back(plan.strides[k][dim]);
  }
  const int64_t planes = plan.numel / (rows * n);
  const int64_t grain = std::max<int64_t>(1, grain_bytes / (rows * n * item_of(out)));
  by_item_size(item_size(out.dtype), [&]<class T>() {
    parallel_for(planes, even_grain(planes, grain, 1), [&](int64_t begin, int64_t end) {
      Odometer<2> place = start;
      place.seek(begin);
      for (int64_t plane = begin; plane < end; ++plane, place.advance()) {
        for (int64_t r = 0; r < rows; ++r) {
          char* to = place.at[0] + r * out_row;
          const char* from = place.at[1] + r * in_row;
          for (int64_t i = 0; i < n; ++i)
            std::memcpy(to + i * out_step, from + i * in_step, sizeof(T));
        }
      }
    });
  });
  return true;
}

// --- Anything else, through tiles

void copy_general(const LoopPlan& plan, const Operand& out, const Operand& in, CastFn cast) {
  const int64_t chunk = tile_bytes / std::max(item_of(out), item_of(in));
  const int64_t grain = even_grain(plan.numel, grain_bytes / item_of(out));
  parallel_for(plan.numel, grain, [&](int64_t begin, int64_t end) {
    alignas(64) char raw[tile_bytes], converted[tile_bytes];
    Walker reader(in.data, plan.sizes, plan.strides[1], begin);
    Walker writer(out.data, plan.sizes, plan.strides[0], begin);
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      reader.gather(raw, n, item_of(in));
      if (cast) cast(converted, raw, n);
      writer.scatter(cast ? converted : raw, n, item_of(out));
    }
  });
}

void copy_consecutive(const LoopPlan& plan, const Operand& out, const Operand& in, CastFn cast) {
  const int64_t grain = even_grain(plan.numel, grain_bytes / item_of(out));
  const int64_t bytes = plan.numel * item_of(out);
  const bool past_caches =
      !cast && out.data != in.data && streams({.read = bytes, .written = bytes});
  parallel_for(plan.numel, grain, [&](int64_t begin, int64_t end) {
    char* to = out.data + begin * item_of(out);
    const char* from = in.data + begin * item_of(in);
    if (past_caches) {
      stream_copy(to, from, static_cast<size_t>((end - begin) * item_of(out)));
      stream_done();
    } else if (cast) {
      cast(to, from, end - begin);
    } else {
      std::memmove(to, from, static_cast<size_t>((end - begin) * item_of(out)));
    }
  });
}

}  // namespace

void copy(IntSpan sizes, const Operand& out, const Operand& in) {
  LoopPlan plan(sizes, {out, in});
  if (plan.numel == 0) return;
  const CastFn cast =
      out.dtype == in.dtype ? nullptr : kernels().cast[int(out.dtype)][int(in.dtype)];
  if (consecutive(plan, 0, item_of(out)) && consecutive(plan, 1, item_of(in))) {
    return copy_consecutive(plan, out, in, cast);
  }
  if (is_constant(plan.strides[1])) {
    alignas(16) char value[16];
    kernels().cast[int(out.dtype)][int(in.dtype)](value, in.data, 1);
    return fill(sizes, out, value);
  }
  if (!cast && try_transpose(plan, out, in)) return;
  lengthen_lines(plan);
  if (try_lines(plan, out, in, cast)) return;
  if (!cast && try_planes(plan, out, in)) return;
  copy_general(plan, out, in, cast);
}

// In whole vectors where that comes out even: whoever reads the rows does so in vectors, and would
// wait for narrower writes.
void copy_rows(char* to, const char* from, int64_t rows, int64_t step, int64_t bytes) {
  constexpr int64_t item = sizeof(float);
  const GemmKernels<float>& kernel = kernels().gemm_f32;
  if (bytes % (kernel.width * item) == 0)
    return kernel.pack(reinterpret_cast<const float*>(from), step / item,
                       reinterpret_cast<float*>(to), bytes / item, rows, bytes / item);
  for (int64_t row = 0; row < rows; ++row, from += step, to += bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

void fill(IntSpan sizes, const Operand& out, const void* value) {
  const LoopPlan plan(sizes, {out});
  const int64_t item = item_of(out), chunk = tile_bytes / item;
  if (plan.numel == 0) return;
  const bool direct = consecutive(plan, 0, item);
  if (direct && plan.numel <= chunk) {
    return kernels().repeat(out.data, value, static_cast<size_t>(item), plan.numel);
  }
  const int64_t grain = even_grain(plan.numel, grain_bytes / item);
  const bool past_caches = direct && streams({.written = plan.numel * item});
  if (direct && !past_caches) {
    return parallel_for(plan.numel, grain, [&](int64_t begin, int64_t end) {
      kernels().repeat(out.data + begin * item, value, static_cast<size_t>(item), end - begin);
    });
  }
  alignas(64) char tile[tile_bytes];
  kernels().repeat(tile, value, static_cast<size_t>(item), chunk);
  parallel_for(plan.numel, grain, [&](int64_t begin, int64_t end) {
    Walker writer(out.data, plan.sizes, plan.strides[0], direct ? 0 : begin);
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      if (past_caches) {
        stream_copy(out.data + at * item, tile, static_cast<size_t>(n * item));
      } else {
        writer.scatter(tile, n, static_cast<size_t>(item));
      }
    }
    if (past_caches) stream_done();
  });
}

}  // namespace wisp::cpu
