#include "bindings/node_object.h"

#include <map>
#include <unordered_map>

#include "autograd/meta.h"
#include "autograd/record.h"
#include "bindings/function_node.h"
#include "bindings/hooks.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"

namespace wisp::python {

namespace {

using autograd::Node;
using autograd::NodeRef;

struct NodeObject {
  PyObject_HEAD;
  NodeRef* node;
  PyObject* metadata;
};

PyTypeObject* node_type = nullptr;

// Objects that exist now, by node; used under the interpreter lock only.
std::unordered_map<Node*, PyObject*>& live_objects() {
  static auto* map = new std::unordered_map<Node*, PyObject*>;
  return *map;
}

NodeObject* self_of(PyObject* object) { return reinterpret_cast<NodeObject*>(object); }
Node& node_in(PyObject* object) { return *self_of(object)->node->get(); }

// Whether the object is all that keeps the node. (A leaf's node lives as long as its tensor.)
bool is_sole_owner(PyObject* object) {
  const Node* node = self_of(object)->node->get();
  return !node->leaf() && node->use_count() == 1;
}

int node_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(self_of(object)->metadata);
  Py_VISIT(Py_TYPE(object));
  return is_sole_owner(object) ? visit_hooks(node_in(object), visit, arg) : 0;
}

int node_clear(PyObject* object) {
  Py_CLEAR(self_of(object)->metadata);
  if (is_sole_owner(object)) clear_hooks(node_in(object));
  return 0;
}

void node_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  live_objects().erase(self_of(object)->node->get());
  delete self_of(object)->node;
  Py_XDECREF(self_of(object)->metadata);
  type->tp_free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* node_repr(PyObject* object) {
  return PyUnicode_FromFormat("<%s object at %p>", node_in(object).name().c_str(), object);
}

PyObject* node_name(PyObject* object, PyObject*) {
  return PyUnicode_FromString(node_in(object).name().c_str());
}

PyObject* node_next(PyObject* object, void*) {
  return guarded([&] { return next_functions(node_in(object)); });
}

PyObject* node_metadata(PyObject* object, void*) {
  PyObject*& metadata = self_of(object)->metadata;
  if (!metadata) metadata = PyDict_New();
  Py_XINCREF(metadata);
  return metadata;
}

PyObject* node_sequence(PyObject* object, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_in(object).sequence());
}

PyObject* node_register_hook(PyObject* object, PyObject* callable) {
  return guarded([&] { return register_node_hook(node_in(object), callable); });
}
PyObject* node_register_prehook(PyObject* object, PyObject* callable) {
  return guarded([&] { return register_node_prehook(node_in(object), callable); });
}

PyObject* node_variable(PyObject* object) {
  TensorImpl* leaf = node_in(object).leaf();
  return leaf ? wrap(Tensor::share(leaf)) : nullptr;
}

PyObject* saved_value(const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::none:
      return none();
    case ArgKind::tensor:
      return wrap(arg.tensor());
    case ArgKind::boolean:
      return boolean(arg.as.integer != 0);
    case ArgKind::integer:
      return PyLong_FromLongLong(arg.as.integer);
    case ArgKind::real:
      return PyFloat_FromDouble(arg.as.real);
    case ArgKind::complex:
      return PyComplex_FromDoubles(arg.as.complex.re, arg.as.complex.im);
    case ArgKind::string:
      return PyUnicode_FromStringAndSize(arg.as.string, arg.size);
    case ArgKind::integers:
    case ArgKind::shape: {
      Ref tuple = owned(PyTuple_New(arg.size));
      for (uint32_t i = 0; i < arg.size; ++i)
        PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(arg.as.integers[i]));
      return tuple.release();
    }
    case ArgKind::tensors: {
      std::vector<Tensor> list(arg.tensors().begin(), arg.tensors().end());
      return wrap_tuple(list);
    }
    default:
      return none();
  }
}

