// In-place writes: what is refused, what is noted, and how histories of views and bases are joined.
// The rules are written down in ARCHITECTURE.md.
#include "autograd/chain_node.h"
#include "autograd/engine.h"
#include "autograd/record.h"
#include "autograd/write_note.h"
#include "ops/ops.h"

namespace wisp::autograd {

namespace {

// Where the elements of a tensor lie; or, of a complex one, the parts of its numbers, as
// view_as_real shows them.
struct Geometry {
  Dims sizes, strides;
  int64_t offset;
  Geometry(const TensorImpl& t, bool parts)
      : sizes(t.sizes()), strides(t.strides()), offset(t.offset()) {
    if (!parts) return;
    for (int64_t& stride : strides) stride *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    offset *= 2;
  }
};

// Whether one of the two shows complex numbers where the other shows their parts.
bool differ_in_kind(const Tensor& base, const Tensor& view) {
  return is_complex(base.dtype()) != is_complex(view.dtype());
}

// A base after a write through one of its views: outside the view the gradient passes to the old
// base, inside it goes through the write. If one is complex and the other is not, both are taken
// for real.
class CopySlices final : public Node {
 public:
  CopySlices(const Tensor& base, const Tensor& view, Node* write, int self_edge)
      : Node(1),
        base_in_parts_(is_complex(base.dtype()) && differ_in_kind(base, view)),
        view_in_parts_(is_complex(view.dtype()) && differ_in_kind(base, view)),
        base_(*base.impl(), base_in_parts_),
        view_(*view.impl(), view_in_parts_),
        write_(write),
        self_edge_(self_edge) {
    own_edges_.push_back(grad_edge(base));
    for (size_t i = 0; i < write->edge_count(); ++i) {
      own_edges_.push_back(static_cast<int>(i) == self_edge ? Edge() : write->edge(i));
    }
    edges_ = own_edges_.data();
    edge_count_ = static_cast<uint32_t>(own_edges_.size());
    finish();
  }
  std::string name() const override { return "CopySlices"; }
  void release_saved() override { write_->release_saved(); }

  void apply(TensorList& grads, TensorList& results) override {
    const Tensor grad = in_base_layout(base_in_parts_ ? ops::view_as_real(grads[0]) : grads[0]);
    const int64_t offset = view_.offset - base_.offset;
    TensorList inside(1), passed(write_->edge_count());
    inside[0] = ops::contiguous(ops::as_strided(grad, view_.sizes, view_.strides, offset));
    if (view_in_parts_) inside[0] = ops::view_as_complex(inside[0]);
    write_->apply(inside, passed);
    if (edges_[0].node) {
      results[0] = ops::as_strided_scatter(grad, old_inside(passed, grad.dtype()), view_.sizes,
                                           view_.strides, offset);
      if (base_in_parts_) results[0] = ops::view_as_complex(ops::contiguous(results[0]));
    }
    for (size_t i = 0; i < passed.size(); ++i) {
      if (static_cast<int>(i) != self_edge_) results[i + 1] = std::move(passed[i]);
    }
  }

 private:
  // The gradient of what the view held before the write.
  Tensor old_inside(const TensorList& passed, DType dtype) const {
    const Tensor old = self_edge_ >= 0 ? passed[self_edge_] : Tensor();
    if (!old.defined()) return ops::zeros(view_.sizes, dtype);
    return view_in_parts_ ? ops::view_as_real(old) : old;
  }

  Tensor in_base_layout(const Tensor& grad) const {
    const bool laid_out = same(grad.strides(), base_.strides) && grad->offset() == 0;
    return laid_out ? grad : ops::restride(grad, base_.strides);
  }

