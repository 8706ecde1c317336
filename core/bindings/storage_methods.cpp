// What storages, set_(), resize_() and subclasses are made of in Python.
#include "autograd/record.h"
#include "bindings/arguments.h"
#include "bindings/interop.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "bindings/types.h"
#include "dispatch/call.h"

namespace wisp::python {

namespace {

Dims dims_from(PyObject* sequence, const char* what) {
  const Ref items = owned(PySequence_Fast(sequence, what));
  Dims dims;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    int64_t value;
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    WISP_CHECK_TYPE(to_int(item, value), what, ", but item ", i, " is ", type_name(item));
    dims.push_back(value);
  }
  WISP_CHECK(dims.size() <= max_ndim, "too many dimensions: ", dims.size());
  return dims;
}

// The whole storage as bytes.
PyObject* storage_bytes(PyObject* self, PyObject*) {
  return guarded([&] {
    const int64_t size = static_cast<int64_t>(impl_of(self)->storage().bytes());
    return wrap(Tensor::adopt(
        TensorImpl::make(impl_of(self)->storage_ref(), DType::uint8, IntSpan(&size, 1))));
  });
}

PyObject* storage_id(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(&impl_of(self)->storage());
}
PyObject* storage_resizable(PyObject* self, PyObject*) {
  return boolean(impl_of(self)->storage().resizable());
}

// Bytes a storage needs to hold such a tensor: none if that has no elements, wherever it says that
// it begins.
size_t bytes_needed(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  if (count_elements(sizes) == 0) return 0;
  int64_t bytes;
  const bool overflow = __builtin_add_overflow(offset, extent(sizes, strides), &bytes) ||
                        __builtin_mul_overflow(bytes, static_cast<int64_t>(t->item_size()), &bytes);
  WISP_CHECK(!overflow, "Storage size calculation overflowed with sizes=", sizes,
             " and strides=", strides);
  return static_cast<size_t>(bytes);
}

// _set(source, offset, size, stride=None): a view of source's storage from now on; the dtype stays.
PyObject* set(PyObject* self, PyObject* args) {
  PyObject *source_object, *size, *stride = Py_None;
  long long offset;
  if (!PyArg_ParseTuple(args, "OLO|O", &source_object, &offset, &size, &stride)) return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    const Tensor& source = expect_tensor(source_object, "set_()");
    const Dims sizes = dims_from(size, "set_(): argument 'size' must be a tuple of ints");
    const Dims strides =
        stride == Py_None ? contiguous_strides(sizes)
                          : dims_from(stride, "set_(): argument 'stride' must be a tuple of ints");
    WISP_CHECK(sizes.size() == strides.size(),
               "set_(): mismatch in length of strides and shape: ", strides.size(), " and ",
               sizes.size());
    WISP_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
    for (int64_t step : strides)
      WISP_CHECK(step >= 0, "set_(): strides must not be negative, got ", IntSpan(strides));
    WISP_CHECK(!t->base(), "set_(): a view cannot be given other memory");
    autograd::check_write("set", t);
    const size_t needed = bytes_needed(t, sizes, strides, offset);
    if (needed > source->storage().bytes()) source->storage().resize(needed);
    t->set_storage(source->storage_ref());
    t->set_geometry(sizes, strides, offset);
    if (WISP_UNLIKELY(tracing != nullptr) && !tracing->replace(t, source)) warn_read("set_()");
    Py_INCREF(self);
    return self;
  });
}

// _resize(size, memory_format=None): other sizes; the storage grows if it has to.
PyObject* resize_method(PyObject* self, PyObject* args) {
  PyObject *size, *format_object = Py_None;
  if (!PyArg_ParseTuple(args, "O|O", &size, &format_object)) return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    MemoryFormat format = MemoryFormat::contiguous;
    WISP_CHECK_TYPE(format_object == Py_None || to_memory_format(format_object, format),
                    "resize_(): argument 'memory_format' must be wisp.memory_format");
    WISP_CHECK(!t.requires_grad(), "cannot resize variables that require grad");
    autograd::check_write("resize", t);
    const Dims sizes = dims_from(size, "resize_(): argument 'size' must be a tuple of ints");
    WISP_CHECK(!tracing || same(t.sizes(), sizes),
               "resize_() cannot be traced: use reshape(), or a slice");
    // Without a format, a tensor of these sizes already stays as it lies in memory.
    if (format_object != Py_None || !same(t.sizes(), sizes)) resize(t, sizes, format);
    t->bump_version();
    Py_INCREF(self);
    return self;
  });
}

// as_subclass(cls): the same tensor, with its history, as an object of a subclass.
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    WISP_CHECK_TYPE(
        PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type),
        "as_subclass(): argument 'cls' must be a subclass of Tensor");
    return wrap_as(reinterpret_cast<PyTypeObject*>(cls), invoke<"alias">(tensor_of(self)));
  });
}

}  // namespace

PyMethodDef tensor_storage_methods[] = {
    {"_storage_bytes", storage_bytes, METH_NOARGS, nullptr},
    {"_storage_id", storage_id, METH_NOARGS, nullptr},
    {"_storage_resizable", storage_resizable, METH_NOARGS, nullptr},
    {"_move_storage", move_storage, METH_O, nullptr},
    {"_set", set, METH_VARARGS, nullptr},
    {"_resize", resize_method, METH_VARARGS, nullptr},
    {"as_subclass", as_subclass, METH_O,
     "as_subclass(cls): the same tensor, with its history, as an object of a subclass."},
    {}};

}  // namespace wisp::python
