#include "ops/rounds_plan.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/copy.h"

namespace wisp::ops {

namespace {

// Multiplications for which another thread is worth its while, and what a pointwise call of an
// element counts for, on average.
constexpr int64_t grain = 1 << 18, pointwise_work = 8;
constexpr int64_t most_work = 1 << 29;  // that is done at once

// Finds out whether rows never meet, and which values have them.
class Rows {
 public:
  Rows(const Rounds& rounds, const Chain::Plan& whole)
      : rounds_(rounds),
        whole_(whole),
        values_(whole.values),
        roles_(values_.size(), Role::unknown) {}

  bool find() {
    for (size_t i = 0; i < rounds_.inputs().size(); ++i) {
      if (rounds_.inputs()[i].carried < 0) continue;
      if (count_ == 0) count_ = values_[i].sizes[0];
      if (!in_rows(static_cast<int>(i))) return false;
    }
    if (count_ < 2) return false;
    next_ = inputs();
    for (const ChainCall& call : rounds_.chain().calls()) {
      const bool possible = call.view                     ? view(call)
                            : Chain::cuts(*call.op)       ? cut(call)
                            : Chain::joins(*call.op)      ? join(call)
                            : Chain::multiplies(*call.op) ? multiply(call)
                            : Chain::computes(*call.op)   ? compute(call)
                                                          : false;
      if (!possible) return false;
    }
    return true;
  }

  int64_t count() const { return count_; }
  bool has_rows(size_t value) const { return roles_[value] == Role::rows; }
  // The right factors that are nothing else, and whether they are multiplied as they are (1),
  // transposed (2) or both ways (3).
  int turns(size_t input) const { return roles_[input] == Role::factor ? turns_[input] : 3; }

 private:
  enum class Role : uint8_t { unknown, rows, shared, factor };

  int inputs() const { return rounds_.chain().inputs(); }
  const Dims& sizes(int value) const { return values_[static_cast<size_t>(value)].sizes; }
  Role& role(int value) { return roles_[static_cast<size_t>(value)]; }

  bool take(int value, Role wanted) {
    if (role(value) == Role::unknown) role(value) = wanted;
    return role(value) == wanted;
  }
  bool in_rows(int value) { return sizes(value)[0] == count_ && take(value, Role::rows); }
  // What is the same for all rows can only come from outside.
  bool is_outside(int value) const {
    return value < inputs() && rounds_.inputs()[static_cast<size_t>(value)].carried < 0;
  }

  bool results_in_rows(const ChainCall& call) {
    for (int k = 0; k < call.results; ++k) {
      if (!in_rows(next_++)) return false;
    }
    return true;
  }

  bool view(const ChainCall& call) {
    return call.view->by_rows && in_rows(call.operands[0].value) && results_in_rows(call);
  }

  bool cut(const ChainCall& call) {
    const int whole = call.operands[0].value;
    return is_along_rows(call, whole) && in_rows(whole) && results_in_rows(call);
  }
  bool is_along_rows(const ChainCall& call, int value) const {
    const auto ndim = static_cast<int64_t>(sizes(value).size());
    return (call.dim + ndim) % ndim != 0;
  }

  bool join(const ChainCall& call) {
    return is_along_rows(call, next_) &&
           std::all_of(call.pieces.begin(), call.pieces.end(),
                       [&](int piece) { return in_rows(piece); }) &&
           results_in_rows(call);
  }

  bool compute(const ChainCall& call) {
    const Dims& result = sizes(next_);
    for (int i = 0; i < call.operand_count; ++i) {
      const int value = call.operands[i].value;
      if (value >= 0 && !is_operand(value, result)) return false;
    }
    return results_in_rows(call);
  }
  // Has the rows of the result, or is the same for all of them.
  bool is_operand(int value, const Dims& result) {
    const Dims& given = sizes(value);
    const bool same_rank = given.size() == result.size();
    if (same_rank && given[0] == count_) return in_rows(value);
    return (!same_rank || given[0] == 1) && is_outside(value) && take(value, Role::shared);
  }

  bool multiply(const ChainCall& call) {
    const int left = call.operands[0].value, right = call.operands[1].value;
    const bool biased = call.operand_count > 2;
    if (!is_outside(right) || rounds_.inputs()[right].varies) return false;
    const Chain::Plan::Product& product = whole_.products[static_cast<size_t>(products_++)];
    if (!cpu::is_made_by_rows(whole_.inputs[0].dtype, product.a, product.b, product.c))
      return false;
    if (!in_rows(left) || !take(right, Role::factor)) return false;
    if (biased && !is_operand(call.operands[2].value, sizes(next_))) return false;
    turns_[right] |= call.op == &op_def<"linear">() ? 2 : 1;
    return results_in_rows(call);
  }

  const Rounds& rounds_;
  const Chain::Plan& whole_;
  const std::vector<Chain::Plan::Value>& values_;
  std::vector<Role> roles_;
  int turns_[Chain::max_inputs] = {};
  int64_t count_ = 0;
  int next_ = 0;      // the first result of the call
  int products_ = 0;  // before it
};

class Planner {
 public:
  Planner(const Rounds& rounds, Rounds::Plan& plan) : rounds_(rounds), plan_(plan) {}

