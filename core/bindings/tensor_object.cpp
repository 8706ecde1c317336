#include "bindings/tensor_object.h"

#include <structmember.h>
#include <vector>

#include "bindings/function_node.h"
#include "bindings/hooks.h"
#include "bindings/overrides.h"
#include "bindings/tracing.h"
#include "bindings/types.h"

namespace wisp::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// Dead objects of the exact type, kept for reuse.
constexpr int max_spare = 512;
TensorObject* spare[max_spare];
int spare_count = 0;

TensorObject* self_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

PyObject* make_object(PyTypeObject* type, Tensor&& tensor) {
  TensorObject* self;
  if (type == tensor_type) {
    if (spare_count > 0) {
      self = spare[--spare_count];
      PyObject_Init(reinterpret_cast<PyObject*>(self), type);
    } else {
      self = PyObject_GC_New(TensorObject, type);
      if (!self) throw PythonError();
    }
    // Not tracked by the garbage collector until it has attributes or hooks: nothing to find
    // before.
    self->dict = nullptr;
    self->weakrefs = nullptr;
  } else {
    note_subclass(type);
    self = self_of(must(type->tp_alloc(type, 0)));
  }
  tensor->set_wrapper(self);
  self->impl = tensor.detach_impl();
  return reinterpret_cast<PyObject*>(self);
}

// Called when Python lets go of the object. If C++ still holds the tensor and the object has
// something to lose (attributes, a subclass), it survives, owned by the tensor, and comes back when
// asked for.
bool keep_alive(PyObject* object) {
  TensorObject* self = self_of(object);
  TensorImpl* impl = self->impl;
  if (!impl || impl->keeps_wrapper() || impl->use_count() == 1) return false;
  if (Py_TYPE(object) == tensor_type && !self->dict && !self->weakrefs) return false;
  impl->set_keeps_wrapper(true);
  Py_INCREF(object);  // the tensor's reference
  impl->release();    // and the object no longer owns the tensor
  return true;
}

void drop_wrapper(void* wrapper) {
  // The tensor dies while it owns its object.
  const FreeingLock lock;
  TensorObject* self = static_cast<TensorObject*>(wrapper);
  if (lock && Py_REFCNT(self) == 1) {
    self->impl = nullptr;
  } else {
    // A weak reference has given the object out, or the interpreter is going and its garbage
    // collector will look at the object once more: it owns the tensor again.
    if (self->impl->use_count() == 0) self->impl->retain();
    self->impl->set_keeps_wrapper(false);
  }
  if (lock) Py_DECREF(reinterpret_cast<PyObject*>(self));
}

void free_contents(PyObject* object) {
  TensorObject* self = self_of(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  if (TensorImpl* impl = std::exchange(self->impl, nullptr)) {
    impl->set_wrapper(nullptr);
    impl->release();
  }
}

// Of the exact type; subclasses come here through CPython's own deallocator, after tensor_finalize.
void tensor_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == tensor_type) {
    Py_SET_REFCNT(object, 1);
    const bool kept = keep_alive(object);
    if (kept) {
      Py_SET_REFCNT(object, 1);
#ifdef Py_TRACE_REFS
      _Py_NewReference(object);
#endif
      return;
    }
    Py_SET_REFCNT(object, 0);
  }
  PyObject_GC_UnTrack(object);
  free_contents(object);
  if (type == tensor_type && spare_count < max_spare) {
    spare[spare_count++] = self_of(object);
  } else {
    type->tp_free(object);
  }
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void tensor_finalize(PyObject* object) {
  if (Py_TYPE(object) == tensor_type) return;
  keep_alive(object);
}

// CPython runs the finalizer of an object once; this one may have to be kept again.
void finalize_again([[maybe_unused]] PyObject* object) {
#if PY_VERSION_HEX < 0x030D0000 || !defined(Py_GIL_DISABLED)
  reinterpret_cast<uintptr_t*>(object)[-1] &= ~static_cast<uintptr_t>(1);
#endif
}

