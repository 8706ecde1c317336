// backward(), gradients, hooks and flags: what tensors and wisp.autograd offer on top of the
// engine.
#include <algorithm>

#include "autograd/engine.h"
#include "autograd/record.h"
#include "bindings/arguments.h"
#include "bindings/hooks.h"
#include "bindings/node_object.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

// A tensor, None, or a sequence of these.
std::vector<Tensor> tensor_list(PyObject* value, const char* what) {
  std::vector<Tensor> list;
  auto add = [&](PyObject* item) {
    WISP_CHECK_TYPE(item == Py_None || is_tensor(item), what, " must be Tensors or None, got ",
                    Py_TYPE(item)->tp_name);
    list.push_back(item == Py_None ? Tensor() : tensor_of(item));
  };
  if (!value || value == Py_None) return list;
  if (is_tensor(value)) {
    add(value);
    return list;
  }
  const Ref items = owned(PySequence_Fast(value, "expected a Tensor or a sequence of Tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    add(PySequence_Fast_GET_ITEM(items.get(), i));
  return list;
}

// A tensor, or a GradientEdge: a tuple of a node and the number of its output.
autograd::Point point_from(PyObject* item, const char* what) {
  if (is_tensor(item)) return tensor_of(item);
  const bool pair = PyTuple_Check(item) && PyTuple_GET_SIZE(item) >= 2;
  autograd::Node* node = pair ? node_from(PyTuple_GET_ITEM(item, 0)) : nullptr;
  int64_t output = 0;
  WISP_CHECK_TYPE(node && to_int(PyTuple_GET_ITEM(item, 1), output), what,
                  " must be Tensors or GradientEdges, got ", type_name(item));
  WISP_CHECK(output >= 0 && output < node->outputs(), what, ": ", node->name(), " has no output ",
             output);
  autograd::Edge edge;
  edge.node = autograd::NodeRef(node);
  edge.output = static_cast<uint32_t>(output);
  return edge;
}

std::vector<autograd::Point> point_list(PyObject* tuple, const char* what) {
  std::vector<autograd::Point> list;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    list.push_back(point_from(PyTuple_GET_ITEM(tuple, i), what));
  return list;
}

PyObject* backward(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", nullptr};
  PyObject *gradient = Py_None, *retain = Py_None, *inputs = Py_None;
  int create = 0;
  if ((PyTuple_GET_SIZE(args) || kwargs) &&
      !PyArg_ParseTupleAndKeywords(args, kwargs, "|OOpO:backward", const_cast<char**>(names),
                                   &gradient, &retain, &create, &inputs)) {
    return nullptr;
  }
  return guarded([&] {
    const std::vector<Tensor> grads = tensor_list(gradient, "backward(): gradient");
    std::vector<autograd::Point> into;
    for (const Tensor& input : tensor_list(inputs, "backward(): inputs")) into.emplace_back(input);
    WISP_CHECK(inputs == Py_None || !into.empty(),
               "'inputs' argument to backward() cannot be empty.");
    autograd::BackwardOptions options;
    options.create_graph = create;
    options.keep_graph = retain == Py_None ? create : truth_of(retain);
    const autograd::Point root(tensor_of(self));
    autograd::backward({&root, 1}, grads, options, into);
    return none();
  });
}

PyObject* requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"requires_grad", nullptr};
  int value = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(names), &value))
    return nullptr;
  return guarded([&] {
    autograd::set_requires_grad(tensor_of(self), value);
    Py_INCREF(self);
    return self;
  });
}

PyObject* retain_grad(PyObject* self, PyObject*) {
  return guarded([&] {
    autograd::retain_grad(tensor_of(self));
    return none();
  });
}

PyObject* detach_(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    WISP_CHECK(!t->base(), "Can't detach views in-place. Use detach() instead.");
    if (WISP_UNLIKELY(tracing != nullptr)) tracing->forget_history(t);
    t->autograd().grad_fn.reset();
    t->set_requires_grad(false);
    Py_INCREF(self);
    return self;
  });
}

