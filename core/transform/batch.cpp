#include "transform/batch.h"

#include <array>
#include <unordered_map>

#include "base/generator.h"
#include "ops/ops.h"
#include "transform/batch_call.h"

namespace wisp::transform {

Tensor move_dim(const Tensor& t, int64_t from, int64_t to) {
  if (from == to) return t;
  Dims order;
  for (int64_t i = 0; i < t.ndim(); ++i) {
    if (i != from) order.push_back(i);
  }
  Dims result;
  for (int64_t i = 0, next = 0; i < t.ndim(); ++i) {
    result.push_back(i == to ? from : order[static_cast<size_t>(next++)]);
  }
  return ops::permute(t, result);
}

Dims with_front(int64_t first, IntSpan rest) {
  Dims sizes;
  sizes.push_back(first);
  for (int64_t size : rest) sizes.push_back(size);
  return sizes;
}

Tensor sample_of(const Tensor& value, int64_t dim, uint64_t level) {
  Dims sizes, strides;
  for (int64_t i = 0; i < value.ndim(); ++i) {
    if (i == dim) continue;
    sizes.push_back(value->size(i));
    strides.push_back(value->stride(i));
  }
  Tensor sample = value.alias(sizes, strides, value->offset());
  auto layers = Ref<Layers>::adopt(new Layers);
  layers->batch_level = level;
  layers->batch = value;
  layers->batch_dim = dim;
  if (const Layers* below = value->layers()) {
    // Tangents of levels inside this one are tangents of the sample.
    for (const auto& entry : below->tangents) {
      if (entry.level > level) layers->tangents.push_back(entry);
    }
  }
  sample->set_layers(std::move(layers));
  return sample;
}

Batched batch_of(const Tensor& tensor, uint64_t level) {
  const Layers* layers = tensor->layers();
  if (!layers || layers->batch_level != level) return {tensor, -1};
  return {layers->batch, layers->batch_dim};
}

Tensor gathered(const Tensor& tensor, int64_t dim, const Level& level) {
  const Batched found = batch_of(tensor, level.id);
  Below below(level.id);
  if (found.dim >= 0) return move_dim(found.value, found.dim, dim);
  const Tensor room = ops::unsqueeze(found.value, dim);
  Dims sizes(room.sizes());
  sizes[static_cast<size_t>(dim)] = level.batch;
  return ops::expand(room, sizes);
}

namespace {

bool broadcast(BatchCall& c) {
  Infer infer(c.op, c.args);
  c.op.infer(infer);  // checks the arguments, and says what type one sample gets
  int64_t rank = 0;
  for (const auto& input : c.inputs) rank = std::max(rank, input.rank);
  ArgsCopy changed(c.op, c.args);
  for (const auto& input : c.inputs) changed.set(input.param, input.item, c.front(input, rank));
  c.call_with(c.op, changed.data());
  for (int i = 0; i < infer.count(); ++i) {
    // A number-like tensor of each sample is a vector here, and counts for more in promotion.
    Tensor& value = c.values[static_cast<size_t>(i)];
    if (value.dtype() != infer.out(i).dtype) value = ops::to(value, infer.out(i).dtype);
  }
  return true;
}

bool names_dimension(const Param& param) {
  static constexpr std::string_view names[] = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"};
  return std::find(std::begin(names), std::end(names), param.name) != std::end(names);
}

// Counts a dimension of a sample from the front of the batch; false if there is no such dimension.
bool shift(int64_t& dim, int64_t rank) {
  if (dim < -rank || dim >= rank) return false;
  dim = (dim < 0 ? dim + rank : dim) + 1;
  return true;
}

bool shift_all(BatchCall& c, ArgsCopy& changed, int param, int64_t rank) {
  const Arg& arg = c.args[param];
  Dims dims;
  if (!arg.is_none() && arg.size == 0) return false;  // all of them, or none: that varies
  if (arg.is_none()) {
    for (int64_t i = 1; i <= rank; ++i) dims.push_back(i);
  } else {
    for (int64_t dim : arg.integers()) {
      if (!shift(dim, rank)) return false;
      dims.push_back(dim);
    }
  }
  changed.set(param, std::move(dims));
  return true;
}

bool along(BatchCall& c) {
  if (!c.only_first() || c.input(0).rank == 0) return false;
  const bool adds_one = c.op.sig.base == "unsqueeze" || c.op.sig.base == "diag_embed";
  const int64_t rank = c.input(0).rank + adds_one;
  ArgsCopy changed(c.op, c.args);
  changed.set(c.input(0).param, -1, c.front(c.input(0)));
  for (size_t p = 0; p < c.op.sig.params.size(); ++p) {
    const Param& param = c.op.sig.params[p];
    const int at = static_cast<int>(p);
    if (!names_dimension(param)) continue;
    if (param.type == ParamType::integers) {
      if (!shift_all(c, changed, at, rank)) return false;
    } else if (c.args[at].is_none() || !shift(changed[at].as.integer, rank)) {
      return false;
    }
  }
  c.call_with(c.op, changed.data());
  return true;
}

bool carry_front(BatchCall& c) {
  if (!c.only_first()) return false;
  ArgsCopy changed(c.op, c.args);
  changed.set(c.input(0).param, -1, c.front(c.input(0)));
  c.call_with(c.op, changed.data());
  return true;
}

bool join(BatchCall& c) {
  const bool adds_one = c.op.sig.base == "stack";
  ArgsCopy changed(c.op, c.args);
  for (const auto& input : c.inputs) {
    if (input.rank != c.input(0).rank || (input.rank == 0 && !adds_one)) return false;
    changed.set(input.param, input.item, c.front(input));
  }
  if (!shift(changed[1].as.integer, c.input(0).rank + adds_one)) return false;
  c.call_with(c.op, changed.data());
  return true;
}

// --- operators with a rule of their own

// Over the whole of a sample.
template <OpName AlongDims>
bool over_sample(BatchCall& c) {
  const OpDef& other = op_def<AlongDims>();
  Dims all;
  for (int64_t i = 1; i <= c.input(0).rank; ++i) all.push_back(i);
  if (all.empty()) return false;
  Arg changed[detail::max_params];
  const Tensor value = c.front(c.input(0));
  const int dtype = c.op.sig.find("dtype");
  detail::pack(other, changed, value, all);
  if (dtype >= 0) changed[other.sig.find("dtype")] = c.args[dtype];
  c.call_with(other, changed);
  return true;
}

Dims sized(const BatchCall& c, int param) {
  return with_front(c.level.batch, c.args[param].integers());
}

bool view_sample(BatchCall& c) {
  const Dims wanted = sized(c, 1);
  Dims sizes(wanted);
  int64_t known = 1, open = -1;
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      open = static_cast<int64_t>(i);
    } else {
      known *= sizes[i];
    }
  }
  const int64_t numel = c.args[0].tensor().numel();
  if (open >= 0) {
    if (known == 0 || numel % known != 0) return false;
    sizes[static_cast<size_t>(open)] = numel / known;
  } else if (known != numel) {
    return false;  // the loop says what is wrong
  }
  c.values.push(ops::reshape(c.front(c.input(0)), sizes));
  return true;
}

