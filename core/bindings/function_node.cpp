#include "bindings/function_node.h"

#include <algorithm>
#include <structmember.h>

#include "autograd/engine.h"
#include "autograd/record.h"
#include "bindings/node_object.h"
#include "bindings/saved_tensor.h"
#include "bindings/tensor_object.h"
#include "ops/ops.h"
#include "transform/forward.h"

namespace wisp::python {

namespace {

using autograd::Edge;
using autograd::Node;

// The ctx of forward() and backward(); also the Python object of the node.
struct ContextObject {
  PyObject_HEAD;
  PyObject* dict;
  FunctionNode* node;       // not owned: the node owns the context
  PyObject* to_save;        // tuple given to save_for_backward
  PyObject* forward_saved;  // tuple given to save_for_forward
  bool in_jvp;              // jvp() is running
  PyObject* dirty;
  PyObject* non_differentiable;
  PyObject* needs_input_grad;
  std::vector<SavedTensor>* saved;
  bool materialize;
  bool freed;
};

PyTypeObject* context_type = nullptr;

ContextObject* ctx_of(PyObject* self) { return reinterpret_cast<ContextObject*>(self); }

int ctx_clear(PyObject* self) {
  ContextObject* ctx = ctx_of(self);
  Py_CLEAR(ctx->dict);
  Py_CLEAR(ctx->to_save);
  Py_CLEAR(ctx->forward_saved);
  Py_CLEAR(ctx->dirty);
  Py_CLEAR(ctx->non_differentiable);
  Py_CLEAR(ctx->needs_input_grad);
  return 0;
}

int ctx_traverse(PyObject* self, visitproc visit, void* arg) {
  ContextObject* ctx = ctx_of(self);
  Py_VISIT(ctx->dict);
  Py_VISIT(ctx->to_save);
  Py_VISIT(ctx->forward_saved);
  Py_VISIT(ctx->dirty);
  Py_VISIT(ctx->non_differentiable);
  Py_VISIT(ctx->needs_input_grad);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

void ctx_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  ctx_clear(self);
  delete ctx_of(self)->saved;
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* ctx_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  ctx_of(self)->saved = new std::vector<SavedTensor>;
  ctx_of(self)->materialize = true;
  return self;
}

PyObject* set_tuple(PyObject*& field, PyObject* args) {
  Py_INCREF(args);
  Py_XSETREF(field, args);
  Py_RETURN_NONE;
}
PyObject* save_for_backward(PyObject* self, PyObject* args) {
  return set_tuple(ctx_of(self)->to_save, args);
}
PyObject* save_for_forward(PyObject* self, PyObject* args) {
  return set_tuple(ctx_of(self)->forward_saved, args);
}
PyObject* mark_dirty(PyObject* self, PyObject* args) {
  return set_tuple(ctx_of(self)->dirty, args);
}
PyObject* mark_non_differentiable(PyObject* self, PyObject* args) {
  return set_tuple(ctx_of(self)->non_differentiable, args);
}
PyObject* set_materialize_grads(PyObject* self, PyObject* value) {
  return guarded([&] {
    ctx_of(self)->materialize = truth_of(value);
    return none();
  });
}

FunctionNode& node_of(ContextObject* ctx) {
  WISP_CHECK(ctx->node, "this function's graph node no longer exists");
  return *ctx->node;
}

PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    ContextObject* ctx = ctx_of(self);
    if (ctx->in_jvp && ctx->forward_saved) {
      Py_INCREF(ctx->forward_saved);
      return ctx->forward_saved;
    }
    if (!ctx->node) {  // still inside forward, or nothing required grad
      if (!ctx->to_save) return must(PyTuple_New(0));
      Py_INCREF(ctx->to_save);
      return ctx->to_save;
    }
    WISP_CHECK(
        !ctx->freed, "Trying to backward through the graph a second time: what ", ctx->node->name(),
        " saved has been freed by the first backward. Pass retain_graph=True to the first call, or detach() ",
        "tensors kept from an earlier iteration.");
    Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(ctx->saved->size())));
    for (size_t i = 0; i < ctx->saved->size(); ++i) {
      const SavedTensor& saved = (*ctx->saved)[i];
      Tensor tensor = saved.unpack(*ctx->node);
      if (saved.output >= 0) {
        tensor = tensor.alias();
        autograd::set_history(tensor, ctx->node, static_cast<uint32_t>(saved.output));
      }
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(tensor)));
    }
    return tuple.release();
  });
}

