#include "autograd/record.h"

#include <cstring>
#include <new>

#include "autograd/engine.h"
#include "autograd/saved_hooks.h"
#include "autograd/write_note.h"
#include "base/memory.h"
#include "ops/ops.h"

namespace wisp::autograd {

namespace {

std::string at_place(const Place& place) {
  return place.code && host.describe ? " at " + host.describe(place) : std::string();
}

bool wants(const Arg& arg) {
  if (WISP_LIKELY(arg.is_tensor())) return arg.as.tensor->requires_grad();
  if (arg.kind != ArgKind::tensors) return false;
  for (const Tensor& t : arg.tensors()) {
    if (t.defined() && t.requires_grad()) return true;
  }
  return false;
}

size_t align8(size_t n) { return (n + 7) & ~size_t(7); }

}  // namespace

// Sizes of the parts of an OpNode: edges, then arguments, saved results and the contents of lists.
struct OpNode::Layout {
  uint32_t active = 0;
  uint32_t inputs = 0, shapes = 0, outputs = 0;  // what to save, as bit masks
  size_t edges = 0;
  size_t extra = 0;
  size_t args_at = 0, outputs_at = 0, extra_at = 0, bytes = 0;

  Layout(const OpDef& op, const Arg* args, const Tensor* outs) {
    const bool pointwise = op.has(trait::pointwise);
    for (size_t r = 0; r < op.vjp.size(); ++r) {
      const Vjp& rule = op.vjp[r];
      const Arg& arg = args[rule.index];
      edges += arg.kind == ArgKind::tensors ? arg.size : 1;
      if (!wants(arg)) continue;
      active |= 1u << r;
      inputs |= rule.save_inputs;
      shapes |= rule.save_shapes;
      outputs |= rule.save_outputs;
      if (pointwise && !same(arg.as.tensor->sizes(), outs[0].sizes())) shapes |= 1u << rule.index;
    }
    shapes &= ~inputs;
    args_at = outputs_at = sizeof(OpNode) + edges * sizeof(Edge);
    if (inputs | shapes) {
      for (size_t i = 0; i < op.sig.params.size(); ++i) extra += extra_bytes(args[i], i);
      outputs_at += op.sig.params.size() * sizeof(Arg);
    }
    extra_at = outputs_at + static_cast<size_t>(__builtin_popcount(outputs)) * sizeof(SavedOutput);
    bytes = extra_at + extra;
  }

