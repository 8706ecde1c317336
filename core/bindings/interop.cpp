#include "bindings/interop.h"

#include <bit>

#include "autograd/meta.h"
#include "bindings/arguments.h"
#include "bindings/creation.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "bindings/types.h"
#include "ops/ops.h"

namespace wisp::python {

namespace {

// struct-module format of a dtype; null if the buffer protocol has none.
const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "?";
    case DType::uint8:
      return "B";
    case DType::int8:
      return "b";
    case DType::int16:
      return "h";
    case DType::uint16:
      return "H";
    case DType::uint32:
      return "I";
    case DType::uint64:
      return "Q";
    case DType::int32:
      return "i";
    case DType::int64:
      return "q";
    case DType::float16:
      return "e";
    case DType::float32:
      return "f";
    case DType::float64:
      return "d";
    case DType::complex64:
      return "Zf";
    case DType::complex128:
      return "Zd";
    default:
      return nullptr;
  }
}

constexpr const char* supported_elements =
    "The supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, "
    "uint64, uint32, uint16, uint8, and bool.";

DType dtype_from_format(const char* format, Py_ssize_t item, const char* function) {
  const char* code = format ? format : "B";
  if (*code == '@' || *code == '=' || *code == '<') ++code;
  WISP_CHECK_VALUE(
      *code != '>' && *code != '!', function,
      ": given numpy array has byte order different from the native byte order. Conversion between byte "
      "orders is currently not supported.");
  const std::string text = code;
  auto by_size = [&](DType one, DType two, DType four, DType eight) {
    return item == 1 ? one : item == 2 ? two : item == 4 ? four : eight;
  };
  if (text == "?") return DType::bool_;
  if (text == "e") return DType::float16;
  if (text == "f") return DType::float32;
  if (text == "d") return DType::float64;
  if (text == "Zf") return DType::complex64;
  if (text == "Zd") return DType::complex128;
  if (text == "b" || text == "h" || text == "i" || text == "l" || text == "q" || text == "n") {
    return by_size(DType::int8, DType::int16, DType::int32, DType::int64);
  }
  if (text == "H" || text == "I" || text == "L" || text == "Q" || text == "N") {
    return by_size(DType::uint8, DType::uint16, DType::uint32, DType::uint64);
  }
  WISP_CHECK_TYPE(text == "B" || text == "c", function, ": can't convert elements of type '",
                  format ? format : "B", "'. ", supported_elements);
  return DType::uint8;
}

// Exports a storage as plain bytes; what NumPy arrays made from tensors hold on to.
struct ExporterObject {
  PyObject_HEAD;
  Storage* storage;  // owned
};

PyTypeObject* exporter_type = nullptr;

int exporter_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Storage& storage = *reinterpret_cast<ExporterObject*>(self)->storage;
  return PyBuffer_FillInfo(view, self, storage.data(), static_cast<Py_ssize_t>(storage.bytes()),
                           !storage.writable(), flags);
}

void exporter_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<ExporterObject*>(self)->storage->release();
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyType_Slot exporter_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(exporter_buffer)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(exporter_dealloc)},
                                {0, nullptr}};
