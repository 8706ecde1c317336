#include "ops/chain.h"

#include <algorithm>
#include <cstring>

#include "cpu/copy.h"
#include "ops/chain_plan.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

// Shapes after these are not planned for: a chain that never sees the same tensors twice would
// collect plans for ever.
constexpr size_t max_plans = 16;
// What takes longer than this, in hundredths of a nanosecond, is worth several threads.
constexpr int64_t long_chain = 500'000;

}  // namespace

bool chains_may_run(std::span<TensorImpl* const> inputs) {
  if (mode.interceptor) return false;
  if (WISP_UNLIKELY(mode.deferrer != nullptr) && mode.deferrer->takes_small()) return false;
  return WISP_LIKELY(!Storage::any_meta()) ||
         std::none_of(inputs.begin(), inputs.end(), [](auto* input) { return input->is_meta(); });
}

bool want_gradients(std::span<TensorImpl* const> inputs) {
  if (!mode.grad) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](auto* input) { return input->requires_grad(); });
}

ChainView::ChainView(const Tensor& whole, const Tensor& view)
    : sizes(view.sizes()),
      strides(view.strides()),
      offset(view->offset() - whole->offset()),
      whole_sizes(whole.sizes()),
      whole_strides(whole.strides()) {
  by_rows = !sizes.empty() && !whole_sizes.empty() && sizes[0] == whole_sizes[0] &&
            strides[0] == whole_strides[0] && offset >= 0;
  int64_t end = offset;
  for (size_t i = 1; i < sizes.size(); ++i) end += (sizes[i] - 1) * strides[i];
  by_rows = by_rows && end < whole_strides[0];
}

bool Chain::computes(const OpDef& op) {
  return op.has(trait::pointwise | trait::out) &&
         !(op.traits & (trait::random | trait::in_place_only)) && op.sig.returns.size() == 1;
}

bool Chain::cuts(const OpDef& op) { return &op == &op_def<"chunk">() || &op == &op_def<"split">(); }

bool Chain::joins(const OpDef& op) { return &op == &op_def<"cat">(); }

bool Chain::multiplies(const OpDef& op) {
  return &op == &op_def<"mm">() || &op == &op_def<"matmul">() || &op == &op_def<"linear">() ||
         &op == &op_def<"addmm">();
}

bool (*record_chain)(const Chain&, std::span<TensorImpl* const>, Tensor*) = nullptr;

Chain::Chain(int inputs, std::vector<ChainCall> calls, std::vector<int> outputs, int hidden)
    : inputs_(inputs), hidden_(hidden), calls_(std::move(calls)), outputs_(std::move(outputs)) {
  WISP_CHECK(inputs <= max_inputs && outputs_.size() <= max_outputs, "chain: too many values");
  multiplies_ = std::any_of(calls_.begin(), calls_.end(),
                            [](const ChainCall& call) { return multiplies(*call.op); });
}

Chain::~Chain() = default;

bool same_shape(const ChainShape& a, const ChainShape& b) {
  return a.dtype == b.dtype && same(a.sizes, b.sizes) && same(a.strides, b.strides);
}

bool fits(const TensorImpl& tensor, const ChainShape& shape) {
  return tensor.dtype() == shape.dtype && same(tensor.sizes(), shape.sizes) &&
         same(tensor.strides(), shape.strides);
}

bool fit(std::span<TensorImpl* const> tensors, const std::vector<ChainShape>& shapes) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!fits(*tensors[i], shapes[i])) return false;
  }
  return true;
}

ChainShape shape_of(const TensorImpl& tensor) {
  return {tensor.dtype(), Dims(tensor.sizes()), Dims(tensor.strides())};
}

std::vector<ChainShape> shapes_of(std::span<TensorImpl* const> tensors) {
  std::vector<ChainShape> shapes;
  for (const TensorImpl* tensor : tensors) shapes.push_back(shape_of(*tensor));
  return shapes;
}

Tensor make_chain_output(const ChainShape& shape) {
  Tensor made = shape.strides.empty()
                    ? Tensor::adopt(TensorImpl::make_empty(shape.sizes, shape.dtype, Device{}))
                    : Tensor::empty_strided(shape.sizes, shape.strides, shape.dtype);
  if (WISP_UNLIKELY(mode.inference)) made->set_inference(true);
  return made;
}

void Chain::Plan::run(std::span<const ChainInput> given, Tensor* outs, Ref<Storage>* hides) const {
  char* memories[max_memories];
  char** next = memories;
  for (const ChainInput& input : given) *next++ = input.tensor ? input.tensor->bytes() : input.data;
  const size_t visible = outputs.size() - hidden.size();
  for (size_t i = 0; i < visible; ++i) {
    outs[i] = make_chain_output(outputs[i]);
    *next++ = outs[i]->bytes();
  }
  if (!hidden.empty()) *hides = Storage::allocate(hidden_bytes);
  for (int64_t start : hidden) *next++ = (*hides)->data() + start;
  const Temporaries temporaries(temporary_bytes);
  *next++ = temporaries.data();
  *next = const_cast<char*>(numbers.data());  // they are only read
  if (passes.empty()) return run(stages, memories);
  const HostUnlock unlock(count_elements(passes.back().sizes) >= 1 << 15);
  for (const ChainPass& pass : passes) pass.run(memories);
}

