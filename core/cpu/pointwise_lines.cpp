// Pointwise calls over lines: the last dimension of the plan, where it is long enough for a kernel
// call of its own. Operands that are consecutive along it are read and written where they are, a
// value that stays the same along it fills a tile, and an operand that is consecutive along the
// dimension before (a transposed matrix) is turned around in blocks that touch whole cache lines.
#include "cpu/pointwise_lines.h"

#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/odometer.h"
#include "cpu/pointwise_sum.h"
#include "cpu/scratch.h"

namespace wisp::cpu {

namespace {

constexpr int64_t shortest_line = 32;
constexpr int64_t block_bytes = 1 << 14;  // of transposed operands: half of the nearest cache
constexpr int64_t most_rows = 64, row_gap = 64;

struct alignas(64) Tile {
  char bytes[tile_bytes];
};
struct alignas(64) Block {
  char bytes[block_bytes + most_rows * row_gap];
};

enum class Way : uint8_t {
  direct,      // consecutive, in the dtype the kernel wants
  converted,   // consecutive, in another one
  constant,    // the same along a line
  everywhere,  // the same for the whole call
  transposed,  // consecutive along the dimension before the last
  strided,
};

// How the work is cut: into segments of lines, or of `height` neighbouring lines at once.
struct Cut {
  Way way[max_operands];
  int64_t height = 1, width;
  int64_t pitch[max_operands];   // in bytes, from one line to the next of what was turned around
  Odometer<max_operands> start;  // of segments
  int64_t segments = 1;
  int64_t row[max_operands];   // in bytes, from one line of a block to the next
  int64_t item[max_operands];  // in bytes, from one element to the next
  bool plain;                  // a segment is a line, written where it belongs
};

DType wanted_dtype(const Pointwise& call, int k) {
  return k == 0 ? result_dtype(call.op, call.compute) : input_dtype(call.op, k - 1, call.compute);
}
const Operand& operand_of(const Pointwise& call, int k) {
  return k == 0 ? call.out : call.in[k - 1];
}

Way way_of(const Pointwise& call, const LoopPlan& plan, int k) {
  const Operand& operand = operand_of(call, k);
  const int last = plan.ndim() - 1;
  const int64_t item = static_cast<int64_t>(item_size(operand.dtype));
  const int64_t step = plan.strides[k][last];
  if (step == item) return operand.dtype == wanted_dtype(call, k) ? Way::direct : Way::converted;
  if (step == 0 && k > 0) {
    for (int64_t stride : plan.strides[k]) {
      if (stride != 0) return Way::constant;
    }
    return Way::everywhere;
  }
  const bool turned = k > 0 && last > 0 && plan.strides[k][last - 1] == item && step % item == 0;
  return turned && plan.sizes[last - 1] >= 8 ? Way::transposed : Way::strided;
}

// Blocks of lines: as many as fill a cache line of the smallest transposed operand, but no fewer
// than 16.
void cut_blocks(const Pointwise& call, const LoopPlan& plan, Cut& made) {
  int64_t widest = 1;
  for (int k = 1; k <= call.inputs; ++k) {
    if (made.way[k] != Way::transposed) continue;
    const auto item = static_cast<int64_t>(item_size(operand_of(call, k).dtype));
    made.height = std::max({made.height, 64 / item, int64_t(16)});
    widest = std::max(widest, item);
  }
  if (made.height == 1) return;
  made.width = even_grain(plan.sizes[plan.ndim() - 1], block_bytes / (made.height * widest), 8);
  for (int k = 1; k <= call.inputs; ++k) {
    made.pitch[k] =
        made.width * static_cast<int64_t>(item_size(operand_of(call, k).dtype)) + row_gap;
  }
}

Cut cut(const Pointwise& call, const LoopPlan& plan, bool number) {
  Cut made;
  const int operands = call.inputs + 1, last = plan.ndim() - 1;
  bool all_direct = true;
  size_t widest = item_size(call.compute);
  for (int k = 0; k < operands; ++k) {
    made.way[k] = number && k == call.inputs ? Way::direct : way_of(call, plan, k);
    made.item[k] = plan.strides[k][last];
    made.row[k] = last > 0 ? plan.strides[k][last - 1] : 0;
    all_direct &= made.way[k] == Way::direct;
    widest = std::max({widest, item_size(operand_of(call, k).dtype)});
  }
  made.width = all_direct && call.out.data ? grain_of(call.op, call.compute)
                                           : tile_bytes / static_cast<int64_t>(widest);
  cut_blocks(call, plan, made);
  made.plain =
      last > 0 && plan.sizes[last] <= made.width && made.height == 1 && made.way[0] == Way::direct;
  for (int k = 1; k < operands; ++k) {
    made.plain &= made.way[k] == Way::direct || made.way[k] == Way::constant ||
                  made.way[k] == Way::everywhere;
  }
  for (int dim = 0; dim <= last; ++dim) {
    const int64_t each = dim == last ? made.width : dim == last - 1 ? made.height : 1;
    made.start.counts.push_back((plan.sizes[dim] + each - 1) / each);
    made.segments *= made.start.counts[dim];
    for (int k = 0; k < operands; ++k) made.start.steps[k].push_back(plan.strides[k][dim] * each);
  }
  for (int k = 0; k < operands; ++k) made.start.at[k] = operand_of(call, k).data;
  made.start.used = operands;
  return made;
}

void convert_tile(void* out, DType to, const void* in, DType from, int64_t n) {
  kernels().cast[int(to)][int(from)](out, in, n);
}

// One thread's share.
class LineWorker {
 public:
  // With `sum`, results are added up there instead of being written.
  LineWorker(const Pointwise& call, const LoopPlan& plan, const Cut& cut, TileFn kernel,
             double* sum = nullptr)
      : call_(call), plan_(plan), cut_(cut), kernel_(kernel), sum_(sum), place_(cut.start) {
    const int64_t longest = std::min(cut.width, plan.sizes[last()]);
    for (int k = 1; k <= call.inputs; ++k) {
      if (cut.way[k] == Way::everywhere) fill(k, place_.at[k], longest);
    }
  }

