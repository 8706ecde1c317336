#include "dispatch/call.h"

#include <cstdio>

#include "dispatch/awaited.h"
#include "dispatch/deferred.h"
#include "dispatch/direct.h"
#include "dispatch/recording.h"

namespace wisp {

constinit WISP_THREAD_LOCAL Mode mode;
Host host;
AutogradHooks autograd_hooks;
Deferrer *putting_off = nullptr, *fusing = nullptr;
Awaiting* awaiting = nullptr;
int64_t (*held_by_deferred)(const Storage& storage) = nullptr;

void warn(const std::string& message) {
  if (mode.warnings) {
    mode.warnings->push_back(message);
  } else if (host.warn) {
    host.warn(message);
  } else {
    std::fprintf(stderr, "wisp: warning: %s\n", message.c_str());
  }
}

namespace {

// Kernels on fewer elements than this are over before another thread could use the lock.
constexpr int64_t unlock_threshold = 1 << 15;

bool wants_grad(const OpDef& op, const Arg* args) {
  for (uint32_t rest = op.differentiable; rest; rest &= rest - 1) {
    const Arg& arg = args[__builtin_ctz(rest)];
    if (arg.kind == ArgKind::tensor) {
      if (arg.as.tensor->requires_grad()) return true;
    } else if (arg.kind == ArgKind::tensors) {
      for (const Tensor& t : arg.tensors()) {
        if (t.defined() && t.requires_grad()) return true;
      }
    }
  }
  return false;
}

// The same of a composite, which has no derivatives of its own to ask.
bool any_requires_grad(const OpDef& op, const Arg* args) {
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].is_tensor() && args[i].as.tensor->requires_grad()) return true;
  }
  return false;
}

Tensor make(const TensorSpec& spec, bool later) {
  Tensor made;
  if (WISP_UNLIKELY(later)) {
    made = Tensor::promise(spec.sizes, spec.strides, spec.dtype);
  } else if (spec.strides.empty()) {
    made = Tensor::empty(spec.sizes, spec.dtype, spec.device);
  } else {
    made = Tensor::empty_strided(spec.sizes, spec.strides, spec.dtype, spec.device);
  }
  if (WISP_UNLIKELY(mode.inference)) made->set_inference(true);
  return made;
}

// Of an operator that only writes what it is given.
bool has_large_list(const OpDef& op, const Arg* args) {
  int64_t elements = 0;
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].kind != ArgKind::tensors) continue;
    for (const Tensor& t : args[i].tensors()) elements += t.numel();
  }
  return elements >= unlock_threshold;
}

// --- The device "meta": what is known of a result before it is computed is all there is.

template <class F>
void for_each_tensor(const OpDef& op, const Arg* args, F f) {
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].is_tensor()) f(args[i].tensor());
    if (args[i].kind != ArgKind::tensors) continue;
    for (const Tensor& t : args[i].tensors()) {
      if (t.defined()) f(t);
    }
  }
}

bool takes_meta(const OpDef& op, const Arg* args) {
  bool found = false;
  for_each_tensor(op, args, [&](const Tensor& t) { found |= t->is_meta(); });
  return found;
}

// Whether no kernel is to run; results of such calls have no values either.
bool shapes_only(const OpDef& op, const Arg* args) {
  return WISP_UNLIKELY(Storage::any_meta()) && takes_meta(op, args);
}

void infer_on(Infer& infer, bool shapes) {
  infer.op().infer(infer);
  if (!shapes || infer.op().has(trait::factory)) return;  // these know where they belong
  for (int i = 0; i < infer.count(); ++i) infer.out(i).device = {DeviceType::meta};
}

void check_targets(const OpDef& op, bool shapes, std::span<const Tensor> targets) {
  for (const Tensor& target : targets) {
    WISP_CHECK_KIND(not_implemented, !shapes || target->is_meta(), op.shown,
                    "(): Cannot copy out of meta tensor; no data! The tensor that is "
                    "written to lives on '",
                    to_string(target.device()), "'");
  }
}

// Before a kernel runs while others wait: they go first if it reads what they write, or writes what
// they read. It is done here because the host's lock may be needed.
void run_deferred_before(const OpDef& op, const Arg* args, std::span<const Tensor> written) {
  if (Storage::any_awaited()) awaiting->before(op, args, written);
  if (!Storage::any_lazy()) return;
  if (!written.empty() || op.sig.returns.empty() || op.has(trait::writes_inputs))
    Storage::run_lazy();
  for_each_tensor(op, args, [](const Tensor& t) {
    if (t->storage().is_pending()) Storage::run_lazy();
  });
}