// Forgets hooks of a leaf that were removed since: their handles are still in its attributes.
void sweep_removed(const Tensor& leaf, PyObject* handles) {
  std::vector<uint64_t> gone;
  PyObject *key, *handle;
  for (Py_ssize_t at = 0; PyDict_Next(handles, &at, &key, &handle);) {
    if (is_removed(handle)) gone.push_back(PyLong_AsUnsignedLongLong(key));
  }
  auto is_gone = [&](uint64_t id) { return std::find(gone.begin(), gone.end(), id) != gone.end(); };
  autograd::AutogradMeta& meta = autograd::meta(leaf);
  std::erase_if(meta.post_accumulate, [&](const auto& hook) { return is_gone(hook.first); });
  if (auto* extras = meta.accumulate.extras_if_any()) {
    std::erase_if(extras->tensor_hooks, [&](const auto& hook) { return is_gone(hook.id); });
  }
  for (uint64_t id : gone) {
    const Ref number = owned(PyLong_FromUnsignedLongLong(id));
    must_succeed(PyDict_DelItem(handles, number.get()));
  }
}

// A leaf's hooks live in its attributes, where the garbage collector sees the cycles that closures
// over the tensor make. Other tensors may die before backward runs: there the graph owns the hook.
PyObject* keep_with_tensor(PyObject* self, std::shared_ptr<HookState> state, uint64_t id,
                           PyObject* callable) {
  Ref handle(make_handle(std::move(state), id, callable));
  Ref list(PyObject_GetAttrString(self, "_backward_hooks"));
  if (!list || list.get() == Py_None) {
    PyErr_Clear();
    list = owned(PyDict_New());
    must_succeed(PyObject_SetAttrString(self, "_backward_hooks", list.get()));
  }
  sweep_removed(tensor_of(self), list.get());
  const Ref key = owned(PyLong_FromUnsignedLongLong(id));
  must_succeed(PyDict_SetItem(list.get(), key.get(), handle.get()));
  return handle.release();
}

std::shared_ptr<HookState> state_for(PyObject* callable, bool owns) {
  WISP_CHECK_TYPE(PyCallable_Check(callable), "a hook must be callable, got ",
                  Py_TYPE(callable)->tp_name);
  auto state = std::make_shared<HookState>();
  state->callable = callable;
  state->owns = owns;
  if (owns) Py_INCREF(callable);
  return state;
}

PyObject* register_hook(PyObject* self, PyObject* callable) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    WISP_CHECK(t.requires_grad(),
               "cannot register a hook on a tensor that doesn't require gradient");
    autograd::Node* node = autograd::grad_fn(t);
    const bool leaf = !node;
    if (leaf) node = &autograd::meta(t).accumulate;
    auto state = state_for(callable, !leaf);
    const uint64_t id = autograd::next_hook_id();
    node->extras().tensor_hooks.push_back({id, t->autograd().output, TensorHookCall{state}});
    if (leaf) return keep_with_tensor(self, state, id, callable);
    track(self);
    return make_handle(state, id);
  });
}

PyObject* register_post_accumulate(PyObject* self, PyObject* callable) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    WISP_CHECK(t.requires_grad(),
               "cannot register a hook on a tensor that doesn't require gradient");
    WISP_CHECK(t->is_leaf(), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    auto state = state_for(callable, false);
    const uint64_t id = autograd::next_hook_id();
    autograd::meta(t).post_accumulate.emplace_back(id, [state](const Tensor& leaf) {
      if (!state->callable) return;
      const Ref hook = Ref::borrow(state->callable);
      const Ref argument(wrap(leaf));
      owned(PyObject_CallOneArg(hook.get(), argument.get()));
    });
    return keep_with_tensor(self, state, id, callable);
  });
}

// --- functions of wisp._C used by wisp.autograd