bool expand_sample(BatchCall& c) {
  const IntSpan wanted = c.args[1].integers();
  const int64_t rank = static_cast<int64_t>(wanted.size());
  if (rank < c.input(0).rank) return false;
  c.values.push(ops::expand(c.front(c.input(0), rank), sized(c, 1)));
  return true;
}

bool permute_sample(BatchCall& c) {
  Dims dims;
  dims.push_back(0);
  const int64_t rank = c.input(0).rank;
  for (int64_t dim : c.args[1].integers()) {
    if (!shift(dim, rank)) return false;
    dims.push_back(dim);
  }
  if (dims.size() != static_cast<size_t>(rank) + 1) return false;
  c.values.push(ops::permute(c.front(c.input(0)), dims));
  return true;
}

bool transpose_sample(BatchCall& c) {
  if (c.input(0).rank > 2) return false;
  const Tensor value = c.front(c.input(0));
  c.values.push(c.input(0).rank == 2 ? ops::transpose(value, 1, 2) : value);
  return true;
}

bool squeeze_sample(BatchCall& c) {
  const Tensor value = c.front(c.input(0));
  Dims sizes;
  for (int64_t i = 0; i < value.ndim(); ++i) {
    if (i == 0 || value->size(i) != 1) sizes.push_back(value->size(i));
  }
  c.values.push(ops::view(value, sizes));
  return true;
}

