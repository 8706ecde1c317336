// What the interpreter does for many rounds of a loop at once.
#include <algorithm>
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
    const ops::Slices left =
        ops::slices_of(peek(input[0]).tensor(), {.dim = product.dim, .start = round},
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

using Version = RoundsCall::Version;

// Some rounds from one on, of which there may become fewer.
class SomeRounds {
 public:
  SomeRounds(const Version& version, std::vector<Datum> fixed, Datum* const* params, int64_t round,
             int64_t count)
      : loop_(version.loop),
        fixed_(std::move(fixed)),
        params_(params),
        round_(round),
        count_(count) {}

  int64_t count() const { return count_; }

  // Whether the rounds are those that the version was made for; then how many are is known.
  bool fit() {
    for (const auto& [ref, wanted] : loop_.premises) {
      if (!equal(value(ref), wanted)) return false;
    }
    for (size_t i = 0; i < loop_.tests.size(); ++i) {
      count_ = rounds_with(loop_.tests[i]);
      if (count_ == 0 && i < loop_.branches) return false;
    }
    return true;
  }

  bool run() {
    if (count_ < fewest_rounds || !can_store()) return false;
    for (size_t i = 0; i < loop_.sources.size(); ++i) {
      const RoundSource& source = loop_.sources[i];
      if (!(source.item.owner ? add_items(source) : add(tensor(source.value)))) return false;
      const Tensor& given = held_.back();
      if (!has_shape(given, loop_.shapes[i])) return false;
    }
    count_ = loop_.rounds->run({tensors_, addresses_, count_}, last_, all_);
    return count_ > 0;
  }

  void finish() {
    for (int64_t i = 0; i < count_; ++i) {
      for (const RoundAppend& one : loop_.appended)
        value(one.list).items().emplace_back(shown(all_[one.output][static_cast<size_t>(i)], one));
    }
    for (const RoundStore& store : loop_.stores) write(store);
    for (size_t i = 0; i < loop_.results.size(); ++i) {
      const RoundResult& result = loop_.results[i];
      if (result.output >= 0) *params_[i] = Datum(last_[result.output]);
      if (!result.items.empty()) *params_[i] = tuple(*params_[i], result.items);
      if (result.step != 0) *params_[i] = Datum(params_[i]->integer() + count_ * result.step);
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
  static bool has_shape(const Tensor& tensor, const ops::ChainShape& shape) {
    return tensor.dtype() == shape.dtype && wisp::same(tensor.sizes(), shape.sizes) &&
           wisp::same(tensor.strides(), shape.strides);
  }

  // --- Numbers: what one is in the first round, and what it grows by.
  int64_t step_of(const RoundInt& number) const {
    if (number.param < 0) return 0;
    const auto index = static_cast<size_t>(number.param);
    return number.factor * (number.param == 0 ? 1 : loop_.results[index - 1].step);
  }
  int64_t start_of(const RoundInt& number) const {
    int64_t start = number.offset + (number.plus ? value(number.plus).integer() : 0);
    if (number.param >= 0)
      start += number.factor * (number.param == 0 ? round_ : params_[number.param - 1]->integer());
    return start;
  }
  static bool holds(RoundTest::Kind kind, int64_t a, int64_t b) {
    switch (kind) {
      case RoundTest::lt:
        return a < b;
      case RoundTest::le:
        return a <= b;
      case RoundTest::gt:
        return a > b;
      case RoundTest::ge:
        return a >= b;
      case RoundTest::eq:
        return a == b;
      default:
        return a != b;
    }
  }
  int64_t rounds_with(const RoundTest& test) const {
    const int64_t left = start_of(test.left), by = step_of(test.left);
    const int64_t right = start_of(test.right), other = step_of(test.right);
    int64_t count = 0;
    while (count < count_ &&
           holds(test.kind, left + count * by, right + count * other) == test.wanted)
      ++count;
    return count;
  }

  // --- Inputs
  bool add(Tensor tensor) {
    if (!tensor.defined()) return false;
    tensors_.push_back(tensor.impl());
    held_.push_back(std::move(tensor));
    return true;
  }

  bool add_items(const RoundSource& source) {
    ops::Slices items = items_of(source.item);
    if (items.addresses.empty()) return false;
    if (source.value) {
      if (!has_shape(items.first, source.of_item)) return false;
      items = products_of(items, source);
    }
    count_ = std::min(count_, static_cast<int64_t>(items.addresses.size()));
    if (count_ < fewest_rounds) return false;
    addresses_.push_back(std::move(items.addresses));
    return add(std::move(items.first));
  }

  ops::Slices items_of(const RoundItem& item) const {
    const int64_t start = start_of(item.index), step = step_of(item.index);
    const Datum& owner = value(item.owner);
    if (item.listed) return list_items(owner.items(), start, step, count_);
    return ops::slices_of(owner.tensor(), {item.dim, start, step, item.length}, count_);
  }

  ops::Slices products_of(const ops::Slices& items, const RoundSource& source) {
    const Tensor right = tensor(source.value), bias = tensor(source.bias);
    if (!right.defined()) return {};
    Tensor made =
        ops::slice_products({.left = items, .right = right, .turned = source.turned, .bias = bias});
    if (!made.defined()) return {};
    held_.push_back(made);
    return ops::slices_of(made, {.dim = 0}, made.size(0));
  }

  // --- What is written: nothing that the rounds read.
  bool can_store() {
    for (const RoundStore& store : loop_.stores) {
      const Datum& owner = value(store.to.owner);
      for (const Datum& other : fixed_) {
        if (&other != &owner && shares(other, owner.tensor())) return false;
      }
      for (size_t i = 0; i < loop_.results.size(); ++i) {
        if (shares(*params_[i], owner.tensor())) return false;
      }
      for (const RoundSource& source : loop_.sources) {
        if (source.item.owner && &value(source.item.owner) == &owner) return false;
        if (source.value && &value(source.value) == &owner) return false;
      }
      const ops::Slices places = items_of(store.to);
      count_ = std::min(count_, static_cast<int64_t>(places.addresses.size()));
    }
    return count_ >= fewest_rounds;
  }
  static bool shares(const Datum& datum, const Tensor& tensor) {
    if (datum.is_tensor()) return &datum.tensor()->storage() == &tensor->storage();
    if (datum.tag() != Tag::tuple && datum.tag() != Tag::list) return false;
    return std::any_of(datum.items().begin(), datum.items().end(),
                       [&](const Datum& item) { return shares(item, tensor); });
  }
  void write(const RoundStore& store) {
    ops::Slices places = items_of(store.to);
    places.addresses.resize(static_cast<size_t>(count_));
    ops::fill_slices(places, all_[store.output]);
  }

  static Datum shown(const Tensor& made, const RoundAppend& one) {
    if (!one.view) return Datum(made);
    return Datum(made.alias(one.view->sizes, one.view->strides, made->offset() + one.view->offset));
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

// Loops that begin in more ways are left alone.
constexpr size_t most_versions = 6;

// The version of this number; the last is made for the round that begins now.
const Version* version_at(const RoundsCall& call, size_t i, const std::vector<Datum>& given,
                          size_t captured, const RoundForms& begins, const std::string& name) {
  std::lock_guard lock(call.adding);
  if (i < call.versions.size()) return call.versions[i].get();
  if (i >= most_versions) return nullptr;
  auto made = std::make_unique<Version>();
  made->begins = begins;
  made->loop = rounds_of(specialised(*call.body, captured, given), captured);
  if (made->loop.rounds) made->fixed = std::make_unique<Code>(*made->loop.fixed, name);
  call.versions.push_back(std::move(made));
  return call.versions.back().get();
}

// What stays, or nothing if it cannot be computed here: then the version is for other tensors.
std::optional<std::vector<Datum>> fixed_values(const Version& version,
                                               std::vector<Datum> captured) {
  try {
    return graph::run(*version.fixed, std::move(captured));
  } catch (const std::exception&) {
    return {};
  }
}

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
  std::vector<Datum> given = captured;
  given.push_back(counter);
  std::vector<Datum*> params;
  RoundForms begins;
  uint64_t key = size_class(static_cast<uint64_t>(count));
  for (size_t i = 0; i < in.output_count; ++i) {
    params.push_back(&registers_[code_.outputs[in.outputs + i]]);
    mix_shape(*params.back(), key);
    if (!add_forms(*params.back(), begins)) return &in + 1;
    given.push_back(*params.back());
  }
  for (size_t i = 0;; ++i) {
    const Version* version =
        version_at(call, i, given, captured.size(), begins, code_.function_name);
    if (!version) return &in + 1;
    if (!same_forms(version->begins, begins)) continue;
    if (!version->loop.rounds) return &in + 1;
    std::optional<std::vector<Datum>> fixed = fixed_values(*version, captured);
    if (!fixed) continue;
    SomeRounds some(*version, std::move(*fixed), params.data(), round, count);
    if (!some.fit()) continue;
    if (!on_some_threads(call.threads, key, [&] { return some.run(); })) return &in + 1;
    some.finish();
    counter = next = Datum(round + some.count());
    if ((round + some.count()) % rounds_between_looks == 0) look_around();
    return code_.instructions.data() + in.target;
  }
}

}  // namespace wisp::graph
