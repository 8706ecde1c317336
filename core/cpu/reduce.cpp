#include "cpu/reduce.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t chunk_elements = 1 << 15;  // folded by one thread at a time, in a fixed order
constexpr size_t max_acc_bytes = 64;

struct Axis {
  int64_t size, stride;  // stride in bytes
};
using Axes = SmallVector<Axis, 6>;

// Merges neighbouring axes that are one run of memory. Axes keep their order (outermost first).
void merge_axes(Axes& axes) {
  size_t kept = 0;
  for (size_t i = 1; i < axes.size(); ++i) {
    if (axes[kept].stride == axes[i].stride * axes[i].size) {
      axes[kept] = {axes[kept].size * axes[i].size, axes[i].stride};
    } else {
      axes[++kept] = axes[i];
    }
  }
  if (!axes.empty()) axes.resize(kept + 1);
}

int64_t count(const Axes& axes) {
  int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

const char* locate(const char* base, const Axes& axes, int64_t index) {
  for (size_t i = axes.size(); i-- > 0;) {
    base += index % axes[i].size * axes[i].stride;
    index /= axes[i].size;
  }
  return base;
}

void split(const Axes& axes, Dims& sizes, Dims& strides) {
  for (const Axis& axis : axes) {
    sizes.push_back(axis.size);
    strides.push_back(axis.stride);
  }
}

class Job {
 public:
  explicit Job(const Reduce& call)
      : call_(call),
        kernel_(reduce_kernel(call.op, call.compute)),
        item_(static_cast<int64_t>(item_size(call.in.dtype))),
        converts_(call.in.dtype != call.compute) {
    for (size_t dim = 0; dim < call.sizes.size(); ++dim) {
      const Axis axis{call.sizes[dim], call.in.strides[dim] * item_};
      if (axis.size == 1) continue;
      ((call.reduced >> dim) & 1 ? folded_ : kept_).push_back(axis);
    }
    merge_axes(kept_);
    merge_axes(folded_);
    outputs_ = count(kept_);
    inputs_ = count(folded_);
    split(folded_, folded_sizes_, folded_strides_);
  }

  void run() {
    if (outputs_ == 0) return;
    if (by_columns()) {
      run_columns();
    } else if (outputs_ < 16 && inputs_ > chunk_elements) {
      for (int64_t o = 0; o < outputs_; ++o) run_large_row(o);
    } else {
      const int64_t grain = std::max<int64_t>(1, chunk_elements / std::max<int64_t>(inputs_, 1));
      parallel_for(outputs_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) run_row(o);
      });
    }
  }

 private:
  // The innermost kept axis is consecutive, the folded ones are not: fold whole rows of it at once.
  bool by_columns() const {
    return !kept_.empty() && !folded_.empty() && kept_.back().stride == item_ && kept_.back().size >= 8 &&
           folded_.back().stride != item_;
  }

  void finish(int64_t output, const void* accs, int64_t n) {
    const int64_t size = static_cast<int64_t>(item_size(kernel_.result));
    void* second = call_.second ? static_cast<char*>(call_.second) + output * second_size() : nullptr;
    kernel_.finish(call_.out.data + output * size, second, accs, n, call_.params);
  }
  int64_t second_size() const { return static_cast<int64_t>(item_size(call_.compute)); }

  // Folds elements [begin, end) of one output into an accumulator.
  void fold(void* acc, const char* base, int64_t begin, int64_t end) {
    const bool direct = !converts_ && (folded_.empty() || (folded_.size() == 1 && folded_[0].stride == item_));
    if (direct) {
      for (int64_t at = begin; at < end; at += tile_) {
        kernel_.row(acc, base + at * item_, std::min(tile_, end - at), at, call_.params);
      }
      return;
    }
    alignas(64) char raw[tile_bytes * 2], converted[tile_bytes * 2];
    const int64_t step = tile_bytes * 2 / std::max<int64_t>(item_, static_cast<int64_t>(item_size(call_.compute)));
    const CastFn cast = kernels().cast[int(call_.compute)][int(call_.in.dtype)];
    Walker walker(const_cast<char*>(base), folded_sizes_, folded_strides_, begin);
    for (int64_t at = begin; at < end; at += step) {
      const int64_t n = std::min(step, end - at);
      walker.gather(raw, n, static_cast<size_t>(item_));
      if (converts_) cast(converted, raw, n);
      kernel_.row(acc, converts_ ? converted : raw, n, at, call_.params);
    }
  }

  void run_row(int64_t output) {
    alignas(64) char acc[max_acc_bytes];
    kernel_.init(acc, 1);
    fold(acc, locate(call_.in.data, kept_, output), 0, inputs_);
    finish(output, acc, 1);
  }

  // One output over many elements: chunks of fixed size in parallel, merged in order.
  void run_large_row(int64_t output) {
    const char* base = locate(call_.in.data, kept_, output);
    const int64_t chunks = (inputs_ + chunk_elements - 1) / chunk_elements;
    std::vector<char> accs(static_cast<size_t>(chunks) * kernel_.acc_bytes);
    kernel_.init(accs.data(), chunks);
    auto acc_at = [&](int64_t i) { return accs.data() + static_cast<size_t>(i) * kernel_.acc_bytes; };
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        fold(acc_at(c), base, c * chunk_elements, std::min((c + 1) * chunk_elements, inputs_));
      }
    });
    for (int64_t c = 1; c < chunks; ++c) kernel_.merge(acc_at(0), acc_at(c));
    finish(output, acc_at(0), 1);
  }

  void run_columns() {
    const int64_t width = kept_.back().size;
    Axes outer(kept_);
    outer.pop_back();
    const int64_t outers = count(outer);
    const int64_t block = 256;
    const int64_t blocks = (width + block - 1) / block;
    if (outers * blocks < 16 && inputs_ > 256 && width * inputs_ > 4 * chunk_elements) {
      for (int64_t job = 0; job < outers * blocks; ++job) run_tall_block(outer, job, blocks, block, width);
      return;
    }
    const int64_t work = std::min(block, width) * std::max<int64_t>(inputs_, 1);
    parallel_for(outers * blocks, std::max<int64_t>(1, chunk_elements / work), [&](int64_t begin, int64_t end) {
      std::vector<char> accs(static_cast<size_t>(block) * kernel_.acc_bytes);
      for (int64_t job = begin; job < end; ++job) {
        const int64_t o = job / blocks, first = job % blocks * block;
        const int64_t n = std::min(block, width - first);
        kernel_.init(accs.data(), n);
        fold_columns(accs.data(), locate(call_.in.data, outer, o) + first * item_, n, 0, inputs_);
        finish(o * width + first, accs.data(), n);
      }
    });
  }

  // Few columns but many rows: groups of rows in parallel, merged in order.
  void run_tall_block(const Axes& outer, int64_t job, int64_t blocks, int64_t block, int64_t width) {
    const int64_t o = job / blocks, first = job % blocks * block;
    const int64_t n = std::min(block, width - first);
    const char* base = locate(call_.in.data, outer, o) + first * item_;
    const int64_t rows = std::max<int64_t>(chunk_elements / n, 64);
    const int64_t groups = (inputs_ + rows - 1) / rows;
    const size_t group_bytes = static_cast<size_t>(n) * kernel_.acc_bytes;
    std::vector<char> accs(static_cast<size_t>(groups) * group_bytes);
    parallel_for(groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        char* mine = accs.data() + static_cast<size_t>(g) * group_bytes;
        kernel_.init(mine, n);
        fold_columns(mine, base, n, g * rows, std::min((g + 1) * rows, inputs_));
      }
    });
    for (int64_t g = 1; g < groups; ++g) {
      for (int64_t i = 0; i < n; ++i) {
        const size_t at = static_cast<size_t>(i) * kernel_.acc_bytes;
        kernel_.merge(accs.data() + at, accs.data() + static_cast<size_t>(g) * group_bytes + at);
      }
    }
    finish(o * width + first, accs.data(), n);
  }

  void fold_columns(void* accs, const char* base, int64_t n, int64_t begin, int64_t end) {
    alignas(64) char converted[256 * 16];
    const CastFn cast = kernels().cast[int(call_.compute)][int(call_.in.dtype)];
    for (int64_t i = begin; i < end; ++i) {
      const char* x = locate(base, folded_, i);
      if (converts_) cast(converted, x, n);
      kernel_.column(accs, converts_ ? converted : x, n, i, call_.params);
    }
  }

  const Reduce& call_;
  const ReduceKernel& kernel_;
  const int64_t item_;
  const bool converts_;
  static constexpr int64_t tile_ = 4096;
  Axes kept_, folded_;
  Dims folded_sizes_, folded_strides_;
  int64_t outputs_, inputs_;
};

}  // namespace

const ReduceKernel& reduce_kernel(Reduction op, DType compute) {
  const ReduceKernel& kernel = kernels().reduce[static_cast<int>(op)][static_cast<int>(compute)];
  if (!kernel.row) {
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

}  // namespace wisp::cpu