bool as_strided_sample(BatchCall& c) {
  const Tensor value = c.front(c.input(0));
  const Dims strides = with_front(value->stride(0), c.args[2].integers());
  c.values.push(ops::as_strided(value, sized(c, 1), strides, c.args[3].as.integer));
  return true;
}

bool new_like_sample(BatchCall& c) {
  ArgsCopy changed(c.op, c.args);
  changed.set(0, -1, c.input(0).value);
  changed.set(1, sized(c, 1));
  c.call_with(c.op, changed.data());
  return true;
}

bool mm(BatchCall& c) {
  const bool left = c.input(0).dim >= 0, right = c.input(1).dim >= 0;
  const Tensor a = left ? c.front(c.input(0)) : c.input(0).value;
  const Tensor b = right ? c.front(c.input(1)) : c.input(1).value;
  c.values.push(ops::matmul(a, b));
  return true;
}

bool bmm(BatchCall& c) {
  c.values.push(ops::matmul(c.front(c.input(0)), c.front(c.input(1))));
  return true;
}

bool mv(BatchCall& c) {
  const bool left = c.input(0).dim >= 0;
  const Tensor a = left ? c.front(c.input(0)) : c.input(0).value;
  const Tensor column = ops::unsqueeze(c.front(c.input(1)), -1);
  c.values.push(ops::select(ops::matmul(a, column), -1, 0));
  return true;
}

bool dot(BatchCall& c) {
  const int64_t last[] = {-1};
  c.values.push(ops::sum(ops::mul(c.front(c.input(0)), c.front(c.input(1))), last));
  return true;
}

bool linear(BatchCall& c) {
  if (c.inputs.size() > 2 && c.input(2).dim >= 0 && c.input(1).dim < 0) return false;
  if (c.input(1).rank != 2) return false;
  if (c.input(1).dim < 0) return carry_front(c);
  // Weights of their own for every sample.
  const Tensor weight = ops::transpose(c.front(c.input(1)), 1, 2);
  Tensor x = c.front(c.input(0));
  if (c.input(0).rank == 1) x = ops::unsqueeze(x, 1);
  if (c.input(0).rank > 2) return false;
  Tensor y = ops::matmul(x, weight);
  if (c.inputs.size() > 2) y = ops::add(y, c.front(c.input(2), 2));
  c.values.push(c.input(0).rank == 1 ? ops::select(y, 1, 0) : y);
  return true;
}

// gather and the like: every tensor has the dimensions of the first.
bool gather(BatchCall& c) {
  const int64_t rank = c.input(0).rank;
  if (rank == 0) return false;
  ArgsCopy changed(c.op, c.args);
  for (const auto& input : c.inputs) {
    if (input.rank != rank) return false;
    changed.set(input.param, input.item, c.front(input));
  }
  if (!shift(changed[1].as.integer, rank)) return false;
  c.call_with(c.op, changed.data());
  return true;
}

// A number of its own for every sample.
bool fill(BatchCall& c) {
  if (c.inputs.size() < 2 || c.input(1).dim < 0) return carry_front(c);
  const Tensor value = ops::to(c.front(c.input(1), c.input(0).rank), c.input(0).value.dtype());
  const Dims sizes = with_front(c.level.batch, c.args[0].tensor().sizes());
  c.values.push(ops::clone(ops::expand(value, sizes)));
  return true;
}

