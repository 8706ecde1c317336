#include "autograd/saved_hooks.h"

#include "autograd/meta.h"

namespace wisp::autograd {

constinit WISP_THREAD_LOCAL SavedHooks* saved_hooks = nullptr;

namespace {

// Stands between a tensor that hooks gave back and the history of the one they were given.
class UnpackedNode final : public Node {
 public:
  explicit UnpackedNode(const Edge& edge) : Node(1), edge_(edge) {
    edges_ = &edge_;
    edge_count_ = 1;
    finish();
  }
  std::string name() const override { return "UnpackedBackward0"; }
  void apply(TensorList& grads, TensorList& results) override { results[0] = std::move(grads[0]); }

 private:
  Edge edge_;
};

}  // namespace

PackedTensor::PackedTensor(const Tensor& tensor)
    : hooks_(Ref<SavedHooks>::share(saved_hooks)),
      history_(grad_edge(tensor)),
      sizes_(tensor.sizes()),
      dtype_(tensor.dtype()) {
  const GradMode off(false);
  const uint32_t version = tensor->version();
  packed_ = hooks_->pack(detach(tensor));
  WISP_CHECK(
      tensor->version() == version,
      "A saved tensor pack hook is modifying its input in place. The tensor is the one that ",
      "the program goes on with: clone() it in the hook before writing.");
}

Tensor PackedTensor::unpack() const {
  const Tensor tensor = hooks_->unpack(*packed_);
  // Derivatives rely on both; the hooks are anybody's.
  WISP_CHECK(same(tensor.sizes(), sizes_) && tensor.dtype() == dtype_,
             "saved tensor unpack_hook: expected a tensor of shape ", sizes_, " and dtype ",
             name(dtype_), " as was packed, got ", tensor.sizes(), " and ", name(tensor.dtype()));
  Tensor restored = detach(tensor);
  if (history_.node) {
    const auto node = Ref<Node>::adopt(new UnpackedNode(history_));
    set_history(restored, node.get(), 0);
  }
  return restored;
}

}  // namespace wisp::autograd
