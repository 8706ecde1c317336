#include "cpu/reduce.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t group_elements = 1 << 18;  // of a block of columns
constexpr int64_t few = 16;                  // outputs or blocks that do not keep all threads busy
constexpr int64_t row_batch = 64;            // short rows that are finished together
constexpr int64_t loaded_rows = 8;           // rows that are gathered or converted at once
constexpr int64_t loaded_columns = 256;

// A dimension, or several of them that are one run of memory.
struct Axis {
  int64_t size;
  int64_t in;   // stride of the input, in bytes
  int64_t out;  // stride of the results, in elements
  // Repeated elements (stride 0) are best visited in the outermost loop.
  int64_t reach() const { return in ? in : std::numeric_limits<int64_t>::max(); }
};
using Axes = SmallVector<Axis, 6>;

// Outermost first: by decreasing distance in memory.
void order(Axes& axes) {
  for (size_t i = 1; i < axes.size(); ++i) {
    for (size_t j = i; j > 0 && axes[j].reach() > axes[j - 1].reach(); --j)
      std::swap(axes[j], axes[j - 1]);
  }
}

void merge(Axes& axes) {
  size_t kept = 0;
  for (size_t i = 1; i < axes.size(); ++i) {
    Axis& outer = axes[kept];
    const Axis& inner = axes[i];
    if (outer.in == inner.in * inner.size && outer.out == inner.out * inner.size) {
      outer = {outer.size * inner.size, inner.in, inner.out};
    } else {
      axes[++kept] = inner;
    }
  }
  if (!axes.empty()) axes.resize(kept + 1);
}

int64_t count(const Axes& axes) {
  int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

// Visits the places of some axes one after the other.
class Cursor {
 public:
  Cursor(const Axes& axes, int64_t begin) : axes_(axes), index_(axes.size(), 0) {
    for (size_t i = axes.size(); i-- > 0 && begin > 0;) {
      index_[i] = begin % axes[i].size;
      begin /= axes[i].size;
      in += index_[i] * axes[i].in;
      out += index_[i] * axes[i].out;
    }
  }
  void next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      in += axes_[i].in;
      out += axes_[i].out;
      if (++index_[i] < axes_[i].size || i == 0) return;
      in -= axes_[i].in * axes_[i].size;
      out -= axes_[i].out * axes_[i].size;
      index_[i] = 0;
    }
  }
  int64_t in = 0, out = 0;

 private:
  const Axes& axes_;
  Dims index_;
};

bool positional(Reduction op) { return op == Reduction::argmin || op == Reduction::argmax; }

// Numbers of 16 bits need not be converted where there is a kernel that takes them as they are.
DType compute_of(const Reduce& call) {
  const DType dtype = call.in.dtype;
  const bool whole = contains(dtypes::half, dtype) && call.out.dtype == dtype &&
                     kernels().reduce[static_cast<int>(call.op)][static_cast<int>(dtype)].row;
  return whole ? dtype : call.compute;
}

class Job {
 public:
  explicit Job(const Reduce& call)
      : call_(call),
        compute_(compute_of(call)),
        kernel_(reduce_kernel(call.op, compute_)),
        item_(static_cast<int64_t>(item_size(call.in.dtype))),
        converts_(call.in.dtype != compute_) {
    int64_t out = 1;
    for (size_t dim = call.sizes.size(); dim-- > 0;) {
      const bool folds = (call.reduced >> dim) & 1;
      const int64_t size = call.sizes[dim];
      if (size != 1)
        (folds ? folded_ : kept_).push_back({size, call.in.strides[dim] * item_, folds ? 0 : out});
      if (!folds) out *= size;
    }
    std::reverse(kept_.begin(), kept_.end());
    std::reverse(folded_.begin(), folded_.end());
    order(kept_);
    if (!positional(call.op)) order(folded_);
    merge(kept_);
    merge(folded_);
    outputs_ = count(kept_);
    inputs_ = count(folded_);
  }

