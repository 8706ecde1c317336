// What the interpreter does for many rounds of a loop at once.
#include "graph/frame.h"
#include "ops/slices.h"

namespace wisp::graph {

namespace {

// Fewer are not worth the preparation.
constexpr int64_t fewest_rounds = 4;

// Items number `start`, `start + step` and so on of a list, as long as they are alike.
ops::Slices items_of(const std::vector<Datum>& list, int64_t start, int64_t step, int64_t count) {
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

// A product of every round with a slice of one tensor: made for many rounds at once.
__attribute__((noinline)) const Instruction* Frame::slices(const Instruction& in) {
  const SliceProduct& product = *in.slices;
  Datum& made = registers_[product.made];
  Datum& first = registers_[product.first];
  const int64_t round = registers_[product.counter].integer();
  if (product.in_rounds && round == 0) return &in + 1;  // maybe the rest is done as a whole
  if (!made.is_tensor() || round >= first.integer() + made.tensor()->size(0)) {
    made = Datum();
    const Input* input = inputs(in);
    const Datum none;
    const Datum& bias = product.biased ? peek(input[2]) : none;
    const ops::Slices left = ops::slices_of(peek(input[0]).tensor(), product.dim, round, 1,
                                            registers_[product.limit].integer() - round);
    if (left.addresses.empty()) return &in + 1;
    Tensor batch = ops::slice_products({.left = left,
                                        .right = peek(input[1]).tensor(),
                                        .turned = product.turned,
                                        .bias = bias.is_tensor() ? bias.tensor() : Tensor()});
    if (!batch.defined()) return &in + 1;
    made = Datum(std::move(batch));
    first = Datum(round);
  }
  const Tensor& all = made.tensor();
  const int64_t stride = all->stride(0), at = all->offset() + (round - first.integer()) * stride;
  Tensor slice = all.alias(all.sizes().subspan(1), all.strides().subspan(1), at);
  drop_last(in);
  put(in, 0, Datum(std::move(slice)));
  return code_.instructions.data() + in.target;
}

// The slices or items that belong to rounds from `round` on; `input` has their owner, and the
// numbers that the index is made of.
ops::Slices Frame::round_items(const RoundsCall::Source& source, const Input*& input, int64_t round,
                               int64_t count) const {
  const Datum& owner = peek(*input++);
  int64_t start = round, step = 1;
  if (source.derived) {
    step = peek(input[1]).integer();
    start = peek(input[0]).integer() + round * step;
    input += 2;
  }
  if (source.listed) return items_of(owner.items(), start, step, count);
  return ops::slices_of(owner.tensor(), source.dim, start, step, count);
}

// One behind the other in `made`.
ops::Slices Frame::round_products(const RoundsCall::Source& source, const Input*& input,
                                  const ops::Slices& items) const {
  const Tensor& right = peek(*input++).tensor();
  const Tensor bias = source.biased ? peek(*input++).tensor() : Tensor();
  ops::Slices products;
  if (items.addresses.empty()) return products;
  const Tensor made = ops::slice_products(
      {.left = items, .right = right, .turned = source.turned, .bias = bias});
  if (made.defined()) products = ops::slices_of(made, 0, 0, 1, made.size(0));
  return products;
}

// As many rounds as can be done together; the first is made call by call, which finds what stays.
__attribute__((noinline)) const Instruction* Frame::rounds(const Instruction& in) {
  const RoundsCall& call = *in.rounds;
  Datum &counter = registers_[call.counter], &next = registers_[call.next];
  const int64_t round = counter.integer();
  if (round == 0) next = Datum(1);
  if (round != next.integer()) return &in + 1;
  int64_t count = std::min(registers_[call.limit].integer() - round,
                           rounds_between_looks - round % rounds_between_looks);
  if (count < fewest_rounds || mode.interceptor || mode.deferrer) return &in + 1;
  TensorImpl* tensors[ops::Chain::max_inputs];
  std::vector<Tensor> firsts;
  std::vector<std::vector<char*>> addresses;
  const Input* input = inputs(in);
  for (size_t i = 0; i < call.sources.size(); ++i) {
    const RoundsCall::Source& source = call.sources[i];
    if (source.kind == RoundsCall::Source::value) {
      tensors[i] = peek(*input++).tensor().impl();
      continue;
    }
    ops::Slices items = round_items(source, input, round, count);
    if (source.kind == RoundsCall::Source::product) items = round_products(source, input, items);
    count = std::min(count, static_cast<int64_t>(items.addresses.size()));
    if (count < fewest_rounds) return &in + 1;
    tensors[i] = items.first.impl();
    firsts.push_back(std::move(items.first));
    addresses.push_back(std::move(items.addresses));
  }
  Tensor last[ops::Chain::max_outputs];
  std::vector<Tensor> all[ops::Chain::max_outputs];
  if (!call.rounds->run({{tensors, call.sources.size()}, addresses, count}, last, all))
    return &in + 1;
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < call.appended.size(); ++k)
      peek(input[k]).items().emplace_back(all[call.appended[k]][static_cast<size_t>(i)]);
  }
  for (size_t i = 0; i < in.output_count; ++i) put(in, i, Datum(last[call.results[i]]));
  counter = next = Datum(round + count);
  if ((round + count) % rounds_between_looks == 0) look_around();
  return code_.instructions.data() + in.target;
}

}  // namespace wisp::graph
