#include "cpu/pointwise.h"

#include <optional>

#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/kernels/kernels.h"
#include "cpu/pointwise_lines.h"
#include "cpu/pointwise_rows.h"

namespace wisp::cpu {

namespace {

struct alignas(64) Tile {
  char bytes[tile_bytes];
};

bool is_constant(const Dims& strides) {
  for (int64_t stride : strides) {
    if (stride != 0) return false;
  }
  return true;
}

// Whether an operand is one run of memory, in the order of the plan.
bool is_consecutive(const LoopPlan& plan, int operand, DType dtype) {
  int64_t step = static_cast<int64_t>(item_size(dtype));
  for (int dim = plan.ndim() - 1; dim >= 0; step *= plan.sizes[dim--]) {
    if (plan.strides[operand][dim] != step) return false;
  }
  return true;
}

constexpr int64_t longest_period = 128;

// After how many elements an operand repeats itself: a short row that is broadcast over all
// others. 0 if it does not, or only after many.
int64_t period_of(const LoopPlan& plan, int operand) {
  int first = 0;
  while (first < plan.ndim() && plan.strides[operand][first] == 0) ++first;
  int64_t period = first > 0 ? 1 : 0;
  for (int dim = first; dim < plan.ndim(); ++dim) period *= plan.sizes[dim];
  return period <= longest_period ? period : 0;
}

// One thread's share of a call: operands that are not consecutive in the kernel's dtype pass
// through tiles that stay in the first-level cache.
class Worker {
 public:
  Worker(const Pointwise& call, const LoopPlan& plan, TileFn kernel, int64_t begin, int64_t end)
      : call_(call), plan_(plan), kernel_(kernel), begin_(begin), end_(end) {
    size_t widest = item_size(call.compute);
    for (int i = 0; i < call.inputs; ++i) widest = std::max(widest, item_size(call.in[i].dtype));
    widest = std::max(widest, item_size(call.out.dtype));
    chunk_ = tile_bytes / static_cast<int64_t>(widest) - longest_period;
    if (plan.ndim() > 1) chunk_ -= chunk_ % std::min(chunk_, plan.sizes.back());  // whole rows
  }

  void run() {
    const int64_t longest = std::min(chunk_, end_ - begin_);
    for (int i = 0; i < call_.inputs; ++i) open_input(i, longest);
    open_output();
    for (int64_t at = begin_; at < end_; at += chunk_) step(at, std::min(chunk_, end_ - at));
  }

 private:
  enum class Way { direct, constant, periodic, tile };

  void open_input(int i, int64_t longest) {
    const Operand& operand = call_.in[i];
    const DType wanted = input_dtype(call_.op, i, call_.compute);
    const Dims& strides = plan_.strides[i + 1];
    if (is_constant(strides) && plan_.numel > 1) {
      way_[i] = Way::constant;
      convert_tile(spare_.bytes, wanted, operand.data, operand.dtype, 1);
      kernels().repeat(tiles_[i].bytes, spare_.bytes, item_size(wanted), longest);
    } else if (operand.dtype == wanted && is_consecutive(plan_, i + 1, wanted)) {
      way_[i] = Way::direct;
    } else if ((period_[i] = period_of(plan_, i + 1)) > 0) {
      way_[i] = Way::periodic;
      walkers_[i].emplace(operand.data, plan_.sizes, strides, 0);
      gather(i, std::min(longest + period_[i], plan_.numel));
    } else {
      way_[i] = Way::tile;
      walkers_[i].emplace(operand.data, plan_.sizes, strides, begin_);
    }
  }

  void open_output() {
    result_ = result_dtype(call_.op, call_.compute);
    out_direct_ = call_.out.dtype == result_ && is_consecutive(plan_, 0, result_);
    if (!out_direct_) out_walker_.emplace(call_.out.data, plan_.sizes, plan_.strides[0], begin_);
  }

  void step(int64_t at, int64_t n) {
    const void* in[3];
    for (int i = 0; i < call_.inputs; ++i) in[i] = read(i, at, n);
    if (out_direct_) {
      kernel_(call_.out.data + at * static_cast<int64_t>(item_size(result_)), in, n, call_.params);
      return;
    }
    kernel_(out_tile_.bytes, in, n, call_.params);
    const char* source = out_tile_.bytes;
    if (call_.out.dtype != result_) {
      convert_tile(spare_.bytes, call_.out.dtype, out_tile_.bytes, result_, n);
      source = spare_.bytes;
    }
    out_walker_->scatter(source, n, item_size(call_.out.dtype));
  }

  const void* read(int i, int64_t at, int64_t n) {
    const Operand& operand = call_.in[i];
    const size_t item = item_size(operand.dtype);
    if (way_[i] == Way::direct) return operand.data + at * static_cast<int64_t>(item);
    if (way_[i] == Way::constant) return tiles_[i].bytes;
    if (way_[i] == Way::periodic) {
      const size_t wanted = item_size(input_dtype(call_.op, i, call_.compute));
      return tiles_[i].bytes + at % period_[i] * static_cast<int64_t>(wanted);
    }
    gather(i, n);
    return tiles_[i].bytes;
  }