PyType_Spec exporter_spec = {"wisp._C.Memory", sizeof(ExporterObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             exporter_slots};

PyObject* numpy_dtype(DType dtype) {
  static PyObject* cache[num_dtypes] = {};
  PyObject*& found = cache[static_cast<int>(dtype)];
  if (!found) {
    WISP_CHECK_TYPE(format_of(dtype), "Got unsupported ScalarType ", legacy_name(dtype),
                    ": NumPy has no such dtype; convert with .float() first");
    const Ref make(import_attribute("numpy", "dtype"));
    found =
        must(PyObject_CallFunction(make.get(), "s", dtype == DType::bool_ ? "bool" : name(dtype)));
  }
  return found;
}

// numpy.ndarray(shape, dtype, buffer, offset, strides) on the tensor's storage.
PyObject* make_array(const Tensor& t) {
  WISP_CHECK_TYPE(!t->is_meta(),
                  "can't convert meta device type tensor to numpy: it has no values");
  t->check_readable("numpy()");
  static PyObject* ndarray = import_attribute("numpy", "ndarray");
  const int64_t item = static_cast<int64_t>(t->item_size());
  const Ref shape = owned(PyTuple_New(t.ndim())), strides = owned(PyTuple_New(t.ndim()));
  for (int64_t i = 0; i < t.ndim(); ++i) {
    PyTuple_SET_ITEM(shape.get(), i, PyLong_FromLongLong(t->size(i)));
    PyTuple_SET_ITEM(strides.get(), i, PyLong_FromLongLong(t->stride(i) * item));
  }
  PyObject* dtype = numpy_dtype(t.dtype());
  if (t.numel() == 0)
    return must(PyObject_CallFunctionObjArgs(ndarray, shape.get(), dtype, nullptr));
  const Ref exporter = owned(exporter_type->tp_alloc(exporter_type, 0));
  t->storage().pin();
  t->storage().retain();
  reinterpret_cast<ExporterObject*>(exporter.get())->storage = &t->storage();
  const Ref offset = owned(PyLong_FromLongLong(t->offset() * item));
  return must(PyObject_CallFunctionObjArgs(ndarray, shape.get(), dtype, exporter.get(),
                                           offset.get(), strides.get(), nullptr));
}

struct HeldBuffer {
  Py_buffer view;
  wisp::Ref<Storage> former;  // memory that was moved from, while somebody may hold its address
};

void release_buffer(void* context) {
  auto* held = static_cast<HeldBuffer*>(context);
  const FreeingLock lock;
  if (!lock) return;
  PyBuffer_Release(&held->view);
  delete held;
}

}  // namespace

PyObject* tensor_numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  int force = 0;
  if (PyTuple_GET_SIZE(args) || kwargs) {
    static const char* names[] = {"force", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force))
      return nullptr;
  }
  return guarded([&] {
    note_read("numpy()");
    const Tensor& t = tensor_of(self);
    WISP_CHECK(
        force || !mode.grad || !t.requires_grad(),
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    return make_array(t);
  });
}

// numpy.asarray(tensor) and the like.
PyObject* tensor_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", const_cast<char**>(names), &dtype, &copy))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    WISP_CHECK(
        !mode.grad || !t.requires_grad(),
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    Ref array(make_array(t));
    if (dtype != Py_None) {
      const Ref method = owned(PyObject_GetAttrString(array.get(), "astype"));
      const Ref no_copy = owned(Py_BuildValue("{s:O}", "copy", Py_False));
      const Ref arguments = owned(PyTuple_Pack(1, dtype));
      array = owned(PyObject_Call(method.get(), arguments.get(), no_copy.get()));
    }
    if (copy == Py_True) return must(PyObject_CallMethod(array.get(), "copy", nullptr));
    return array.release();
  });
}

bool has_buffer(PyObject* object) { return PyObject_CheckBuffer(object); }

