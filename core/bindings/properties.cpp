// Tensor's attributes and the methods that answer questions about it.
#include "autograd/meta.h"
#include "bindings/arguments.h"
#include "bindings/node_object.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "bindings/types.h"
#include "dispatch/call.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

template <class F>
PyObject* get(PyObject* self, F f) {
  return guarded([&] { return f(tensor_of(self)); });
}

PyObject* shape(PyObject* self, void*) {
  return get(self, [](const Tensor& t) {
    return WISP_UNLIKELY(tracing != nullptr) ? traced_shape(t) : wrap_size(t.sizes());
  });
}
PyObject* dtype(PyObject* self, void*) { return wrap(impl_of(self)->dtype()); }
PyObject* device(PyObject* self, void*) {
  return get(self, [](const Tensor& t) { return wrap(t.device()); });
}
PyObject* layout(PyObject*, void*) { return wrap_layout(); }
PyObject* ndim(PyObject* self, void*) { return PyLong_FromLongLong(impl_of(self)->ndim()); }
PyObject* itemsize(PyObject* self, void*) { return PyLong_FromSize_t(impl_of(self)->item_size()); }
PyObject* nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(impl_of(self)->numel() *
                             static_cast<int64_t>(impl_of(self)->item_size()));
}
PyObject* always_false(PyObject*, void*) { return boolean(false); }
PyObject* is_cpu(PyObject* self, void*) {
  return get(self, [](const Tensor& t) { return boolean(t.device().type == DeviceType::cpu); });
}

PyObject* is_meta(PyObject* self, void*) { return boolean(impl_of(self)->is_meta()); }

PyObject* requires_grad(PyObject* self, void*) { return boolean(impl_of(self)->requires_grad()); }
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    WISP_CHECK_TYPE(value && PyBool_Check(value), "requires_grad must be a bool");
    autograd::set_requires_grad(tensor_of(self), value == Py_True);
    return 0;
  });
}

PyObject* is_leaf(PyObject* self, void*) { return boolean(impl_of(self)->is_leaf()); }
PyObject* retains_grad(PyObject* self, void*) {
  const autograd::AutogradMeta* meta = autograd::meta_if_any(*impl_of(self));
  return boolean(meta && meta->retains_grad);
}

PyObject* grad(PyObject* self, void*) {
  return get(self, [](const Tensor& t) {
    if (!t->is_leaf() && t.requires_grad()) {
      const autograd::AutogradMeta* meta = autograd::meta_if_any(*t.impl());
      if (!meta || !meta->retains_grad) {
        if (PyErr_WarnEx(
                PyExc_UserWarning,
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
                "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
                "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                1) < 0) {
          throw PythonError();
        }
      }
    }
    return wrap(autograd::grad(t));
  });
}
int set_grad(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    WISP_CHECK_TYPE(!value || value == Py_None || is_tensor(value),
                    "assigned grad expected to be a Tensor or None but got grad of type ",
                    Py_TYPE(value)->tp_name);
    autograd::set_grad(tensor_of(self), value && value != Py_None ? tensor_of(value) : Tensor());
    return 0;
  });
}

PyObject* grad_fn(PyObject* self, void*) {
  track(self);  // who asks for the node may give it a hook that refers to the tensor
  return get(self, [](const Tensor& t) { return wrap_node(autograd::grad_fn(t)); });
}
PyObject* output_nr(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(impl_of(self)->autograd().output);
}

PyObject* data(PyObject* self, void*) {
  return get(self, [](const Tensor& t) { return wrap(autograd::detach(t, true)); });
}
// x.data = y: this tensor takes over y's memory, shape and dtype.
int set_data(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor& target = tensor_of(self);
    const Tensor& source = expect_tensor(value, "data");
    WISP_CHECK(
        !target.requires_grad() || is_differentiable(source.dtype()),
        "data set to a tensor that requires gradients must be floating point or complex dtype");
    const Dims sizes(source.sizes()), strides(source.strides());
    target->set_storage(source->storage_ref());
    target->set_dtype(source.dtype());
    target->set_geometry(sizes, strides, source->offset());
    if (WISP_UNLIKELY(tracing != nullptr)) tracing->replace(target, source);
    return 0;
  });
}

