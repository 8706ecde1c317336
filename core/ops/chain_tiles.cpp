// Chains of larger tensors, or of several dtypes: passes over one shape each, whose tiles go
// through all calls while they are in the first-level cache, on as many threads as are worth it.
#include <algorithm>

#include "ops/chain_plan.h"

namespace wisp::ops {

void ChainPass::run(char* const* memories) const {
  cpu::Operand given[cpu::max_fused_operands];
  for (size_t k = 0; k < operands.size(); ++k) {
    const Place& place = operands[k];
    given[k] = {memories[place.spot.memory] + place.spot.offset, place.strides, place.dtype};
  }
  cpu::run_fused(
      {.sizes = sizes, .steps = steps, .operands = {given, operands.size()}, .numbers = numbers});
}

namespace {

class TilePlanner {
 public:
  TilePlanner(const Chain& chain, Chain::Plan& plan) : chain_(chain), plan_(plan) {}

  bool run() {
    for (const ChainShape& input : plan_.inputs) {
      if (count_elements(input.sizes) == 0) return false;
      const int number = static_cast<int>(known_.size());
      add({input, {number, 0}, input.strides, number, -1});
    }
    for (const ChainCall& call : chain_.calls()) {
      const bool known = call.view                ? false
                         : Chain::cuts(*call.op)  ? cut(call)
                         : Chain::joins(*call.op) ? join(call)
                                                  : compute(call);
      if (!known) return false;
    }
    find_needed();
    if (!place_results() || !find_passes()) return false;
    plan_.temporary_bytes = used_;
    describe_values();
    return true;
  }

 private:
  struct Known {
    ChainShape shape;  // as single calls would make it
    ChainSpot spot;
    Dims strides;        // as it lies in memory: pieces that are joined lie in the whole
    int owner;           // in whose memory it lies: itself, what was cut, or what it is joined into
    int made_by;         // number of a kernel; -1 for inputs, pieces and what is joined
    int64_t offset = 0;  // in the memory of the owner, in elements
    bool needed = false, stored = false;
  };
  struct Kernel {
    ChainKernel what;
    int result;
  };
  using Members = std::vector<int>;  // numbers of kernels

  int64_t item(int value) const {
    return static_cast<int64_t>(item_size(known_[value].shape.dtype));
  }
  int root(int value) const {
    while (known_[value].owner != value) value = known_[value].owner;
    return value;
  }

  void add(Known value) {
    stand_ins_.push_back(stand_in(value.shape));
    known_.push_back(std::move(value));
  }

  // --- What there is

  bool cut(const ChainCall& call) {
    const int from = call.operands[0].value;
    const Known whole = known_[from];
    const auto ndim = static_cast<int64_t>(whole.shape.sizes.size());
    if (call.cut <= 0 || call.dim < -ndim || call.dim >= ndim) return false;
    const int64_t dim = call.dim < 0 ? call.dim + ndim : call.dim, total = whole.shape.sizes[dim];
    const bool in_parts = call.op == &op_def<"chunk">();
    const int64_t length = in_parts ? (total + call.cut - 1) / call.cut : call.cut;
    if ((total + length - 1) / length != call.results) return false;
    for (int64_t start = 0; start < total; start += length) {
      Known piece{whole.shape, {}, whole.strides, from, -1};
      piece.shape.sizes[dim] = std::min(length, total - start);
      piece.offset = start * whole.strides[dim];
      add(std::move(piece));
    }
    return true;
  }

  // Its pieces are made in its memory, and have no other.
  bool join(const ChainCall& call) {
    ChainShape shape = known_[call.pieces[0]].shape;
    const auto ndim = static_cast<int64_t>(shape.sizes.size());
    if (call.dim < -ndim || call.dim >= ndim) return false;
    const int64_t dim = call.dim < 0 ? call.dim + ndim : call.dim;
    shape.sizes[dim] = 0;
    for (int number : call.pieces) {
      const Known& piece = known_[number];
      Dims sizes = piece.shape.sizes;
      const bool own = piece.made_by >= 0 && piece.owner == number && !is_output(number);
      if (!own || piece.shape.dtype != shape.dtype || sizes.size() != shape.sizes.size())
        return false;
      shape.sizes[dim] += sizes[dim];
      sizes[dim] = shape.sizes[dim];
      if (!same(sizes, shape.sizes) || !is_contiguous(piece.shape.sizes, piece.shape.strides))
        return false;
    }
    shape.strides = contiguous_strides(shape.sizes);
    const int whole = static_cast<int>(known_.size());
    int64_t start = 0;
    for (int number : call.pieces) {
      Known& piece = known_[number];
      if (piece.owner != number) return false;  // it is there twice
      piece.owner = whole;
      piece.strides = shape.strides;
      piece.offset = start * shape.strides[dim];
      start += piece.shape.sizes[dim];
    }
    const Dims strides = shape.strides;
    add({std::move(shape), {}, strides, whole, -1});
    return true;
  }