  size_t extra_bytes(const Arg& arg, size_t i) const {
    if ((shapes >> i) & 1) return shape_bytes(arg);
    if (!((inputs >> i) & 1)) return 0;
    switch (arg.kind) {
      case ArgKind::integers:
      case ArgKind::reals:
        return arg.size * 8;
      case ArgKind::string:
        return align8(arg.size);
      case ArgKind::tensors:
        return arg.size * 8 + align8(arg.size * 4);  // pointers, versions
      default:
        return 0;
    }
  }
  static size_t shape_bytes(const Arg& arg) {
    if (arg.is_tensor()) return static_cast<size_t>(arg.as.tensor->ndim()) * 8;
    if (arg.kind != ArgKind::tensors) return 0;
    // Sizes of all tensors of a list, each with its number of dimensions in front.
    size_t bytes = 0;
    for (const Tensor& t : arg.tensors()) bytes += (1 + static_cast<size_t>(t.ndim())) * 8;
    return bytes;
  }
};

OpNode::OpNode(const OpDef& op, uint32_t outputs, const Layout& layout)
    : Node(outputs),
      op_(&op),
      bytes_(static_cast<uint32_t>(layout.bytes)),
      active_(layout.active),
      saved_output_count_(static_cast<uint8_t>(__builtin_popcount(layout.outputs))),
      has_args_((layout.inputs | layout.shapes) != 0),
      args_at_(static_cast<uint32_t>(layout.args_at)),
      outputs_at_(static_cast<uint32_t>(layout.outputs_at)) {
  edge_count_ = static_cast<uint32_t>(layout.edges);
  edges_ = reinterpret_cast<Edge*>(this + 1);
  for (size_t i = 0; i < edge_count_; ++i) new (&edges_[i]) Edge;
  for (size_t i = 0; has_args_ && i < op.sig.params.size(); ++i) new (&args()[i]) Arg;
  for (size_t i = 0; i < saved_output_count_; ++i) new (&saved_outputs()[i]) SavedOutput;
}

OpNode* OpNode::make(const OpDef& op, const Arg* args, const Tensor* outs, size_t count,
                     const Tensor& original) {
  const Layout layout(op, args, outs);
  auto node = Ref<OpNode>::adopt(new (memory::allocate(layout.bytes))
                                     OpNode(op, static_cast<uint32_t>(count), layout));
  node->connect(args, outs);
  if (layout.inputs | layout.shapes | layout.outputs) node->save(args, outs, original, layout);
  if (WISP_UNLIKELY(saved_hooks != nullptr) && node->saves_tensors_) node->pack_saved();
  node->finish();
  return node.detach();
}

OpNode::~OpNode() {
  release_saved();
  for (Edge& edge : edges()) edge.~Edge();
}

void OpNode::free_memory() {
  const size_t bytes = bytes_;
  this->~OpNode();
  memory::deallocate(this, bytes);
}

void OpNode::connect_list(const Arg& arg, Edge*& edge) {
  for (const Tensor& t : arg.tensors()) {
    if (t.defined() && t.requires_grad()) *edge = grad_edge(t);
    ++edge;
  }
}

void OpNode::connect(const Arg* args, const Tensor* outs) {
  Edge* edge = edges_;
  const bool pointwise = op_->has(trait::pointwise);
  for (size_t r = 0; r < op_->vjp.size(); ++r) {
    const Arg& arg = args[op_->vjp[r].index];
    if (WISP_UNLIKELY(arg.kind == ArgKind::tensors)) {
      connect_list(arg, edge);
      continue;
    }
    if ((active_ >> r) & 1) {
      *edge = grad_edge(arg.tensor());
      edge->broadcast = pointwise && !same(arg.as.tensor->sizes(), outs[0].sizes());
    }
    ++edge;
  }
}

namespace {

void keep_shape(const Arg& from, Arg& to, char*& extra) {
  auto* sizes = reinterpret_cast<int64_t*>(extra);
  to.kind = ArgKind::shape;
  to.as.integers = sizes;
  if (from.is_tensor()) {
    const IntSpan source = from.as.tensor->sizes();
    to.dtype = from.as.tensor->dtype();
    to.size = static_cast<uint32_t>(source.size());
    std::memcpy(sizes, source.data(), source.size_bytes());
    extra += source.size_bytes();
    return;
  }
  for (const Tensor& t : from.tensors()) {
    *sizes++ = t.ndim();
    std::memcpy(sizes, t.sizes().data(), t.sizes().size_bytes());
    sizes += t.ndim();
  }
  to.dtype = from.size ? from.tensors()[0].dtype() : DType::float32;
  to.size = static_cast<uint32_t>((reinterpret_cast<char*>(sizes) - extra) / 8);
  extra = reinterpret_cast<char*>(sizes);
}

void watch(const TensorImpl& tensor) { tensor.storage().watch(); }

void keep_tensor(TensorImpl* source, Arg& to) {
  WISP_CHECK(!source->is_inference(),
             "Inference tensors cannot be saved for backward. To work around ",
             "you can make a clone to get a normal tensor and use it in autograd.");
  source->retain();
  watch(*source);
  to.kind = ArgKind::tensor;
  to.size = source->version();
  to.as.tensor = source;
}

void keep_list(const Arg& from, Arg& to, char*& extra) {
  auto** tensors = reinterpret_cast<TensorImpl**>(extra);
  auto* versions = reinterpret_cast<uint32_t*>(extra + from.size * 8);
  extra += from.size * 8 + align8(from.size * 4);
  for (uint32_t i = 0; i < from.size; ++i) {
    Arg one;
    if (from.as.tensors[i]) keep_tensor(from.as.tensors[i], one);
    tensors[i] = from.as.tensors[i];
    versions[i] = one.size;
  }
  to = from;
  to.as.tensors = tensors;
}

template <class T>
void keep_bytes(const T*& field, size_t bytes, char*& extra) {
  if (bytes > 0) std::memcpy(extra, field, bytes);
  field = reinterpret_cast<const T*>(extra);
  extra += align8(bytes);
}

}  // namespace

void OpNode::save(const Arg* from, const Tensor* outs, const Tensor& original,
                  const Layout& layout) {
  char* extra = reinterpret_cast<char*>(this) + layout.extra_at;
  for (size_t i = 0; i < op_->sig.params.size() && has_args_; ++i) {
    Arg& to = args()[i];
    if ((layout.shapes >> i) & 1) {
      if (from[i].is_tensor() || from[i].kind == ArgKind::tensors) keep_shape(from[i], to, extra);
      continue;
    }
    if (!((layout.inputs >> i) & 1)) continue;
    if (from[i].kind == ArgKind::tensor) {
      keep_tensor(i == 0 && original.defined() ? original.impl() : from[i].as.tensor, to);
    } else if (from[i].kind == ArgKind::tensors) {
      keep_list(from[i], to, extra);
    } else {
      to = from[i];
      if (to.kind == ArgKind::integers) keep_bytes(to.as.integers, to.size * 8, extra);
      if (to.kind == ArgKind::reals) keep_bytes(to.as.reals, to.size * 8, extra);
      if (to.kind == ArgKind::string) keep_bytes(to.as.string, to.size, extra);
    }
  }
  for (size_t i = 0; i < op_->sig.params.size() && has_args_; ++i) {
    saves_tensors_ |= args()[i].kind == ArgKind::tensor || args()[i].kind == ArgKind::tensors;
  }
  saves_tensors_ |= saved_output_count_ > 0;
  size_t next = 0;
  for (uint32_t which = 0; layout.outputs >> which; ++which) {
    if (!((layout.outputs >> which) & 1)) continue;
    SavedOutput& saved = saved_outputs()[next++];
    // Tangents come to a result after it was recorded: the alias must share them.
    if (WISP_UNLIKELY(mode.transforms > 0)) outs[which]->make_layers();
    saved.tensor = outs[which].alias();
    saved.version = outs[which]->version();
    saved.which = which;
    watch(*outs[which].impl());
  }
}

void OpNode::release_saved() {
  if (released_) return;
  released_ = true;
  for (size_t i = 0; has_args_ && i < op_->sig.params.size(); ++i) {
    Arg& arg = args()[i];
    if (arg.kind == ArgKind::tensor) {
      if (arg.as.tensor) arg.as.tensor->release();
      arg.kind = ArgKind::none;
    } else if (arg.kind == ArgKind::tensors) {
      for (uint32_t t = 0; t < arg.size; ++t) {
        if (arg.as.tensors[t]) arg.as.tensors[t]->release();
      }
      arg.kind = ArgKind::none;
    }
  }
  for (size_t i = 0; i < saved_output_count_; ++i) saved_outputs()[i].~SavedOutput();
  if (NodeExtras* extras = extras_if_any()) extras->packed.reset();
}

// --- Saved tensors in the hands of hooks.

struct OpNode::PackedTensors : Object {
  struct Slot {
    int param;     // -1 for results
    int position;  // in a list, or among the saved results
    PackedTensor tensor;
  };
  std::vector<Slot> slots;
};

struct OpNode::Unpacked {
  std::vector<Arg> args;
  std::vector<Tensor> tensors;
  std::vector<std::vector<TensorImpl*>> lists;
};

void OpNode::pack_saved() {
  auto packed = Ref<PackedTensors>::adopt(new PackedTensors);
  const auto take = [&](TensorImpl*& from, int param, int position) {
    if (!from) return;
    packed->slots.push_back({param, position, PackedTensor(Tensor::share(from))});
    std::exchange(from, nullptr)->release();
  };
  const int params = has_args_ ? static_cast<int>(op_->sig.params.size()) : 0;
  for (int i = 0; i < params; ++i) {
    Arg& arg = args()[i];
    if (arg.kind == ArgKind::tensor) take(arg.as.tensor, i, 0);
    if (arg.kind != ArgKind::tensors) continue;
    auto** list = const_cast<TensorImpl**>(arg.as.tensors);
    for (uint32_t t = 0; t < arg.size; ++t) take(list[t], i, static_cast<int>(t));
  }
  for (int i = 0; i < saved_output_count_; ++i) {
    Tensor& tensor = saved_outputs()[i].tensor;
    packed->slots.push_back({-1, i, PackedTensor(tensor)});
    tensor.reset();
  }
  extras().packed = Ref<Object>::adopt(packed.detach());
}

const Arg* OpNode::unpack_from_hooks(const PackedTensors& packed, TensorList& outs,
                                     std::unique_ptr<Unpacked>& kept) {
  kept = std::make_unique<Unpacked>();
  kept->args.resize(detail::max_params);
  kept->lists.resize(detail::max_params);
  for (size_t i = 0; has_args_ && i < op_->sig.params.size(); ++i) {
    Arg& arg = kept->args[i] = args()[i];
    if (arg.kind != ArgKind::tensors) continue;
    kept->lists[i].assign(arg.as.tensors, arg.as.tensors + arg.size);
    arg.as.tensors = kept->lists[i].data();
  }
  for (const auto& [param, position, tensor] : packed.slots) {
    Tensor unpacked = tensor.unpack();
    if (param < 0) {
      unpack_output(outs, saved_outputs()[position].which, unpacked);
    } else if (kept->args[param].kind == ArgKind::tensor) {
      kept->args[param].as.tensor = unpacked.impl();
    } else {
      kept->lists[param][position] = unpacked.impl();
    }
    kept->tensors.push_back(std::move(unpacked));
  }
  return kept->args.data();
}

void check_version(const TensorImpl& tensor, uint32_t version, const Node& saver) {
  if (WISP_LIKELY(tensor.version() == version)) return;
  std::string message = str(
      "one of the variables needed for gradient computation has been modified by an inplace operation: ",
      "[wisp.", legacy_name(tensor.dtype()), "Tensor ", tensor.sizes(), "] is at version ",
      tensor.version(), "; expected version ", version, " instead. It was saved by ", saver.name(),
      at_place(saver.place()));
  if (const auto* note = static_cast<const WriteNote*>(tensor.storage().last_write().get())) {
    message += str(", and overwritten by ", note->op->shown, "_", at_place(note->place));
  }
  throw Error(ErrorKind::runtime,
              message + ". Use the out-of-place form there, or clone() the tensor first.");
}

void fail_released(const Node& saver) {
  fail(
      ErrorKind::runtime,
      "Trying to backward through the graph a second time (or to read saved tensors after they have ",
      "already been freed): what ", saver.name(), " saved", at_place(saver.place()),
      " has been freed by the first backward. Likely causes: backward() is called twice on the same ",
      "loss (Specify retain_graph=True in the first call), or a tensor kept from an earlier ",
      "iteration, such as a hidden state, is used again (detach() it between iterations).");
}

void OpNode::unpack_output(TensorList& outs, uint32_t which, const Tensor& tensor) {
  if (outs.size() <= which) outs.resize(which + 1);
  if (WISP_UNLIKELY(mode.grad) && is_differentiable(tensor.dtype())) {
    outs[which] = tensor.alias();
    set_history(outs[which], this, which);
  } else {
    outs[which] = tensor;
  }
}

const Arg* OpNode::unpack(TensorList& outs, std::unique_ptr<Unpacked>& kept) {
  const NodeExtras* extras = extras_if_any();
  if (WISP_UNLIKELY(extras && extras->packed)) {
    return unpack_from_hooks(static_cast<const PackedTensors&>(*extras->packed), outs, kept);
  }
  for (size_t i = 0; i < saved_output_count_; ++i) {
    const SavedOutput& saved = saved_outputs()[i];
    check_version(*saved.tensor.impl(), saved.version, *this);
    unpack_output(outs, saved.which, saved.tensor);
  }
  static const Arg nothing[detail::max_params];
  if (!has_args_) return nothing;
  for (size_t i = 0; i < op_->sig.params.size(); ++i) {
    const Arg& arg = args()[i];
    if (arg.kind == ArgKind::tensor) {
      check_version(*arg.as.tensor, arg.size, *this);
    } else if (arg.kind == ArgKind::tensors) {
      const auto* versions = reinterpret_cast<const uint32_t*>(arg.as.tensors + arg.size);
      for (uint32_t t = 0; t < arg.size; ++t) {
        if (arg.as.tensors[t]) check_version(*arg.as.tensors[t], versions[t], *this);
      }
    }
  }
  return args();
}

Tensor OpNode::fit(Tensor grad, const Edge& edge, const Arg& arg) const {
  if (!grad.defined()) return grad;
  if (is_complex(grad.dtype()) && !is_complex(edge.dtype)) grad = ops::real(grad);
  if (edge.broadcast) {
    grad =
        ops::sum_to_size(grad, arg.kind == ArgKind::shape ? arg.integers() : arg.tensor().sizes());
  }
  return grad.dtype() == edge.dtype ? grad : ops::to(grad, edge.dtype);
}

void OpNode::apply(TensorList& grads, TensorList& results) {
  if (WISP_UNLIKELY(released_) && saves_tensors_) fail_released(*this);
  TensorList outs;
  std::unique_ptr<Unpacked> kept;
  const Arg* args = unpack(outs, kept);
  const Backward context(*op_, args, outs.data(), grads.data(), static_cast<int>(grads.size()));
  if (op_->joint_vjp && !rules_are_differentiated()) return apply_joint(context, args, results);
  size_t at = 0;
  for (size_t r = 0; r < op_->vjp.size(); ++r) {
    const Vjp& rule = op_->vjp[r];
    if (rule.list_rule) {
      at = apply_list(rule, context, at, results);
      continue;
    }
    if (is_wanted(edges_[at])) results[at] = fit(rule.rule(context), edges_[at], args[rule.index]);
    ++at;
  }
}

bool OpNode::is_wanted(const Edge& edge) const {
  return edge.node && (WISP_LIKELY(!backward_is_partial) || edge_is_needed(edge));
}

void OpNode::apply_joint(const Backward& context, const Arg* args, TensorList& results) {
  constexpr size_t most = detail::max_params;
  bool wanted[most];
  Tensor grads[most];
  const size_t count = op_->vjp.size();
  for (size_t i = 0; i < count; ++i) wanted[i] = is_wanted(edges_[i]);
  op_->joint_vjp(context, {wanted, count}, {grads, count});
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i]) results[i] = fit(std::move(grads[i]), edges_[i], args[op_->vjp[i].index]);
  }
}

