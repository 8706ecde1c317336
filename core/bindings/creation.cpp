// tensor() and as_tensor(): tensors from Python data.
#include "bindings/creation.h"

#include "autograd/meta.h"
#include "bindings/arguments.h"
#include "bindings/interop.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "bindings/types.h"
#include "dispatch/call.h"
#include "ops/number.h"
#include "ops/ops.h"

namespace wisp::python {

bool is_array(PyObject* value) {
  for (const PyTypeObject* t = Py_TYPE(value); t && t != &PyBaseObject_Type; t = t->tp_base) {
    if (std::strcmp(t->tp_name, "numpy.ndarray") == 0) return true;
  }
  return false;
}

namespace {

bool is_sequence(PyObject* value) {
  if (PyList_Check(value) || PyTuple_Check(value)) return true;
  return PySequence_Check(value) && !PyUnicode_Check(value) && !PyBytes_Check(value) &&
         !PyDict_Check(value) && !is_tensor(value) && !is_array(value) && !is_dtype(value);
}

// The dtype of a NumPy scalar, by the name of its type.
std::optional<DType> numpy_scalar_dtype(PyObject* value) {
  const char* name = Py_TYPE(value)->tp_name;
  if (std::strncmp(name, "numpy.", 6) != 0) return std::nullopt;
  for (int i = 0; i < num_dtypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (std::strcmp(name + 6, wisp::name(dtype)) == 0) return dtype;
  }
  if (std::strcmp(name + 6, "bool_") == 0) return DType::bool_;
  return std::nullopt;
}

[[noreturn]] void fail_element(PyObject* value, const char* function) {
  const bool text = PyUnicode_Check(value) || PyBytes_Check(value);
  fail(text ? ErrorKind::type : ErrorKind::runtime, function, ": Could not infer dtype of ",
       Py_TYPE(value)->tp_name,
       " (numbers, nested sequences of numbers, arrays and tensors can become a tensor)");
}

std::optional<DType> element_dtype(PyObject* value) {
  if (PyFloat_CheckExact(value)) return default_dtype();
  if (PyBool_Check(value)) return DType::bool_;
  if (PyLong_Check(value)) return DType::int64;
  if (PyComplex_CheckExact(value)) return default_complex_dtype();
  if (is_tensor(value)) return impl_of(value)->dtype();
  // numpy.float64 and numpy.complex128 are subclasses of Python's numbers, but keep their
  // precision.
  if (const std::optional<DType> found = numpy_scalar_dtype(value)) return found;
  if (PyFloat_Check(value)) return default_dtype();
  return PyComplex_Check(value) ? std::optional(default_complex_dtype()) : std::nullopt;
}

// Nested sequences, read once to learn shape and dtype and once to fill the tensor.
class Nested {
 public:
  Nested(PyObject* data, const char* function) : function_(function) { measure(data); }
  const Dims& sizes() const { return sizes_; }
  DType dtype() const { return dtype_.value_or(default_dtype()); }

  Tensor fill(PyObject* data, DType dtype) {
    Tensor result = Tensor::empty(sizes_, dtype);
    filled_ = dtype;
    visit<dtypes::any>(dtype, "tensor", [&]<class T>() {
      T* at = result.data<T>();
      put(data, 0, at);
    });
    return result;
  }

 private:
  void measure(PyObject* data) {
    const PyObject* seen[max_ndim];
    Ref level = Ref::borrow(data);
    while (is_sequence(level.get())) {
      for (size_t i = 0; i < sizes_.size(); ++i) {
        WISP_CHECK_VALUE(seen[i] != level.get(), function_, ": the data contains itself");
      }
      WISP_CHECK_VALUE(sizes_.size() < max_ndim, function_, ": too many dimensions '",
                       sizes_.size() + 1, "'");
      const Py_ssize_t n = PySequence_Length(level.get());
      if (n < 0) throw PythonError();
      seen[sizes_.size()] = level.get();
      sizes_.push_back(n);
      if (n == 0) break;
      level = owned(PySequence_GetItem(level.get(), 0));
    }
    // A tensor of one element among numbers is a number, whatever its shape.
    const bool number =
        is_tensor(level.get()) && impl_of(level.get())->numel() == 1 && !sizes_.empty();
    if (!number && (is_tensor(level.get()) || is_array(level.get()))) append_shape(level.get());
    find_dtype(data, 0);
  }