  bool run() {
    const DType dtype = plan_.inputs[0].dtype;
    if (dtype != DType::float32 && dtype != DType::float64) return false;
    Chain::Plan whole{.inputs = plan_.inputs, .limited = false};
    plan_chain(rounds_.chain(), whole);
    if (!whole.possible || !goes_on(whole)) return false;
    for (const Chain::Plan::Value& value : whole.values) {
      if (count_elements(value.sizes) > Rounds::most_elements) return false;
    }
    plan_.outputs = whole.outputs;
    Rows rows(rounds_, whole);
    if (rows.find()) share_out(rows, whole);
    const Chain::Plan* first = plan_.block(rounds_, plan_.rows > 0 ? 1 : 0);
    if (!first) return false;
    plan_.work = work_of(*first);
    return true;
  }

 private:
  // What a round gives has to be what the next one begins with.
  bool goes_on(const Chain::Plan& whole) const {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const int from = rounds_.inputs()[i].carried;
      if (from < 0) continue;
      const ChainShape& shape = plan_.inputs[i];
      if (!same(whole.outputs[static_cast<size_t>(from)].sizes, shape.sizes) ||
          !is_contiguous(shape.sizes, shape.strides))
        return false;
    }
    return true;
  }

  void share_out(const Rows& rows, const Chain::Plan& whole) {
    plan_.rows = rows.count();
    int64_t widest = 1;
    for (size_t i = 0; i < whole.values.size(); ++i) {
      if (rows.has_rows(i))
        widest = std::max(widest, count_elements(whole.values[i].sizes) / rows.count());
    }
    plan_.most_rows = std::max<int64_t>(chain_limit / widest, 1);
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      plan_.in_rows.push_back(rows.has_rows(i));
      turn(static_cast<int>(i), rows.turns(i));
    }
  }

  // Products take right factors whose rows are consecutive; others they would bring into that order
  // each time.
  void turn(int input, int turns) {
    const ChainShape& shape = plan_.inputs[static_cast<size_t>(input)];
    if (turns == 3) return;
    const size_t row = turns == 2, col = 1 - row;
    if (shape.strides[col] == 1) return;
    plan_.turned.push_back({input,
                            turns == 2,
                            {shape.sizes[row], shape.sizes[col]},
                            {shape.strides[row], shape.strides[col]}});
  }

  static int64_t work_of(const Chain::Plan& block) {
    int64_t work = 0;
    for (const ChainStage& stage : block.stages) {
      const auto product = static_cast<size_t>(stage.product);
      work +=
          stage.elements * (stage.product < 0 ? pointwise_work : block.products[product].a.cols);
    }
    return work;
  }

  const Rounds& rounds_;
  Rounds::Plan& plan_;
};

}  // namespace

const Chain::Plan* Rounds::Plan::block(const Rounds& rounds, int64_t count) const {
  std::lock_guard lock(adding);
  for (const auto& known : made) {
    if (rows == 0 || known->outputs[0].sizes[0] == count) return known.get();
  }
  auto fresh = std::make_unique<Chain::Plan>();
  fresh->inputs = inputs;
  fresh->part_of_more = rows > 0;
  for (const RoundInput& input : rounds.inputs())
    fresh->fixed.push_back(input.carried < 0 && !input.varies);
  for (size_t i = 0; i < in_rows.size(); ++i) {
    if (in_rows[i]) fresh->inputs[i].sizes[0] = count;
  }
  for (const Turned& one : turned) {
    Dims& strides = fresh->inputs[static_cast<size_t>(one.input)].strides;
    strides[one.transposed ? 1 : 0] = one.sizes[1];
    strides[one.transposed ? 0 : 1] = 1;
  }
  plan_chain(rounds.chain(), *fresh);
  if (!fresh->possible) return nullptr;
  made.push_back(std::move(fresh));
  return made.back().get();
}

Rounds::Plan::Cut Rounds::Plan::cut(int64_t rounds) const {
  if (rows == 0) return {};
  const int64_t least = (rows + most_rows - 1) / most_rows;
  const int64_t threads = std::clamp<int64_t>(rows * work * rounds / grain, 1, num_threads());
  // Rows are computed alike wherever the cuts are: these may depend on the number of threads.
  const int64_t blocks = std::min(rows, (least + threads - 1) / threads * threads);
  return {blocks, threads > 1 ? 1 : blocks};
}

int64_t Rounds::Plan::most_rounds() const {
  return std::max<int64_t>(most_work / (std::max<int64_t>(rows, 1) * work), 1);
}

std::vector<Tensor> Rounds::Plan::place_inputs(std::span<TensorImpl* const> tensors,
                                               RowsPlace* places) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool has_rows = rows > 0 && in_rows[i];
    places[i] = {tensors[i]->bytes(), has_rows ? row_bytes(tensors[i]->strides()) : 0};
  }
  std::vector<Tensor> made;
  for (const Turned& one : turned) {
    const auto input = static_cast<size_t>(one.input);
    const DType dtype = inputs[input].dtype;
    const Tensor& copy = made.emplace_back(make_chain_output({dtype, one.sizes, {}}));
    cpu::copy(one.sizes, {copy->bytes(), copy.strides(), dtype},
              {places[input].data, one.strides, dtype});
    places[input].data = copy->bytes();
  }
  return made;
}

void plan_rounds(const Rounds& rounds, Rounds::Plan& plan) {
  plan.possible = Planner(rounds, plan).run();
}

}  // namespace wisp::ops
