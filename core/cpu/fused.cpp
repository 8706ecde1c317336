#include "cpu/fused.h"

#include <algorithm>
#include <optional>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/odometer.h"
#include "cpu/pointwise.h"
#include "cpu/scratch.h"
#include "cpu/stream.h"

namespace wisp::cpu {

namespace {

constexpr int64_t shortest_line = 384;
constexpr int64_t longest_period = 128;
constexpr int max_inputs = 3;
constexpr size_t fold_bytes = reduce_tile * 8;

struct alignas(64) Tile {
  char bytes[tile_bytes];
};

struct Plan {
  const Fused& job;
  FusedLoopPlan loop;
  bool lines;     // the last dimension is long enough to be gone along
  int64_t width;  // elements of a tile
  bool written[max_fused_operands] = {};
  bool streams[max_fused_operands] = {};
  bool consecutive[max_fused_operands] = {};
  bool unchanging[max_fused_operands] = {};  // along a line, or everywhere
  int64_t periods[max_fused_operands] = {};  // after which it repeats itself; 0: it does not
  int fetched[max_fused_operands];           // what is asked for ahead of time ...
  int fetches = 0;                           // ... and how many
  int64_t cost = 0;                          // of an element
  TileFn kernels[max_fused_steps];
  bool by_number[max_fused_steps] = {};  // the kernel takes one value as its last input

  explicit Plan(const Fused& given)
      : job(given),
        loop(given.sizes, given.operands.data(), static_cast<int>(given.operands.size())) {
    const int last = loop.ndim() - 1;
    lines = last > 0 && loop.sizes[last] >= shortest_line;
    width = tile_bytes / static_cast<int64_t>(widest());
    for (const FusedStep& step : job.steps) {
      if (step.store >= 0) written[step.store] = true;
    }
    for (size_t k = 0; k < job.operands.size(); ++k) classify(k);
    const bool repeats =
        std::any_of(periods, periods + job.operands.size(), [](int64_t n) { return n; });
    if (repeats) width -= longest_period;
    for (const FusedStep& step : job.steps) cost += cost_of(step.op, step.compute);
    const Traffic traffic = traffic_of();
    if (cpu::streams(traffic)) choose_streams();
    if (fetches_ahead(traffic)) choose_fetches();
    for (size_t i = 0; i < job.steps.size(); ++i) choose_kernel(i);
  }

  // All operands lie along one dimension, or are gone along lines of the last one.
  bool in_lines() const { return lines || loop.ndim() <= 1; }

  // How many elements a thread takes at once: two are worth it for less than many are.
  int64_t grain() const {
    constexpr int64_t piece = 1 << 19, least = 5 << 17;  // hundredths of a nanosecond
    int64_t pieces = loop.numel * cost / piece;
    if (pieces < 2) pieces = loop.numel * cost > least ? 2 : 1;
    if (pieces > 2) pieces = std::max<int64_t>(pieces / 4 * 4, 2);
    return ((loop.numel + pieces - 1) / pieces + 63) / 64 * 64;
  }

  // Where the operands are at an element, if they all lie along one dimension.
  void place(int64_t begin, char** at) const {
    for (size_t k = 0; k < job.operands.size(); ++k) {
      at[k] = job.operands[k].data + (loop.ndim() == 0 ? 0 : begin * loop.strides[k][0]);
    }
  }

 private:
  size_t widest() const {
    size_t most = 1;
    for (const Operand& operand : job.operands) most = std::max(most, item_size(operand.dtype));
    for (const FusedStep& step : job.steps) {
      most = std::max({most, item_size(step.compute), item_size(step.dtype)});
    }
    return most;
  }

  void classify(size_t k) {
    const int64_t item = static_cast<int64_t>(item_size(job.operands[k].dtype));
    const Dims& strides = loop.strides[k];
    if (loop.ndim() == 0) {
      consecutive[k] = true;
    } else if (lines || loop.ndim() == 1) {
      consecutive[k] = strides[loop.ndim() - 1] == item;
      unchanging[k] = strides[loop.ndim() - 1] == 0;
    } else {
      unchanging[k] = std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
      consecutive[k] = is_one_run(strides, item);
      periods[k] = unchanging[k] ? 0 : period_of(strides);
    }
  }

