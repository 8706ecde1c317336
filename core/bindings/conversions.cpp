// Tensor to Python numbers and lists, other dtypes, NumPy and DLPack.
#include "bindings/arguments.h"
#include "bindings/interop.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "dispatch/call.h"
#include "ops/ops.h"
#include "tensor/contents.h"

namespace wisp::python {

PyObject* python_number(Scalar value) {
  switch (value.category()) {
    case Category::boolean:
      return boolean(value.truth());
    case Category::integral:
      return PyLong_FromLongLong(value.integer());
    case Category::floating:
      return PyFloat_FromDouble(value.real());
    default:
      return PyComplex_FromDoubles(value.real(), value.imag());
  }
}

namespace {

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] {
    note_read("item()");
    const Scalar value = tensor_of(self).item();
    if (impl_of(self)->dtype() == DType::uint64)
      return must(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(value.integer())));
    return must(python_number(value));
  });
}

template <class T>
PyObject* element(const char* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return boolean(*reinterpret_cast<const uint8_t*>(at) != 0);
  } else {
    T value;
    std::memcpy(&value, at, sizeof(T));
    if constexpr (detail::is_complex_type<T>) {
      return PyComplex_FromDoubles(value.re, value.im);
    } else if constexpr (detail::is_float_type<T>) {
      return PyFloat_FromDouble(wisp::convert<double>(value));
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      return PyLong_FromUnsignedLongLong(value);
    } else {
      return PyLong_FromLongLong(static_cast<long long>(value));
    }
  }
}

template <class T>
PyObject* nested_list(const TensorImpl& t, int64_t dim, const char* at) {
  if (dim == t.ndim()) return must(element<T>(at));
  Ref list = owned(PyList_New(t.size(dim)));
  const int64_t step = t.stride(dim) * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < t.size(dim); ++i)
    PyList_SET_ITEM(list.get(), i, nested_list<T>(t, dim + 1, at + i * step));
  return list.release();
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    const TensorImpl& t = *impl_of(self);
    note_read("tolist()");
    t.check_readable("tolist()");
    contents_read = true;
    return visit<dtypes::any>(t.dtype(), "tolist",
                              [&]<class T>() { return nested_list<T>(t, 0, t.bytes()); });
  });
}

// --- to()

struct Target {
  Arg dtype, device, format;
  bool copy = false;
};

// One argument of to(): a dtype, a device or another tensor; no more than one of each.
bool take_target(PyObject* value, Target& target) {
  DType dtype;
  const bool dtype_known = !target.dtype.is_none(), device_known = !target.device.is_none();
  if (to_dtype(value, dtype)) {
    if (dtype_known) return false;
    target.dtype = Arg(dtype);
  } else if (is_tensor(value) ? dtype_known || device_known : device_known && value != Py_None) {
    return false;
  } else if (is_device(value) || PyUnicode_Check(value) || PyLong_Check(value)) {
    target.device = Arg(to_device(value));
  } else if (is_tensor(value)) {
    target.dtype = Arg(impl_of(value)->dtype());
    target.device = Arg(impl_of(value)->device());
  } else {
    return value == Py_None;
  }
  return true;
}

PyObject* run_to(PyObject* self, const Target& target) {
  Tensor result =
      invoke<"to">(tensor_of(self), target.dtype, target.device, false, target.copy, target.format);
  return wrap(std::move(result));
}

PyObject* to(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Target target;
    Py_ssize_t i = 0;
    while (i < nargs && !PyBool_Check(args[i]) && take_target(args[i], target)) ++i;
    if (i < nargs && PyBool_Check(args[i])) ++i;  // non_blocking: everything is
    if (i < nargs && PyBool_Check(args[i])) target.copy = args[i++] == Py_True;
    WISP_CHECK_TYPE(i == nargs, "to(): argument ", i + 1,
                    " must be a dtype, a device or a Tensor, not ", type_name(args[i]));
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
      const std::string name = text_of(PyTuple_GET_ITEM(kwnames, k));
      PyObject* value = args[nargs + k];
      MemoryFormat format;
      if (name == "dtype" || name == "device" || name == "other") {
        WISP_CHECK_TYPE(take_target(value, target), "to(): argument '", name, "' must not be ",
                        type_name(value));
      } else if (name == "copy") {
        target.copy = truth_of(value);
      } else if (name == "memory_format") {
        WISP_CHECK_TYPE(to_memory_format(value, format) || value == Py_None,
                        "to(): argument 'memory_format' must be wisp.memory_format");
        if (value != Py_None) target.format = Arg(format);
      } else {
        WISP_CHECK_TYPE(name == "non_blocking", "to(): got an unexpected keyword argument '", name,
                        "'");
      }
    }
    return run_to(self, target);
  });
}