  void run() {
    if (outputs_ == 0) return;
    by_columns() ? run_columns() : run_rows();
  }

 private:
  char* acc_at(void* accs, int64_t i) const {
    return static_cast<char*>(accs) + i * static_cast<int64_t>(kernel_.acc_bytes);
  }

  // --- Results

  // Writes n results, `step` apart.
  void emit(int64_t at, int64_t step, const void* accs, int64_t n) const {
    const Operand &out = call_.out, &second = call_.second;
    const bool same_dtype =
        out.dtype == kernel_.result && (!second.data || second.dtype == compute_);
    if (!same_dtype || (step != 1 && n != 1)) return emit_converted(at, step, accs, n);
    char* second_at =
        second.data ? second.data + at * static_cast<int64_t>(item_size(second.dtype)) : nullptr;
    kernel_.finish(out.data + at * static_cast<int64_t>(item_size(out.dtype)), second_at, accs, n,
                   call_.params);
  }

  WISP_COLD void emit_converted(int64_t at, int64_t step, const void* accs, int64_t n) const {
    alignas(64) char results[max_columns * 16], seconds[max_columns * 16];
    kernel_.finish(results, call_.second.data ? seconds : nullptr, accs, n, call_.params);
    store(call_.out, at, step, results, kernel_.result, n);
    if (call_.second.data) store(call_.second, at, step, seconds, compute_, n);
  }

  static void store(const Operand& to, int64_t at, int64_t step, const char* values, DType dtype,
                    int64_t n) {
    alignas(64) char converted[max_columns * 16];
    const int64_t item = static_cast<int64_t>(item_size(to.dtype));
    kernels().cast[int(to.dtype)][int(dtype)](converted, values, n);
    const Dims sizes{n}, strides{step * item};
    Walker(to.data + at * item, sizes, strides, 0).scatter(converted, n, static_cast<size_t>(item));
  }

  // --- By rows: one output after the other

  void run_rows() {
    const bool consecutive = folded_.empty() || (folded_.size() == 1 && folded_[0].in == item_);
    direct_ = !converts_ && consecutive;
    for (const Axis& axis : folded_) {
      row_sizes_.push_back(axis.size);
      row_strides_.push_back(axis.in);
    }
    if (outputs_ < few && inputs_ > reduce_chunk) return run_chunks();
    const int64_t grain = std::max<int64_t>(1, reduce_chunk / std::max<int64_t>(inputs_, 1));
    if (consecutive && has_short_rows()) {
      return parallel_for(outputs_, even_grain(outputs_, grain, turned_rows),
                          [&](int64_t begin, int64_t end) { fold_turned(begin, end); });
    }
    parallel_for(outputs_, even_grain(outputs_, grain, 1),
                 [&](int64_t begin, int64_t end) { fold_rows(begin, end); });
  }

  // Short rows are turned around, some at a time, and folded as columns: one vector for many rows.
  bool has_short_rows() const {
    const int64_t longest = item_ > 8 ? 0 : converts_ || item_ < 4 ? 32 : item_ == 4 ? 96 : 64;
    return kept_.size() == 1 && outputs_ >= turned_rows && inputs_ > 1 && inputs_ <= longest &&
           kept_[0].in % item_ == 0 && kept_[0].in > 0;
  }

  void fold_turned(int64_t begin, int64_t end) const {
    alignas(64) char accs[turned_rows * max_acc_bytes];
    alignas(64) char turned[turned_rows * longest_turned], converted[turned_rows * longest_turned];
    const CastFn cast = kernels().cast[int(compute_)][int(call_.in.dtype)];
    const int64_t row = turned_rows * static_cast<int64_t>(item_size(compute_));
    for (int64_t at = begin; at < end; at += turned_rows) {
      const int64_t n = std::min(turned_rows, end - at);
      const char* from = call_.in.data + at * kept_[0].in;
      kernels().turn(from, kept_[0].in, turned, turned_rows * item_, inputs_, n,
                     static_cast<size_t>(item_));
      for (int64_t i = 0; converts_ && i < inputs_; ++i)
        cast(converted + i * row, turned + i * turned_rows * item_, n);
      kernel_.init(accs, n);
      kernel_.columns(accs, n, converts_ ? converted : turned, row, inputs_, 0, call_.params);
      emit(at * kept_[0].out, kept_[0].out, accs, n);
    }
  }

