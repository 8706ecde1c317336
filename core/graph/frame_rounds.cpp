// What the interpreter does for many rounds of a loop at once.
#include <optional>

#include "base/one_thread.h"
#include "base/parallel.h"
#include "graph/frame.h"
#include "ops/slices.h"

namespace wisp::graph {

namespace {

// Fewer are not worth the preparation.
constexpr int64_t fewest_rounds = 4;

// Items number `start`, `start + step` and so on of a list, as long as they are alike.
ops::Slices list_items(const std::vector<Datum>& list, int64_t start, int64_t step, int64_t count) {
  ops::Slices made;
  const auto size = static_cast<int64_t>(list.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = start + i * step;
    if (at < 0 || at >= size || !list[static_cast<size_t>(at)].is_tensor()) break;
    const Tensor& item = list[static_cast<size_t>(at)].tensor();
    if (i == 0) made.first = item;
    const bool alike = item.dtype() == made.first.dtype() &&
                       wisp::same(item.sizes(), made.first.sizes()) &&
                       wisp::same(item.strides(), made.first.strides());
    if (!alike || item->is_meta() || (mode.grad && item.requires_grad())) break;
    made.addresses.push_back(item->bytes());
  }
  return made;
}

}  // namespace

// A product of every round with a slice of one tensor: made for many rounds at once. What cannot be
// done once is not tried again in this loop.
__attribute__((noinline)) const Instruction* Frame::slices(const Instruction& in) {
  constexpr int64_t never = -1;
  const SliceProduct& product = *in.slices;
  Datum& made = registers_[product.made];
  Datum& first = registers_[product.first];
  const int64_t round = registers_[product.counter].integer();
  if (round == 0) first = Datum(0);
  if (product.in_rounds && round == 0) return &in + 1;  // maybe the rest is done as a whole
  if (first.integer() == never) return &in + 1;
  if (!made.is_tensor() || round >= first.integer() + made.tensor()->size(0)) {
    const Input* input = inputs(in);
    const Datum none;
    const Datum& bias = product.biased ? peek(input[2]) : none;
    const ops::Slices left = ops::slices_of(peek(input[0]).tensor(), product.dim, round, 1,
                                            registers_[product.limit].integer() - round);
    made = Datum(ops::slice_products({.left = left,
                                      .right = peek(input[1]).tensor(),
                                      .turned = product.turned,
                                      .bias = bias.is_tensor() ? bias.tensor() : Tensor()}));
    first = Datum(made.is_tensor() ? round : never);
    if (!made.is_tensor()) return &in + 1;
  }
  const Tensor& all = made.tensor();
  const int64_t stride = all->stride(0), at = all->offset() + (round - first.integer()) * stride;
  Tensor slice = all.alias(all.sizes().subspan(1), all.strides().subspan(1), at);
  drop_last(in);
  put(in, 0, Datum(std::move(slice)));
  return code_.instructions.data() + in.target;
}

namespace {

// Some rounds from one on, of which there may become fewer.
class SomeRounds {
 public:
  SomeRounds(const RoundsCall& call, std::vector<Datum> fixed, Datum* const* params, int64_t round,
             int64_t count)
      : loop_(call.loop), fixed_(std::move(fixed)), params_(params), round_(round), count_(count) {}

  int64_t count() const { return count_; }

  bool run() {
    for (const RoundSource& source : loop_.sources) {
      if (!(source.owner ? add_items(source) : add_value(source.value))) return false;
    }
    count_ = loop_.rounds->run({tensors_, addresses_, count_}, last_, all_);
    return count_ > 0;
  }

  void finish() {
    for (int64_t i = 0; i < count_; ++i) {
      for (const auto& [list, output] : loop_.appended)
        value(list).items().emplace_back(all_[output][static_cast<size_t>(i)]);
    }
    for (size_t i = 0; i < loop_.results.size(); ++i) {
      const RoundResult& result = loop_.results[i];
      if (result.output >= 0) *params_[i] = Datum(last_[result.output]);
      if (!result.items.empty()) *params_[i] = tuple(*params_[i], result.items);
    }
  }

 private:
  const Datum& value(const RoundRef& ref) const {
    const Datum& whole = ref.kind == RoundRef::fixed ? fixed_[static_cast<size_t>(ref.index)]
                                                     : *params_[ref.index - 1];
    return ref.item < 0 ? whole : whole.items()[static_cast<size_t>(ref.item)];
  }
  Tensor tensor(const RoundRef& ref) const {
    if (!ref) return {};
    const Datum& found = value(ref);
    return found.is_tensor() ? found.tensor() : Tensor();
  }