void Chain::Plan::multiply(const ChainStage& stage, const char* a, const char* b, char* c) const {
  const Product& product = products[static_cast<size_t>(stage.product)];
  cpu::Matrix left = product.a, right = product.b, out = product.c;
  left.data = const_cast<char*>(a);
  right.data = const_cast<char*>(b);
  out.data = c;
  if (part_of_more) return cpu::gemm_of_rows(inputs[0].dtype, left, right, out, product.adds);
  cpu::gemm(inputs[0].dtype, left, right, out, 1, product.adds ? 1 : 0);
}

void Chain::Plan::move(const ChainStage& stage, char* to, char* from) const {
  const Order& order = orders[static_cast<size_t>(stage.order)];
  const size_t item = item_size(inputs[0].dtype);
  if (stage.by_rows)
    return cpu::copy_rows(to, from, order.sizes[0], order.strides[0],
                          order.sizes[1] * static_cast<int64_t>(item));
  cpu::Walker walker(stage.spreads ? to : from, order.sizes, order.strides, 0);
  stage.spreads ? walker.scatter(from, stage.elements, item)
                : walker.gather(to, stage.elements, item);
}

void Chain::Plan::run(const std::vector<ChainStage>& some, char* const* memories) const {
  const auto at = [&](const ChainSpot& spot) { return memories[spot.memory] + spot.offset; };
  for (const ChainStage& stage : some) {
    if (stage.product >= 0) {
      multiply(stage, at(stage.in[0]), at(stage.in[1]), at(stage.out));
    } else if (!stage.kernel) {
      move(stage, at(stage.out), at(stage.in[0]));
    } else {
      const void* in[3];
      for (int i = 0; i < stage.inputs; ++i) in[i] = at(stage.in[i]);
      stage.kernel(at(stage.out), in, stage.elements, stage.params);
    }
  }
}

namespace {

bool fit(std::span<const ChainInput> inputs, const std::vector<ChainShape>& shapes) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].tensor && !fits(*inputs[i].tensor, shapes[i])) return false;
  }
  return true;
}

// One behind the other in one piece of memory.
void place_hidden(const Chain& chain, Chain::Plan& plan) {
  if (!plan.possible) return;
  for (size_t i = plan.outputs.size() - static_cast<size_t>(chain.hidden());
       i < plan.outputs.size(); ++i) {
    const ChainShape& shape = plan.outputs[i];
    plan.hidden.push_back(static_cast<int64_t>(plan.hidden_bytes));
    plan.hidden_bytes +=
        slot_bytes(count_elements(shape.sizes) * static_cast<int64_t>(item_size(shape.dtype)));
  }
}

}  // namespace

// The newest plan that fits, a new one, or null if there are too many.
const Chain::Plan* Chain::plan_for(std::span<const ChainInput> inputs) const {
  const Plan* plan = newest_.load(std::memory_order_acquire);
  while (plan && !fit(inputs, plan->inputs)) plan = plan->older;
  if (WISP_LIKELY(plan != nullptr)) return plan;
  std::lock_guard lock(adding_);
  if (plans_.size() >= max_plans) return nullptr;
  auto made = std::make_unique<Plan>();
  for (const ChainInput& input : inputs)
    made->inputs.push_back(input.tensor ? shape_of(*input.tensor) : *input.shape);
  plan_chain(*this, *made);
  if (!multiplies_ && (!made->possible || made->cost > long_chain)) plan_tiles(*this, *made);
  place_hidden(*this, *made);
  made->older = newest_.load(std::memory_order_relaxed);
  newest_.store(made.get(), std::memory_order_release);
  plans_.push_back(std::move(made));
  return plans_.back().get();
}

bool Chain::run(std::span<TensorImpl* const> inputs, Tensor* outs) const {
  if (!chains_may_run(inputs)) return false;
  if (want_gradients(inputs))
    return !multiplies_ && record_chain && record_chain(*this, inputs, outs);
  ChainInput given[max_inputs];
  for (size_t i = 0; i < inputs.size(); ++i) given[i].tensor = inputs[i];
  return run_unrecorded({given, inputs.size()}, outs) != nullptr;
}

namespace {

// What lies in memory in another order, or waits for what follows it, is left to single calls.
bool lie_plainly(std::span<const ChainInput> inputs) {
  return std::none_of(inputs.begin(), inputs.end(), [](const ChainInput& input) {
    const Storage* storage = input.tensor ? &input.tensor->storage() : nullptr;
    return storage && (storage->is_arranged() || storage->is_pending());
  });
}

}  // namespace

const Chain::Plan* Chain::run_unrecorded(std::span<const ChainInput> inputs, Tensor* outs,
                                         Ref<Storage>* hidden) const {
  for (size_t i = 0; multiplies_ && i < inputs.size(); ++i) {
    if (inputs[i].tensor && inputs[i].tensor->numel() > chain_work_limit / 2) return nullptr;
  }
  const Plan* plan = plan_for(inputs);
  if (!plan || !plan->possible) return nullptr;
  // Those who collect kernels collect those of large tensors.
  if (!plan->passes.empty() && (mode.deferrer || !lie_plainly(inputs))) return nullptr;
  plan->run(inputs, outs, hidden);
  return plan;
}

}  // namespace wisp::ops
