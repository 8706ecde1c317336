// Runs what was collected, stage by stage of its plan.
#include <algorithm>
#include <array>
#include <optional>

#include "base/element.h"
#include "lazy/plan.h"
#include "ops/pointwise.h"

namespace wisp::lazy {

namespace {

// Memory stays pending until the last kernel that writes it has run, so that other threads wait.
// Kernels of the batch itself go by address, or by tensors of their own on the same memory.

char* memory_of(const Tensor& t) {
  return t->storage().is_pending() ? const_cast<char*>(t->address()) : t->bytes();
}

void finish(const Tensor& out, bool last) {
  Storage& storage = out->storage();
  if (!last && !storage.is_pending()) {
    storage.data();  // brings it into plain order
    storage.set_pending(true);
  } else if (last && storage.is_pending()) {
    storage.set_pending(false);
  }
}

void fail(const Entry& entry, const Error& error) {
  for (const Tensor& out : entry.outs) {
    Storage& storage = out->storage();
    if (entry.promised) {
      storage.fail_promise(error);
    } else if (storage.is_pending()) {
      storage.set_pending(false);  // it keeps what it held before
    }
  }
}

// --- A kernel on its own

// Stands for a tensor whose memory is pending, for the kernel that is to fill or to read it.
Tensor stand_in(const Tensor& t) {
  const Storage& storage = t->storage();
  Ref<Storage> memory =
      Storage::wrap(const_cast<char*>(storage.address()), storage.bytes(), [](void*) {}, nullptr);
  return Tensor::adopt(
      TensorImpl::make(std::move(memory), t.dtype(), t.sizes(), t.strides(), t->offset()));
}

// New memory of which nobody else knows may be left in any order by the kernel.
Tensor fresh_for(const Tensor& out) {
  return out.is_contiguous() ? Tensor::empty(out.sizes(), out.dtype())
                             : Tensor::empty_strided(out.sizes(), out.strides(), out.dtype());
}

class SingleRun {
 public:
  SingleRun(Entry& entry, uint8_t finished) : entry_(entry), finished_(finished) {}

  void run() {
    for (size_t i = 0; i < entry_.outs.size(); ++i) prepare_out(i);
    for (Tensor& t : entry_.tensors) prepare_in(t);
    call_kernel();
    for (size_t i = 0; i < entry_.outs.size(); ++i) {
      const bool last = finished_ >> i & 1u;
      if (is_new_[i]) entry_.outs[i]->storage().take_memory(outs_[i]->storage());
      finish(entry_.outs[i], last);
    }
  }

 private:
  void prepare_out(size_t i) {
    const Tensor& out = entry_.outs[i];
    is_new_[i] = !out->storage().has_memory();
    outs_[i] = is_new_[i] ? fresh_for(out) : out->storage().is_pending() ? stand_in(out) : out;
  }

  // A tensor that is written in place stays the same tensor for the kernel.
  void prepare_in(Tensor& t) {
    if (!t.defined() || !t->storage().is_pending()) return;
    Tensor replaced;
    for (size_t i = 0; i < entry_.outs.size(); ++i) {
      if (entry_.outs[i].is_same(t)) replaced = outs_[i];
    }
    if (!replaced.defined()) replaced = stand_in(t);
    for (Arg& arg : entry_.args) {
      if (arg.is_tensor() && arg.as.tensor == t.impl()) arg.as.tensor = replaced.impl();
    }
    t = std::move(replaced);
  }

  void call_kernel() {
    const Call call(*entry_.op, entry_.args.data(), outs_.data(), entry_.compute);
    if (entry_.pointwise) {
      ops::run_pointwise(call, entry_.opcode, entry_.args, entry_.params);
    } else {
      entry_.op->kernels[static_cast<int>(DeviceType::cpu)](call);
    }
  }

  Entry& entry_;
  const uint8_t finished_;
  std::array<Tensor, Infer::max_outs> outs_;
  std::array<bool, Infer::max_outs> is_new_;
};

// --- Kernels run as one

// The entries of a piece, from one of the batch on, and which of their results are finished by
// them.
struct Part {
  size_t first;
  std::span<Entry> entries;
  std::span<const uint8_t> finished;
};

class FusedRun {
 public:
  FusedRun(const Part& part, const Group& group) : part_(part), group_(group) {}

