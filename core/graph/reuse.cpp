#include "graph/reuse.h"

namespace wisp::graph {

namespace {

// Blocks of memory that are smaller are there at once.
constexpr int64_t least_elements = 1 << 13;

bool any_differentiated(const OpDef& op, const Arg* args) {
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].kind == ArgKind::tensors) return true;
    if (args[i].is_tensor() && differentiated(args[i].tensor())) return true;
  }
  return false;
}

}  // namespace

bool is_reusable(const Tensor& tensor) {
  if (tensor.numel() < least_elements || tensor->use_count() != 1) return false;
  if (mode.interceptor || mode.deferrer || tensor->wrapper() || tensor->base()) return false;
  const Storage& storage = tensor->storage();
  return storage.use_count() == 1 && storage.resizable() && storage.writable() &&
         !storage.is_meta() && !storage.is_pending() && tensor.is_contiguous() &&
         tensor->is_inference() == mode.inference;
}

bool result_fits(const OpDef& op, const Arg* args) {
  if (any_differentiated(op, args)) return false;
  Infer infer(op, args);
  op.infer(infer);
  const Tensor& self = args[0].tensor();
  const TensorSpec& spec = infer.out();
  return infer.count() == 1 && spec.dtype == self.dtype() && spec.strides.empty() &&
         same(spec.sizes, self.sizes());
}

}  // namespace wisp::graph