  // Rows that are tensors or arrays themselves.
  void append_shape(PyObject* value) {
    const Tensor row = is_tensor(value) ? tensor_of(value) : from_buffer_object(value, function_);
    for (int64_t size : row.sizes()) sizes_.push_back(size);
  }

  void find_dtype(PyObject* value, size_t depth) {
    if (is_sequence(value)) {
      const Ref items = owned(PySequence_Fast(value, "expected a sequence"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
        WISP_CHECK_VALUE(depth < max_ndim, function_, ": too many dimensions");
        find_dtype(PySequence_Fast_GET_ITEM(items.get(), i), depth + 1);
      }
      return;
    }
    std::optional<DType> found = element_dtype(value);
    if (!found && is_array(value)) found = from_buffer_object(value, function_).dtype();
    if (!found) found = to_number(value).dtype();
    dtype_ = dtype_ ? promote(*dtype_, *found) : *found;
  }

  template <class T>
  void put(PyObject* value, size_t depth, T*& at) {
    if (depth < sizes_.size() && is_sequence(value)) {
      const Ref items = owned(PySequence_Fast(value, "expected a sequence"));
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
      WISP_CHECK_VALUE(n == sizes_[depth], "expected sequence of length ", sizes_[depth],
                       " at dim ", depth, " (got ", n, ")");
      for (Py_ssize_t i = 0; i < n; ++i)
        put(PySequence_Fast_GET_ITEM(items.get(), i), depth + 1, at);
      return;
    }
    if ((is_tensor(value) || is_array(value)) &&
        !(is_tensor(value) && impl_of(value)->numel() == 1 && depth == sizes_.size())) {
      put_block(value, depth, at);
      return;
    }
    WISP_CHECK_VALUE(depth == sizes_.size(), "expected sequence of length ",
                     depth < sizes_.size() ? sizes_[depth] : 0, " at dim ", depth, " (got ",
                     is_sequence(value) ? "a deeper sequence" : "a number", ")");
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (PyLong_CheckExact(value)) return static_cast<void>(*at++ = to_unsigned(value));
    }
    *at++ = to_element(value).to<T>();
  }

  // Negative ones wrap, as in other unsigned dtypes.
  static uint64_t to_unsigned(PyObject* value) {
    int overflow;
    const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) return static_cast<uint64_t>(number);
    const uint64_t large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) throw PythonError();
    return large;
  }

  // Integers beyond int64 are fine where floats are wanted.
  Scalar to_number(PyObject* value) const {
    Scalar scalar;
    if (PyLong_CheckExact(value)) {
      int overflow;
      const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
      if (!overflow) return number;
      const double real = PyLong_AsDouble(value);
      if (real == -1.0 && PyErr_Occurred()) throw PythonError();
      return real;
    }
    if (!to_scalar(value, scalar)) fail_element(value, function_);
    return scalar;
  }

  Scalar to_element(PyObject* value) const {
    const Scalar scalar = to_number(value);
    WISP_CHECK_TYPE(!scalar.is_complex() || is_complex(filled_) || filled_ == DType::bool_,
                    "must be real number, not complex");
    if (is_integral(filled_) && WISP_UNLIKELY(!ops::fits(scalar, filled_))) {
      WISP_CHECK_VALUE(!PyLong_Check(value) || scalar.is_integer(),
                       "Overflow when unpacking long long");
      fail(ErrorKind::runtime, "value cannot be converted to type ", wisp::name(filled_),
           " without overflow");
    }
    return scalar;
  }

  template <class T>
  void put_block(PyObject* value, size_t depth, T*& at) {
    const Tensor source =
        is_tensor(value) ? tensor_of(value) : from_buffer_object(value, function_);
    const IntSpan wanted(sizes_.data() + depth, sizes_.size() - depth);
    WISP_CHECK_VALUE(same(source.sizes(), wanted), "expected an array of shape ", wanted,
                     " at dim ", depth, " (got ", source.sizes(), ")");
    GradMode no_grad(false);
    const Tensor converted = ops::contiguous(ops::to(source, dtype_of<T>));
    converted->check_readable(function_);
    std::memcpy(static_cast<void*>(at), converted->bytes(),
                static_cast<size_t>(converted.numel()) * sizeof(T));
    at += converted.numel();
  }

  const char* function_;
  Dims sizes_;
  std::optional<DType> dtype_;
  DType filled_ = DType::float32;  // of the tensor being made
};

struct Request {
  PyObject* data = nullptr;
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool requires_grad = false;
};