  bool is_one_run(const Dims& strides, int64_t item) const {
    for (int dim = loop.ndim() - 1; dim >= 0; item *= loop.sizes[dim--]) {
      if (strides[dim] != item) return false;
    }
    return true;
  }

  // Of a short row that is the same for all others.
  int64_t period_of(const Dims& strides) const {
    int first = 0;
    while (first < loop.ndim() && strides[first] == 0) ++first;
    int64_t period = first > 0 ? 1 : 0;
    for (int dim = first; dim < loop.ndim(); ++dim) period *= loop.sizes[dim];
    return period <= longest_period ? period : 0;
  }

  Traffic traffic_of() const {
    Traffic traffic{.passes = cost / info(Opcode::add).cost};
    for (size_t k = 0; k < job.operands.size(); ++k) {
      if (repeats(loop.strides[k])) continue;
      const int64_t bytes = loop.numel * static_cast<int64_t>(item_size(job.operands[k].dtype));
      (written[k] ? traffic.written : traffic.read) += bytes;
    }
    return traffic;
  }

  void choose_streams() {
    for (size_t k = 0; k < job.operands.size(); ++k) {
      streams[k] = written[k] && consecutive[k] && !is_read(k);
    }
  }

  void choose_fetches() {
    if (loop.ndim() == 0 || !in_lines()) return;
    for (size_t k = 0; k < job.operands.size(); ++k) {
      const bool reads = consecutive[k] && !repeats(loop.strides[k]) && is_read(k);
      if (reads) fetched[fetches++] = static_cast<int>(k);
    }
  }

  bool is_read(size_t k) const {
    for (const FusedStep& step : job.steps) {
      for (int i = 0; i < info(step.op).inputs; ++i) {
        if (step.in[i].kind == FusedSource::memory &&
            job.operands[step.in[i].index].data == job.operands[k].data)
          return true;
      }
    }
    return false;
  }

  bool is_one_value(const FusedStep& step, int input) const {
    const FusedSource& source = step.in[input];
    const DType wanted = input_dtype(step.op, input, step.compute);
    if (source.kind == FusedSource::number) return job.numbers[source.index].dtype == wanted;
    return source.kind == FusedSource::memory && unchanging[source.index] &&
           job.operands[source.index].dtype == wanted;
  }

  void choose_kernel(size_t i) {
    const FusedStep& step = job.steps[i];
    const int inputs = info(step.op).inputs;
    kernels[i] = tile_kernel(step.op, step.compute);
    if (!kernels[i]) fail_not_implemented(info(step.op).name, step.compute);
    if (inputs < 2 || !is_one_value(step, inputs - 1) || is_one_value(step, 0)) return;
    const TileFn with_number = number_kernel(step.op, step.compute);
    if (!with_number) return;
    kernels[i] = with_number;
    by_number[i] = true;
  }
};

void convert(void* out, DType to, const void* in, DType from, int64_t n) {
  kernels().cast[static_cast<int>(to)][static_cast<int>(from)](out, in, n);
}

// One thread's share.
class Worker {
 public:
  explicit Worker(const Plan& plan) : plan_(plan), job_(plan.job) {}

  // Tiles of one line of consecutive work; `at` is where the operands are at its start.
  void run_line(char* const* at, int64_t n) {
    for (int64_t begin = 0; begin < n; begin += plan_.width) {
      at_ = at;
      begin_ = begin;
      if (plan_.fetches > 0) find_next(begin + plan_.width < n);
      run_tile(std::min(plan_.width, n - begin));
    }
  }

  // The same, with what is folded going to these accumulators; the line starts at `first`.
  void run_folding(char* const* at, int64_t first, int64_t n, char* buffers, char* const* accs) {
    folding_ = buffers;
    accs_ = accs;
    for (size_t f = 0; f < job_.folds.size(); ++f) {
      collected_[f] = 0;
      folded_[f] = first;
    }
    run_line(at, n);
    for (size_t f = 0; f < job_.folds.size(); ++f) {
      if (collected_[f] > 0) fold(f);
    }
  }