  // The next n elements of an operand, in the dtype that the kernel wants.
  void gather(int i, int64_t n) {
    const Operand& operand = call_.in[i];
    const size_t item = item_size(operand.dtype);
    const DType wanted = input_dtype(call_.op, i, call_.compute);
    if (operand.dtype == wanted) {
      walkers_[i]->gather(tiles_[i].bytes, n, item);
    } else {
      walkers_[i]->gather(spare_.bytes, n, item);
      convert_tile(tiles_[i].bytes, wanted, spare_.bytes, operand.dtype, n);
    }
  }

  static void convert_tile(void* out, DType to, const void* in, DType from, int64_t n) {
    kernels().cast[int(to)][int(from)](out, in, n);
  }

  const Pointwise& call_;
  const LoopPlan& plan_;
  TileFn kernel_;
  int64_t begin_, end_, chunk_;
  DType result_;
  bool out_direct_;
  Way way_[3];
  int64_t period_[3];
  std::optional<Walker> walkers_[3];
  std::optional<Walker> out_walker_;
  Tile tiles_[3], out_tile_, spare_;
};

// The form for a number as last input, where the call has one that is the same along its lines:
// nothing has to be spread over a tile. Of a sum or product, either input will do.
TileFn number_form(Pointwise& call, LoopPlan& plan) {
  if (call.inputs < 2 || plan.ndim() == 0) return nullptr;
  const TileFn kernel = number_kernel(call.op, call.compute);
  if (!kernel) return nullptr;
  const int last = plan.ndim() - 1;
  const DType number = contains(dtypes::half, call.compute) ? DType::float32 : call.compute;
  const auto is_number = [&](int k) {
    return plan.strides[k][last] == 0 && call.in[k - 1].dtype == number;
  };
  if (is_number(1) && !is_number(2) && (call.op == Opcode::add || call.op == Opcode::mul)) {
    std::swap(call.in[0], call.in[1]);
    std::swap(plan.strides[1], plan.strides[2]);
  }
  return is_number(call.inputs) && !is_number(1) ? kernel : nullptr;
}

// Whether every operand is consecutive in the dtype the kernel wants; a number may stay where it
// is.
bool all_direct(const Pointwise& call, const LoopPlan& plan, bool number) {
  if (plan.ndim() > 1 || call.out.dtype != result_dtype(call.op, call.compute)) return false;
  if (!is_consecutive(plan, 0, call.out.dtype)) return false;
  for (int i = 0; i < call.inputs - number; ++i) {
    const DType wanted = input_dtype(call.op, i, call.compute);
    if (call.in[i].dtype != wanted || !is_consecutive(plan, i + 1, wanted)) return false;
  }
  return true;
}

// All of a call whose operands are direct.
void run_direct(const Pointwise& call, const LoopPlan& plan, TileFn kernel) {
  parallel_for(plan.numel, even_grain(plan.numel, grain_of(call.op, call.compute)),
               [&](int64_t begin, int64_t end) {
                 const void* in[3];
                 for (int i = 0; i < call.inputs; ++i) {
                   in[i] = call.in[i].data + (begin > 0 ? begin * plan.strides[i + 1][0] : 0);
                 }
                 kernel(call.out.data + begin * static_cast<int64_t>(item_size(call.out.dtype)), in,
                        end - begin, call.params);
               });
}

// Numbers of 16 bits that are all direct, if there is a kernel that takes them as they are.
bool run_halves(const Pointwise& given) {
  if (given.compute != DType::float32 || !contains(dtypes::half, given.out.dtype)) return false;
  Pointwise call = given;
  call.compute = call.out.dtype;
  const TileFn kernel = tile_kernel(call.op, call.compute);
  if (!kernel) return false;
  Operand operands[max_operands] = {call.out, call.in[0], call.in[1], call.in[2]};
  LoopPlan plan(call.sizes, operands, call.inputs + 1);
  const TileFn with_number = number_form(call, plan);
  if (!all_direct(call, plan, with_number)) return false;
  run_direct(call, plan, with_number ? with_number : kernel);
  return true;
}

}  // namespace

void pointwise(const Pointwise& given) {
  if (run_halves(given)) return;
  Pointwise call = given;
  TileFn kernel = tile_kernel(call.op, call.compute);
  if (!kernel) fail_not_implemented(info(call.op).name, call.compute);
  Operand operands[max_operands] = {call.out, call.in[0], call.in[1], call.in[2]};
  LoopPlan plan(call.sizes, operands, call.inputs + 1);
  const TileFn with_number = number_form(call, plan);
  if (with_number) kernel = with_number;
  if (all_direct(call, plan, with_number)) return run_direct(call, plan, kernel);
  if (try_lines(call, plan, kernel, with_number)) return;
  if (with_number && try_rows_by_numbers(call, plan)) return;
  if (with_number) kernel = tile_kernel(call.op, call.compute);
  parallel_for(plan.numel, even_grain(plan.numel, grain_of(call.op, call.compute)),
               [&](int64_t begin, int64_t end) { Worker(call, plan, kernel, begin, end).run(); });
}

}  // namespace wisp::cpu