template <DType dtype>
PyObject* to_fixed(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&] {
    Target target;
    target.dtype = Arg(dtype);
    MemoryFormat format;
    const Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    WISP_CHECK_TYPE(given == 0 || (given == 1 && to_memory_format(args[0], format)),
                    "takes at most one argument, memory_format");
    if (given) target.format = Arg(format);
    return run_to(self, target);
  });
}

PyObject* cpu(PyObject* self, PyObject*, PyObject*) {
  if (impl_of(self)->is_meta()) {
    return guarded([&] {
      Target target;
      target.device = Arg(Device{});
      return run_to(self, target);
    });
  }
  Py_INCREF(self);
  return self;
}
PyObject* no_such_device(PyObject*, PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    usable(parse_device("cuda"));
    return nullptr;
  });
}

// --- type(): the legacy names

std::string legacy_type(DType dtype) {
  return str(shown_package(), ".", legacy_name(dtype), "Tensor");
}

DType parse_legacy_type(std::string text) {
  const size_t dot = text.rfind('.');
  if (dot != std::string::npos) text = text.substr(dot + 1);
  for (int i = 0; i < num_dtypes; ++i) {
    if (text == str(legacy_name(static_cast<DType>(i)), "Tensor")) return static_cast<DType>(i);
  }
  fail(ErrorKind::value, "invalid type: '", text, "'");
}

PyObject* type(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (given == 0 || args[0] == Py_None)
      return must(PyUnicode_FromString(legacy_type(impl_of(self)->dtype()).c_str()));
    Target target;
    DType dtype;
    if (to_dtype(args[0], dtype)) {
      target.dtype = Arg(dtype);
    } else if (args[0] == reinterpret_cast<PyObject*>(tensor_type)) {
      target.dtype = Arg(default_dtype());
    } else if (PyUnicode_Check(args[0])) {
      target.dtype = Arg(parse_legacy_type(text_of(args[0])));
    } else {
      WISP_CHECK_TYPE(PyObject_HasAttrString(args[0], "dtype"),
                      "dtype must be a type, str, or dtype object");
      const Ref own = owned(PyObject_GetAttrString(args[0], "dtype"));  // wisp.FloatTensor
      WISP_CHECK_TYPE(to_dtype(own.get(), dtype),
                      "type(): argument must be a dtype or the name of a tensor type");
      target.dtype = Arg(dtype);
    }
    return run_to(self, target);
  });
}

PyObject* to_python_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const Scalar value = tensor_of(self).item();
    return must(PyComplex_FromDoubles(value.real(), value.imag()));
  });
}

}  // namespace

#define WISP_FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef tensor_conversion_methods[] = {
    {"item", item, METH_NOARGS, "The value of a one-element tensor as a Python number."},
    {"tolist", tolist, METH_NOARGS, "The elements as nested lists of Python numbers."},
    {"to", WISP_FAST(to), METH_FASTCALL | METH_KEYWORDS,
     "to(dtype or device or other, ..., copy=False, memory_format=None): this tensor converted; itself if it is that "
     "already."},
    {"type", WISP_FAST(type), METH_FASTCALL | METH_KEYWORDS,
     "type(dtype=None): the type's name, or this tensor converted."},
    {"float", WISP_FAST(to_fixed<DType::float32>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to float32."},
    {"double", WISP_FAST(to_fixed<DType::float64>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to float64."},
    {"half", WISP_FAST(to_fixed<DType::float16>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to float16."},
    {"bfloat16", WISP_FAST(to_fixed<DType::bfloat16>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to bfloat16."},
    {"long", WISP_FAST(to_fixed<DType::int64>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to int64."},
    {"int", WISP_FAST(to_fixed<DType::int32>), METH_FASTCALL | METH_KEYWORDS, "Converts to int32."},
    {"short", WISP_FAST(to_fixed<DType::int16>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to int16."},
    {"char", WISP_FAST(to_fixed<DType::int8>), METH_FASTCALL | METH_KEYWORDS, "Converts to int8."},
    {"byte", WISP_FAST(to_fixed<DType::uint8>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to uint8."},
    {"bool", WISP_FAST(to_fixed<DType::bool_>), METH_FASTCALL | METH_KEYWORDS, "Converts to bool."},
    {"cfloat", WISP_FAST(to_fixed<DType::complex64>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to complex64."},
    {"cdouble", WISP_FAST(to_fixed<DType::complex128>), METH_FASTCALL | METH_KEYWORDS,
     "Converts to complex128."},
    {"cpu", WISP_FAST(cpu), METH_VARARGS | METH_KEYWORDS, "The tensor itself."},
    {"cuda", WISP_FAST(no_such_device), METH_VARARGS | METH_KEYWORDS,
     "Fails: there is no such device."},
    {"__complex__", to_python_complex, METH_NOARGS, nullptr},
    {"numpy", WISP_FAST(tensor_numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy(force=False): a NumPy array that shares this tensor's memory."},
    {"__array__", WISP_FAST(tensor_array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack__", WISP_FAST(tensor_dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, nullptr},
    {}};

}  // namespace wisp::python