// `writes`: the results are tensors that existed before.
void run_kernel(const OpDef& op, const Arg* args, Tensor* outs, DType compute, bool writes) {
  if (WISP_UNLIKELY(Storage::any_deferred()))
    run_deferred_before(op, args, {outs, writes ? op.sig.returns.size() : 0});
  const bool returns = !op.sig.returns.empty();
  const Device device = returns ? outs[0].device() : Device{};
  if (WISP_UNLIKELY(device.type == DeviceType::meta) || (!returns && shapes_only(op, args))) return;
  KernelFn kernel = op.kernels[static_cast<int>(device.type)];
  WISP_CHECK_KIND(not_implemented, kernel, op.shown, "(): no kernel for device '",
                  to_string(device), "'");
  bool large = returns ? outs[0].numel() >= unlock_threshold : has_large_list(op, args);
  for (int i = 0; i < op.operand_count && !large; ++i) {
    const Arg& arg = args[op.operands[i]];
    large = arg.is_tensor() && arg.as.tensor->numel() >= unlock_threshold;
  }
  HostUnlock unlock(large);
  kernel(Call(op, args, outs, compute));
}

// Who puts a kernel off; null if it is to run.
Deferrer* taker(const Infer& infer, const Arg* args, std::span<const Tensor> targets, bool shapes) {
  const OpDef& op = infer.op();
  if (Deferrer* const asked = mode.deferrer; WISP_UNLIKELY(asked != nullptr)) {
    if (Storage::any_awaited()) awaiting->before(op, args, targets);
    if (!shapes && asked->takes(infer, targets)) return asked;
    // Unless it has left now, because putting off gains nothing here: then this call is as others.
    if (mode.deferrer) return nullptr;
  }
  if (!op.has(trait::awaited) || shapes || !awaiting->takes(infer, targets)) return nullptr;
  return awaiting;
}

Tensor make_view(const Tensor& self, const ViewSpec& spec) {
  Tensor view = self.alias(spec.sizes, spec.strides, spec.offset);
  view->set_dtype(spec.dtype);
  TensorImpl* base = self->base();
  view->set_base(Ref<TensorImpl>::share(base ? base : self.impl()), mode.grad);
  view->autograd().view_version = view->version();
  return view;
}

// True if an interceptor took the call.
bool intercepted(const OpDef& op, const Arg* args, Form form, TensorList& outs) {
  Interceptor* interceptor = mode.interceptor;
  mode.interceptor = nullptr;
  struct Restore {
    Interceptor* previous;
    ~Restore() { mode.interceptor = previous; }
  } restore{interceptor};
  return interceptor->intercept(op, args, form, outs);
}

}  // namespace

void check_one_device(const OpDef& op, const Arg* args) {
  const TensorImpl *meta = nullptr, *other = nullptr;
  for_each_tensor(op, args, [&](const Tensor& t) {
    if (t->is_meta()) {
      meta = t.impl();
    } else if (t.ndim() > 0) {
      other = t.impl();
    }
  });
  WISP_CHECK(!meta || !other || &op == &op_def<"copy">(), op.shown,
             "(): Expected all tensors to be on the same device, but found at least two devices, ",
             "meta and cpu!");
}

void call(const OpDef& op, const Arg* args, TensorList& outs) {
  if (WISP_UNLIKELY(mode.interceptor) && intercepted(op, args, Form::functional, outs)) return;
  if (op.body) return op.body(Args(op, args), outs);
  const bool shapes = shapes_only(op, args);
  const bool at_once = op.direct && !shapes && !is_put_off(op, args);
  if (TensorImpl* made = at_once ? op.direct(op, args) : nullptr) {
    if (WISP_UNLIKELY(mode.inference)) made->set_inference(true);
    outs.push(Tensor::adopt(made));
  } else if (op.view) {
    outs.push(make_view(args[0].tensor(), op.view(Args(op, args))));
  } else if (op.views) {
    std::vector<ViewSpec> specs;
    op.views(Args(op, args), specs);
    for (const ViewSpec& spec : specs) outs.push(make_view(args[0].tensor(), spec));
  } else {
    Infer infer(op, args);
    infer_on(infer, shapes);
    Deferrer* const later = taker(infer, args, {}, shapes);
    for (int i = 0; i < infer.count(); ++i) outs.push(make(infer.out(i), later));
    if (WISP_UNLIKELY(later != nullptr)) {
      later->take(Call(op, args, outs.data(), infer.compute), infer.count());
    } else {
      run_kernel(op, args, outs.data(), infer.compute, false);
    }
  }
  if (mode.grad && wants_grad(op, args)) {
    autograd_hooks.record(op, args, outs.data(), outs.size(), Form::functional, {});
  }
}