  // Tiles of elements that are gone through in the loop's order, from `begin` to `end`.
  void run_scattered(int64_t begin, int64_t end) {
    scattered_ = true;
    char* at[max_fused_operands];
    at_ = at;
    for (size_t k = 0; k < job_.operands.size(); ++k) {
      at[k] = job_.operands[k].data;
      if (plan_.consecutive[k] || plan_.unchanging[k]) continue;
      const auto start = [&](std::optional<Walker>& walker, int64_t first) {
        walker.emplace(at[k], plan_.loop.sizes, plan_.loop.strides[k], first);
      };
      const int64_t period = plan_.periods[k];
      start(readers_[k], period > 0 ? 0 : begin);
      if (plan_.written[k]) start(writers_[k], begin);
      if (period > 0) repeat_period(k, std::min(plan_.width, end - begin) + period);
    }
    for (begin_ = begin; begin_ < end; begin_ += plan_.width) {
      run_tile(std::min(plan_.width, end - begin_));
    }
  }

 private:
  void run_tile(int64_t n) {
    gathered_ = 0;
    for (size_t i = 0; i < job_.steps.size(); ++i) {
      if (plan_.fetches > 0) fetch_part(i);
      run_step(i, n);
      if (folding_) collect(i, n);
    }
  }

  // Where the next tile is: behind this one, or at the start of the next line.
  void find_next(bool in_line) {
    const int last = plan_.loop.ndim() - 1;
    for (int f = 0; f < plan_.fetches; ++f) {
      const int k = plan_.fetched[f];
      next_[f] = in_line || last == 0 ? place(k) + plan_.width * stride(k)
                                      : at_[k] + plan_.loop.strides[k][last - 1];
    }
  }

  // Asks for the step's share of the next tile. All at once would be more than the processor can
  // wait for while it computes. (Not inlined, the compiler would take it for a function that does
  // nothing.)
  WISP_INLINE void fetch_part(size_t step) {
    constexpr int64_t line = 64;
    const auto steps = static_cast<int64_t>(job_.steps.size()), i = static_cast<int64_t>(step);
    for (int f = 0; f < plan_.fetches; ++f) {
      const int64_t lines = (plan_.width * stride(plan_.fetched[f]) + line - 1) / line;
      for (int64_t at = lines * i / steps; at < lines * (i + 1) / steps; ++at) {
        __builtin_prefetch(next_[f] + at * line, 0, 2);
      }
    }
  }

  // What is to be reduced is collected until there is as much as a single reduction takes at once.
  void collect(size_t step, int64_t n) {
    for (size_t f = 0; f < job_.folds.size(); ++f) {
      if (job_.folds[f].step != static_cast<int>(step)) continue;
      const FusedStep& made = job_.steps[step];
      const size_t item = item_size(made.dtype);
      char* const buffer = folding_ + f * fold_bytes;
      std::memcpy(buffer + static_cast<size_t>(collected_[f]) * item, tiles_at_[made.tile],
                  static_cast<size_t>(n) * item);
      collected_[f] += n;
      if (collected_[f] == reduce_tile) fold(f);
    }
  }

  void fold(size_t f) {
    const FusedFold& how = job_.folds[f];
    const ReduceKernel& kernel = reduce_kernel(how.op, job_.steps[how.step].dtype);
    kernel.row(accs_[f], folding_ + f * fold_bytes, collected_[f], folded_[f], how.params);
    folded_[f] += collected_[f];
    collected_[f] = 0;
  }

  void run_step(size_t i, int64_t n) {
    const FusedStep& step = job_.steps[i];
    const int inputs = info(step.op).inputs;
    const void* in[max_inputs];
    for (int k = 0; k < inputs; ++k) {
      const bool one = plan_.by_number[i] && k == inputs - 1;
      in[k] = one ? value_of(step.in[k]) : read(step, k, n);
    }
    const DType made = result_dtype(step.op, step.compute);
    char* const target = target_of(step);
    if (made == step.dtype) {
      plan_.kernels[i](target, in, n, step.params);
    } else {
      plan_.kernels[i](spare_[0].bytes, in, n, step.params);
      convert(target, step.dtype, spare_[0].bytes, made, n);
    }
    dtypes_[step.tile] = step.dtype;
    tiles_at_[step.tile] = target;
    if (step.store >= 0) store(step.store, target, n);
  }

  // A row that repeats itself is there from any of its elements on, for a whole tile.
  void repeat_period(size_t k, int64_t n) {
    const size_t item = item_size(job_.operands[k].dtype);
    readers_[k]->gather(inputs_[k].bytes, std::min(n, plan_.loop.numel), item);
  }