Tensor moved(const Tensor& made, std::optional<Device> device) {
  if (WISP_LIKELY(!device || device->type == made.device().type)) return made;
  return invoke<"to">(made, Arg(), *device);
}

bool parse_request(PyObject* args, PyObject* kwargs, const char* format, Request& request) {
  static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", nullptr};
  PyObject *dtype = Py_None, *device = Py_None, *pin = Py_None;
  int requires_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), &request.data,
                                   &dtype, &device, &requires_grad, &pin)) {
    return false;
  }
  request.requires_grad = requires_grad;
  DType wanted;
  if (dtype != Py_None) {
    WISP_CHECK_TYPE(to_dtype(dtype, wanted), "argument 'dtype' must be wisp.dtype, not ",
                    Py_TYPE(dtype)->tp_name);
    request.dtype = wanted;
  }
  if (device != Py_None) {
    request.device = to_device(device);
  } else if (WISP_UNLIKELY(devices_matter()) && !is_tensor(request.data)) {
    request.device = default_device();
  }
  return true;
}

bool has_attribute(PyObject* object, const char* name) {
  return PyObject_HasAttrString(object, name) == 1;
}

// Data as a tensor; shares memory with arrays if it may.
Tensor from_data(const Request& request, bool may_share, const char* function) {
  PyObject* data = request.data;
  GradMode no_grad(false);
  Tensor source;
  if (is_tensor(data)) {
    source = tensor_of(data);
  } else if (is_array(data)) {
    source = from_buffer_object(data, function);
  } else if (!PyFloat_Check(data) && !PyLong_Check(data) && !PyList_Check(data) &&
             !PyTuple_Check(data) && std::strncmp(Py_TYPE(data)->tp_name, "numpy.", 6) != 0 &&
             has_attribute(data, "__dlpack__")) {
    static PyObject* import_dlpack = import_attribute("wisp._C", "from_dlpack");
    const Ref imported = owned(PyObject_CallOneArg(import_dlpack, data));
    source = tensor_of(imported.get());
  } else if (!is_sequence(data) && has_attribute(data, "__array__") &&
             std::strncmp(Py_TYPE(data)->tp_name, "numpy.", 6) != 0) {
    const Ref array = owned(PyObject_CallMethod(data, "__array__", nullptr));
    source = from_buffer_object(array.get(), function);
  }
  if (source.defined()) {
    const DType dtype = request.dtype.value_or(source.dtype());
    if (dtype != source.dtype()) return ops::to(source, dtype);
    return may_share && source->storage().writable() ? source : ops::clone(source);
  }
  Nested nested(data, function);
  Tensor made = nested.fill(data, request.dtype.value_or(nested.dtype()));
  note_data(data, made);
  return made;
}

PyObject* tensor(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Request request;
    if (!parse_request(args, kwargs, "O|$OOpO:tensor", request)) throw PythonError();
    if (is_tensor(request.data)) {
      must_succeed(PyErr_WarnEx(
          PyExc_UserWarning,
          "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
          "sourceTensor.detach().clone().requires_grad_(True), rather than wisp.tensor(sourceTensor).",
          1));
    }
    Tensor result = moved(from_data(request, false, "tensor()"), request.device);
    if (mode.inference) result->set_inference(true);
    if (request.requires_grad) autograd::set_requires_grad(result, true);
    return wrap(std::move(result));
  });
}

PyObject* as_tensor(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    Request request;
    if (!parse_request(args, kwargs, "O|OOpO:as_tensor", request)) throw PythonError();
    if (is_tensor(request.data)) {  // keeps its history
      const Tensor& source = tensor_of(request.data);
      const bool converts = request.dtype && *request.dtype != source.dtype();
      return wrap(moved(converts ? ops::to(source, *request.dtype) : source, request.device));
    }
    return wrap(moved(from_data(request, true, "as_tensor()"), request.device));
  });
}

#define WISP_KEYWORDS(function) \
  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))

PyMethodDef functions[] = {
    {"tensor", WISP_KEYWORDS(tensor), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False): a new tensor with a copy of the data."},
    {"as_tensor", WISP_KEYWORDS(as_tensor), METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None): a tensor of the data, sharing memory where possible."},
    {}};

}  // namespace

Tensor tensor_from_python(PyObject* data, const char* function) {
  Request request;
  request.data = data;
  return from_data(request, true, function);
}

void add_creation_functions(PyObject* module) {
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
