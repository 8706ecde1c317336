#include "autograd/meta.h"

#include <algorithm>
#include <mutex>

#include "autograd/record.h"
#include "dispatch/awaited.h"
#include "dispatch/deferred.h"
#include "ops/ops.h"

namespace wisp::autograd {

AutogradMeta& meta(const Tensor& tensor) {
  Ref<Object>& slot = tensor->autograd().meta;
  if (!slot) {  // threads of C++ programs may be the first to use a leaf together
    static std::mutex making;
    const std::lock_guard lock(making);
    if (!slot) slot = Ref<Object>::adopt(new AutogradMeta(tensor.impl()));
  }
  return static_cast<AutogradMeta&>(*slot);
}

AutogradMeta* meta_if_any(const TensorImpl& tensor) {
  return static_cast<AutogradMeta*>(tensor.autograd().meta.get());
}

AutogradMeta::~AutogradMeta() {
  if (!retained_by) return;
  auto& list = retained_by->extras().retained;
  std::erase_if(list, [this](const auto& entry) { return entry.second == this; });
}

Node* grad_fn(const Tensor& tensor) {
  if (WISP_UNLIKELY(tensor->base_changed())) refresh_view(tensor);
  return static_cast<Node*>(tensor->autograd().grad_fn.get());
}

Edge grad_edge(const Tensor& tensor) {
  Edge edge;
  edge.dtype = tensor.dtype();
  if (Node* node = grad_fn(tensor)) {
    edge.node = NodeRef(node);
    edge.output = tensor->autograd().output;
  } else if (tensor.requires_grad()) {
    edge.node = NodeRef(&meta(tensor).accumulate);
  }
  return edge;
}

void set_history(const Tensor& tensor, Node* node, uint32_t output) {
  AutogradSlot& slot = tensor->autograd();
  AutogradMeta* info = meta_if_any(*tensor.impl());
  const bool moves_retained = info && info->retained_by;
  if (moves_retained) {
    auto& list = info->retained_by->extras().retained;
    std::erase_if(list, [info](const auto& entry) { return entry.second == info; });
  }
  slot.grad_fn = Ref<Object>::share(node);
  slot.output = output;
  slot.view_version = tensor->version();
  tensor->set_requires_grad(true);
  if (moves_retained) {
    info->retained_by = node;
    node->extras().retained.emplace_back(output, info);
  }
}

Tensor grad(const Tensor& tensor) {
  AutogradMeta* info = meta_if_any(*tensor.impl());
  return info ? info->grad : Tensor();
}

void set_grad(const Tensor& tensor, Tensor value) {
  if (value.defined()) {
    WISP_CHECK(!value.is_same(tensor), "can't assign Variable as its own grad");
    WISP_CHECK(same(value.sizes(), tensor.sizes()),
               "assigned grad has data of a different size: got ", value.sizes(), ", expected ",
               tensor.sizes());
    WISP_CHECK(value.dtype() == tensor.dtype(), "assigned grad has data of a different type: got ",
               name(value.dtype()), ", expected ", name(tensor.dtype()));
    WISP_CHECK(value.device() == tensor.device(),
               "assigned grad has data located on a different device");
  } else if (!meta_if_any(*tensor.impl())) {
    return;
  }
  meta(tensor).grad = std::move(value);
}

void set_requires_grad(const Tensor& tensor, bool value) {
  WISP_CHECK(!value || is_differentiable(tensor.dtype()),
             "only Tensors of floating point and complex dtype can require gradients, got ",
             name(tensor.dtype()));
  WISP_CHECK(
      !value || !tensor->is_inference() || mode.inference,
      "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  WISP_CHECK(
      tensor->is_leaf() || value,
      "you can only change requires_grad flags of leaf variables. If you want to use a computed ",
      "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  if (tensor->is_leaf()) tensor->set_requires_grad(value);
}

void retain_grad(const Tensor& tensor) {
  WISP_CHECK(tensor.requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  Node* node = grad_fn(tensor);
  if (!node) return;  // leaves keep theirs anyway
  AutogradMeta& info = meta(tensor);
  if (info.retains_grad) return;
  info.retains_grad = true;
  info.retained_by = node;
  node->extras().retained.emplace_back(tensor->autograd().output, &info);
}

namespace {

// References to a storage that somebody can see.
int64_t visible_uses(const Storage& storage) {
  const int64_t uses = storage.use_count();
  const bool waits = WISP_UNLIKELY(Storage::any_deferred()) && uses > 1 && storage.is_pending();
  return waits && held_by_deferred ? uses - held_by_deferred(storage) : uses;
}

// Nobody else can see this memory. What waits for the next call has waited long enough.
bool is_private(const Tensor& tensor) {
  if (WISP_UNLIKELY(Storage::any_awaited()) && tensor->storage().is_pending())
    Storage::run_awaited(&tensor->storage());
  return tensor->use_count() == 1 && visible_uses(tensor->storage()) == 1 &&
         tensor->storage().resizable();
}

bool same_layout(const Tensor& grad, const Tensor& leaf) {
  if (!is_dense(leaf.sizes(), leaf.strides())) return grad.is_contiguous();
  return same(grad.strides(), leaf.strides()) || (grad.is_contiguous() && leaf.is_contiguous());
}

}  // namespace

void add_gradient(Tensor& sum, Tensor grad) {
  if (!sum.defined()) {
    sum = std::move(grad);
    return;
  }
  const AddingGradients adding;
  if (!mode.grad && is_private(sum) && sum.dtype() == grad.dtype() &&
      is_dense(sum.sizes(), sum.strides())) {
    ops::add_(sum, grad);
  } else if (!mode.grad && is_private(grad) && sum.dtype() == grad.dtype() &&
             is_dense(grad.sizes(), grad.strides())) {
    ops::add_(grad, sum);
    sum = std::move(grad);
  } else {
    sum = ops::add(sum, grad);
  }
}

namespace {

// From this size on a copy is worth being put off.
constexpr int64_t large_bytes = 1 << 20;

// A gradient that is also somebody else's, or a view of such, is copied: what is done to the one
// must not show in the other. The copy waits until either is looked at or written.
Tensor own_copy(const Tensor& grad, const Tensor& leaf) {
  const int64_t bytes = grad.numel() * static_cast<int64_t>(grad->item_size());
  if (mode.grad || mode.interceptor || !putting_off || bytes < large_bytes)
    return clone_like(grad, leaf);
  Deferrer* const outer = std::exchange(mode.deferrer, putting_off);
  struct Restore {
    Deferrer* outer;
    ~Restore() { mode.deferrer = outer; }
  } restore{outer};
  return clone_like(grad, leaf);
}

}  // namespace

void AccumulateGrad::apply(TensorList& grads, TensorList&) {
  Tensor fresh = std::move(grads[0]);
  if (!fresh.defined()) return;
  const Tensor leaf = Tensor::share(leaf_);
  AutogradMeta& info = meta(leaf);
  if (info.grad.defined()) {
    if (mode.grad) {
      info.grad = ops::add(info.grad, fresh);
    } else {
      ops::add_(info.grad, fresh);
    }
  } else if (!mode.grad && is_private(fresh) && same_layout(fresh, leaf)) {
    info.grad = std::move(fresh);
  } else {
    info.grad = own_copy(fresh, leaf);
  }
  // Copied: a hook may add or remove hooks.
  const auto hooks = info.post_accumulate;
  for (const auto& [id, hook] : hooks) hook(leaf);
}

Tensor detach(const Tensor& tensor, bool own_version) {
  Tensor copy = detached(tensor);
  if (own_version) copy->set_own_version(Ref<VersionCounter>::adopt(new VersionCounter));
  return copy;
}

}  // namespace wisp::autograd