namespace {

// Whether a kernel that works element by element may read `input` while it writes `out`.
bool safe_alias(const TensorImpl& input, const TensorImpl& out) {
  if (!share_memory(input, out)) return true;
  return input.address() == out.address() && input.dtype() == out.dtype() &&
         same(input.sizes(), out.sizes()) && same(input.strides(), out.strides());
}

bool inputs_allow(const OpDef& op, const Arg* args, const Tensor& out, bool elementwise) {
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    auto clashes = [&](const Tensor& t) {
      return t.defined() && (elementwise ? !safe_alias(*t.impl(), *out.impl())
                                         : share_memory(*t.impl(), *out.impl()));
    };
    if (args[i].kind == ArgKind::tensor && clashes(args[i].tensor())) return false;
    if (args[i].kind == ArgKind::tensors) {
      for (const Tensor& t : args[i].tensors()) {
        if (clashes(t)) return false;
      }
    }
  }
  return true;
}

void copy_into(const Tensor& target, const Tensor& source) {
  GradMode no_grad(false);
  const OpDef& copy = op_def<"copy">();
  const Arg args[] = {target, source, false};
  Infer infer(copy, args);
  infer_on(infer, false);
  Tensor out = target;
  if (Deferrer* const later = taker(infer, args, {&target, 1}, false)) {
    later->take(Call(copy, args, &out, infer.compute), 1);
  } else {
    run_kernel(copy, args, &out, infer.compute, true);
  }
}

// Writes the results into tensors that exist already; through temporaries where the kernel could
// not write there directly.
void write_into(const OpDef& op, const Arg* args, Infer& infer, bool shapes,
                std::span<const Tensor> targets) {
  const bool pointwise = op.has(trait::pointwise);
  const bool in_place_kernel = op.has(trait::writes_self);
  Deferrer* const later = taker(infer, args, targets, shapes);
  Tensor outs[Infer::max_outs];
  for (int i = 0; i < infer.count(); ++i) {
    const TensorSpec& spec = infer.out(i);
    const Tensor& target = targets[i];
    bool direct;
    if (in_place_kernel && target.is_same(args[0].tensor())) {
      direct = true;
    } else if (pointwise) {
      direct = inputs_allow(op, args, target, true);
    } else {
      direct = spec.dtype == target.dtype() && spec.strides.empty() && target.is_contiguous() &&
               inputs_allow(op, args, target, false);
    }
    outs[i] = direct ? target : make(spec, later);
  }
  if (WISP_UNLIKELY(later != nullptr)) {
    later->take(Call(op, args, outs, infer.compute), infer.count());
  } else {
    run_kernel(op, args, outs, infer.compute, true);
  }
  for (int i = 0; i < infer.count(); ++i) {
    if (!outs[i].is_same(targets[i])) copy_into(targets[i], outs[i]);
  }
}

void check_writable(const OpDef& op, const Tensor& target) {
  WISP_CHECK(target->storage().writable(), op.shown,
             "(): the tensor shares memory that is read-only; clone() it first");
  WISP_CHECK(
      target.is_contiguous() || !overlaps_itself(target.sizes(), target.strides()), op.shown,
      "(): unsupported operation: more than one element of the written-to tensor refers to a ",
      "single memory location. Please clone() the tensor before performing the operation.");
}

// Whether recording this in-place call keeps what self held before.
bool needs_original(const OpDef& op, const Arg* args) {
  for (const Vjp& rule : op.vjp) {
    const Arg& arg = args[rule.index];
    if ((rule.save_inputs & 1u) && arg.is_tensor() && arg.as.tensor->requires_grad()) return true;
  }
  return false;
}

Tensor private_copy(const Tensor& source) {
  Tensor copy =
      Tensor::empty_strided(source.sizes(), preserved_strides(source.sizes(), source.strides()),
                            source.dtype(), source.device());
  copy_into(copy, source);
  return copy;
}