PyObject* needs_input_grad(PyObject* self, void*) {
  PyObject* value = ctx_of(self)->needs_input_grad;
  if (!value) return PyTuple_New(0);
  Py_INCREF(value);
  return value;
}
PyObject* get_materialize(PyObject* self, void*) { return boolean(ctx_of(self)->materialize); }
PyObject* ctx_name(PyObject* self, PyObject*) {
  return guarded([&] { return must(PyUnicode_FromString(node_of(ctx_of(self)).name().c_str())); });
}
PyObject* ctx_next(PyObject* self, void*) {
  return guarded([&] { return next_functions(node_of(ctx_of(self))); });
}
PyObject* ctx_register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] { return register_node_hook(node_of(ctx_of(self)), callable); });
}
PyObject* ctx_register_prehook(PyObject* self, PyObject* callable) {
  return guarded([&] { return register_node_prehook(node_of(ctx_of(self)), callable); });
}
PyObject* ctx_sequence(PyObject* self, PyObject*) {
  return guarded(
      [&] { return must(PyLong_FromUnsignedLongLong(node_of(ctx_of(self)).sequence())); });
}
PyObject* ctx_metadata(PyObject* self, void*) {
  return guarded([&] {
    const Ref dict = owned(PyObject_GenericGetDict(self, nullptr));
    PyObject* found = PyDict_GetItemString(dict.get(), "_metadata");
    if (!found) {
      const Ref fresh = owned(PyDict_New());
      must_succeed(PyDict_SetItemString(dict.get(), "_metadata", fresh.get()));
      found = fresh.get();
    }
    Py_INCREF(found);
    return found;
  });
}