// The node that made a tensor, if nothing but this object leads to it: the ctx of a function and
// hooks may hold the tensor in turn, and only the garbage collector can see that.
autograd::Node* sole_node(const TensorImpl* impl) {
  if (!impl || impl->use_count() != 1 || impl->keeps_wrapper()) return nullptr;
  auto* node = dynamic_cast<autograd::Node*>(impl->autograd().grad_fn.get());
  return node && node->use_count() == 1 ? node : nullptr;
}

int tensor_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(self_of(object)->dict);
  Py_VISIT(Py_TYPE(object));
  autograd::Node* node = sole_node(self_of(object)->impl);
  if (!node) return 0;
  if (auto* function = dynamic_cast<FunctionNode*>(node)) Py_VISIT(function->context());
  return visit_hooks(*node, visit, arg);
}

int tensor_clear(PyObject* object) {
  Py_CLEAR(self_of(object)->dict);
  if (autograd::Node* node = sole_node(self_of(object)->impl)) clear_hooks(*node);
  return 0;
}

// Attributes make the object worth the garbage collector's attention.
int tensor_setattro(PyObject* object, PyObject* name, PyObject* value) {
  const int status = PyObject_GenericSetAttr(object, name, value);
  if (status == 0 && self_of(object)->dict) track(object);
  return status;
}

// The object's id.
Py_hash_t tensor_hash(PyObject* object) { return reinterpret_cast<Py_hash_t>(object); }

PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyObject* tensor_repr(PyObject* self) {
  return guarded([&] {
    static PyObject* format = import_attribute("wisp._tensor_str", "tensor_str");
    const Untraced printing;
    const WithoutOverrides unseen;
    return must(PyObject_CallOneArg(format, self));
  });
}

PyObject* tensor_iter(PyObject* self) {
  return guarded([&]() -> PyObject* {
    WISP_CHECK_TYPE(impl_of(self)->ndim() > 0, "iteration over a 0-d tensor");
    note_read("iter()");
    static PyObject* unbind =
        must(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "unbind"));
    const Ref parts = owned(PyObject_CallOneArg(unbind, self));
    return must(PyObject_GetIter(parts.get()));
  });
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static PyObject* legacy = import_attribute("wisp._legacy", "new_tensor");
    const Ref with_type = owned(PyTuple_New(PyTuple_GET_SIZE(args) + 1));
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    PyTuple_SET_ITEM(with_type.get(), 0, reinterpret_cast<PyObject*>(type));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      PyObject* item = PyTuple_GET_ITEM(args, i);
      Py_INCREF(item);
      PyTuple_SET_ITEM(with_type.get(), i + 1, item);
    }
    return must(PyObject_Call(legacy, with_type.get(), kwargs));
  });
}

// Subclasses define __init__ with arguments of their own; __new__ has used them already.
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