  // A result that is written where its memory is consecutive is made there, and read from there.
  char* target_of(const FusedStep& step) {
    const int k = step.store;
    if (k >= 0 && plan_.consecutive[k] && !plan_.streams[k]) return place(k);
    return tiles_[step.tile].bytes;
  }

  void store(int k, const char* from, int64_t n) {
    const size_t item = item_size(job_.operands[k].dtype);
    if (plan_.streams[k]) {
      stream_copy(place(k), from, static_cast<size_t>(n) * item);
    } else if (plan_.consecutive[k]) {
      return;  // it was made there
    } else if (scattered_) {
      writers_[k]->scatter(from, n, item);
    } else {
      by_item_size(item, [&]<class T>() { scatter_line<T>(k, from, n); });
    }
  }

  template <class T>
  void scatter_line(int k, const char* from, int64_t n) {
    const int64_t step = stride(k);
    char* to = at_[k] + begin_ * step;
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * step, from + i * sizeof(T), sizeof(T));
  }

  int64_t stride(int k) const {
    return plan_.loop.ndim() == 0 ? 0 : plan_.loop.strides[k][plan_.loop.ndim() - 1];
  }
  char* place(int k) const {
    return at_[k] + begin_ * static_cast<int64_t>(item_size(job_.operands[k].dtype));
  }

  const void* value_of(const FusedSource& source) const {
    if (source.kind == FusedSource::number) return job_.numbers[source.index].bytes;
    return at_[source.index];
  }

  const void* read(const FusedStep& step, int input, int64_t n) {
    const FusedSource& source = step.in[input];
    const DType wanted = input_dtype(step.op, input, step.compute);
    Tile& spare = spare_[input + 1];
    switch (source.kind) {
      case FusedSource::tile:
        return as_wanted(tiles_at_[source.index], dtypes_[source.index], wanted, spare, n);
      case FusedSource::number:
        return filled(source.index, wanted);
      default:
        return as_wanted(memory(source.index, n), job_.operands[source.index].dtype, wanted, spare,
                         n);
    }
  }

  static const void* as_wanted(const char* data, DType from, DType to, Tile& spare, int64_t n) {
    if (from == to) return data;
    convert(spare.bytes, to, data, from, n);
    return spare.bytes;
  }

  // An operand's elements of this tile, consecutive. They are gathered once.
  const char* memory(int k, int64_t n) {
    if (plan_.consecutive[k]) return place(k);
    Tile& tile = inputs_[k];
    const size_t item = item_size(job_.operands[k].dtype);
    if (plan_.periods[k] > 0)
      return tile.bytes + begin_ % plan_.periods[k] * static_cast<int64_t>(item);
    if (gathered_ >> k & 1u) return tile.bytes;
    gathered_ |= 1u << k;
    if (plan_.unchanging[k]) {
      kernels().repeat(tile.bytes, at_[k], item, n);
    } else if (scattered_) {
      readers_[k]->gather(tile.bytes, n, item);
    } else {
      by_item_size(item, [&]<class T>() { gather_line<T>(k, tile.bytes, n); });
    }
    return tile.bytes;
  }

  template <class T>
  void gather_line(int k, char* to, int64_t n) {
    const int64_t step = stride(k);
    const char* from = at_[k] + begin_ * step;
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), from + i * step, sizeof(T));
  }

  // A number as a whole tile, made when it is first needed.
  const char* filled(int k, DType wanted) {
    if ((is_filled_ >> k & 1u) && filled_[k] == wanted) return numbers_[k].bytes;
    alignas(16) char value[16];
    convert(value, wanted, job_.numbers[k].bytes, job_.numbers[k].dtype, 1);
    kernels().repeat(numbers_[k].bytes, value, item_size(wanted), plan_.width);
    filled_[k] = wanted;
    is_filled_ |= 1u << k;
    return numbers_[k].bytes;
  }

  const Plan& plan_;
  const Fused& job_;
  char* folding_ = nullptr;  // a buffer of fold_bytes for each fold
  char* const* accs_ = nullptr;
  int64_t collected_[max_fused_folds], folded_[max_fused_folds];
  char* const* at_ = nullptr;
  int64_t begin_ = 0;
  const char* next_[max_fused_operands];   // of those that are fetched
  uint32_t gathered_ = 0, is_filled_ = 0;  // bit per operand, per number
  bool scattered_ = false;
  std::optional<Walker> readers_[max_fused_operands], writers_[max_fused_operands];
  DType dtypes_[max_fused_registers];
  DType filled_[max_fused_numbers];
  char* tiles_at_[max_fused_registers];
  Tile tiles_[max_fused_registers], inputs_[max_fused_operands], numbers_[max_fused_numbers],
      spare_[max_inputs + 1];
};