PyMethodDef methods[] = {
    {"save_for_backward", save_for_backward, METH_VARARGS,
     "Keeps tensors for backward(), where saved_tensors gives them."},
    {"save_for_forward", save_for_forward, METH_VARARGS, "Keeps tensors for jvp()."},
    {"mark_dirty", mark_dirty, METH_VARARGS, "Says which inputs forward() changed in place."},
    {"mark_non_differentiable", mark_non_differentiable, METH_VARARGS,
     "Says which outputs have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "Whether backward() gets zeros (True) or None for absent gradients."},
    {"name", ctx_name, METH_NOARGS, nullptr},
    {"register_hook", ctx_register_hook, METH_O, nullptr},
    {"register_prehook", ctx_register_prehook, METH_O, nullptr},
    {"_sequence_nr", ctx_sequence, METH_NOARGS, nullptr},
    {}};
PyGetSetDef getset[] = {
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward() was given.", nullptr},
    {"saved_variables", saved_tensors, nullptr, nullptr, nullptr},
    {"needs_input_grad", needs_input_grad, nullptr,
     "Per argument of forward(), whether it needs a gradient.", nullptr},
    {"materialize_grads", get_materialize, nullptr, nullptr, nullptr},
    {"next_functions", ctx_next, nullptr, nullptr, nullptr},
    {"metadata", ctx_metadata, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(ContextObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(ctx_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(ctx_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(ctx_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(ctx_clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"wisp._C.FunctionCtx", sizeof(ContextObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

bool contains(PyObject* tuple, PyObject* item) {
  for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); ++i) {
    if (PyTuple_GET_ITEM(tuple, i) == item) return true;
  }
  return false;
}

int index_in(PyObject* tuple, PyObject* item) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (PyTuple_GET_ITEM(tuple, i) == item) return static_cast<int>(i);
  }
  return -1;
}

// The class of a Function's contexts, named after it: MyReLU -> MyReLUBackward.
PyTypeObject* context_class(PyObject* cls) {
  const Ref own_dict = owned(PyObject_GetAttrString(cls, "__dict__"));
  const Ref cached(PyMapping_GetItemString(own_dict.get(), "_backward_cls"));
  if (cached) return reinterpret_cast<PyTypeObject*>(cached.get());  // the class keeps it
  PyErr_Clear();
  const Ref name = owned(PyObject_GetAttrString(cls, "__name__"));
  const Ref made =
      owned(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){}",
                                  (text_of(name.get()) + "Backward").c_str(), context_type));
  must_succeed(PyObject_SetAttrString(made.get(), "_forward_cls", cls));
  must_succeed(PyObject_SetAttrString(cls, "_backward_cls", made.get()));
  return reinterpret_cast<PyTypeObject*>(made.get());
}

// Calls forward(ctx, ...), or forward(...) and setup_context(ctx, inputs, output).
Ref call_forward(PyObject* cls, PyObject* ctx, PyObject* args) {
  GradMode no_grad(false);
  static PyObject* default_setup =
      import_attribute("wisp.autograd.function", "_default_setup_context");
  const Ref forward = owned(PyObject_GetAttrString(cls, "forward"));
  const Ref setup = owned(PyObject_GetAttrString(cls, "setup_context"));
  if (setup.get() != default_setup) {
    Ref output = owned(PyObject_CallObject(forward.get(), args));
    owned(PyObject_CallFunctionObjArgs(setup.get(), ctx, args, output.get(), nullptr));
    return output;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  const Ref with_ctx = owned(PyTuple_New(n + 1));
  Py_INCREF(ctx);
  PyTuple_SET_ITEM(with_ctx.get(), 0, ctx);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(args, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(with_ctx.get(), i + 1, item);
  }
  return owned(PyObject_CallObject(forward.get(), with_ctx.get()));
}

class Apply {
 public:
  Apply(PyObject* cls, PyObject* args) : cls_(cls), args_(args) {}

  PyObject* run() {
    if (WISP_UNLIKELY(mode.interceptor != nullptr)) {
      if (const uint64_t level = innermost_jvp()) return run_forward_mode(level);
    }
    PyTypeObject* type = context_class(cls_);
    ctx_ = owned(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(type)));
    look_at_inputs();
    // A GradMode is in force while forward runs; what counts is the mode outside.
    const bool record = mode.grad && any_requires_grad_;
    const Ref output = call_forward(cls_, ctx_.get(), args_);
    const bool single = !PyTuple_Check(output.get());
    outputs_ = single ? owned(PyTuple_Pack(1, output.get())) : output;
    Ref results = owned(PyTuple_New(PyTuple_GET_SIZE(outputs_.get())));
    if (record) {
      make_node(type);
      connect_outputs(results.get());
      save();
    } else {
      pass_outputs(results.get());
    }
    if (!single) return results.release();
    PyObject* one = PyTuple_GET_ITEM(results.get(), 0);
    Py_INCREF(one);
    return one;
  }

 private:
  // The level of forward mode that the arguments belong to, or 0.
  uint64_t innermost_jvp() const {
    uint64_t highest = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args_, i);
      if (is_tensor(item)) highest = std::max(highest, transform::level_of(*impl_of(item)));
    }
    const transform::Level* level = transform::find_level(highest);
    return level && level->kind == transform::Kind::jvp ? highest : 0;
  }

  // Forward without the tangents of that level, then jvp(ctx, *tangents) for those of the results.
  PyObject* run_forward_mode(uint64_t level) {
    Ref tangents = owned(PyTuple_New(PyTuple_GET_SIZE(args_) + 1));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args_, i);
      Tensor found = is_tensor(item) ? transform::tangent(tensor_of(item), level) : Tensor();
      PyTuple_SET_ITEM(tangents.get(), i + 1, found.defined() ? wrap(std::move(found)) : none());
    }
    transform::Below below(level);
    Ref results = owned(run());
    if (ctx_of(ctx_.get())->materialize) fill_in_zeros(tangents.get());
    Py_INCREF(ctx_.get());
    PyTuple_SET_ITEM(tangents.get(), 0, ctx_.get());
    const Ref method = owned(PyObject_GetAttrString(cls_, "jvp"));
    ctx_of(ctx_.get())->in_jvp = true;
    const Ref pushed(PyObject_CallObject(method.get(), tangents.get()));
    ctx_of(ctx_.get())->in_jvp = false;
    if (!pushed) throw PythonError();
    attach(results.get(), pushed.get(), level);
    return results.release();
  }

  // Tangents of tensors that have none, behind the place of the context.
  void fill_in_zeros(PyObject* tangents) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args_, i);
      if (PyTuple_GET_ITEM(tangents, i + 1) != Py_None || !is_tensor(item)) continue;
      const Tensor& t = tensor_of(item);
      if (is_differentiable(t.dtype()))
        must_succeed(PyTuple_SetItem(tangents, i + 1, wrap(ops::zeros(t.sizes(), t.dtype()))));
    }
  }

  void attach(PyObject* results, PyObject* pushed, uint64_t level) const {
    const Ref outs =
        PyTuple_Check(results) ? Ref::borrow(results) : owned(PyTuple_Pack(1, results));
    const Ref given = PyTuple_Check(pushed) ? Ref::borrow(pushed) : owned(PyTuple_Pack(1, pushed));
    WISP_CHECK(PyTuple_GET_SIZE(outs.get()) == PyTuple_GET_SIZE(given.get()),
               "jvp() of a custom Function returned ", PyTuple_GET_SIZE(given.get()),
               " tangents for ", PyTuple_GET_SIZE(outs.get()), " outputs");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outs.get()); ++i) {
      PyObject* out = PyTuple_GET_ITEM(outs.get(), i);
      PyObject* value = PyTuple_GET_ITEM(given.get(), i);
      if (value == Py_None || !is_tensor(out)) continue;
      WISP_CHECK_TYPE(is_tensor(value), "jvp() of a custom Function returned a tangent of type ",
                      Py_TYPE(value)->tp_name, "; expected a Tensor or None");
      WISP_CHECK(same(tensor_of(value).sizes(), tensor_of(out).sizes()),
                 "jvp() of a custom Function returned a tangent of shape ",
                 tensor_of(value).sizes(), " for an output of shape ", tensor_of(out).sizes());
      transform::set_tangent(tensor_of(out), level, tensor_of(value));
    }
  }

  void look_at_inputs() {
    const Py_ssize_t n = PyTuple_GET_SIZE(args_);
    Ref needs = owned(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(args_, i);
      const bool wanted = is_tensor(item) && impl_of(item)->requires_grad();
      any_requires_grad_ |= wanted;
      PyTuple_SET_ITEM(needs.get(), i, boolean(wanted));
    }
    ctx_of(ctx_.get())->needs_input_grad = needs.release();
  }

  void make_node(PyTypeObject* type) {
    std::vector<Edge> edges;
    std::vector<FunctionNode::Input> inputs;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args_, i);
      FunctionNode::Input input;
      if (is_tensor(item)) {
        const Tensor& t = tensor_of(item);
        input = {true, Dims(t.sizes()), t.dtype()};
        edges.push_back(t.requires_grad() ? autograd::grad_edge(t) : Edge());
      }
      inputs.push_back(std::move(input));
    }
    const char* dot = std::strrchr(type->tp_name, '.');
    node_ = wisp::Ref<FunctionNode>::adopt(new FunctionNode(
        ctx_.get(), dot ? dot + 1 : type->tp_name, std::move(edges), std::move(inputs)));
    ctx_of(ctx_.get())->node = node_.get();
  }

  bool is_input(PyObject* item) const { return index_in(args_, item) >= 0; }

  // Outputs of a call that records nothing; an input that is returned comes back as a new tensor.
  void pass_outputs(PyObject* results) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs_.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(outputs_.get(), i);
      const bool alias =
          is_tensor(item) && is_input(item) && !contains(ctx_of(ctx_.get())->dirty, item);
      if (!alias) Py_INCREF(item);
      PyTuple_SET_ITEM(results, i, alias ? wrap(tensor_of(item).alias()) : item);
    }
  }

  void connect_outputs(PyObject* results) {
    ContextObject* ctx = ctx_of(ctx_.get());
    std::vector<Tensor> tensors;
    const Py_ssize_t n = PyTuple_GET_SIZE(outputs_.get());
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PyTuple_GET_ITEM(outputs_.get(), i);
      if (!is_tensor(item)) {
        Py_INCREF(item);
        PyTuple_SET_ITEM(results, i, item);
        tensors.emplace_back();
        continue;
      }
      Tensor tensor = tensor_of(item);
      const bool dirty = contains(ctx->dirty, item);
      const bool differentiable =
          !contains(ctx->non_differentiable, item) && is_differentiable(tensor.dtype());
      if (is_input(item) && !dirty) tensor = tensor.alias();
      if (dirty) {
        autograd::check_write(node_->name().c_str(), tensor);
        autograd::rebase(tensor, node_.get(), edge_of_input(item));
      } else if (differentiable) {
        autograd::set_history(tensor, node_.get(), static_cast<uint32_t>(i));
      }
      tensors.push_back(tensor);
      PyObject* result = wrap(std::move(tensor));
      track(result);  // its history holds Python objects
      PyTuple_SET_ITEM(results, i, result);
    }
    node_->set_outputs(tensors);
  }

  int edge_of_input(PyObject* item) const {
    int edge = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args_); ++i) {
      PyObject* argument = PyTuple_GET_ITEM(args_, i);
      if (argument == item) return edge;
      edge += is_tensor(argument);
    }
    return -1;
  }

  void save() {
    ContextObject* ctx = ctx_of(ctx_.get());
    for (Py_ssize_t i = 0; ctx->to_save && i < PyTuple_GET_SIZE(ctx->to_save); ++i) {
      PyObject* item = PyTuple_GET_ITEM(ctx->to_save, i);
      SavedTensor saved;
      if (item != Py_None) {
        WISP_CHECK_TYPE(is_tensor(item), "save_for_backward can only save variables, but argument ",
                        i, " is of type ", Py_TYPE(item)->tp_name);
        saved.output =
            is_input(item) && !contains(ctx->dirty, item) ? -1 : index_in(outputs_.get(), item);
        saved.save(saved.output >= 0 ? tensor_of(item).alias() : tensor_of(item));
      }
      ctx->saved->push_back(std::move(saved));
    }
    Py_CLEAR(ctx->to_save);
  }

  PyObject* cls_;
  PyObject* args_;
  Ref ctx_, outputs_;
  wisp::Ref<FunctionNode> node_;
  bool any_requires_grad_ = false;
};