  bool compute(const ChainCall& call) {
    std::optional<ChainKernel> kernel = kernel_of(call, stand_ins_);
    if (!kernel || !cpu::tile_kernel(kernel->opcode, kernel->compute)) return false;
    const int result = static_cast<int>(known_.size());
    const Dims strides = kernel->result.strides;
    add({kernel->result, {}, strides, result, static_cast<int>(kernels_.size())});
    kernels_.push_back({std::move(*kernel), result});
    return true;
  }

  bool is_output(int value) const {
    const auto& outputs = chain_.outputs();
    return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
  }

  // What an output is made of, or what is joined with something needed.
  void find_needed() {
    for (int output : chain_.outputs()) known_[output].needed = true;
    for (size_t value = known_.size(); value-- > 0;) {
      Known& made = known_[value];
      made.needed = made.needed || known_[made.owner].needed;
      if (!made.needed) continue;
      known_[made.owner].needed = true;
      if (made.made_by < 0) continue;
      const ChainKernel& kernel = kernels_[made.made_by].what;
      for (int i = 0; i < kernel.inputs; ++i) {
        if (kernel.in[i].value >= 0) known_[kernel.in[i].value].needed = true;
      }
    }
  }

  // --- Where it lies

  // Outputs have memory of their own; what a later pass reads gets some when that is known.
  bool place_results() {
    const auto& outputs = chain_.outputs();
    plan_.outputs.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Known& value = known_[outputs[i]];
      if (value.owner != outputs[i] || outputs[i] < chain_.inputs()) return false;
      value.spot = {static_cast<int>(plan_.inputs.size() + i), 0};
      value.stored = true;
      const bool plain = is_contiguous(value.shape.sizes, value.shape.strides);
      plan_.outputs[i] = {value.shape.dtype, value.shape.sizes, plain ? Dims() : value.strides};
    }
    return true;
  }

  void store(int value) {
    const int number = root(value);
    Known& owner = known_[number];
    if (owner.stored || number < chain_.inputs()) return;
    owner.stored = true;
    owner.spot = {static_cast<int>(plan_.inputs.size() + chain_.outputs().size()),
                  static_cast<int64_t>(used_)};
    used_ += slot_bytes(extent(owner.shape.sizes, owner.strides) * item(number));
  }

  ChainSpot spot_of(int value) const {
    int64_t offset = 0;
    for (int at = value; known_[at].owner != at; at = known_[at].owner) offset += known_[at].offset;
    ChainSpot spot = known_[root(value)].spot;
    spot.offset += offset * item(value);
    return spot;
  }

  // --- Passes

  bool find_passes() {
    Members open;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      if (!known_[kernels_[k].result].needed) continue;
      if (!open.empty() && !fits(static_cast<int>(k), open))
        passes_.push_back(std::exchange(open, {}));
      open.push_back(static_cast<int>(k));
    }
    if (!open.empty()) passes_.push_back(std::move(open));
    find_stored();
    return std::all_of(passes_.begin(), passes_.end(),
                       [&](const Members& members) { return emit(members); });
  }

  // The same elements, and of what the pass makes no others.
  bool fits(int kernel, const Members& open) const {
    const Kernel& added = kernels_[kernel];
    if (!same(known_[added.result].shape.sizes, known_[kernels_[open[0]].result].shape.sizes))
      return false;
    for (int i = 0; i < added.what.inputs; ++i) {
      const int value = added.what.in[i].value;
      if (value < 0 || known_[value].made_by >= 0) continue;
      for (int member : open) {
        if (root(kernels_[member].result) == root(value)) return false;
      }
    }
    return true;
  }

  // What another pass reads, or reads a piece of.
  void find_stored() {
    for (const Members& members : passes_) {
      for (int member : members) {
        if (known_[kernels_[member].result].owner != kernels_[member].result)
          store(kernels_[member].result);
        for (int i = 0; i < kernels_[member].what.inputs; ++i) {
          const int value = kernels_[member].what.in[i].value;
          if (value >= 0 && !is_made_in(members, value)) store(value);
        }
      }
    }
  }
  bool is_made_in(const Members& members, int value) const {
    const int by = known_[value].made_by;
    return by >= 0 && std::binary_search(members.begin(), members.end(), by);
  }

  // As one pass, or in two where that is too much for one.
  bool emit(const Members& members) {
    ChainPass pass{.sizes = known_[kernels_[members[0]].result].shape.sizes};
    if (Emitter(*this, members, pass).run()) {
      plan_.passes.push_back(std::move(pass));
      return true;
    }
    if (members.size() == 1) return false;
    const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
    const Members first(members.begin(), middle), second(middle, members.end());
    for (int member : second) {
      for (int i = 0; i < kernels_[member].what.inputs; ++i) {
        const int value = kernels_[member].what.in[i].value;
        if (value >= 0 && is_made_in(first, value)) store(value);
      }
    }
    return emit(first) && emit(second);
  }

  class Emitter {
   public:
    Emitter(TilePlanner& all, const Members& members, ChainPass& pass)
        : all_(all), members_(members), pass_(pass) {}