Tensor from_buffer_object(PyObject* object, const char* function) {
  auto held = std::make_unique<HeldBuffer>();
  bool writable = true;
  if (PyObject_GetBuffer(object, &held->view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    writable = false;
    if (PyObject_GetBuffer(object, &held->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
      PyErr_Clear();  // dates, records and other elements that buffers cannot describe
      fail(ErrorKind::type, function, ": can't convert elements of this ", type_name(object), ". ",
           supported_elements);
    }
  }
  const Py_buffer& view = held->view;
  try {
    const DType dtype = dtype_from_format(view.format, view.itemsize, function);
    Dims sizes, strides;
    for (int i = 0; i < view.ndim; ++i) {
      const int64_t stride = view.strides ? view.strides[i] : view.itemsize;
      sizes.push_back(view.shape[i]);
      WISP_CHECK_VALUE(
          stride >= 0 || view.shape[i] <= 1,
          "At least one stride in the given numpy array is negative, and "
          "tensors with negative strides are not supported. (You can probably work around this by making a "
          "copy of your array with array.copy().)");
      WISP_CHECK_VALUE(stride % view.itemsize == 0, function,
                       ": strides are not a multiple of the element size; copy the array first");
      strides.push_back(std::max<int64_t>(stride, 0) / view.itemsize);
    }
    const size_t bytes = static_cast<size_t>(extent(sizes, strides)) * item_size(dtype);
    WISP_CHECK_VALUE(
        reinterpret_cast<uintptr_t>(view.buf) % std::min<size_t>(item_size(dtype), 8) == 0,
        function, ": memory is not aligned to its elements; copy the array first");
    auto storage = Storage::wrap(view.buf, bytes, release_buffer, held.get(), writable);
    held.release();
    return Tensor::adopt(TensorImpl::make(std::move(storage), dtype, sizes, strides, 0));
  } catch (...) {
    if (held) PyBuffer_Release(&held->view);
    throw;
  }
}

// _move_storage(buffer): copies the whole storage into a writable buffer of at least its size, a
// mapped file say, and keeps it there from now on, for all tensors that share it.
PyObject* move_storage(PyObject* self, PyObject* buffer) {
  return guarded([&] {
    Storage& storage = impl_of(self)->storage();
    auto held = std::make_unique<HeldBuffer>();
    if (PyObject_GetBuffer(buffer, &held->view, PyBUF_WRITABLE) != 0) throw PythonError();
    const Py_buffer& view = held->view;
    const bool fits = static_cast<size_t>(view.len) >= storage.bytes() &&
                      reinterpret_cast<uintptr_t>(view.buf) % 64 == 0;
    if (!fits) PyBuffer_Release(&held->view);
    WISP_CHECK_VALUE(fits, "_move_storage(): expected a buffer of at least ", storage.bytes(),
                     " bytes at an address divisible by 64");
    auto former = storage.move_to(view.buf, release_buffer, held.get());
    if (storage.pinned()) held->former = std::move(former);
    held.release();
    Py_RETURN_NONE;
  });
}

// --- the buffer protocol of tensors: memoryview(x), array.array, ctypes...

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    const char* format = format_of(t.dtype());
    WISP_CHECK_KIND(buffer, format, name(t.dtype()), " tensors have no buffer format");
    WISP_CHECK_KIND(buffer, !t.requires_grad(),
                    "a tensor that requires grad cannot be exported; detach() it first");
    WISP_CHECK_KIND(buffer, t->storage().writable() || !(flags & PyBUF_WRITABLE),
                    "the tensor's memory is read-only");
    t->check_readable("the buffer protocol");
    const bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    WISP_CHECK_KIND(buffer, strided || t.is_contiguous(), "the tensor is not contiguous");
    const int64_t n = t.ndim(), item = static_cast<int64_t>(t->item_size());
    auto* dims = new Py_ssize_t[static_cast<size_t>(2 * n + 1)];
    for (int64_t i = 0; i < n; ++i) {
      dims[i] = t->size(i);
      dims[n + i] = t->stride(i) * item;
    }
    t->storage().pin();
    view->buf = t->bytes();
    Py_INCREF(self);
    view->obj = self;
    view->len = t.numel() * item;
    view->itemsize = item;
    view->readonly = !t->storage().writable();
    view->ndim = flags & PyBUF_ND ? static_cast<int>(n) : 1;  // without shape: a row of bytes
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = flags & PyBUF_ND ? dims : nullptr;
    view->strides = strided ? dims + n : nullptr;
    view->suboffsets = nullptr;
    view->internal = dims;
    return 0;
  });
}