// grad_fn._saved_self, grad_fn._saved_result, ...: what the node keeps for its derivative.
PyObject* node_getattr(PyObject* object, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(object, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return nullptr;
  if (std::strcmp(text, "variable") == 0 && node_in(object).leaf()) {
    PyErr_Clear();
    return node_variable(object);
  }
  auto* op_node = dynamic_cast<autograd::OpNode*>(&node_in(object));
  if (!op_node || std::strncmp(text, "_saved_", 7) != 0 || !op_node->declares(text + 7))
    return nullptr;
  PyErr_Clear();
  return guarded([&] {
    std::vector<Tensor> keep;
    return saved_value(op_node->saved(text + 7, keep));
  });
}

PyMethodDef methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the node."},
    {"register_hook", node_register_hook, METH_O,
     "register_hook(fn): fn(grad_inputs, grad_outputs) runs after the node; what it returns replaces grad_inputs."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook(fn): fn(grad_outputs) runs before the node; what it returns replaces them."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "Nodes made later have higher numbers."},
    {}};
PyGetSetDef getset[] = {
    {"next_functions", node_next, nullptr,
     "Pairs (node, output number) of the nodes gradients go to.", nullptr},
    {"metadata", node_metadata, nullptr, "A dict for the user's notes.", nullptr},
    {}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                       {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                       {Py_tp_getattro, reinterpret_cast<void*>(node_getattr)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_doc, const_cast<char*>("A node of the graph that backward() walks.")},
                       {0, nullptr}};
PyType_Spec spec = {"wisp.autograd.graph.Node", sizeof(NodeObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

// One Python type per kind of node, so that type(y.grad_fn).__name__ says what it is.
PyTypeObject* type_named(const std::string& name) {
  static std::map<std::string, PyTypeObject*> types;
  PyTypeObject*& type = types[name];
  if (type) return type;
  PyType_Slot no_slots[] = {{0, nullptr}};
  const std::string full = "wisp.autograd.graph." + name;  // the type keeps the text
  PyType_Spec kind = {strdup(full.c_str()), sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, no_slots};
  type = reinterpret_cast<PyTypeObject*>(
      must(PyType_FromSpecWithBases(&kind, reinterpret_cast<PyObject*>(node_type))));
  return type;
}

}  // namespace

PyObject* wrap_node(Node* node) {
  if (!node) return none();
  if (auto* function = dynamic_cast<FunctionNode*>(node)) {  // its context is its object
    Py_INCREF(function->context());
    return function->context();
  }
  auto found = live_objects().find(node);
  if (found != live_objects().end()) {
    Py_INCREF(found->second);
    return found->second;
  }
  PyTypeObject* type = type_named(node->name());
  PyObject* object = must(type->tp_alloc(type, 0));
  self_of(object)->node = new NodeRef(node);
  live_objects()[node] = object;
  return object;
}

Node* node_from(PyObject* object) {
  if (PyObject_TypeCheck(object, node_type)) return &node_in(object);
  return function_node_from(object);
}

PyObject* next_functions(Node& node) {
  const size_t count = node.edge_count();
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    const autograd::Edge& edge = node.edge(i);
    const Ref next(wrap_node(edge.node.get()));
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     must(Py_BuildValue("(Oi)", next.get(), static_cast<int>(edge.output))));
  }
  return tuple.release();
}

namespace {

// Replaces gradients by what a hook returned; None keeps them.
void take_replacement(PyObject* returned, std::vector<Tensor>& grads, const char* what) {
  if (returned == Py_None) return;
  Ref tuple = PyTuple_Check(returned) ? Ref::borrow(returned) : owned(PyTuple_Pack(1, returned));
  WISP_CHECK(static_cast<size_t>(PyTuple_GET_SIZE(tuple.get())) == grads.size(), what,
             " hook has returned an incorrect number of gradients: expected ", grads.size(),
             ", got ", PyTuple_GET_SIZE(tuple.get()));
  for (size_t i = 0; i < grads.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i));
    WISP_CHECK_TYPE(item == Py_None || is_tensor(item), what,
                    " hook must return Tensors or None, got ", Py_TYPE(item)->tp_name);
    grads[i] = item == Py_None ? Tensor() : tensor_of(item);
  }
}

std::shared_ptr<HookState> own(PyObject* callable) {
  WISP_CHECK_TYPE(PyCallable_Check(callable), "a hook must be callable, got ",
                  Py_TYPE(callable)->tp_name);
  auto state = std::make_shared<HookState>();
  Py_INCREF(callable);
  state->callable = callable;
  state->owns = true;
  return state;
}

Ref as_tuple(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copy(tensors);
  return Ref(wrap_tuple(copy));
}

}  // namespace

Tensor TensorHookCall::operator()(const Tensor& grad) const {
  if (!state->callable) return Tensor();
  const Ref hook = Ref::borrow(state->callable);
  const Ref argument(wrap(grad));
  const Ref returned = owned(PyObject_CallOneArg(hook.get(), argument.get()));
  if (returned.get() == Py_None) return Tensor();
  WISP_CHECK_TYPE(is_tensor(returned.get()), "hook has returned a value of type ",
                  Py_TYPE(returned.get())->tp_name, "; expected a Tensor or None");
  const Tensor& replaced = tensor_of(returned.get());
  WISP_CHECK(same(replaced.sizes(), grad.sizes()), "hook has changed the size of value: from ",
             grad.sizes(), " to ", replaced.sizes());
  WISP_CHECK(replaced.dtype() == grad.dtype(), "hook has changed the type of value (was ",
             name(grad.dtype()), " got ", name(replaced.dtype()), ")");
  return replaced;
}

void PreHookCall::operator()(std::vector<Tensor>& grads) const {
  if (!state->callable) return;
  const Ref hook = Ref::borrow(state->callable);
  const Ref out = as_tuple(grads);
  const Ref returned = owned(PyObject_CallOneArg(hook.get(), out.get()));
  take_replacement(returned.get(), grads, "backward pre");
}

void PostHookCall::operator()(std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& outputs) const {
  if (!state->callable) return;
  const Ref hook = Ref::borrow(state->callable);
  const Ref in = as_tuple(inputs), out = as_tuple(outputs);
  const Ref returned =
      owned(PyObject_CallFunctionObjArgs(hook.get(), in.get(), out.get(), nullptr));
  take_replacement(returned.get(), inputs, "backward");
}

PyObject* register_node_hook(Node& node, PyObject* callable) {
  auto state = own(callable);
  const uint64_t id = autograd::next_hook_id();
  node.extras().post_hooks.emplace_back(id, PostHookCall{state});
  return make_handle(state, id);
}

PyObject* register_node_prehook(Node& node, PyObject* callable) {
  auto state = own(callable);
  const uint64_t id = autograd::next_hook_id();
  node.extras().pre_hooks.emplace_back(id, PreHookCall{state});
  return make_handle(state, id);
}

void add_node_type(PyObject* module) { node_type = make_type(module, spec); }

}  // namespace wisp::python