    bool run() {
      if (members_.size() > cpu::max_fused_steps) return false;
      for (int member : members_) {  // what is written comes first
        const int result = all_.kernels_[member].result;
        if (all_.known_[all_.root(result)].stored) operand(result);
      }
      find_last_uses();
      for (size_t k = 0; k < members_.size(); ++k) {
        if (!add_step(k)) return false;
      }
      return places_.size() <= cpu::max_fused_operands &&
             pass_.numbers.size() <= cpu::max_fused_numbers;
    }

   private:
    const Kernel& kernel(size_t k) const { return all_.kernels_[members_[k]]; }

    uint8_t operand(int value) {
      const auto found = std::find(places_.begin(), places_.end(), value);
      if (found != places_.end()) return static_cast<uint8_t>(found - places_.begin());
      places_.push_back(value);
      const Known& known = all_.known_[value];
      Dims strides = same(known.shape.sizes, pass_.sizes)
                         ? known.strides
                         : expanded_strides(known.shape.sizes, known.strides, pass_.sizes);
      pass_.operands.push_back({all_.spot_of(value), std::move(strides), known.shape.dtype});
      return static_cast<uint8_t>(places_.size() - 1);
    }

    // The member before k that makes a value; -1: it comes from memory.
    int writer(int value, size_t k) const {
      for (size_t before = k; before-- > 0;) {
        if (kernel(before).result == value) return static_cast<int>(before);
      }
      return -1;
    }

    void find_last_uses() {
      last_use_.assign(members_.size(), -1);
      for (size_t k = 0; k < members_.size(); ++k) {
        for (int i = 0; i < kernel(k).what.inputs; ++i) {
          const int from = writer(kernel(k).what.in[i].value, k);
          if (from >= 0) last_use_[from] = static_cast<int>(k);
        }
      }
    }

    bool add_step(size_t k) {
      const ChainKernel& what = kernel(k).what;
      cpu::FusedStep step{.op = what.opcode,
                          .compute = what.compute,
                          .dtype = what.result.dtype,
                          .in = {},
                          .tile = 0,
                          .params = what.params};
      for (int i = 0; i < what.inputs; ++i) step.in[i] = source(what, i, k);
      // A kernel may write over an input that nobody reads later, if the elements are as large.
      release(k, true);
      const int free = __builtin_ctz(~busy_);
      release(k, false);
      if (free >= cpu::max_fused_registers) return false;
      tiles_.push_back(free);
      if (last_use_[k] >= 0) busy_ |= 1u << free;
      step.tile = static_cast<uint8_t>(free);
      if (all_.known_[all_.root(kernel(k).result)].stored)
        step.store = static_cast<int8_t>(operand(kernel(k).result));
      pass_.steps.push_back(step);
      return places_.size() <= cpu::max_fused_operands;
    }

    void release(size_t k, bool only_as_large) {
      for (size_t before = 0; before < k; ++before) {
        if (last_use_[before] != static_cast<int>(k)) continue;
        const bool as_large = all_.item(kernel(before).result) == all_.item(kernel(k).result);
        if (!only_as_large || as_large) busy_ &= ~(1u << tiles_[before]);
      }
    }

    cpu::FusedSource source(const ChainKernel& what, int i, size_t k) {
      const int value = what.in[i].value;
      if (value < 0) return number(what, i);
      const int from = writer(value, k);
      if (from >= 0) return {cpu::FusedSource::tile, static_cast<uint8_t>(tiles_[from])};
      return {cpu::FusedSource::memory, operand(value)};
    }

    cpu::FusedSource number(const ChainKernel& what, int i) {
      cpu::FusedNumber made{.bytes = {}, .dtype = cpu::input_dtype(what.opcode, i, what.compute)};
      visit<dtypes::all>(made.dtype, "number", [&]<class T>() {
        const T converted = what.in[i].number.to<T>();
        std::memcpy(made.bytes, &converted, sizeof(T));
      });
      pass_.numbers.push_back(made);
      return {cpu::FusedSource::number, static_cast<uint8_t>(pass_.numbers.size() - 1)};
    }

    TilePlanner& all_;
    const Members& members_;
    ChainPass& pass_;
    std::vector<int> places_, tiles_, last_use_;
    uint32_t busy_ = 0;
  };

  void describe_values() {
    for (size_t i = 0; i < known_.size(); ++i) {
      const Known& value = known_[i];
      const int owner = root(static_cast<int>(i));
      int64_t offset = 0;
      for (int at = static_cast<int>(i); at != owner; at = known_[at].owner)
        offset += known_[at].offset;
      plan_.values.push_back({value.shape.sizes, value.strides, owner, offset, value.shape.dtype});
    }
  }

  const Chain& chain_;
  Chain::Plan& plan_;
  std::vector<Known> known_;
  std::vector<Tensor> stand_ins_;  // of the same shapes
  std::vector<Kernel> kernels_;
  std::vector<Members> passes_;
  size_t used_ = 0;  // bytes of temporaries
};

}  // namespace

void plan_tiles(const Chain& chain, Chain::Plan& plan) {
  Chain::Plan made{.inputs = plan.inputs};
  made.possible = TilePlanner(chain, made).run();
  if (made.possible) plan = std::move(made);
}

}  // namespace wisp::ops