PyObject* function_apply(PyObject*, PyObject* args) {
  return guarded([&] {
    WISP_CHECK_TYPE(PyTuple_GET_SIZE(args) >= 1, "apply() needs the Function class");
    PyObject* cls = PyTuple_GET_ITEM(args, 0);
    const Ref rest = owned(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
    return Apply(cls, rest.get()).run();
  });
}

PyMethodDef module_functions[] = {{"_function_apply", function_apply, METH_VARARGS, nullptr}, {}};

}  // namespace

FunctionNode::FunctionNode(PyObject* context, std::string name, std::vector<Edge> edges,
                           std::vector<Input> inputs)
    : Node(1),
      context_(context),
      name_(std::move(name)),
      own_edges_(std::move(edges)),
      inputs_(std::move(inputs)) {
  Py_INCREF(context_);
  edges_ = own_edges_.data();
  edge_count_ = static_cast<uint32_t>(own_edges_.size());
  finish();
}

FunctionNode::~FunctionNode() {
  const FreeingLock lock;
  if (!lock) return;
  ctx_of(context_)->node = nullptr;
  Py_DECREF(context_);
}

void FunctionNode::set_outputs(const std::vector<Tensor>& outputs) {
  outputs_ = static_cast<uint32_t>(std::max<size_t>(outputs.size(), 1));
  for (const Tensor& t : outputs) {
    output_metas_.push_back(t.defined() ? Input{true, Dims(t.sizes()), t.dtype()} : Input{});
  }
}