PyObject* version(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(impl_of(self)->version());
}
PyObject* base(PyObject* self, void*) {
  return get(self,
             [](const Tensor& t) { return t->base() ? wrap(Tensor::share(t->base())) : none(); });
}

PyObject* transposed(PyObject* self, void*) {
  return get(self, [](const Tensor& t) {
    Dims order;
    for (int64_t i = t.ndim(); i-- > 0;) order.push_back(i);
    return wrap(ops::permute(t, order));
  });
}
PyObject* matrix_transposed(PyObject* self, void*) {
  return get(self, [](const Tensor& t) {
    WISP_CHECK(t.ndim() >= 2,
               "tensor.mT is only supported on matrices or batches of matrices. Got ", t.ndim(),
               "-D tensor.");
    return wrap(ops::transpose(t, -2, -1));
  });
}
PyObject* adjoint(PyObject* self, void* batched) {
  return get(self, [&](const Tensor& t) {
    WISP_CHECK(t.ndim() >= 2 && (batched || t.ndim() == 2), "tensor.", batched ? "mH" : "H",
               " is only supported on matrices (2-D tensors). Got ", t.ndim(), "-D tensor.");
    return wrap(ops::conj(ops::transpose(t, -2, -1)));
  });
}
PyObject* real_part(PyObject* self, void*) {
  return get(self, [](const Tensor& t) { return wrap(ops::real(t)); });
}
PyObject* imag_part(PyObject* self, void*) {
  return get(self, [](const Tensor& t) { return wrap(invoke<"imag">(t)); });
}
template <OpName Name>
int assign_part(PyObject* self, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor part = invoke<Name>(tensor_of(self));
    Scalar number;
    if (value && !is_tensor(value) && to_scalar(value, number)) {
      ops::fill_(part, number);
    } else {
      ops::copy_(part, expect_tensor(value, "assignment"));
    }
    return 0;
  });
}

// --- methods

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const bool keyword = kwnames && PyTuple_GET_SIZE(kwnames) == 1 && nargs == 0;
    if ((nargs == 0 && !keyword) || args[0] == Py_None) return shape(self, nullptr);
    int64_t dim;
    WISP_CHECK_TYPE(nargs + (keyword ? 1 : 0) == 1 && to_int(args[0], dim),
                    "size(): argument 'dim' must be int");
    WISP_CHECK_INDEX(t.ndim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
    if (WISP_UNLIKELY(tracing != nullptr)) return traced_size(t, wrap_dim(dim, t.ndim()));
    return PyLong_FromLongLong(t.size(dim));
  });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    const bool keyword = kwnames && PyTuple_GET_SIZE(kwnames) == 1 && nargs == 0;
    if ((nargs == 1 || keyword) && args[0] != Py_None) {
      int64_t dim;
      WISP_CHECK_TYPE(to_int(args[0], dim), "stride(): argument 'dim' must be int");
      WISP_CHECK_INDEX(t.ndim() > 0, "Dimension specified as ", dim,
                       " but tensor has no dimensions");
      return PyLong_FromLongLong(t.stride(dim));
    }
    Ref tuple = owned(PyTuple_New(t.ndim()));
    for (int64_t i = 0; i < t.ndim(); ++i)
      PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(t->stride(i)));
    return tuple.release();
  });
}

PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLongLong(impl_of(self)->ndim()); }
PyObject* numel(PyObject* self, PyObject*) {
  return guarded([&] {
    if (WISP_UNLIKELY(tracing != nullptr)) return traced_numel(tensor_of(self));
    return PyLong_FromLongLong(impl_of(self)->numel());
  });
}
PyObject* element_size(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(impl_of(self)->item_size());
}
PyObject* storage_offset(PyObject* self, PyObject*) {
  return PyLong_FromLongLong(impl_of(self)->offset());
}
// Whoever has an address may write there: what was to be read from it has to have been.
void read_what_waits() {
  if (Storage::any_deferred()) Storage::run_deferred();
}
PyObject* data_ptr(PyObject* self, PyObject*) {
  const TensorImpl* impl = impl_of(self);
  read_what_waits();
  impl->storage().expose();
  return PyLong_FromVoidPtr(impl->numel() && !impl->is_meta() ? impl->bytes() : nullptr);
}
PyObject* storage_data_ptr(PyObject* self, PyObject*) {
  const TensorImpl* impl = impl_of(self);
  read_what_waits();
  return PyLong_FromVoidPtr(impl->is_meta() ? nullptr : impl->storage().data());
}
PyObject* storage_nbytes(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(impl_of(self)->storage().bytes());
}
PyObject* is_floating_point(PyObject* self, PyObject*) {
  return boolean(is_floating(impl_of(self)->dtype()));
}
PyObject* is_complex_method(PyObject* self, PyObject*) {
  return boolean(is_complex(impl_of(self)->dtype()));
}
PyObject* is_signed_method(PyObject* self, PyObject*) {
  return boolean(is_signed(impl_of(self)->dtype()));
}
PyObject* is_conj(PyObject*, PyObject*) { return boolean(false); }
PyObject* is_inference(PyObject* self, PyObject*) { return boolean(impl_of(self)->is_inference()); }
PyObject* is_view(PyObject* self, PyObject*) { return boolean(impl_of(self)->base() != nullptr); }
PyObject* get_device(PyObject*, PyObject*) { return PyLong_FromLong(-1); }

PyObject* is_contiguous(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                        PyObject* kwnames) {
  return guarded([&] {
    const Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    MemoryFormat format = MemoryFormat::contiguous;
    WISP_CHECK_TYPE(given == 0 || (given == 1 && to_memory_format(args[0], format)),
                    "is_contiguous(): argument 'memory_format' must be wisp.memory_format");
    return boolean(impl_of(self)->is_contiguous(format));
  });
}

PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&] {
    return boolean(same(tensor_of(self).sizes(), expect_tensor(other, "is_same_size()").sizes()));
  });
}
PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor &a = tensor_of(self), &b = expect_tensor(other, "is_set_to()");
    return boolean(&a->storage() == &b->storage() && a->offset() == b->offset() &&
                   same(a.sizes(), b.sizes()) && same(a.strides(), b.strides()));
  });
}
// Whether two tensors use the same memory, however they got it.
PyObject* shares_memory(PyObject* self, PyObject* other) {
  return guarded([&] {
    return boolean(share_memory(*impl_of(self), *expect_tensor(other, "shares_memory()").impl()));
  });
}
PyObject* shares_storage(PyObject* self, PyObject* other) {
  return guarded([&] {
    return boolean(&tensor_of(self)->storage() ==
                   &expect_tensor(other, "_shares_storage()")->storage());
  });
}

PyObject* resolve(PyObject* self, PyObject*) {
  Py_INCREF(self);
  return self;
}

}  // namespace

#define WISP_FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef tensor_methods[] = {
    {"size", WISP_FAST(size), METH_FASTCALL | METH_KEYWORDS,
     "size(dim=None): the shape, or one size of it."},
    {"stride", WISP_FAST(stride), METH_FASTCALL | METH_KEYWORDS,
     "stride(dim=None): elements to step over per index."},
    {"is_contiguous", WISP_FAST(is_contiguous), METH_FASTCALL | METH_KEYWORDS,
     "is_contiguous(memory_format=contiguous_format): whether memory is laid out in that order without gaps."},
    {"dim", dim, METH_NOARGS, "The number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "The number of dimensions."},
    {"numel", numel, METH_NOARGS, "The number of elements."},
    {"nelement", numel, METH_NOARGS, "The number of elements."},
    {"element_size", element_size, METH_NOARGS, "Bytes of an element."},
    {"storage_offset", storage_offset, METH_NOARGS,
     "Where this tensor starts in its storage, in elements."},
    {"data_ptr", data_ptr, METH_NOARGS, "The address of the first element."},
    {"_storage_data_ptr", storage_data_ptr, METH_NOARGS, nullptr},
    {"_storage_nbytes", storage_nbytes, METH_NOARGS, nullptr},
    {"is_floating_point", is_floating_point, METH_NOARGS, "Whether the dtype is a real float."},
    {"is_complex", is_complex_method, METH_NOARGS, "Whether the dtype is complex."},
    {"is_signed", is_signed_method, METH_NOARGS, "Whether the dtype has negative numbers."},
    {"is_conj", is_conj, METH_NOARGS, "False: conjugates are computed at once."},
    {"is_neg", is_conj, METH_NOARGS, "False: negations are computed at once."},
    {"is_inference", is_inference, METH_NOARGS, "Whether it was made in inference_mode()."},
    {"_is_view", is_view, METH_NOARGS, "Whether it is a view of another tensor."},
    {"get_device", get_device, METH_NOARGS, "-1, as for every CPU tensor."},
    {"is_same_size", is_same_size, METH_O, "Whether both have the same shape."},
    {"is_set_to", is_set_to, METH_O, "Whether both are the same view of the same storage."},
    {"shares_memory", shares_memory, METH_O, "Whether some byte of memory belongs to both."},
    {"_shares_storage", shares_storage, METH_O, nullptr},
    {"resolve_conj", resolve, METH_NOARGS, "The tensor itself: conjugates are computed at once."},
    {"resolve_neg", resolve, METH_NOARGS, "The tensor itself: negations are computed at once."},
    {}};