  void run(int64_t begin, int64_t end) {
    place_.seek(begin);
    if (cut_.plain && !sum_) return run_plain(end - begin);
    for (int64_t i = begin; i < end; ++i, place_.advance()) segment();
  }

 private:
  int last() const { return plan_.ndim() - 1; }

  // Short lines: as many at once as there are neighbours.
  void run_plain(int64_t lines) {
    const int rows = last() - 1;
    while (lines > 0) {
      const int64_t count = std::min(lines, plan_.sizes[rows] - place_.index[rows]);
      neighbours(count);
      lines -= count;
      place_.skip(static_cast<size_t>(rows), count);
    }
  }
  void neighbours(int64_t count) {
    const int64_t n = plan_.sizes[last()];
    const void* in[3];
    for (int k = 1; k <= call_.inputs; ++k) {
      in[k - 1] = cut_.way[k] == Way::direct ? place_.at[k] : tiles_[k - 1].bytes;
    }
    for (int64_t r = 0; r < count; ++r) {
      for (int k = 1; k <= call_.inputs; ++k) {
        const char* from = place_.at[k] + r * cut_.row[k];
        if (cut_.way[k] == Way::direct) in[k - 1] = from;
        if (cut_.way[k] == Way::constant) fill(k, from, n);
      }
      kernel_(place_.at[0] + r * cut_.row[0], in, n, call_.params);
    }
  }

  void segment() {
    const int64_t n = std::min(cut_.width, plan_.sizes[last()] - place_.index[last()] * cut_.width);
    if (cut_.height == 1) return line(0, n);
    const int64_t left = plan_.sizes[last() - 1] - place_.index[last() - 1] * cut_.height;
    const int64_t rows = std::min(cut_.height, left);
    for (int k = 1; k <= call_.inputs; ++k) {
      if (cut_.way[k] == Way::transposed) turn(k, rows, n);
    }
    for (int64_t r = 0; r < rows; ++r) line(r, n);
  }

  void turn(int k, int64_t rows, int64_t n) {
    kernels().turn(place_.at[k], cut_.item[k], blocks_[k - 1].bytes, cut_.pitch[k], rows, n,
                   item_size(call_.in[k - 1].dtype));
  }

  void line(int64_t r, int64_t n) {
    const void* in[3];
    for (int k = 1; k <= call_.inputs; ++k) in[k - 1] = read(k, r, n);
    char* out = place_.at[0] + r * cut_.row[0];
    if (cut_.way[0] == Way::direct && !sum_) return kernel_(out, in, n, call_.params);
    kernel_(spare_.bytes, in, n, call_.params);
    if (sum_) return add(n);
    write(out, n);
  }

  void add(int64_t n) {
    reduce_kernel(Reduction::sum, call_.compute).row(sum_, spare_.bytes, n, 0, ReduceParams());
  }