void FunctionNode::release_saved() {
  ContextObject* ctx = ctx_of(context_);
  if (!ctx->saved->empty()) ctx->freed = true;
  ctx->saved->clear();
}

// The gradient for one argument, checked and brought to its shape and dtype.
Tensor FunctionNode::fit(PyObject* value, size_t input, size_t edge) {
  if (value == Py_None || !edges_[edge].node) return Tensor();
  WISP_CHECK_TYPE(is_tensor(value), "function ", name_, " returned a gradient of type ",
                  Py_TYPE(value)->tp_name, " at index ", input, "; expected a Tensor or None");
  Tensor grad = tensor_of(value);
  const Input& wanted = inputs_[input];
  if (!same(grad.sizes(), wanted.sizes)) {
    bool reducible = grad.ndim() >= static_cast<int64_t>(wanted.sizes.size());
    if (reducible) {
      try {
        reducible = same(broadcast(grad.sizes(), wanted.sizes), grad.sizes());
      } catch (const Error&) {
        reducible = false;
      }
    }
    WISP_CHECK(reducible, "Function ", name_, " returned an invalid gradient at index ", input,
               " - got ", grad.sizes(), " but expected shape compatible with ", wanted.sizes);
    grad = ops::sum_to_size(grad, wanted.sizes);
  }
  if (is_complex(grad.dtype()) && !is_complex(wanted.dtype)) grad = ops::real(grad);
  return grad.dtype() == wanted.dtype ? grad : ops::to(grad, wanted.dtype);
}