void tensor_release_buffer(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

// --- DLPack (the structs are fixed by its specification)

namespace {

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

enum DLCode : uint8_t {
  dl_int = 0,
  dl_uint = 1,
  dl_float = 2,
  dl_bfloat = 4,
  dl_complex = 5,
  dl_bool = 6
};
constexpr int32_t dl_cpu = 1;

DLDataType dl_dtype(DType dtype) {
  const uint8_t bits = static_cast<uint8_t>(item_size(dtype) * 8);
  if (dtype == DType::bool_) return {dl_bool, 8, 1};
  if (dtype == DType::bfloat16) return {dl_bfloat, bits, 1};
  if (is_complex(dtype)) return {dl_complex, bits, 1};
  if (contains(dtypes::float8, dtype)) {
    constexpr uint8_t codes[] = {10, 12, 11, 13, 14};  // in the order of Float8Form
    return {codes[int(dtype) - int(DType::float8_e4m3fn)], bits, 1};
  }
  if (is_floating(dtype)) return {dl_float, bits, 1};
  return {is_signed(dtype) ? dl_int : dl_uint, bits, 1};
}

DType from_dl_dtype(DLDataType type) {
  for (int i = 0; i < num_dtypes; ++i) {
    const DLDataType known = dl_dtype(static_cast<DType>(i));
    if (type.lanes == 1 && known.code == type.code && known.bits == type.bits)
      return static_cast<DType>(i);
  }
  fail(ErrorKind::buffer, "from_dlpack(): unsupported element type (code ", int(type.code), ", ",
       int(type.bits), " bits)");
}

struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  Dims sizes, strides;
};

void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // consumed
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

PyObject* from_dlpack(PyObject*, PyObject* object) {
  return guarded([&] {
    Ref capsule = Ref::borrow(object);
    WISP_CHECK(PyCapsule_CheckExact(object) || PyObject_HasAttrString(object, "__dlpack__"),
               "from_dlpack(): expected an object with __dlpack__ or a DLPack capsule, got ",
               type_name(object));
    if (!PyCapsule_CheckExact(object))
      capsule = owned(PyObject_CallMethod(object, "__dlpack__", nullptr));
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
    if (!managed) throw PythonError();
    const DLTensor& source = managed->dl_tensor;
    WISP_CHECK_KIND(buffer, source.device.type == dl_cpu,
                    "from_dlpack(): the tensor is not on the CPU");
    const DType dtype = from_dl_dtype(source.dtype);
    const IntSpan sizes(source.shape, static_cast<size_t>(source.ndim));
    const Dims strides =
        source.strides ? Dims(IntSpan(source.strides, sizes.size())) : contiguous_strides(sizes);
    for (int64_t stride : strides)
      WISP_CHECK_KIND(buffer, stride >= 0, "from_dlpack(): negative strides are not supported");
    const size_t bytes = static_cast<size_t>(extent(sizes, strides)) * item_size(dtype);
    char* data = static_cast<char*>(source.data) + source.byte_offset;
    auto storage = Storage::wrap(
        data, bytes,
        [](void* context) {
          const FreeingLock lock;
          auto* owner = static_cast<DLManagedTensor*>(context);
          if (lock && owner->deleter) owner->deleter(owner);
        },
        managed);
    PyCapsule_SetName(capsule.get(), "used_dltensor");
    return wrap(Tensor::adopt(TensorImpl::make(std::move(storage), dtype, sizes, strides, 0)));
  });
}

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    WISP_CHECK_TYPE(is_array(array), "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
    Tensor tensor = from_buffer_object(array, "from_numpy()");
    if (!tensor->storage().writable()) {
      must_succeed(PyErr_WarnEx(
          PyExc_UserWarning,
          "The given NumPy array is not writable. Writing to the tensor raises an error; copy the array "
          "or clone() the tensor to protect its data or make it writable.",
          1));
    }
    return wrap(std::move(tensor));
  });
}