bool masked_fill(BatchCall& c) {
  if (c.inputs.size() < 3 || c.input(2).dim < 0) return broadcast(c);
  const int64_t rank = std::max(c.input(0).rank, c.input(1).rank);
  const Tensor value = ops::to(c.front(c.input(2), rank), c.input(0).value.dtype());
  c.values.push(ops::where(c.front(c.input(1), rank), value, c.front(c.input(0), rank)));
  return true;
}

bool embedding(BatchCall& c) {
  if (c.input(0).dim >= 0) return false;
  ArgsCopy changed(c.op, c.args);
  changed.set(1, -1, c.front(c.input(1)));
  c.call_with(c.op, changed.data());
  return true;
}

Rule rule_for(const OpDef& op) {
  static const std::unordered_map<std::string_view, Rule> own = {
      {"sum", over_sample<"sum.dim">},
      {"mean", over_sample<"mean.dim">},
      {"any", over_sample<"any.dims">},
      {"all", over_sample<"all.dims">},
      {"view", view_sample},
      {"_reshape_copy", view_sample},
      {"expand", expand_sample},
      {"permute", permute_sample},
      {"t", transpose_sample},
      {"squeeze", squeeze_sample},
      {"_as_strided", as_strided_sample},
      {"new_empty", new_like_sample},
      {"new_zeros", new_like_sample},
      {"new_ones", new_like_sample},
      {"new_full", new_like_sample},
      {"mm", mm},
      {"bmm", bmm},
      {"mv", mv},
      {"dot", dot},
      {"linear", linear},
      {"gather", gather},
      {"scatter.src", gather},
      {"scatter.value", gather},
      {"scatter_add", gather},
      {"embedding", embedding},
      {"fill", fill},
      {"masked_fill", masked_fill},
      {"_attention", batch_attention},
      {"_attention_grad", batch_attention},
      {"_attention_second_grad", batch_attention},
  };
  const auto found = own.find(op.sig.name);
  if (found != own.end()) return found->second;
  switch (op.batch) {
    case Batch::pointwise:
      return op.body ? nullptr : broadcast;
    case Batch::along:
      return along;
    case Batch::front:
      return carry_front;
    case Batch::join:
      return join;
    default:
      return nullptr;
  }
}

}  // namespace

void BatchCall::check_random() const {
  WISP_CHECK(
      !op.has(trait::random) || level.randomness != Randomness::error,
      "vmap: called random operation ", op.shown,
      "() while in randomness error mode. Use the 'same' or 'different' randomness flags on vmap.");
}

// All inputs are the same in every sample, and so are the results.
void BatchCall::once() {
  ArgsCopy changed(op, args);
  for (const Input& input : inputs) changed.set(input.param, input.item, input.value);
  call(op, changed.data(), values);
}

// One sample after the other.
void BatchCall::loop() {
  WISP_CHECK(level.batch > 0, "vmap: ", op.shown, "() has no rule for a batch of no samples");
  const Generator::State start = default_generator().state();
  std::vector<std::vector<Tensor>> results;
  for (int64_t i = 0; i < level.batch; ++i) {
    if (op.has(trait::random) && level.randomness == Randomness::same) {
      default_generator().set_state(start);
    }
    ArgsCopy changed(op, args);
    for (const Input& input : inputs) {
      const bool batched = input.dim >= 0;
      changed.set(input.param, input.item,
                  batched ? ops::select(input.value, input.dim, i) : input.value);
    }
    TensorList outs;
    call(op, changed.data(), outs);
    results.resize(outs.size());
    for (size_t k = 0; k < outs.size(); ++k) results[k].push_back(std::move(outs[k]));
  }
  for (const auto& parts : results) {
    if (!parts[0].defined()) {
      values.push(Tensor());
      continue;
    }
    for (const Tensor& part : parts) {
      WISP_CHECK(same(part.sizes(), parts[0].sizes()), "vmap: ", op.shown,
                 "() gives results of different shapes for different samples, ", parts[0].sizes(),
                 " and ", part.sizes());
    }
    values.push(ops::stack(parts, 0));
  }
}