// Forms without a kernel of their own: compute, then copy; the copy is what autograd sees.
void body_in_place(const OpDef& op, const Arg* args) {
  TensorList outs;
  if (mode.grad && any_requires_grad(op, args)) {
    // What the body saves of self must outlive the write.
    const Tensor before = invoke<"clone">(args[0].tensor());
    std::vector<Arg> copied(args, args + op.sig.params.size());
    copied[0] = Arg(before);
    call(op, copied.data(), outs);
  } else {
    call(op, args, outs);
  }
  WISP_CHECK(same(outs[0].sizes(), args[0].tensor().sizes()), op.shown, "_(): output with shape ",
             args[0].tensor().sizes(), " doesn't match the broadcast shape ", outs[0].sizes());
  WISP_CHECK(can_cast(outs[0].dtype(), args[0].tensor().dtype()), "result type ",
             legacy_name(outs[0].dtype()), " can't be cast to the desired output type ",
             legacy_name(args[0].tensor().dtype()));
  invoke_in_place<"copy">(args[0].tensor(), outs[0]);
}

// squeeze_ and the like: the tensor becomes the view, with the view's history.
void view_in_place(const OpDef& op, const Arg* args) {
  const Tensor& self = args[0].tensor();
  const bool grad = mode.grad && wants_grad(op, args);
  Tensor view = make_view(self, op.view(Args(op, args)));
  if (grad) autograd_hooks.record(op, args, &view, 1, Form::functional, {});
  self->set_geometry(view.sizes(), view.strides(), view->offset());
  autograd_hooks.wrote(op, self);
  if (!grad) return;
  AutogradSlot& slot = self->autograd();
  slot.grad_fn = view->autograd().grad_fn;
  slot.output = view->autograd().output;
  slot.view_version = self->version();
}

}  // namespace

void call_in_place(const OpDef& op, const Arg* args) {
  TensorList none;
  if (WISP_UNLIKELY(mode.interceptor) && intercepted(op, args, Form::in_place, none)) return;
  if (op.body) return body_in_place(op, args);
  const Tensor& self = args[0].tensor();
  const bool grad = mode.grad && wants_grad(op, args);
  autograd_hooks.check_write(op, self, mode.grad);
  if (op.view) return view_in_place(op, args);
  check_writable(op, self);
  const bool shapes = shapes_only(op, args);
  check_targets(op, shapes, {&self, 1});
  Infer infer(op, args);
  infer_on(infer, shapes);
  const TensorSpec& spec = infer.out();
  WISP_CHECK(same(spec.sizes, self.sizes()), op.shown, "_(): output with shape ", self.sizes(),
             " doesn't match the broadcast shape ", spec.sizes);
  WISP_CHECK(can_cast(spec.dtype, self.dtype()), "result type ", legacy_name(spec.dtype),
             " can't be cast to the desired output type ", legacy_name(self.dtype()));
  Tensor original;
  if (WISP_UNLIKELY(grad) && needs_original(op, args)) original = private_copy(self);
  write_into(op, args, infer, shapes, {&self, 1});
  autograd_hooks.wrote(op, self);
  if (WISP_UNLIKELY(grad)) {
    Tensor out = self;
    autograd_hooks.record(op, args, &out, 1, Form::in_place, original);
  }
}