// run_backward(outputs, grads, keep_graph, create_graph, inputs, accumulate)
PyObject* run_backward(PyObject*, PyObject* args) {
  PyObject *outputs, *grads, *inputs;
  int keep, create, accumulate;
  if (!PyArg_ParseTuple(args, "O!OppO!p", &PyTuple_Type, &outputs, &grads, &keep, &create,
                        &PyTuple_Type, &inputs, &accumulate)) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    const std::vector<autograd::Point> roots = point_list(outputs, "outputs");
    const std::vector<Tensor> seeds = tensor_list(grads, "grad_outputs");
    const std::vector<autograd::Point> wanted = point_list(inputs, "inputs");
    const autograd::BackwardOptions options{static_cast<bool>(keep), static_cast<bool>(create)};
    if (accumulate) {
      autograd::backward(roots, seeds, options, wanted);
      return none();
    }
    std::vector<Tensor> result = autograd::gradients(roots, seeds, wanted, options);
    return wrap_tuple(result);
  });
}

PyObject* queue_callback(PyObject*, PyObject* callable) {
  return guarded([&] {
    auto state = state_for(callable, true);
    autograd::when_backward_ends([state] { owned(PyObject_CallNoArgs(state->callable)); });
    return none();
  });
}

// Tells autograd that a tensor was written by something it cannot see.
PyObject* increment_version(PyObject*, PyObject* tensor) {
  return guarded([&] {
    expect_tensor(tensor, "increment_version()")->bump_version();
    return none();
  });
}

PyObject* set_anomaly(PyObject*, PyObject* args) {
  int enabled, check_nan;
  if (!PyArg_ParseTuple(args, "pp", &enabled, &check_nan)) return nullptr;
  autograd::anomaly = {static_cast<bool>(enabled), static_cast<bool>(check_nan)};
  Py_RETURN_NONE;
}
PyObject* get_anomaly(PyObject*, PyObject*) {
  return Py_BuildValue("(NN)", boolean(autograd::anomaly.enabled),
                       boolean(autograd::anomaly.check_nan));
}

// make_subclass(cls, tensor, requires_grad): the same memory as an object of a subclass.
PyObject* make_subclass(PyObject*, PyObject* args) {
  PyObject *cls, *data;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "OO|p", &cls, &data, &requires_grad)) return nullptr;
  return guarded([&] {
    WISP_CHECK_TYPE(
        PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type),
        "cls must be a subclass of Tensor");
    Tensor tensor = autograd::detach(expect_tensor(data, "_make_subclass()"));
    if (requires_grad) autograd::set_requires_grad(tensor, true);
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), std::move(tensor));
  });
}

PyMethodDef functions[] = {{"_run_backward", run_backward, METH_VARARGS, nullptr},
                           {"_queue_callback", queue_callback, METH_O, nullptr},
                           {"_increment_version", increment_version, METH_O, nullptr},
                           {"_set_anomaly", set_anomaly, METH_VARARGS, nullptr},
                           {"_get_anomaly", get_anomaly, METH_NOARGS, nullptr},
                           {"_make_subclass", make_subclass, METH_VARARGS, nullptr},
                           {}};

}  // namespace

#define WISP_KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef tensor_autograd_methods[] = {
    {"backward", WISP_KEYWORDS(backward), METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None): adds to the .grad of the leaves "
     "this tensor depends on."},
    {"requires_grad_", WISP_KEYWORDS(requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_(requires_grad=True): sets the flag, returns the tensor."},
    {"retain_grad", retain_grad, METH_NOARGS, "Keeps .grad although this is not a leaf."},
    {"detach_", detach_, METH_NOARGS, "Forgets the history in place."},
    {"register_hook", register_hook, METH_O,
     "register_hook(fn): fn(grad) runs when the gradient is known; what it returns replaces it. Returns a handle."},
    {"register_post_accumulate_grad_hook", register_post_accumulate, METH_O,
     "register_post_accumulate_grad_hook(fn): fn(tensor) runs when .grad of this leaf has been updated."},
    {}};

void add_autograd_functions(PyObject* module) {
  must_succeed(PyModule_AddFunctions(module, functions));
  autograd::capture_trace = []() -> std::string {
    try {
      static PyObject* format = import_attribute("wisp.autograd.anomaly_mode", "_format_stack");
      const Ref text = owned(PyObject_CallNoArgs(format));
      return text_of(text.get());
    } catch (const PythonError&) {
      return "";
    }
  };
}

}  // namespace wisp::python
