// Function transforms for Python: wisp.func and wisp.autograd.forward_ad are built on these.
#include <unordered_set>

#include "autograd/meta.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "ops/ops.h"
#include "transform/autocast.h"
#include "transform/batch.h"
#include "transform/forward.h"

namespace wisp::python {

namespace {

using namespace wisp::transform;

const Tensor& tensor_in(PyObject* value, const char* function) {
  WISP_CHECK_TYPE(is_tensor(value), function, ": expected a Tensor, got ", Py_TYPE(value)->tp_name);
  return tensor_of(value);
}

uint64_t level_in(PyObject* value) {
  const uint64_t id = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred()) throw PythonError();
  return id;
}

Level running(uint64_t id) {
  const Level* level = find_level(id);
  WISP_CHECK(level, "this function transform has ended, or belongs to another thread");
  return *level;
}

Randomness randomness_in(const char* text) {
  const std::string_view word = text;
  if (word == "error") return Randomness::error;
  if (word == "different") return Randomness::different;
  WISP_CHECK(word == "same",
             "Only allowed values for randomness are 'error', 'different', or 'same'. Got ", word);
  return Randomness::same;
}

PyObject* enter_jvp(PyObject*, PyObject*) {
  return guarded([&] { return must(PyLong_FromUnsignedLongLong(enter(Kind::jvp))); });
}

PyObject* enter_vmap(PyObject*, PyObject* args) {
  long long samples;
  const char* randomness;
  if (!PyArg_ParseTuple(args, "Ls", &samples, &randomness)) return nullptr;
  return guarded([&] {
    WISP_CHECK_VALUE(samples >= 0, "vmap: a batch cannot have ", samples, " samples");
    return must(PyLong_FromUnsignedLongLong(enter(Kind::vmap, samples, randomness_in(randomness))));
  });
}

PyObject* leave_level(PyObject*, PyObject* level) {
  return guarded([&] {
    leave(level_in(level));
    return none();
  });
}

PyObject* make_dual_tensor(PyObject*, PyObject* args) {
  PyObject *primal_value, *tangent_value, *level;
  if (!PyArg_ParseTuple(args, "OOO", &primal_value, &tangent_value, &level)) return nullptr;
  return guarded([&] {
    const uint64_t id = running(level_in(level)).id;
    return wrap(
        make_dual(tensor_in(primal_value, "make_dual"), tensor_in(tangent_value, "make_dual"), id));
  });
}

PyObject* tangent_of(PyObject*, PyObject* args) {
  PyObject *value, *level;
  if (!PyArg_ParseTuple(args, "OO", &value, &level)) return nullptr;
  return guarded([&] {
    const uint64_t id = running(level_in(level)).id;
    Tensor found = tangent(tensor_in(value, "unpack_dual"), id);
    return found.defined() ? wrap(std::move(found)) : none();
  });
}

PyObject* primal_of(PyObject*, PyObject* args) {
  PyObject *value, *level;
  if (!PyArg_ParseTuple(args, "OO", &value, &level)) return nullptr;
  return guarded([&] {
    const uint64_t id = running(level_in(level)).id;
    return wrap(primal(tensor_in(value, "unpack_dual"), id));
  });
}

PyObject* make_sample(PyObject*, PyObject* args) {
  PyObject *value, *level;
  long long dim;
  if (!PyArg_ParseTuple(args, "OLO", &value, &dim, &level)) return nullptr;
  return guarded([&] {
    const Level vmap = running(level_in(level));
    const Tensor& t = tensor_in(value, "vmap");
    WISP_CHECK(dim < 0 || (dim < t.ndim() && t->size(dim) == vmap.batch), "vmap: no dimension ",
               dim, " with ", vmap.batch, " samples in a tensor of shape ", t.sizes());
    return wrap(sample_of(t, dim < 0 ? -1 : dim, vmap.id));
  });
}

PyObject* gather_samples(PyObject*, PyObject* args) {
  PyObject *value, *level;
  long long dim;
  if (!PyArg_ParseTuple(args, "OLO", &value, &dim, &level)) return nullptr;
  return guarded([&] {
    const Level vmap = running(level_in(level));
    const Tensor& t = tensor_in(value, "vmap");
    WISP_CHECK_KIND(index, dim >= 0 && dim <= t.ndim(), "vmap: no place for samples at dimension ",
                    dim, " of a result of shape ", t.sizes());
    return wrap(gathered(t, dim, vmap));
  });
}

PyObject* is_batched(PyObject*, PyObject* args) {
  PyObject *value, *level;
  if (!PyArg_ParseTuple(args, "OO", &value, &level)) return nullptr;
  return guarded(
      [&] { return boolean(batch_of(tensor_in(value, "vmap"), level_in(level)).dim >= 0); });
}

// A stand-in for an argument of a function that is differentiated: gradients stop there, yet
// derivatives of them still reach the argument itself.
PyObject* differentiable_point(PyObject*, PyObject* value) {
  return guarded([&] {
    Tensor t = tensor_in(value, "grad");
    const Level* vmap = innermost_vmap();
    if (vmap && (!t->layers() || t->layers()->batch_level != vmap->id))
      t = sample_of(t, -1, vmap->id);
    if (t.requires_grad()) return wrap(invoke<"alias">(t));
    Tensor leaf = t.alias();
    autograd::set_requires_grad(leaf, true);
    return wrap(std::move(leaf));
  });
}

// The same tensor, with its tangents, but without history.
PyObject* without_history(PyObject*, PyObject* value) {
  return guarded([&] { return wrap(tensor_in(value, "grad").alias()); });
}

// Whether the batch that a sample stands for, or one around that, requires grad.
bool tracked_outside(const Tensor& t) {
  for (const Layers* l = t->layers(); l && l->batch_level != 0; l = l->batch->layers()) {
    if (l->batch.requires_grad()) return true;
  }
  return false;
}

// Whether the outputs depend on any leaf besides the given ones. A leaf that no Python object
// stands for is one that a transform made for itself.
PyObject* reaches_other_leaves(PyObject*, PyObject* args) {
  PyObject *outputs, *points;
  if (!PyArg_ParseTuple(args, "OO", &outputs, &points)) return nullptr;
  return guarded([&] {
    std::unordered_set<autograd::Node*> seen;
    std::vector<autograd::Node*> stack;
    auto each = [](PyObject* list, auto f) {
      const Ref items = owned(PySequence_Fast(list, "expected a sequence of Tensors"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        f(tensor_in(PySequence_Fast_GET_ITEM(items.get(), i), "grad"));
    };
    auto visit = [&](autograd::Node* node) {
      if (node && seen.insert(node).second) stack.push_back(node);
    };
    each(points, [&](const Tensor& t) { seen.insert(autograd::grad_edge(t).node.get()); });
    bool outside = false;
    each(outputs, [&](const Tensor& t) {
      outside |= tracked_outside(t);
      visit(autograd::grad_edge(t).node.get());
    });
    if (outside) return boolean(true);
    while (!stack.empty()) {
      autograd::Node* node = stack.back();
      stack.pop_back();
      if (node->leaf() && node->leaf()->wrapper()) return boolean(true);
      for (const autograd::Edge& edge : node->edges()) visit(edge.node.get());
    }
    return boolean(false);
  });
}

// _autocast() -> (enabled, dtype, whether casts of parameters are kept)
PyObject* autocast(PyObject*, PyObject*) {
  return guarded([&] {
    const AutocastState state = autocast_state();
    return must(Py_BuildValue("(ONO)", state.enabled ? Py_True : Py_False, wrap(state.dtype),
                              state.keeps_casts ? Py_True : Py_False));
  });
}

PyObject* set_autocast_state(PyObject*, PyObject* args) {
  int enabled, keeps;
  PyObject* dtype;
  if (!PyArg_ParseTuple(args, "pOp", &enabled, &dtype, &keeps)) return nullptr;
  return guarded([&] {
    AutocastState state{.enabled = enabled != 0, .keeps_casts = keeps != 0};
    WISP_CHECK_TYPE(to_dtype(dtype, state.dtype) && is_floating(state.dtype),
                    "autocast: expected a floating dtype, got ", Py_TYPE(dtype)->tp_name);
    set_autocast(state);
    Py_RETURN_NONE;
  });
}

PyObject* forget_autocast(PyObject*, PyObject*) {
  forget_casts();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"_enter_jvp", enter_jvp, METH_NOARGS, nullptr},
                           {"_enter_vmap", enter_vmap, METH_VARARGS, nullptr},
                           {"_leave_level", leave_level, METH_O, nullptr},
                           {"_make_dual", make_dual_tensor, METH_VARARGS, nullptr},
                           {"_tangent", tangent_of, METH_VARARGS, nullptr},
                           {"_primal", primal_of, METH_VARARGS, nullptr},
                           {"_make_sample", make_sample, METH_VARARGS, nullptr},
                           {"_gather_samples", gather_samples, METH_VARARGS, nullptr},
                           {"_is_batched", is_batched, METH_VARARGS, nullptr},
                           {"_differentiable_point", differentiable_point, METH_O, nullptr},
                           {"_without_history", without_history, METH_O, nullptr},
                           {"_reaches_other_leaves", reaches_other_leaves, METH_VARARGS, nullptr},
                           {"_autocast", autocast, METH_NOARGS, nullptr},
                           {"_set_autocast", set_autocast_state, METH_VARARGS, nullptr},
                           {"_forget_casts", forget_autocast, METH_NOARGS, nullptr},
                           {}};

}  // namespace

void add_transforms(PyObject* module) { must_succeed(PyModule_AddFunctions(module, functions)); }

}  // namespace wisp::python
