#include "ops/rounds.h"

#include "base/parallel.h"
#include "ops/rounds_plan.h"

namespace wisp::ops {

namespace {

// As with chains: a loop that never sees the same tensors twice would collect plans for ever.
constexpr size_t max_plans = 16;

using Place = RowsPlace;

// What the threads of a run have in common.
struct Run {
  const Rounds& rounds;
  const Rounds::Given& given;
  int64_t count;  // of rounds
  Place inputs[Chain::max_inputs] = {};
  Place outputs[Chain::max_outputs] = {};              // of the last round
  std::vector<char*> listed[Chain::max_outputs] = {};  // of all rounds
};

// Some rows, which one thread takes through all rounds.
class Block {
 public:
  Block(const Run& run, const Chain::Plan& plan, int64_t first_row)
      : run_(run),
        plan_(plan),
        first_row_(first_row),
        temporaries_(plan.temporary_bytes + 2 * place_carried()) {
    char** next = memories_;
    for (size_t i = 0; i < plan.inputs.size(); ++i) *next++ = run.inputs[i].at(first_row);
    next += plan.outputs.size();
    *next++ = temporaries_.data();
    *next = const_cast<char*>(plan.numbers.data());  // they are only read
  }

  void go() {
    plan_.run(plan_.first_stages, memories_);
    for (int64_t round = 0; round < run_.count; ++round) {
      place_inputs(round);
      for (size_t i = 0; i < plan_.outputs.size(); ++i)
        memories_[plan_.inputs.size() + i] = output(i, round);
      plan_.run(plan_.stages, memories_);
    }
  }

 private:
  void place_inputs(int64_t round) {
    const std::vector<RoundInput>& inputs = run_.rounds.inputs();
    const std::vector<char*>* addresses = run_.given.addresses.data();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].varies) memories_[i] = (*addresses++)[round] + first_row_ * run_.inputs[i].row;
      if (inputs[i].carried >= 0 && round > 0) memories_[i] = output(inputs[i].carried, round - 1);
    }
  }

  // What only the next round wants alternates between two places.
  char* output(size_t i, int64_t round) const {
    const Place& last = run_.outputs[i];
    if (!run_.listed[i].empty()) return run_.listed[i][round] + first_row_ * last.row;
    if (round == run_.count - 1) return last.at(first_row_);
    return temporaries_.data() + plan_.temporary_bytes + (round % 2) * carried_bytes_ + carried_[i];
  }

  int64_t place_carried() {
    constexpr int64_t alignment = 64;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      carried_[i] = carried_bytes_;
      const auto item = static_cast<int64_t>(item_size(plan_.inputs[0].dtype));
      const int64_t bytes = count_elements(plan_.outputs[i].sizes) * item;
      carried_bytes_ += (bytes + alignment - 1) / alignment * alignment;
    }
    return carried_bytes_;
  }

  const Run& run_;
  const Chain::Plan& plan_;
  const int64_t first_row_;
  int64_t carried_[Chain::max_outputs], carried_bytes_ = 0;
  const Temporaries temporaries_;
  char* memories_[max_memories];
};

}  // namespace

Rounds::Rounds(std::unique_ptr<Chain> chain, std::vector<RoundInput> inputs,
               std::vector<bool> listed)
    : chain_(std::move(chain)), inputs_(std::move(inputs)), listed_(std::move(listed)) {}

Rounds::~Rounds() = default;

const Rounds::Plan* Rounds::plan_for(std::span<TensorImpl* const> inputs) const {
  std::lock_guard lock(adding_);
  for (const auto& plan : plans_) {
    if (fit(inputs, plan->inputs)) return plan.get();
  }
  if (plans_.size() >= max_plans) return nullptr;
  auto made = std::make_unique<Plan>();
  made->inputs = shapes_of(inputs);
  plan_rounds(*this, *made);
  plans_.push_back(std::move(made));
  return plans_.back().get();
}

int64_t Rounds::run(const Given& given, Tensor* last, std::vector<Tensor>* all) const {
  if (!chains_may_run(given.inputs) || want_gradients(given.inputs)) return 0;
  const Plan* plan = plan_for(given.inputs);
  if (!plan || !plan->possible) return 0;
  const int64_t count = std::min(given.count, plan->most_rounds());
  const Plan::Cut cut = plan->cut(count);
  const Chain::Plan* few = plan->block(*this, plan->rows / cut.blocks);
  const Chain::Plan* more = plan->block(*this, (plan->rows + cut.blocks - 1) / cut.blocks);
  if (!few || !more) return 0;
  Run run{*this, given, count};
  const std::vector<Tensor> turned = plan->place_inputs(given.inputs, run.inputs);
  for (size_t i = 0; i < plan->outputs.size(); ++i) {
    const ChainShape& shape = plan->outputs[i];
    for (int64_t round = 0; round < count && listed_[i]; ++round) {
      all[i].push_back(make_chain_output(shape));
      run.listed[i].push_back(all[i].back()->bytes());
    }
    last[i] = listed_[i] ? all[i].back() : make_chain_output(shape);
    run.outputs[i] = {last[i]->bytes(), plan->row_bytes(last[i]->strides())};
  }
  parallel_for(cut.blocks, cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = plan->rows * i / cut.blocks;
      const int64_t rows = plan->rows * (i + 1) / cut.blocks - first;
      Block(run, rows == plan->rows / cut.blocks ? *few : *more, first).go();
    }
  });
  return count;
}

}  // namespace wisp::ops