size_t OpNode::apply_list(const Vjp& rule, const Backward& context, size_t at,
                          TensorList& results) {
  const size_t count = edge_count_ - at - (op_->vjp.size() - 1 - (&rule - op_->vjp.data()));
  bool wanted[64];
  std::vector<char> many;
  bool* flags = wanted;
  if (count > 64) {
    many.resize(count);
    flags = reinterpret_cast<bool*>(many.data());
  }
  for (size_t i = 0; i < count; ++i) {
    flags[i] = is_wanted(edges_[at + i]);
  }
  std::vector<Tensor> grads(count);
  if ((active_ >> (&rule - op_->vjp.data())) & 1) {
    rule.list_rule(context, {flags, count}, grads);
  }
  for (size_t i = 0; i < count; ++i)
    results[at + i] = fit(std::move(grads[i]), edges_[at + i], Arg());
  return at + count;
}

bool OpNode::declares(std::string_view name) const {
  return name == "result" ? saved_output_count_ > 0 : op_->sig.find(name) >= 0;
}

Arg OpNode::saved(std::string_view name, std::vector<Tensor>& keep) {
  if (released_) fail_released(*this);
  TensorList outs;
  std::unique_ptr<Unpacked> kept;
  GradMode grad(true);
  const Arg* args = unpack(outs, kept);
  if (name == "result") {
    keep = {outs[saved_outputs()[0].which]};
    return Arg(keep[0]);
  }
  Arg arg = args[op_->sig.find(name)];
  if (arg.is_tensor()) {
    keep = {arg.tensor()};
  } else if (arg.kind == ArgKind::tensors) {
    keep.assign(arg.tensors().begin(), arg.tensors().end());
    arg = Arg(std::span<const Tensor>(keep));
  }
  return arg;
}

}  // namespace wisp::autograd