void BatchCall::record(TensorList& outs) {
  bool wanted = false;
  each_tensor(op, args, [&](int param, int, const Tensor& t) {
    const Layers* layers = t->layers();
    const bool own = layers && layers->batch_level == level.id && t.requires_grad();
    wanted |= own && ((op.differentiable >> param) & 1);
  });
  if (!mode.grad || !wanted) return;
  // What does not belong to this level may require grad in a level around it, where the call was
  // recorded too. Here it is a constant.
  ArgsCopy wrapped(op, args);
  each_tensor(op, args, [&](int param, int item, const Tensor& t) {
    const Layers* layers = t->layers();
    if (layers && layers->batch_level == level.id) return;
    wrapped.set(param, item, sample_of(t, -1, level.id));
  });
  autograd_hooks.record(op, wrapped.data(), outs.data(), outs.size(), Form::functional, {});
}

void BatchCall::run(TensorList& outs) {
  check_random();
  {
    Below below(level.id);
    const bool random_same = op.has(trait::random) && level.randomness == Randomness::same;
    const Rule rule = random_same ? nullptr : rule_for(op);
    if (!any_batched()) {
      once();
    } else if (!rule || !rule(*this)) {
      loop();
    }
  }
  const int64_t dim = any_batched() ? 0 : -1;
  for (Tensor& value : values) {
    outs.push(value.defined() ? sample_of(value, dim, level.id) : Tensor());
    if (!op.has(trait::view)) continue;
    const Tensor& self = args[0].tensor();
    TensorImpl* base = self->base() ? self->base() : self.impl();
    outs[outs.size() - 1]->set_base(Ref<TensorImpl>::share(base), mode.grad);
    outs[outs.size() - 1]->autograd().view_version = outs[outs.size() - 1]->version();
  }
  record(outs);
}

void batch(const OpDef& op, const Arg* args, const Level& level, TensorList& outs) {
  BatchCall call(op, args, level);
  if (!call.any_batched() && op.has(trait::random) && draw(op, args, level, outs)) return;
  call.run(outs);
}

bool draw(const OpDef& op, const Arg* args, const Level& level, TensorList& outs) {
  WISP_CHECK(
      level.randomness != Randomness::error, "vmap: called random operation ", op.shown,
      "() while in randomness error mode. Use the 'same' or 'different' randomness flags on vmap.");
  if (level.randomness == Randomness::same) return false;
  std::vector<std::vector<Tensor>> results;
  Below below(level.id);
  for (int64_t i = 0; i < level.batch; ++i) {
    TensorList one;
    call(op, args, one);
    results.resize(one.size());
    for (size_t k = 0; k < one.size(); ++k) results[k].push_back(std::move(one[k]));
  }
  for (const auto& parts : results) outs.push(sample_of(ops::stack(parts, 0), 0, level.id));
  return true;
}

void write_batch(const OpDef& op, const Tensor& self, const Tensor& value, const Level& level) {
  const Batched to = batch_of(self, level.id), from = batch_of(value, level.id);
  WISP_CHECK(
      to.dim >= 0 || from.dim < 0, "vmap: ", op.shown,
      "_() cannot write a value that differs between samples into a tensor that they share. ",
      "Use the out-of-place form, or make the tensor from a batched one (zeros_like, new_zeros).");
  autograd_hooks.check_write(op, self, mode.grad);
  WISP_CHECK(
      !value.requires_grad() || !self->base() || !self->tracks_base(), "vmap: ", op.shown,
      "_() through a view inside a function that is differentiated is not supported; use an ",
      "out-of-place form such as slice_scatter() or where().");
  {
    Below below(level.id);
    const bool batched = to.dim >= 0 && from.dim >= 0;
    Tensor source = batched ? move_dim(from.value, from.dim, to.dim) : from.value;
    if (to.dim >= 0 && from.dim < 0) source = ops::unsqueeze(source, to.dim);
    invoke_in_place<"copy">(to.value, source);
  }
  if (!value.requires_grad()) return;
  self->autograd().grad_fn = value->autograd().grad_fn;
  self->autograd().output = value->autograd().output;
  self->autograd().view_version = self->version();
  self->set_requires_grad(true);
}

}  // namespace wisp::transform