  void run() {
    const Tensor& first = part_.entries[group_.steps[0].entry].outs[0];
    for (const GroupStep& step : group_.steps) add_step(step);
    for (size_t k = 0; k < group_.operands.size(); ++k) add_operand(k, first.sizes());
    for (size_t k = 0; k < group_.numbers.size(); ++k) add_number(k);
    for (size_t k = 0; k < group_.folds.size(); ++k) add_fold(k);
    if (first.numel() > 0) {
      cpu::run_fused({.sizes = first.sizes(),
                      .steps = {steps_.data(), group_.steps.size()},
                      .operands = {operands_.data(), group_.operands.size()},
                      .numbers = {numbers_.data(), group_.numbers.size()},
                      .folds = {folds_.data(), group_.folds.size()}});
    }
    WISP_CHECK(!divided_by_zero_.load(std::memory_order_relaxed),
               "ZeroDivisionError: integer division by zero");
    for (const GroupStep& step : group_.steps) {
      if (step.store >= 0) finish(part_.entries[step.entry].outs[0], part_.finished[step.entry]);
    }
    for (const GroupFold& fold : group_.folds) {
      finish(part_.entries[fold.entry].outs[0], part_.finished[fold.entry]);
    }
  }

 private:
  void add_step(const GroupStep& step) {
    const Entry& entry = part_.entries[step.entry];
    cpu::FusedStep& made = steps_[count_++];
    made = {.op = entry.opcode,
            .compute = entry.compute,
            .dtype = entry.outs[0].dtype(),
            .in = {step.in[0], step.in[1], step.in[2]},
            .tile = step.tile,
            .store = step.store,
            .params = entry.params};
    made.params.divided_by_zero = &divided_by_zero_;
  }

  void add_operand(size_t k, IntSpan sizes) {
    const Tensor& t = tensor_at(part_.entries, group_.operands[k]);
    if (group_.operands[k].is_out) t->storage().allocate_promised();
    if (!same(t.sizes(), sizes)) strides_[k] = expanded_strides(t.sizes(), t.strides(), sizes);
    operands_[k] = {memory_of(t), same(t.sizes(), sizes) ? t.strides() : IntSpan(strides_[k]),
                    t.dtype()};
  }

  void add_number(size_t k) {
    const NumberPlace& place = group_.numbers[k];
    const Entry& entry = part_.entries[place.entry];
    cpu::FusedNumber& number = numbers_[k];
    number.dtype = cpu::input_dtype(entry.opcode, place.arg, entry.compute);
    const Element element(entry.args[place.arg].scalar(), number.dtype);
    std::memcpy(number.bytes, element.bytes, sizeof element.bytes);
  }

  void add_fold(size_t k) {
    const Entry& entry = part_.entries[group_.folds[k].entry];
    const Tensor& out = entry.outs[0];
    out->storage().allocate_promised();
    folds_[k] = {.step = group_.folds[k].step,
                 .op = entry.reduction,
                 .params = entry.reduce_params,
                 .out = memory_of(out)};
  }

  const Part& part_;
  const Group& group_;
  size_t count_ = 0;
  std::array<cpu::FusedStep, cpu::max_fused_steps> steps_;
  std::array<cpu::Operand, cpu::max_fused_operands> operands_;
  std::array<Dims, cpu::max_fused_operands> strides_;
  std::array<cpu::FusedNumber, cpu::max_fused_numbers> numbers_;
  std::array<cpu::FusedFold, cpu::max_fused_folds> folds_;
  std::atomic<bool> divided_by_zero_{false};
};

// Arranged images keep their order if each kernel runs on its own.
bool reads_arranged(const Part& part, const Group& group) {
  for (const TensorPlace& place : group.operands) {
    if (!place.is_out && tensor_at(part.entries, place)->storage().is_arranged()) return true;
  }
  return false;
}

// f(index) of its entries, in an order in which they may run.
template <class F>
void for_each_entry(const Stage& stage, F f) {
  if (!stage.fused) return f(stage.entry);
  for (const GroupStep& step : stage.group.steps) f(step.entry);
  for (const GroupFold& fold : stage.group.folds) f(fold.entry);
}

// Whether the elements of all operands lie in one order, or are a single value.
bool is_flat(const Part& part, const Group& group) {
  const IntSpan sizes = part.entries[group.steps[0].entry].outs[0].sizes();
  return std::all_of(group.operands.begin(), group.operands.end(), [&](const TensorPlace& place) {
    const Tensor& t = tensor_at(part.entries, place);
    return t.numel() == 1 || (t.is_contiguous() && same(t.sizes(), sizes));
  });
}

// Whether one loop is possible. Reductions go through elements in the order of memory.
bool runs_fused(const Part& part, const Group& group) {
  if (reads_arranged(part, group)) return false;
  return group.folds.empty() || is_flat(part, group);
}

// What it has saved to put the kernels of a piece off instead of running them at once.
struct Saved {
  int64_t nanoseconds = 0;
  bool more = false;  // nobody knows how much