  bool base_in_parts_, view_in_parts_;
  Geometry base_, view_;
  NodeRef write_;
  int self_edge_;
  std::vector<Edge> own_edges_;
};

int self_edge_of(const OpDef& op) {
  for (size_t r = 0; r < op.vjp.size(); ++r) {
    if (op.vjp[r].index == 0) return static_cast<int>(r);
  }
  return -1;
}

void record(const OpDef& op, const Arg* args, Tensor* outs, size_t count, Form form,
            const Tensor& original) {
  if (form == Form::in_place && original.defined()) {
    // The copy of self stands for what self was: same place in the graph, other memory.
    const Edge edge = grad_edge(args[0].tensor());
    if (edge.node && !edge.node->leaf()) set_history(original, edge.node.get(), edge.output);
  }
  OpNode* node = OpNode::make(op, args, outs, count, original);
  const Ref<Node> owner = Ref<Node>::adopt(node);
  if (form == Form::in_place) {
    rebase(outs[0], node, self_edge_of(op));
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const bool constant = (op.constant_outs >> i) & 1;
    if (!constant && is_differentiable(outs[i].dtype()))
      set_history(outs[i], node, static_cast<uint32_t>(i));
  }
}

}  // namespace

void check_write(const char* op, const Tensor& self) {
  WISP_CHECK(!self->is_inference() || mode.inference, op,
             "_(): Inplace update to inference tensor outside InferenceMode is not allowed. ",
             "Clone it, or do the update inside inference_mode().");
  if (!mode.grad) return;
  const TensorImpl* base = self->base();
  WISP_CHECK(!(self.requires_grad() && self->is_leaf()), op,
             "_(): a leaf Variable that requires grad is being used in an in-place operation. ",
             "Use no_grad() around updates of parameters.");
  WISP_CHECK(
      !(base && self->tracks_base() && base->requires_grad() && base->is_leaf()), op,
      "_(): a view of a leaf Variable that requires grad is being used in an in-place operation.");
  WISP_CHECK(
      !(base && !self->tracks_base() && base->requires_grad()), op,
      "_(): A view was created in no_grad mode and is being modified inplace with grad mode on, and ",
      "its base requires grad. Make the view outside no_grad(), or modify it inside.");
}

void note_write(const OpDef& op, const Tensor& self) {
  self->bump_version();
  Storage& storage = self->storage();
  if (WISP_LIKELY(!storage.minds_writes())) return;
  if (!storage.watched()) return storage.forget();
  auto note = Ref<WriteNote>::adopt(new WriteNote);
  note->op = &op;
  if (host.here) note->place = host.here();
  storage.set_last_write(Ref<Object>::adopt(note.detach()));
}

void rebase(const Tensor& self, Node* write, int self_edge) {
  TensorImpl* base = self->base();
  if (!base || !self->tracks_base()) {
    set_history(self, write, 0);
    return;
  }
  const Tensor owner = Tensor::share(base);
  auto node = Ref<Node>::adopt(new CopySlices(owner, self, write, self_edge));
  set_history(owner, node.get(), 0);
  // This view, like all others of the base, finds its new history through the base.
  self->autograd().view_version = self->version() - 1;
}

namespace {

// Calls inside are recorded, and seen by nobody else.
class Recording {
 public:
  Recording() : previous_(mode) {
    mode.grad = true;
    mode.inference = false;
    mode.interceptor = nullptr;
  }
  ~Recording() { mode = previous_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Mode previous_;
};

void set_strided_history(const Tensor& view, const Tensor& base) {
  const Dims sizes(view.sizes()), strides(view.strides());
  const Arg args[] = {base,         IntSpan(sizes), IntSpan(strides), view->offset(),
                      base.sizes(), base.strides(), base->offset()};
  auto node = Ref<Node>::adopt(OpNode::make(op_def<"_as_strided">(), args, &view, 1, {}));
  set_history(view, node.get(), 0);
}

}  // namespace

void refresh_view(const Tensor& view) {
  const Tensor base = Tensor::share(view->base());
  if (WISP_LIKELY(!differ_in_kind(base, view))) return set_strided_history(view, base);
  const Recording scope;
  if (is_complex(base.dtype())) return set_strided_history(view, ops::view_as_real(base));
  const Geometry parts(*view.impl(), true);
  const Tensor real = ops::as_strided(base, parts.sizes, parts.strides, parts.offset);
  const Arg args[] = {real};
  auto node = Ref<Node>::adopt(OpNode::make(op_def<"view_as_complex">(), args, &view, 1, {}));
  set_history(view, node.get(), 0);
}

Tensor clone_like(const Tensor& source, const Tensor& layout) {
  const bool dense = is_dense(layout.sizes(), layout.strides());
  const Dims strides = dense ? Dims(layout.strides()) : contiguous_strides(layout.sizes());
  Tensor copy = Tensor::empty_strided(layout.sizes(), strides, source.dtype(), source.device());
  return ops::copy_(copy, source);
}

void install_hooks() {
  autograd_hooks.record = record;
  autograd_hooks.check_write = [](const OpDef& op, const Tensor& self, bool) {
    check_write(op.shown.c_str(), self);
  };
  autograd_hooks.wrote = note_write;
  install_derivatives();
  install_chains();
}

}  // namespace wisp::autograd