  bool add(Tensor tensor) {
    if (!tensor.defined()) return false;
    tensors_.push_back(tensor.impl());
    held_.push_back(std::move(tensor));
    return true;
  }
  bool add_value(const RoundRef& ref) { return add(tensor(ref)); }

  bool add_items(const RoundSource& source) {
    ops::Slices items = items_of(source);
    if (source.value) items = products_of(items, source);
    count_ = std::min(count_, static_cast<int64_t>(items.addresses.size()));
    if (count_ < fewest_rounds) return false;
    addresses_.push_back(std::move(items.addresses));
    return add(std::move(items.first));
  }

  ops::Slices items_of(const RoundSource& source) const {
    const int64_t step = source.step ? value(source.step).integer() : 1;
    const int64_t start = (source.start ? value(source.start).integer() : 0) + round_ * step;
    const Datum& owner = value(source.owner);
    if (source.listed) return list_items(owner.items(), start, step, count_);
    return ops::slices_of(owner.tensor(), source.dim, start, step, count_);
  }

  ops::Slices products_of(const ops::Slices& items, const RoundSource& source) {
    const Tensor right = tensor(source.value), bias = tensor(source.bias);
    if (!right.defined()) return {};
    Tensor made =
        ops::slice_products({.left = items, .right = right, .turned = source.turned, .bias = bias});
    if (!made.defined()) return {};
    held_.push_back(made);
    return ops::slices_of(made, 0, 0, 1, made.size(0));
  }

  Datum tuple(const Datum& before, const std::vector<int>& outputs) const {
    std::vector<Datum> items = before.items();
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] >= 0) items[k] = Datum(last_[outputs[k]]);
    }
    return Datum::tuple(std::move(items));
  }

  const LoopRounds& loop_;
  const std::vector<Datum> fixed_;
  Datum* const* const params_;  // registers of the body's, without the number of the round
  const int64_t round_;
  int64_t count_;
  std::vector<TensorImpl*> tensors_;
  std::vector<Tensor> held_;
  std::vector<std::vector<char*>> addresses_;
  Tensor last_[ops::Chain::max_outputs];
  std::vector<Tensor> all_[ops::Chain::max_outputs];
};

}  // namespace

namespace {

void mix_shape(const Datum& value, uint64_t& key) {
  if (value.tag() == Tag::tuple) {
    for (const Datum& item : value.items()) mix_shape(item, key);
  } else if (value.is_tensor()) {
    for (const int64_t size : value.tensor().sizes()) key = mixed(key, static_cast<uint64_t>(size));
  }
}

// Runs f on this thread alone or on all, whichever is known to be faster; f says whether it has
// done something.
template <class F>
bool on_some_threads(Trials& trials, uint64_t key, F f) {
  if (num_threads() == 1 || in_parallel_region()) return f();
  const Trials::Choice choice = trials.choose(mixed(key, static_cast<uint64_t>(num_threads())));
  const Stopwatch watch;
  std::optional<OneThread> alone;
  if (!choice.other) alone.emplace();
  const bool done = f();
  if (done && choice.at >= 0) trials.note(choice, watch.nanoseconds());
  return done;
}

}  // namespace

// As many rounds as can be done together. The first is made call by call: whatever may fail does so
// there.
__attribute__((noinline)) const Instruction* Frame::rounds(const Instruction& in) {
  const RoundsCall& call = *in.rounds;
  Datum &counter = registers_[call.counter], &next = registers_[call.next];
  const int64_t round = counter.integer();
  if (round == 0) next = Datum(1);
  if (round != next.integer()) return &in + 1;
  const int64_t count = std::min(registers_[call.limit].integer() - round,
                                 rounds_between_looks - round % rounds_between_looks);
  if (count < fewest_rounds || mode.interceptor || mode.deferrer) return &in + 1;
  std::vector<Datum> captured;
  for (size_t i = 0; i < in.input_count; ++i) {
    const Datum& value = peek(inputs(in)[i]);
    if (mode.grad && value.is_tensor() && value.tensor().requires_grad()) return &in + 1;
    captured.push_back(value);
  }
  std::vector<Datum*> params;
  uint64_t key = size_class(static_cast<uint64_t>(count));
  for (size_t i = 0; i < in.output_count; ++i) {
    params.push_back(&registers_[code_.outputs[in.outputs + i]]);
    mix_shape(*params.back(), key);
  }
  SomeRounds some(call, graph::run(*call.fixed, std::move(captured)), params.data(), round, count);
  if (!on_some_threads(call.threads, key, [&] { return some.run(); })) return &in + 1;
  some.finish();
  counter = next = Datum(round + some.count());
  if ((round + some.count()) % rounds_between_looks == 0) look_around();
  return code_.instructions.data() + in.target;
}

}  // namespace wisp::graph