  bool is_worth(uint32_t kernels) const {
    constexpr int64_t writing_down = 400;  // nanoseconds
    return more || nanoseconds > writing_down * kernels;
  }
  void add(const Trials::Times& times) {
    if (!times.known()) more = true;
    if (times.known()) nanoseconds += std::max<int64_t>(0, times.other - times.plain);
  }
};

void run_stage(const Part& part, const Stage& stage, Saved& saved) {
  const auto alone = [&](uint32_t i) { SingleRun(part.entries[i], part.finished[i]).run(); };
  if (!stage.fused || !runs_fused(part, stage.group)) return for_each_entry(stage, alone);
  const Tensor& first = part.entries[stage.group.steps[0].entry].outs[0];
  const uint64_t key = mixed(1, size_class(static_cast<uint64_t>(first.numel())));
  const Trials::Choice choice = stage.trials->choose(key);
  const Stopwatch watch;
  if (choice.other) {
    for_each_entry(stage, alone);
  } else {
    FusedRun(part, stage.group).run();
  }
  if (choice.at >= 0) stage.trials->note(choice, watch.nanoseconds());
  saved.add(stage.trials->times(key));
}

// --- Errors belong to the line that made the call.

Error placed(const Entry& entry, const std::exception& error) {
  const auto* own = dynamic_cast<const Error*>(&error);
  const ErrorKind kind = own ? own->kind() : ErrorKind::runtime;
  std::string text = error.what();
  if (entry.place.code && host.describe) {
    text += "\n(the call, evaluated lazily, was made at " + host.describe(entry.place) + ")";
  }
  return Error(kind, std::move(text));
}

// Whether it is worth to let the host's other threads run.
bool is_large(const Entry& entry) {
  const auto large = [](const Tensor& t) { return t.defined() && t.numel() >= 1 << 15; };
  return std::any_of(entry.outs.begin(), entry.outs.end(), large) ||
         std::any_of(entry.tensors.begin(), entry.tensors.end(), large);
}

// How it went.
struct Outcome {
  std::optional<Error> first;  // only this one is told; what depends on it has failed with it
  std::vector<bool>& gained;
};

void try_stage(const Part& part, const Stage& stage, Saved& saved, Outcome& outcome) {
  const Entry& last = part.entries[stage.fused ? stage.group.steps.back().entry : stage.entry];
  try {
    const HostUnlock unlock(is_large(last));
    run_stage(part, stage, saved);
  } catch (const std::exception& error) {
    const Error told = placed(last, error);
    for_each_entry(stage, [&](uint32_t i) { fail(part.entries[i], told); });
    if (!outcome.first) outcome.first = told;
  }
}

// What is not needed any more is given back before the next stage wants memory.
void release(Entry& entry) {
  for (Tensor& t : entry.tensors) t.reset();
  for (Tensor& t : entry.outs) t.reset();
}

void drop(const Part& part, std::span<const uint32_t> dropped, Outcome& outcome) {
  for (uint32_t i : dropped) {
    release(part.entries[i]);
    outcome.gained[part.first + i] = true;
  }
}

// All stages of a plan. Its kernels gain together or not at all: a part of them, run at once, would
// make other pieces of the rest.
void run_part(const Part& part, const Piece& piece, Outcome& outcome) {
  const Plan& plan = plan_of(piece);
  drop(part, plan.dropped, outcome);
  Saved saved{.more = !plan.dropped.empty()};
  for (const Stage& stage : plan.stages) {
    try_stage(part, stage, saved, outcome);
    for_each_entry(stage, [&](uint32_t i) { release(part.entries[i]); });
  }
  if (!saved.is_worth(piece.count)) return;
  std::fill_n(outcome.gained.begin() + piece.first, piece.count, true);
}

}  // namespace

void run(Batch& batch, const Schedule& schedule, std::vector<bool>& gained) {
  Outcome outcome{std::nullopt, gained};
  drop({0, batch.entries, schedule.finished}, schedule.dropped, outcome);
  for (const Piece& piece : schedule.pieces) {
    const Part part{piece.first, std::span(batch.entries).subspan(piece.first),
                    std::span(schedule.finished).subspan(piece.first)};
    run_part(part, piece, outcome);
  }
  if (outcome.first) throw *outcome.first;
}

}  // namespace wisp::lazy