namespace {

bool out_may_cast(const OpDef& op) {
  return (op.traits & (trait::pointwise | trait::factory | trait::out_casts | trait::composite)) ||
         op.sig.find("dtype") >= 0;
}

void refuse_grad(const OpDef& op, bool wanted) {
  WISP_CHECK(
      !wanted || !mode.grad, op.shown,
      "(): functions with out=... arguments don't support automatic differentiation, but one of ",
      "the arguments requires grad.");
}

// A dtype that is asked for is that of `out`; of a complex one that may be its lengths, as norms
// are.
void check_asked_dtype(const OpDef& op, const Arg* args, const Tensor& target) {
  const int at = op.sig.find("dtype");
  if (at < 0 || args[at].kind != ArgKind::dtype) return;
  const DType asked = args[at].dtype;
  const bool lengths =
      is_complex(asked) && !op.has(trait::factory) && to_real(asked) == target.dtype();
  WISP_CHECK(asked == target.dtype() || lengths, op.shown, "(): Expected out tensor to have dtype ",
             name(asked), ", but got ", name(target.dtype()), " instead");
}

void fit(const OpDef& op, const Tensor& target, const TensorSpec& spec) {
  WISP_CHECK(out_may_cast(op) || spec.dtype == target.dtype(), op.shown,
             "(): Expected out tensor to have dtype ", name(spec.dtype), ", but got ",
             name(target.dtype()), " instead");
  WISP_CHECK(can_cast(spec.dtype, target.dtype()), op.shown, "(): result type ",
             legacy_name(spec.dtype), " can't be cast to the desired output type ",
             legacy_name(target.dtype()));
  refuse_grad(op, target.requires_grad());
  if (same(target.sizes(), spec.sizes)) return;
  if (target.numel() != 0) {
    warn(str("An output with one or more elements was resized since it had shape ", target.sizes(),
             ", which does not match the required output shape ", spec.sizes,
             ". Resize it first, or pass out with the right shape."));
  }
  resize(target, spec.sizes);
  if (!spec.strides.empty() &&
      is_dense(spec.sizes, spec.strides))  // the order that a new result has
    target->set_geometry(spec.sizes, spec.strides, target->offset());
}

// A range is a sequence of numbers; an `out` of as many elements takes them in its own shape.
bool fills_any_shape(const OpDef& op) { return op.has(trait::factory) && op.sig.find("end") >= 0; }

// Whether results of this dtype, which are computed in a wider one, have to be rounded first: `out`
// does not change what is computed.
bool is_rounded_for(DType result, DType out) {
  return result != out && (result == DType::float16 || result == DType::bfloat16);
}

void out_by_copy(const OpDef& op, const Arg* args, std::span<const Tensor> targets) {
  TensorList outs;
  call(op, args, outs);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (fills_any_shape(op) && outs[i].numel() == targets[i].numel())
      outs[i] = invoke<"view">(outs[i], targets[i].sizes());
    refuse_grad(op, outs[i].requires_grad());  // of a composite, only now is that known
    TensorSpec spec;
    spec.sizes = Dims(outs[i].sizes());
    spec.dtype = outs[i].dtype();
    check_writable(op, targets[i]);
    fit(op, targets[i], spec);
    if (WISP_UNLIKELY(mode.interceptor != nullptr)) {
      invoke_in_place<"copy">(targets[i], outs[i]);
      continue;
    }
    copy_into(targets[i], outs[i]);
    autograd_hooks.wrote(op, targets[i]);
  }
}

// What makes tensors from nothing makes them of the dtype of `out`, unless another is asked for.
std::vector<Arg> with_dtype_of(const OpDef& op, const Arg* args, const Tensor& out) {
  std::vector<Arg> result(args, args + op.sig.params.size());
  const int at = op.sig.find("dtype");
  if (at >= 0 && args[at].is_none()) result[static_cast<size_t>(at)] = Arg(out.dtype());
  return result;
}

}  // namespace

constinit WISP_THREAD_LOCAL bool out_given = false;

void call_out(const OpDef& op, const Arg* args, std::span<const Tensor> targets) {
  check_asked_dtype(op, args, targets[0]);
  std::vector<Arg> typed;
  if (op.has(trait::factory)) {
    typed = with_dtype_of(op, args, targets[0]);
    args = typed.data();
  }
  refuse_grad(op, wants_grad(op, args));
  if (WISP_UNLIKELY(mode.interceptor != nullptr)) out_given = true;
  if (!op.kernel || WISP_UNLIKELY(mode.interceptor != nullptr) ||
      (fills_any_shape(op) && targets[0].ndim() != 1)) {
    return out_by_copy(op, args, targets);
  }
  const bool shapes = shapes_only(op, args);
  check_targets(op, shapes, targets);
  Infer infer(op, args);
  infer_on(infer, shapes);
  if (op.has(trait::pointwise) && is_rounded_for(infer.out(0).dtype, targets[0].dtype()))
    return out_by_copy(op, args, targets);
  for (int i = 0; i < infer.count(); ++i) {
    autograd_hooks.check_write(op, targets[i], false);
    check_writable(op, targets[i]);
    const bool resizes = !same(targets[i].sizes(), infer.out(i).sizes);
    WISP_CHECK(!resizes || inputs_allow(op, args, targets[i], false), op.shown,
               "(): unsupported operation: some elements of the input tensor and the written-to ",
               "tensor, which would have to be resized, refer to a single memory location. Please ",
               "clone() the tensor before performing the operation.");
    fit(op, targets[i], infer.out(i));
  }
  write_into(op, args, infer, shapes, targets);
  for (int i = 0; i < infer.count(); ++i) autograd_hooks.wrote(op, targets[i]);
}

}  // namespace wisp