  void fold_rows(int64_t begin, int64_t end) const {
    alignas(64) char accs[row_batch * max_acc_bytes];
    int64_t places[row_batch];
    Cursor cursor(kept_, begin);
    for (int64_t at = begin; at < end; at += row_batch) {
      const int64_t n = std::min(row_batch, end - at);
      kernel_.init(accs, n);
      bool consecutive = true;
      for (int64_t i = 0; i < n; ++i, cursor.next()) {
        fold_row(acc_at(accs, i), call_.in.data + cursor.in, 0, inputs_);
        places[i] = cursor.out;
        consecutive &= places[i] == places[0] + i;
      }
      if (consecutive) {
        emit(places[0], 1, accs, n);
      } else {
        for (int64_t i = 0; i < n; ++i) emit(places[i], 1, acc_at(accs, i), 1);
      }
    }
  }

  // Few outputs over many elements each: chunks of fixed size in parallel, joined in order.
  void run_chunks() {
    const int64_t chunks = (inputs_ + reduce_chunk - 1) / reduce_chunk;
    std::vector<char> accs(static_cast<size_t>(outputs_ * chunks) * kernel_.acc_bytes);
    kernel_.init(accs.data(), outputs_ * chunks);
    parallel_for(outputs_ * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t first = job % chunks * reduce_chunk;
        const char* base = call_.in.data + Cursor(kept_, job / chunks).in;
        fold_row(acc_at(accs.data(), job), base, first, std::min(first + reduce_chunk, inputs_));
      }
    });
    Cursor cursor(kept_, 0);
    for (int64_t o = 0; o < outputs_; ++o, cursor.next()) {
      char* mine = acc_at(accs.data(), o * chunks);
      merge_accumulators(kernel_, mine, chunks, 1);
      emit(cursor.out, 1, mine, 1);
    }
  }

  // Folds elements [begin, end) of one output into an accumulator.
  void fold_row(void* acc, const char* base, int64_t begin, int64_t end) const {
    if (!direct_) return fold_gathered(acc, base, begin, end);
    for (int64_t at = begin; at < end; at += reduce_tile) {
      kernel_.row(acc, base + at * item_, std::min(reduce_tile, end - at), at, call_.params);
    }
  }

  void fold_gathered(void* acc, const char* base, int64_t begin, int64_t end) const {
    alignas(64) char raw[tile_bytes], converted[tile_bytes];
    const int64_t widest = std::max(item_, static_cast<int64_t>(item_size(compute_)));
    const int64_t step = tile_bytes / widest;
    const CastFn cast = kernels().cast[int(compute_)][int(call_.in.dtype)];
    const bool consecutive = folded_.size() == 1 && folded_[0].in == item_;
    Walker walker(const_cast<char*>(base), row_sizes_, row_strides_, begin);
    for (int64_t at = begin; at < end; at += step) {
      const int64_t n = std::min(step, end - at);
      const char* from = base + at * item_;
      if (!consecutive) {
        walker.gather(raw, n, static_cast<size_t>(item_));
        from = raw;
      }
      if (converts_) cast(converted, from, n);
      kernel_.row(acc, converts_ ? converted : raw, n, at, call_.params);
    }
  }

  // --- By columns: many outputs at once, one row of elements after the other

  // Whether neighbouring outputs are closer in memory than neighbouring elements of one output.
  bool by_columns() const {
    if (kept_.empty()) return false;
    if (folded_.empty()) return true;
    if (kept_.back().reach() >= folded_.back().reach()) return false;
    return kept_.back().size >= 4 || is_narrow(kept_.back().size);
  }

  // Narrow rows right behind each other: several of them can be folded as one wide row.
  bool is_narrow(int64_t width) const {
    return width <= 64 && !converts_ && kept_.back().in == item_ && !positional(call_.op) &&
           !folded_.empty() && folded_.back().in == width * item_ &&
           folded_.back().size >= 8 * (max_narrow / width);
  }

  struct Block {
    const char* base;
    int64_t out, n;
  };
  Block block_at(int64_t job) const {
    const Cursor cursor(outer_, job / blocks_);
    const int64_t first = job % blocks_ * block_;
    return {call_.in.data + cursor.in + first * inner_.in, cursor.out + first * inner_.out,
            std::min(block_, inner_.size - first)};
  }

  void run_columns() {
    inner_ = kept_.back();
    outer_ = kept_;
    outer_.pop_back();
    direct_ = !converts_ && inner_.in == item_;
    block_ = std::min(inner_.size, direct_ ? max_columns : loaded_columns);
    blocks_ = (inner_.size + block_ - 1) / block_;
    const int64_t wide_jobs = count(outer_) * blocks_;
    if (wide_jobs < few && inputs_ * block_ > group_elements) return run_groups(wide_jobs);
    narrow_blocks();
    const int64_t jobs = count(outer_) * blocks_;
    const int64_t grain =
        std::max<int64_t>(1, reduce_chunk / (block_ * std::max<int64_t>(inputs_, 1)));
    parallel_for(jobs, even_grain(jobs, grain, 1), [&](int64_t begin, int64_t end) {
      alignas(64) char accs[max_columns * max_acc_bytes];
      for (int64_t job = begin; job < end; ++job) {
        const Block block = block_at(job);
        kernel_.init(accs, block.n);
        fold_columns(accs, block, 0, inputs_);
        emit(block.out, inner_.out, accs, block.n);
      }
    });
  }

  // Smaller blocks, where those would be too few for all threads; whole cache lines of any dtype.
  void narrow_blocks() {
    if (count(outer_) * blocks_ >= few) return;
    const int64_t wanted = reduce_chunk / std::max<int64_t>(inputs_, 1) / 64 * 64;
    block_ = std::min(block_, std::max<int64_t>(wanted, 64));
    blocks_ = (inner_.size + block_ - 1) / block_;
  }

  // Few blocks of many rows: groups of rows in parallel, joined in order.
  void run_groups(int64_t jobs) {
    const int64_t height = std::max<int64_t>(group_elements / block_, 64);
    const int64_t groups = (inputs_ + height - 1) / height;
    std::vector<char> accs(static_cast<size_t>(jobs * groups * block_) * kernel_.acc_bytes);
    parallel_for(jobs * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Block block = block_at(i / groups);
        char* mine = acc_at(accs.data(), i * block_);
        const int64_t first = i % groups * height;
        kernel_.init(mine, block_);
        fold_columns(mine, block, first, std::min(first + height, inputs_));
      }
    });
    for (int64_t job = 0; job < jobs; ++job) {
      const Block block = block_at(job);
      char* mine = acc_at(accs.data(), job * groups * block_);
      merge_accumulators(kernel_, mine, groups, block_);
      emit(block.out, inner_.out, mine, block.n);
    }
  }

  // Folds rows [begin, end) into the accumulators of a block.
  void fold_columns(void* accs, const Block& block, int64_t begin, int64_t end) const {
    if (folded_.empty()) return fold_rows_of(accs, block.n, block.base, 0, 1, 0);
    const Axis& last = folded_.back();
    for (int64_t row = begin; row < end;) {
      const int64_t rows = std::min(end - row, last.size - row % last.size);
      fold_rows_of(accs, block.n, block.base + Cursor(folded_, row).in, last.in, rows, row);
      row += rows;
    }
  }

  void fold_rows_of(void* accs, int64_t n, const char* x, int64_t row_bytes, int64_t rows,
                    int64_t index) const {
    if (!direct_) return fold_loaded(accs, n, x, row_bytes, rows, index);
    if (is_narrow(n) && rows >= 2 * (max_narrow / n)) {
      const int64_t done = fold_narrow(accs, n, x, rows);
      x += done * row_bytes;
      rows -= done;
      index += done;
    }
    kernel_.columns(accs, n, x, row_bytes, rows, index, call_.params);
  }

  // Returns how many rows it has folded.
  int64_t fold_narrow(void* accs, int64_t n, const char* x, int64_t rows) const {
    alignas(64) char wide_accs[max_narrow * max_acc_bytes];
    const int64_t joined = max_narrow / n, wide = joined * n;
    kernel_.init(wide_accs, wide);
    kernel_.columns(wide_accs, wide, x, wide * item_, rows / joined, 0, call_.params);
    merge_accumulators(kernel_, wide_accs, joined, n);
    kernel_.merge(accs, wide_accs, n);
    return rows / joined * joined;
  }

  // Rows that are not consecutive, or of another dtype, pass through a buffer.
  void fold_loaded(void* accs, int64_t n, const char* x, int64_t row_bytes, int64_t rows,
                   int64_t index) const {
    alignas(64) char raw[loaded_columns * 16], loaded[loaded_rows * loaded_columns * 16];
    const int64_t loaded_bytes = n * static_cast<int64_t>(item_size(compute_));
    const CastFn cast = kernels().cast[int(compute_)][int(call_.in.dtype)];
    const Dims sizes{n}, strides{inner_.in};
    for (int64_t r = 0; r < rows; r += loaded_rows) {
      const int64_t count = std::min(loaded_rows, rows - r);
      for (int64_t i = 0; i < count; ++i) {
        const char* source = x + (r + i) * row_bytes;
        if (inner_.in != item_) {
          Walker(const_cast<char*>(source), sizes, strides, 0)
              .gather(raw, n, static_cast<size_t>(item_));
          source = raw;
        }
        cast(loaded + i * loaded_bytes, source, n);
      }
      kernel_.columns(accs, n, loaded, loaded_bytes, count, index + r, call_.params);
    }
  }

  static constexpr int64_t max_narrow = 128;
  static constexpr int64_t turned_rows = 32, longest_turned = 64 * 8;  // in bytes

  const Reduce& call_;
  const DType compute_;
  const ReduceKernel& kernel_;
  const int64_t item_;
  const bool converts_;
  bool direct_ = false;  // elements are read where they are
  Axes kept_, folded_;
  int64_t outputs_, inputs_;  // how many results, how many elements each
  Dims row_sizes_, row_strides_;
  Axis inner_;  // the innermost kept axis, in blocks, and the others
  Axes outer_;
  int64_t block_ = 1, blocks_ = 1;
};

}  // namespace

const ReduceKernel& reduce_kernel(Reduction op, DType compute) {
  const ReduceKernel& kernel = kernels().reduce[static_cast<int>(op)][static_cast<int>(compute)];
  if (WISP_UNLIKELY(!kernel.row)) {
    static constexpr const char* names[] = {
#define WISP_NAME(name) #name,
        WISP_FOR_EACH_REDUCTION(WISP_NAME)
#undef WISP_NAME
    };
    fail_not_implemented(names[static_cast<int>(op)], compute);
  }
  return kernel;
}

void reduce(const Reduce& call) { Job(call).run(); }

void merge_accumulators(const ReduceKernel& kernel, void* accs, int64_t count, int64_t n) {
  const auto at = [&](int64_t i) {
    return static_cast<char*>(accs) + i * n * static_cast<int64_t>(kernel.acc_bytes);
  };
  for (int64_t step = 1; step < count; step *= 2) {
    for (int64_t i = 0; i + step < count; i += 2 * step) kernel.merge(at(i), at(i + step), n);
  }
}

}  // namespace wisp::cpu