void FunctionNode::apply(TensorList& grads, TensorList& results) {
  ContextObject* ctx = ctx_of(context_);
  const size_t count = output_metas_.size();
  Ref args = owned(PyTuple_New(static_cast<Py_ssize_t>(count + 1)));
  Py_INCREF(context_);
  PyTuple_SET_ITEM(args.get(), 0, context_);
  for (size_t i = 0; i < count; ++i) {
    Tensor grad = i < grads.size() ? grads[i] : Tensor();
    if (!grad.defined() && ctx->materialize && output_metas_[i].is_tensor) {
      grad = ops::zeros(output_metas_[i].sizes, output_metas_[i].dtype);
    }
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i + 1), wrap(std::move(grad)));
  }
  const Ref cls = owned(PyObject_GetAttrString(context_, "_forward_cls"));
  static PyObject* find = import_attribute("wisp.autograd.function", "_backward_of");
  const Ref backward = owned(PyObject_CallOneArg(find, cls.get()));
  const Ref returned = owned(PyObject_CallObject(backward.get(), args.get()));
  const Ref tuple = PyTuple_Check(returned.get())  ? Ref::borrow(returned.get())
                    : PyList_Check(returned.get()) ? owned(PyList_AsTuple(returned.get()))
                                                   : owned(PyTuple_Pack(1, returned.get()));
  const size_t given = static_cast<size_t>(PyTuple_GET_SIZE(tuple.get()));
  for (size_t i = inputs_.size(); i < given; ++i) {
    WISP_CHECK(PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i)) == Py_None, "function ",
               name_, " returned an incorrect number of gradients (expected ", inputs_.size(),
               ", got ", given, ")");
  }
  WISP_CHECK(given >= inputs_.size(), "function ", name_,
             " returned an incorrect number of gradients (expected ", inputs_.size(), ", got ",
             given, ")");
  size_t edge = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    PyObject* value = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i));
    if (!inputs_[i].is_tensor) {
      WISP_CHECK(value == Py_None, "function ", name_,
                 " returned a gradient different from None at position ", i + 1,
                 ", but the corresponding forward input was not a Variable");
      continue;
    }
    results[edge] = fit(value, i, edge);
    ++edge;
  }
}

FunctionNode* function_node_from(PyObject* object) {
  return PyObject_TypeCheck(object, context_type) ? ctx_of(object)->node : nullptr;
}

void add_function_context_type(PyObject* module) {
  context_type = make_type(module, spec);
  must_succeed(PyModule_AddFunctions(module, module_functions));
}

}  // namespace wisp::python