  void write(char* out, int64_t n) {
    const DType result = wanted_dtype(call_, 0);
    if (cut_.way[0] == Way::converted) {
      return convert_tile(out, call_.out.dtype, spare_.bytes, result, n);
    }
    const char* source = spare_.bytes;
    if (call_.out.dtype != result) {
      convert_tile(tiles_[0].bytes, call_.out.dtype, spare_.bytes, result, n);
      source = tiles_[0].bytes;
    }
    by_item_size(item_size(call_.out.dtype), [&]<class T>() {
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(out + i * cut_.item[0], source + i * sizeof(T), sizeof(T));
      }
    });
  }

  const void* read(int k, int64_t r, int64_t n) {
    const char* from = place_.at[k] + r * cut_.row[k];
    char* tile = tiles_[k - 1].bytes;
    const DType dtype = call_.in[k - 1].dtype, wanted = wanted_dtype(call_, k);
    switch (cut_.way[k]) {
      case Way::direct:
        return from;
      case Way::everywhere:
        return tile;
      case Way::constant:
        fill(k, from, n);
        return tile;
      case Way::transposed:
        from = blocks_[k - 1].bytes + r * cut_.pitch[k];
        if (dtype == wanted) return from;
        break;
      case Way::strided:
        if (dtype == wanted) {
          gather(tile, from, cut_.item[k], n, item_size(dtype));
          return tile;
        }
        gather(spare_.bytes, from, cut_.item[k], n, item_size(dtype));
        from = spare_.bytes;
        break;
      case Way::converted:
        break;
    }
    convert_tile(tile, wanted, from, dtype, n);
    return tile;
  }

  void fill(int k, const char* value, int64_t n) {
    const DType dtype = call_.in[k - 1].dtype, wanted = wanted_dtype(call_, k);
    alignas(16) char converted[16];
    if (dtype != wanted) {
      convert_tile(converted, wanted, value, dtype, 1);
      value = converted;
    }
    kernels().repeat(tiles_[k - 1].bytes, value, item_size(wanted), n);
  }

  static void gather(char* out, const char* from, int64_t step, int64_t n, size_t item) {
    by_item_size(item, [&]<class T>() { gather_line(reinterpret_cast<T*>(out), from, step, n); });
  }

  const Pointwise& call_;
  const LoopPlan& plan_;
  const Cut& cut_;
  TileFn kernel_;
  double* sum_;
  Odometer<max_operands> place_;
  Tile tiles_[3], spare_;
  Block blocks_[3];
};

int64_t segments_at_once(const Pointwise& call, const LoopPlan& plan, const Cut& made) {
  const int64_t length = std::min(made.width, plan.sizes[plan.ndim() - 1]) * made.height;
  return even_grain(made.segments, std::max<int64_t>(1, grain_of(call.op, call.compute) / length),
                    1);
}

// The plain way, for what has no lines.
double sum_of_stored(const Pointwise& call, int64_t numel) {
  const Scratch<char> memory(numel * static_cast<int64_t>(item_size(call.compute)));
  Pointwise stored = call;
  stored.out.data = memory.data();
  pointwise(stored);
  double total = 0;
  reduce_kernel(Reduction::sum, call.compute).row(&total, memory.data(), numel, 0, ReduceParams());
  return total;
}

}  // namespace

bool try_lines(const Pointwise& call, const LoopPlan& plan, TileFn kernel, bool number) {
  if (plan.ndim() == 0 || plan.sizes[plan.ndim() - 1] < shortest_line) return false;
  const Cut made = cut(call, plan, number);
  parallel_for(made.segments, segments_at_once(call, plan, made), [&](int64_t begin, int64_t end) {
    LineWorker(call, plan, made, kernel).run(begin, end);
  });
  return true;
}

double pointwise_sum(const Pointwise& call) {
  TileFn kernel = tile_kernel(call.op, call.compute);
  if (!kernel) fail_not_implemented(info(call.op).name, call.compute);
  Operand operands[max_operands] = {call.out, call.in[0], call.in[1], call.in[2]};
  if (!repeats(call.in[0].strides)) operands[0].strides = call.in[0].strides;  // the best order
  const LoopPlan plan(call.sizes, operands, call.inputs + 1);
  if (plan.ndim() == 0 || plan.sizes[plan.ndim() - 1] < shortest_line) {
    return sum_of_stored(call, plan.numel);
  }
  const Cut made = cut(call, plan, false);
  const int64_t grain = segments_at_once(call, plan, made);
  std::vector<double> sums(static_cast<size_t>((made.segments + grain - 1) / grain), 0.0);
  parallel_for(made.segments, grain, [&](int64_t begin, int64_t end) {
    double* sum = &sums[static_cast<size_t>(begin / grain)];
    LineWorker(call, plan, made, kernel, sum).run(begin, end);
  });
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace wisp::cpu