void push_number_slots(std::vector<PyType_Slot>& slots) {
  const PyNumberMethods* n = number_slots();
  auto add = [&](int slot, auto function) {
    if (function) slots.push_back({slot, reinterpret_cast<void*>(function)});
  };
  add(Py_nb_add, n->nb_add);
  add(Py_nb_subtract, n->nb_subtract);
  add(Py_nb_multiply, n->nb_multiply);
  add(Py_nb_remainder, n->nb_remainder);
  add(Py_nb_power, n->nb_power);
  add(Py_nb_negative, n->nb_negative);
  add(Py_nb_positive, n->nb_positive);
  add(Py_nb_absolute, n->nb_absolute);
  add(Py_nb_bool, n->nb_bool);
  add(Py_nb_invert, n->nb_invert);
  add(Py_nb_lshift, n->nb_lshift);
  add(Py_nb_rshift, n->nb_rshift);
  add(Py_nb_and, n->nb_and);
  add(Py_nb_xor, n->nb_xor);
  add(Py_nb_or, n->nb_or);
  add(Py_nb_int, n->nb_int);
  add(Py_nb_float, n->nb_float);
  add(Py_nb_inplace_add, n->nb_inplace_add);
  add(Py_nb_inplace_subtract, n->nb_inplace_subtract);
  add(Py_nb_inplace_multiply, n->nb_inplace_multiply);
  add(Py_nb_inplace_remainder, n->nb_inplace_remainder);
  add(Py_nb_inplace_power, n->nb_inplace_power);
  add(Py_nb_inplace_lshift, n->nb_inplace_lshift);
  add(Py_nb_inplace_rshift, n->nb_inplace_rshift);
  add(Py_nb_inplace_and, n->nb_inplace_and);
  add(Py_nb_inplace_xor, n->nb_inplace_xor);
  add(Py_nb_inplace_or, n->nb_inplace_or);
  add(Py_nb_floor_divide, n->nb_floor_divide);
  add(Py_nb_true_divide, n->nb_true_divide);
  add(Py_nb_inplace_floor_divide, n->nb_inplace_floor_divide);
  add(Py_nb_inplace_true_divide, n->nb_inplace_true_divide);
  add(Py_nb_index, n->nb_index);
  add(Py_nb_matrix_multiply, n->nb_matrix_multiply);
}

}  // namespace

PyObject* tensor_dict(PyObject* self, void*) {
  PyObject* dict = PyObject_GenericGetDict(self, nullptr);
  if (dict) track(self);
  return dict;
}

const Tensor& expect_tensor(PyObject* object, const char* function) {
  WISP_CHECK_TYPE(object, function,
                  ": cannot be deleted");  // what Python passes to setters for `del`
  WISP_CHECK_TYPE(is_tensor(object), function, ": expected a Tensor, got ",
                  Py_TYPE(object)->tp_name);
  return tensor_of(object);
}

PyObject* wrap(Tensor tensor) {
  if (!tensor.defined()) return none();
  if (void* existing = tensor->wrapper()) {
    auto* object = static_cast<PyObject*>(existing);
    if (tensor->keeps_wrapper()) {  // back to the usual order: the object owns the tensor
      tensor->set_keeps_wrapper(false);
      tensor.detach_impl();
      if (Py_TYPE(object) != tensor_type) finalize_again(object);
      return object;
    }
    Py_INCREF(object);
    return object;
  }
  return make_object(tensor_type, std::move(tensor));
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  WISP_CHECK(!tensor->wrapper(), "this tensor is represented by another Python object already");
  return make_object(type, std::move(tensor));
}

PyObject* wrap_tuple(std::span<Tensor> tensors) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
  }
  return tuple.release();
}

void add_tensor_type(PyObject* module) {
  TensorImpl::drop_wrapper = drop_wrapper;
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_init, reinterpret_cast<void*>(tensor_init)},
      {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
      {Py_tp_finalize, reinterpret_cast<void*>(tensor_finalize)},
      {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(tensor_setattro)},
      {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
      {Py_tp_repr, reinterpret_cast<void*>(tensor_repr)},
      {Py_tp_iter, reinterpret_cast<void*>(tensor_iter)},
      {Py_tp_richcompare, reinterpret_cast<void*>(tensor_compare)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensor_subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensor_assign_subscript)},
      {Py_mp_length, reinterpret_cast<void*>(tensor_length)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(tensor_get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(tensor_release_buffer)},
      {Py_tp_members, tensor_members},
      {Py_tp_getset, tensor_getset},
      {Py_tp_methods, tensor_methods},
      {Py_tp_doc, const_cast<char*>("A multi-dimensional array of numbers of one dtype.")},
  };
  push_number_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"wisp.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = make_type(module, spec);
  for (PyMethodDef* more :
       {tensor_conversion_methods, tensor_autograd_methods, tensor_storage_methods}) {
    for (PyMethodDef* def = more; def->ml_name; ++def) {
      const Ref method = owned(PyDescr_NewMethod(tensor_type, def));
      must_succeed(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), def->ml_name,
                                          method.get()));
    }
  }
}

}  // namespace wisp::python