// Everything lies along one dimension.
void run_flat(const Plan& plan) {
  parallel_for(plan.loop.numel, plan.grain(), [&](int64_t begin, int64_t end) {
    char* at[max_fused_operands];
    plan.place(begin, at);
    Worker(plan).run_line(at, end - begin);
    stream_done();
  });
}

// The same in the chunks of a reduction, each with accumulators of its own.
void run_folds(const Plan& plan) {
  const auto& folds = plan.job.folds;
  const int64_t n = plan.loop.numel,
                chunks = std::max<int64_t>(1, (n + reduce_chunk - 1) / reduce_chunk);
  const auto kernel_of = [&](const FusedFold& fold) -> const ReduceKernel& {
    return reduce_kernel(fold.op, plan.job.steps[fold.step].dtype);
  };
  const Scratch<char> accs(static_cast<int64_t>(folds.size() * max_acc_bytes) * chunks);
  const auto acc = [&](size_t f, int64_t chunk) {
    return accs.data() + static_cast<int64_t>(f * max_acc_bytes) * chunks +
           chunk * static_cast<int64_t>(kernel_of(folds[f]).acc_bytes);
  };
  for (size_t f = 0; f < folds.size(); ++f) kernel_of(folds[f]).init(acc(f, 0), chunks);
  parallel_for(n, reduce_chunk, [&](int64_t begin, int64_t end) {
    char *at[max_fused_operands], *mine[max_fused_folds];
    plan.place(begin, at);
    for (size_t f = 0; f < folds.size(); ++f) mine[f] = acc(f, begin / reduce_chunk);
    const Scratch<char> buffers(static_cast<int64_t>(folds.size() * fold_bytes));
    Worker(plan).run_folding(at, begin, end - begin, buffers.data(), mine);
    stream_done();
  });
  for (size_t f = 0; f < folds.size(); ++f) {
    const ReduceKernel& kernel = kernel_of(folds[f]);
    merge_accumulators(kernel, acc(f, 0), chunks, 1);
    kernel.finish(folds[f].out, nullptr, acc(f, 0), 1, folds[f].params);
  }
}

// Lines, in pieces where they are long.
void run_lines(const Plan& plan) {
  const auto& operands = plan.job.operands;
  const int64_t grain = plan.grain();
  const int last = plan.loop.ndim() - 1;
  const int64_t line = plan.loop.sizes[last],
                piece = std::min(line, even_grain(line, grain, plan.width));
  Odometer<max_fused_operands> start;
  start.used = static_cast<int>(operands.size());
  int64_t count = 1;
  for (int dim = 0; dim <= last; ++dim) {
    const int64_t each = dim == last ? piece : 1;
    start.counts.push_back((plan.loop.sizes[dim] + each - 1) / each);
    count *= start.counts[dim];
    for (int k = 0; k < start.used; ++k) start.steps[k].push_back(plan.loop.strides[k][dim] * each);
  }
  for (int k = 0; k < start.used; ++k) start.at[k] = operands[k].data;
  parallel_for(count, std::max<int64_t>(1, grain / piece), [&](int64_t begin, int64_t end) {
    auto place = start;
    place.seek(begin);
    Worker worker(plan);
    for (int64_t i = begin; i < end; ++i, place.advance()) {
      worker.run_line(place.at, std::min(piece, line - place.index[last] * piece));
    }
    stream_done();
  });
}

}  // namespace

void run_fused(const Fused& job) {
  const Plan plan(job);
  if (!job.folds.empty()) return run_folds(plan);
  if (plan.loop.ndim() <= 1) return run_flat(plan);
  if (plan.lines) return run_lines(plan);
  parallel_for(plan.loop.numel, plan.grain(), [&](int64_t begin, int64_t end) {
    Worker(plan).run_scattered(begin, end);
    stream_done();
  });
}

}  // namespace wisp::cpu
