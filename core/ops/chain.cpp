#include "ops/chain.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"
#include "cpu/copy.h"
#include "ops/chain_plan.h"
#include "ops/pointwise.h"

namespace wisp::ops {

namespace {

// Shapes after these are not planned for: a chain that never sees the same tensors twice would
// collect plans for ever.
constexpr size_t max_plans = 16;

bool somebody_watches() {
  if (mode.interceptor) return true;
  return WISP_UNLIKELY(mode.deferrer != nullptr) && mode.deferrer->takes_small();
}

bool any_meta(std::span<TensorImpl* const> inputs) {
  return WISP_UNLIKELY(Storage::any_meta()) &&
         std::any_of(inputs.begin(), inputs.end(), [](auto* input) { return input->is_meta(); });
}

bool wants_gradients(std::span<TensorImpl* const> inputs) {
  if (!mode.grad) return false;
  for (const TensorImpl* input : inputs) {
    if (input->requires_grad()) return true;
  }
  return false;
}

// Memory for the temporaries of one run.
class Temporaries {
 public:
  explicit Temporaries(size_t bytes)
      : bytes_(bytes), data_(static_cast<char*>(memory::allocate(bytes))) {}
  ~Temporaries() { memory::deallocate(data_, bytes_); }
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

}  // namespace

bool Chain::computes(const OpDef& op) {
  return op.direct == pointwise_direct || op.direct == pointwise_direct_plain;
}

bool Chain::cuts(const OpDef& op) { return &op == &op_def<"chunk">() || &op == &op_def<"split">(); }

bool Chain::joins(const OpDef& op) { return &op == &op_def<"cat">(); }

bool Chain::multiplies(const OpDef& op) {
  return &op == &op_def<"mm">() || &op == &op_def<"matmul">() || &op == &op_def<"linear">();
}

bool (*record_chain)(const Chain&, std::span<TensorImpl* const>, Tensor*) = nullptr;

Chain::Chain(int inputs, std::vector<ChainCall> calls, std::vector<int> outputs)
    : inputs_(inputs), calls_(std::move(calls)), outputs_(std::move(outputs)) {
  WISP_CHECK(inputs <= max_inputs && outputs_.size() <= max_outputs, "chain: too many values");
  multiplies_ = std::any_of(calls_.begin(), calls_.end(),
                            [](const ChainCall& call) { return multiplies(*call.op); });
}

Chain::~Chain() = default;

bool Chain::Plan::fits(std::span<TensorImpl* const> tensors) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorImpl& tensor = *tensors[i];
    const Shape& shape = inputs[i];
    if (tensor.dtype() != shape.dtype || !same(tensor.sizes(), shape.sizes) ||
        !same(tensor.strides(), shape.strides))
      return false;
  }
  return true;
}

void Chain::Plan::run(std::span<TensorImpl* const> tensors, Tensor* outs) const {
  char* memories[max_inputs + max_outputs + 2];
  char** next = memories;
  for (const TensorImpl* tensor : tensors) *next++ = tensor->bytes();
  const DType dtype = inputs[0].dtype;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outs[i] = Tensor::adopt(TensorImpl::make_empty(outputs[i], dtype, Device{}));
    if (WISP_UNLIKELY(mode.inference)) outs[i]->set_inference(true);
    *next++ = outs[i]->bytes();
  }
  const Temporaries temporaries(temporary_bytes);
  *next++ = temporaries.data();
  *next = const_cast<char*>(numbers.data());  // they are only read
  const auto at = [&](const ChainSpot& spot) { return memories[spot.memory] + spot.offset; };
  const cpu::Params none;
  for (const ChainStage& stage : stages) {
    if (stage.product >= 0) {
      const Product& product = products[static_cast<size_t>(stage.product)];
      cpu::Matrix a = product.a, b = product.b, c = product.c;
      a.data = at(stage.in[0]);
      b.data = at(stage.in[1]);
      c.data = at(stage.out);
      cpu::gemm(dtype, a, b, c, 1, product.adds ? 1 : 0);
      continue;
    }
    if (!stage.kernel) {
      const Order& order = orders[static_cast<size_t>(stage.order)];
      if (stage.by_rows) {
        const auto item = static_cast<int64_t>(item_size(dtype));
        cpu::copy_rows(at(stage.out), at(stage.in[0]), order.sizes[0], order.strides[0],
                       order.sizes[1] * item);
        continue;
      }
      const ChainSpot& spread = stage.spreads ? stage.out : stage.in[0];
      cpu::Walker walker(at(spread), order.sizes, order.strides, 0);
      if (stage.spreads) {
        walker.scatter(at(stage.in[0]), stage.elements, item_size(dtype));
      } else {
        walker.gather(at(stage.out), stage.elements, item_size(dtype));
      }
      continue;
    }
    const void* in[3];
    for (int i = 0; i < stage.inputs; ++i) in[i] = at(stage.in[i]);
    stage.kernel(at(stage.out), in, stage.elements, none);
  }
}

// The newest plan that fits, a new one, or null if there are too many.
const Chain::Plan* Chain::plan_for(std::span<TensorImpl* const> inputs) const {
  const Plan* plan = newest_.load(std::memory_order_acquire);
  while (plan && !plan->fits(inputs)) plan = plan->older;
  if (WISP_LIKELY(plan != nullptr)) return plan;
  std::lock_guard lock(adding_);
  if (plans_.size() >= max_plans) return nullptr;
  auto made = std::make_unique<Plan>();
  for (const TensorImpl* input : inputs) {
    made->inputs.push_back({input->dtype(), Dims(input->sizes()), Dims(input->strides())});
  }
  plan_chain(*this, *made);
  made->older = newest_.load(std::memory_order_relaxed);
  newest_.store(made.get(), std::memory_order_release);
  plans_.push_back(std::move(made));
  return plans_.back().get();
}

bool Chain::run(std::span<TensorImpl* const> inputs, Tensor* outs) const {
  if (somebody_watches() || any_meta(inputs)) return false;
  if (!wants_gradients(inputs)) return run_unrecorded(inputs, outs) != nullptr;
  return !multiplies_ && record_chain && record_chain(*this, inputs, outs);
}

const Chain::Plan* Chain::run_unrecorded(std::span<TensorImpl* const> inputs, Tensor* outs) const {
  const int64_t limit = multiplies_ ? chain_work_limit / 2 : chain_limit;
  for (const TensorImpl* input : inputs) {
    if (input->numel() > limit) return nullptr;
  }
  const Plan* plan = plan_for(inputs);
  if (!plan || !plan->possible) return nullptr;
  plan->run(inputs, outs);
  return plan;
}

}  // namespace wisp::ops