PyObject* frombuffer(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
  PyObject *buffer, *dtype_object = Py_None;
  Py_ssize_t count = -1, offset = 0;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$Onnp:frombuffer", const_cast<char**>(names),
                                   &buffer, &dtype_object, &count, &offset, &requires_grad)) {
    return nullptr;
  }
  return guarded([&] {
    DType dtype;
    WISP_CHECK_TYPE(to_dtype(dtype_object, dtype),
                    "frombuffer(): argument 'dtype' must be wisp.dtype, not ",
                    type_name(dtype_object));
    WISP_CHECK_VALUE(has_buffer(buffer), "object does not implement Python buffer protocol.");
    Tensor bytes = from_buffer_object(buffer, "frombuffer()");
    const int64_t item = static_cast<int64_t>(item_size(dtype)),
                  size = bytes.numel() * static_cast<int64_t>(bytes->item_size());
    WISP_CHECK_VALUE(bytes.is_contiguous(), "frombuffer(): the buffer must be contiguous");
    WISP_CHECK_VALUE(size > 0 && count != 0, "both buffer length (", size, ") and count (", count,
                     ") must not be 0");
    WISP_CHECK_VALUE(offset >= 0 && offset < size, "offset (", offset,
                     " bytes) must be non-negative and no greater than buffer length (", size,
                     " bytes) minus 1");
    WISP_CHECK_VALUE(count > 0 || (size - offset) % item == 0, "buffer length (", size - offset,
                     " bytes) after offset (", offset,
                     " bytes) must be a multiple of element size (", item, ")");
    const int64_t n = count > 0 ? count : (size - offset) / item;
    WISP_CHECK_VALUE(n <= (size - offset) / item, "requested buffer length (", n, " * ", item,
                     " bytes) after offset (", offset,
                     " bytes) must not be greater than actual buffer length (", size, " bytes)");
    char* data = bytes->bytes() + offset;
    WISP_CHECK_VALUE(reinterpret_cast<uintptr_t>(data) % std::min<int64_t>(item, 8) == 0,
                     "frombuffer(): memory is not aligned to its elements");
    auto* keep = new Tensor(bytes);
    auto storage = Storage::wrap(
        data, static_cast<size_t>(n * item), [](void* t) { delete static_cast<Tensor*>(t); }, keep,
        bytes->storage().writable());
    Tensor result = Tensor::adopt(TensorImpl::make(std::move(storage), dtype, IntSpan(&n, 1)));
    if (requires_grad) autograd::set_requires_grad(result, true);
    return wrap(std::move(result));
  });
}

PyMethodDef functions[] = {
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(array): a tensor that shares the array's memory."},
    {"from_dlpack", from_dlpack, METH_O,
     "from_dlpack(object): a tensor that shares the memory of any object with __dlpack__."},
    {"frombuffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(frombuffer)),
     METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False): a 1-d tensor on the memory of a buffer."},
    {}};

}  // namespace

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO", const_cast<char**>(names), &stream,
                                   &version, &device, &copy)) {
    return nullptr;
  }
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    WISP_CHECK_KIND(buffer, !t.requires_grad(),
                    "Can't export tensors that require gradient, use tensor.detach()");
    t->check_readable("DLPack");
    auto exported = std::make_unique<Exported>();
    exported->tensor = copy == Py_True ? ops::clone(t) : t;
    const Tensor& shared = exported->tensor;
    shared->storage().pin();
    exported->sizes = Dims(shared.sizes());
    exported->strides = Dims(shared.strides());
    exported->managed = {{shared->bytes(),
                          {dl_cpu, 0},
                          static_cast<int32_t>(shared.ndim()),
                          dl_dtype(shared.dtype()),
                          exported->sizes.data(),
                          exported->strides.data(),
                          0},
                         exported.get(),
                         [](DLManagedTensor* managed) {
                           const FreeingLock lock;
                           if (lock) delete static_cast<Exported*>(managed->manager_ctx);
                         }};
    PyObject* capsule = must(PyCapsule_New(&exported->managed, "dltensor", destroy_capsule));
    exported.release();
    return capsule;
  });
}

PyObject* tensor_dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", dl_cpu, 0); }

void add_interop_functions(PyObject* module) {
  exporter_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&exporter_spec)));
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
