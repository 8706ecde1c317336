#include "ops/chain_plan.h"

#include <algorithm>

#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

// Dimensions from the outermost to the innermost, none repeated: single calls give consecutive
// results of such tensors.
bool is_in_order(IntSpan sizes, IntSpan strides) {
  int64_t inner = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 1) continue;
    if (strides[dim] < inner) return false;
    inner = strides[dim];
  }
  return true;
}

bool can_broadcast(IntSpan a, IntSpan b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

class Planner {
 public:
  Planner(const Chain& chain, Chain::Plan& plan) : chain_(chain), plan_(plan) {}

  bool run() {
    if (!add_inputs()) return false;
    find_last_reads();
    for (const ChainCall& call : chain_.calls()) {
      const bool done = call.view                     ? view(call)
                        : Chain::cuts(*call.op)       ? cut(call)
                        : Chain::joins(*call.op)      ? join(call)
                        : Chain::multiplies(*call.op) ? multiply(call)
                                                      : compute(call);
      if (!done) return false;
      release_after(at_++);
    }
    plan_.temporary_bytes = used_;
    describe_values();
    return true;
  }

 private:
  // A value of the chain. Pieces lie in the memory of what was cut, their `owner`.
  struct Known {
    Dims sizes, strides;  // in elements
    ChainSpot spot;
    int owner;
    size_t slot = 0;  // bytes of the temporary that holds it
  };
  struct Slot {
    size_t bytes;
    int64_t offset;
  };

  void add(Known value) {
    stand_ins_.push_back(stand_in({dtype_, value.sizes, value.strides}));
    known_.push_back(std::move(value));
  }

  bool add_inputs() {
    dtype_ = plan_.inputs[0].dtype;
    if (!contains(dtypes::real_math, dtype_)) return false;
    for (const ChainShape& input : plan_.inputs) {
      const int64_t elements = count_elements(input.sizes);
      if (input.dtype != dtype_ || input.sizes.empty() || elements == 0) return false;
      const int number = static_cast<int>(known_.size());
      add({input.sizes, input.strides, {number, 0}, number});
    }
    return true;
  }

  void find_last_reads() {
    std::vector<int> owner(known_.size());
    for (size_t i = 0; i < owner.size(); ++i) owner[i] = static_cast<int>(i);
    const auto& calls = chain_.calls();
    for (size_t i = 0; i < calls.size(); ++i) {
      const bool piece = Chain::shares(calls[i]);
      for (int k = 0; k < calls[i].results; ++k) {
        const int number = static_cast<int>(owner.size());
        owner.push_back(piece ? owner[calls[i].operands[0].value] : number);
      }
      last_reads_.resize(owner.size(), -1);
      for (int k = 0; k < calls[i].operand_count; ++k) {
        const int value = calls[i].operands[k].value;
        if (value >= 0) last_reads_[owner[value]] = static_cast<int>(i);
      }
      for (int piece : calls[i].pieces) last_reads_[owner[piece]] = static_cast<int>(i);
    }
  }

  void describe_values() {
    for (const Known& value : known_) {
      const int64_t start = value.spot.offset - known_[value.owner].spot.offset;
      plan_.values.push_back({value.sizes, value.strides, value.owner, start / item(), dtype_});
    }
  }

  bool cut(const ChainCall& call) {
    const int from = call.operands[0].value;
    const Known whole = known_[from];
    const auto ndim = static_cast<int64_t>(whole.sizes.size());
    if (call.dim < -ndim || call.dim >= ndim) return false;
    const int64_t dim = call.dim < 0 ? call.dim + ndim : call.dim, total = whole.sizes[dim];
    const bool in_parts = call.op == &op_def<"chunk">();
    if (call.cut <= 0) return false;
    const int64_t length = in_parts ? (total + call.cut - 1) / call.cut : call.cut;
    if ((total + length - 1) / length != call.results) return false;
    for (int64_t start = 0; start < total; start += length) {
      Known piece = {whole.sizes, whole.strides, whole.spot, whole.owner};
      piece.sizes[dim] = std::min(length, total - start);
      piece.spot.offset += start * whole.strides[dim] * item();
      add(std::move(piece));
    }
    return true;
  }

  // Of the tensor that it was seen with, or of some of its rows.
  bool view(const ChainCall& call) {
    const ChainView& place = *call.view;
    const Known whole = known_[call.operands[0].value];
    if (!same(whole.strides, place.whole_strides)) return false;
    Known made = {place.sizes, place.strides, whole.spot, whole.owner};
    if (!same(whole.sizes, place.whole_sizes)) {
      Dims rows = place.whole_sizes;
      rows[0] = whole.sizes[0];
      if (!place.by_rows || !same(whole.sizes, rows)) return false;
      made.sizes[0] = whole.sizes[0];
    }
    made.spot.offset += place.offset * item();
    add(std::move(made));
    return true;
  }

  // They have to be alike but for their lengths along one dimension.
  bool join(const ChainCall& call) {
    Dims sizes = known_[call.pieces[0]].sizes;
    const auto ndim = static_cast<int64_t>(sizes.size());
    if (call.dim < -ndim || call.dim >= ndim) return false;
    const int64_t dim = call.dim < 0 ? call.dim + ndim : call.dim;
    sizes[dim] = 0;
    for (int number : call.pieces) {
      Dims piece = known_[number].sizes;
      if (piece.size() != sizes.size() || !is_in_order(piece, known_[number].strides)) return false;
      sizes[dim] += piece[dim];
      piece[dim] = sizes[dim];
      if (!same(piece, sizes)) return false;
    }
    ChainStage whole{.elements = count_elements(sizes)};
    if (is_too_large(whole.elements)) return false;
    add_result(sizes, whole);
    plan_.stages.pop_back();
    Dims strides = contiguous_strides(sizes);
    for (int64_t& stride : strides) stride *= item();
    ChainSpot to = whole.out;
    for (int number : call.pieces) {
      const Dims part = known_[number].sizes;
      plan_.stages.push_back({.spreads = true,
                              .in = {consecutive(number, part)},
                              .out = to,
                              .order = static_cast<int>(plan_.orders.size()),
                              .elements = count_elements(part)});
      plan_.orders.push_back({part, strides});
      to.offset += part[dim] * strides[dim];
    }
    release_gathered();
    return true;
  }

  bool compute(const ChainCall& call) {
    const std::optional<ChainKernel> kernel = kernel_of(call, stand_ins_);
    if (!kernel || kernel->compute != dtype_ || kernel->result.dtype != dtype_) return false;
    const Dims& sizes = kernel->result.sizes;
    if (!is_contiguous(sizes, kernel->result.strides) || sizes.empty()) return false;
    ChainStage stage{.kernel = cpu::tile_kernel(kernel->opcode, dtype_),
                     .inputs = kernel->inputs,
                     .elements = count_elements(sizes),
                     .params = kernel->params};
    if (!stage.kernel || is_too_large(stage.elements)) return false;
    for (int i = 0; i < kernel->inputs; ++i) {
      const int value = kernel->in[i].value;
      stage.in[i] = value < 0 ? number(*kernel, i, stage) : consecutive(value, sizes);
    }
    release_gathered();
    plan_.cost += stage.elements * cpu::cost_of(kernel->opcode, dtype_);
    add_result(sizes, stage);
    return true;
  }

  cpu::Matrix matrix(const Known& value) const {
    return {nullptr, value.sizes[0], value.sizes[1], value.strides[0], value.strides[1]};
  }

  // As single calls multiply: a bias is there before the product is added.
  bool multiply(const ChainCall& call) {
    const Known left = known_[call.operands[0].value], right = known_[call.operands[1].value];
    if (left.sizes.size() != 2 || right.sizes.size() != 2) return false;
    const cpu::Matrix a = matrix(left);
    cpu::Matrix b = matrix(right);
    if (call.op == &op_def<"linear">()) b = {nullptr, b.cols, b.rows, b.col, b.row};
    const Dims sizes = {a.rows, b.cols};
    ChainStage stage{.in = {left.spot, right.spot},
                     .product = static_cast<int>(plan_.products.size()),
                     .elements = a.rows * b.cols};
    if (a.cols != b.rows || is_too_large(stage.elements)) return false;
    const cpu::Matrix c = {nullptr, a.rows, b.cols, b.cols, 1};
    const bool small = stage.elements * a.cols <= chain_work_limit;
    if (!small && !plan_.part_of_more && (plan_.limited || !cpu::is_made_by_rows(dtype_, a, b, c)))
      return false;
    const bool biased = call.operand_count > 2;
    if (biased && !can_start_with(known_[call.operands[2].value].sizes, sizes)) return false;
    add_result(sizes, stage);
    plan_.products.push_back({a, b, c, biased});
    if (biased)
      plan_.stages.insert(plan_.stages.end() - 1, repeated(call.operands[2].value, stage));
    return true;
  }

  static bool can_start_with(const Dims& given, const Dims& sizes) {
    return given.size() <= 2 && can_broadcast(given, sizes) &&
           count_elements(broadcast(given, sizes)) == count_elements(sizes);
  }
  // What a product is added to, repeated to its size.
  ChainStage repeated(int value, const ChainStage& result) {
    const Known& from = known_[value];
    const Dims& sizes = known_.back().sizes;
    Dims strides = expanded_strides(from.sizes, from.strides, sizes);
    for (int64_t& stride : strides) stride *= item();
    const bool by_rows = strides[1] == item();
    plan_.orders.push_back({sizes, std::move(strides)});
    return {.in = {from.spot},
            .out = result.out,
            .order = static_cast<int>(plan_.orders.size()) - 1,
            .by_rows = by_rows,
            .elements = result.elements};
  }

  // A number goes to the kernel as it is, where there is one for that, or as often as is needed.
  ChainSpot number(const ChainKernel& kernel, int i, ChainStage& stage) {
    const bool last_of_two = kernel.inputs == 2 && i == 1;
    const cpu::TileFn once = last_of_two ? cpu::number_kernel(kernel.opcode, dtype_) : nullptr;
    if (once) stage.kernel = once;
    const auto start = static_cast<int64_t>(plan_.numbers.size());
    const int64_t copies = once ? 1 : stage.elements;
    plan_.numbers.resize(plan_.numbers.size() + static_cast<size_t>(copies * item()));
    char* to = plan_.numbers.data() + start;
    const double value = kernel.in[i].number.real();
    if (dtype_ == DType::float32) {
      std::fill_n(reinterpret_cast<float*>(to), copies, static_cast<float>(value));
    } else {
      std::fill_n(reinterpret_cast<double*>(to), copies, value);
    }
    return {temporaries() + 1, start};
  }

  // Where the elements of a value lie one behind the other, repeated to these sizes.
  ChainSpot consecutive(int value, const Dims& sizes) {
    const Known& from = known_[value];
    const int64_t elements = count_elements(sizes);
    if (is_contiguous(from.sizes, from.strides) && count_elements(from.sizes) == elements)
      return from.spot;
    Dims strides = expanded_strides(from.sizes, from.strides, sizes);
    for (int64_t& stride : strides) stride *= item();
    const bool once = is_fixed(from.owner);
    const size_t bytes = slot_size(elements);
    const ChainSpot to = once ? new_slot(bytes) : take_slot(bytes);
    if (!once) gathered_.push_back({bytes, to.offset});
    auto& stages = once ? plan_.first_stages : plan_.stages;
    stages.push_back({.in = {from.spot},
                      .out = to,
                      .order = static_cast<int>(plan_.orders.size()),
                      .by_rows = sizes.size() == 2 && strides[1] == item(),
                      .elements = elements});
    plan_.orders.push_back({sizes, std::move(strides)});
    return to;
  }

  bool is_too_large(int64_t elements) const { return plan_.limited && elements > chain_limit; }
  bool is_fixed(int input) const {
    const auto number = static_cast<size_t>(input);
    return number < plan_.fixed.size() && plan_.fixed[number];
  }

  void add_result(const Dims& sizes, ChainStage& stage) {
    const int number = static_cast<int>(known_.size());
    const auto& outputs = chain_.outputs();
    const auto output = std::find(outputs.begin(), outputs.end(), number);
    Known result = {sizes, contiguous_strides(sizes), {}, number};
    if (output != outputs.end()) {
      const auto place = static_cast<size_t>(output - outputs.begin());
      plan_.outputs.resize(outputs.size());
      plan_.outputs[place] = {dtype_, sizes, {}};
      result.spot = {static_cast<int>(plan_.inputs.size() + place), 0};
    } else {
      result.slot = slot_size(stage.elements);
      result.spot = take_slot(result.slot);
    }
    stage.out = result.spot;
    plan_.stages.push_back(stage);
    add(std::move(result));
  }

  // --- Temporaries: memory of the same size is used again.
  int temporaries() const {
    return static_cast<int>(plan_.inputs.size() + chain_.outputs().size());
  }
  int64_t item() const { return static_cast<int64_t>(item_size(dtype_)); }
  size_t slot_size(int64_t elements) const { return slot_bytes(elements * item()); }
  ChainSpot take_slot(size_t bytes) {
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].bytes != bytes) continue;
      const int64_t offset = free_[i].offset;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return {temporaries(), offset};
    }
    return new_slot(bytes);
  }
  ChainSpot new_slot(size_t bytes) {
    used_ += bytes;
    return {temporaries(), static_cast<int64_t>(used_ - bytes)};
  }
  // Kernels may write where they read.
  void release_gathered() {
    free_.insert(free_.end(), gathered_.begin(), gathered_.end());
    gathered_.clear();
  }
  void release_after(int call) {
    for (size_t i = 0; i < known_.size(); ++i) {
      Known& value = known_[i];
      if (value.slot == 0 || last_reads_[i] > call) continue;
      free_.push_back({value.slot, value.spot.offset});
      value.slot = 0;
    }
  }

  const Chain& chain_;
  Chain::Plan& plan_;
  DType dtype_ = DType::float32;
  std::vector<Known> known_;
  std::vector<Tensor> stand_ins_;  // of the same shapes
  std::vector<int> last_reads_;    // of what a value owns: the last call that reads it
  std::vector<Slot> free_, gathered_;
  size_t used_ = 0;
  int at_ = 0;
};

}  // namespace

void plan_chain(const Chain& chain, Chain::Plan& plan) {
  plan.possible = Planner(chain, plan).run();
}

}  // namespace wisp::ops