PyGetSetDef tensor_getset[] = {
    {"shape", shape, nullptr, "The sizes of the dimensions.", nullptr},
    {"dtype", dtype, nullptr, "The type of the elements.", nullptr},
    {"device", device, nullptr, "Where the tensor lives.", nullptr},
    {"layout", layout, nullptr, "wisp.strided", nullptr},
    {"ndim", ndim, nullptr, "The number of dimensions.", nullptr},
    {"itemsize", itemsize, nullptr, "Bytes of an element.", nullptr},
    {"nbytes", nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"is_cpu", is_cpu, nullptr, nullptr, nullptr},
    {"is_cuda", always_false, nullptr, nullptr, nullptr},
    {"is_xpu", always_false, nullptr, nullptr, nullptr},
    {"is_mps", always_false, nullptr, nullptr, nullptr},
    {"is_sparse", always_false, nullptr, nullptr, nullptr},
    {"is_sparse_csr", always_false, nullptr, nullptr, nullptr},
    {"is_quantized", always_false, nullptr, nullptr, nullptr},
    {"is_nested", always_false, nullptr, nullptr, nullptr},
    {"is_meta", is_meta, nullptr, nullptr, nullptr},
    {"is_mkldnn", always_false, nullptr, nullptr, nullptr},
    {"requires_grad", requires_grad, set_requires_grad,
     "Whether gradients are to be computed for it.", nullptr},
    {"is_leaf", is_leaf, nullptr, "Whether it is not the result of a recorded operation.", nullptr},
    {"retains_grad", retains_grad, nullptr, "Whether retain_grad() was called on a non-leaf.",
     nullptr},
    {"grad", grad, set_grad, "The gradient accumulated by backward(), or None.", nullptr},
    {"_grad", grad, set_grad, nullptr, nullptr},
    {"grad_fn", grad_fn, nullptr, "The graph node that made it, or None.", nullptr},
    {"output_nr", output_nr, nullptr, "Which output of grad_fn it is.", nullptr},
    {"data", data, set_data,
     "The same memory without history; writes through it go unnoticed by autograd.", nullptr},
    {"_version", version, nullptr, "How often it was written in place.", nullptr},
    {"_base", base, nullptr, "The tensor it is a view of, or None.", nullptr},
    {"T", transposed, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", matrix_transposed, nullptr, "The last two dimensions swapped.", nullptr},
    {"H", adjoint, nullptr, "The conjugate transpose of a matrix.", nullptr},
    {"mH", adjoint, nullptr, "The conjugate transpose of the last two dimensions.",
     const_cast<char*>("batched")},
    {"real", real_part, assign_part<"real">, "The real part.", nullptr},
    {"imag", imag_part, assign_part<"imag">, "The imaginary part.", nullptr},
    {"__dict__", tensor_dict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

Py_ssize_t tensor_length(PyObject* self) {
  const TensorImpl* impl = impl_of(self);
  if (impl->ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  const auto note = [] {
    note_read("len()");
    return 0;
  };
  if (WISP_UNLIKELY(tracing != nullptr) && guarded_int(note) < 0) return -1;
  return static_cast<Py_ssize_t>(impl->size(0));
}

}  // namespace wisp::python
