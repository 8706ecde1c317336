#include <cstring>

#include "bindings/types.h"

namespace wisp::python {

namespace {

std::string package = "wisp";

PyObject* show_as(PyObject*, PyObject* name) {
  return guarded([&] {
    package = text_of(name);
    return none();
  });
}

PyObject* shown_package_of(PyObject*, PyObject*) { return PyUnicode_FromString(shown_package()); }

PyObject* shown(const char* name) { return PyUnicode_FromFormat("%s.%s", shown_package(), name); }

// --- dtype

struct DTypeObject {
  PyObject_HEAD;
  DType dtype;
};

PyTypeObject* dtype_type = nullptr;
PyObject* dtype_objects[num_dtypes] = {};

DType dtype_in(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }

PyObject* dtype_repr(PyObject* self) { return shown(name(dtype_in(self))); }
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(name(dtype_in(self)));
}
PyObject* dtype_to_real(PyObject* self, PyObject*) { return wrap(to_real(dtype_in(self))); }
PyObject* dtype_to_complex(PyObject* self, PyObject*) { return wrap(to_complex(dtype_in(self))); }

PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {"to_real", dtype_to_real, METH_NOARGS, "The dtype of the real part."},
    {"to_complex", dtype_to_complex, METH_NOARGS, "The complex dtype with parts of this dtype."},
    {}};

PyGetSetDef dtype_getset[] = {
    {"itemsize", [](PyObject* s, void*) { return PyLong_FromSize_t(item_size(dtype_in(s))); },
     nullptr, "Bytes of an element.", nullptr},
    {"is_floating_point", [](PyObject* s, void*) { return boolean(is_floating(dtype_in(s))); },
     nullptr, nullptr, nullptr},
    {"is_complex", [](PyObject* s, void*) { return boolean(is_complex(dtype_in(s))); }, nullptr,
     nullptr, nullptr},
    {"is_signed", [](PyObject* s, void*) { return boolean(is_signed(dtype_in(s))); }, nullptr,
     nullptr, nullptr},
    {}};

PyType_Slot dtype_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {0, nullptr}};
PyType_Spec dtype_spec = {"wisp.dtype", sizeof(DTypeObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

void add_dtypes(PyObject* module) {
  dtype_type = make_type(module, dtype_spec);
  for (int i = 0; i < num_dtypes; ++i) {
    auto* object = PyObject_New(DTypeObject, dtype_type);
    object->dtype = static_cast<DType>(i);
    dtype_objects[i] = reinterpret_cast<PyObject*>(object);
    must_succeed(PyObject_SetAttrString(module, name(object->dtype), dtype_objects[i]));
  }
  const std::pair<const char*, DType> other_names[] = {
      {"float", DType::float32},    {"double", DType::float64},     {"half", DType::float16},
      {"int", DType::int32},        {"long", DType::int64},         {"short", DType::int16},
      {"cfloat", DType::complex64}, {"cdouble", DType::complex128},
  };
  for (const auto& [other, dtype] : other_names) {
    must_succeed(PyObject_SetAttrString(module, other, dtype_objects[static_cast<int>(dtype)]));
  }
}

// --- device

struct DeviceObject {
  PyObject_HEAD;
  Device device;
};

PyTypeObject* device_type = nullptr;
PyObject* cpu_object = nullptr;

Device named_device(PyObject* object);  // a device, a string, or the number of a GPU

Device& device_in(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->device; }

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject* what;
  PyObject* index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", const_cast<char**>(names), &what, &index)) {
    return nullptr;
  }
  return guarded([&] {
    Device device = named_device(what);
    if (index != Py_None) {
      const long number = PyLong_AsLong(index);
      if (number == -1 && PyErr_Occurred()) throw PythonError();
      device = parse_device(to_string(Device{device.type}) + ":" + std::to_string(number));
    }
    PyObject* self = must(type->tp_alloc(type, 0));
    device_in(self) = device;
    return self;
  });
}

PyObject* device_repr(PyObject* self) {
  const Device device = device_in(self);
  const std::string kind = to_string(Device{device.type});
  if (device.index < 0) return PyUnicode_FromFormat("device(type='%s')", kind.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", kind.c_str(), device.index);
}

PyObject* device_str(PyObject* self) {
  return PyUnicode_FromString(to_string(device_in(self)).c_str());
}

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!is_device(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return boolean((device_in(a) == device_in(b)) == (op == Py_EQ));
}

Py_hash_t device_hash(PyObject* self) {
  return static_cast<int>(device_in(self).type) * 256 + device_in(self).index + 1;
}

PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("O(s)", reinterpret_cast<PyObject*>(Py_TYPE(self)),
                       to_string(device_in(self)).c_str());
}

// --- Where new tensors live: the innermost `with device:` of the thread, or what the process set.

bool default_changed = false;
Device process_default;
thread_local std::vector<Device> scopes;

// _set_default_device(device)
PyObject* set_default_device(PyObject*, PyObject* object) {
  return guarded([&] {
    process_default = object == Py_None ? Device{} : to_device(object);
    default_changed |= process_default != Device{};
    return none();
  });
}

PyObject* get_default_device(PyObject*, PyObject*) {
  return guarded([&] { return wrap(default_device()); });
}

// _usable_device(device): the device, if tensors can live there.
PyObject* usable_device(PyObject*, PyObject* object) {
  return guarded([&] { return wrap(to_device(object)); });
}

PyObject* device_enter(PyObject* self, PyObject*) {
  return guarded([&] {
    scopes.push_back(usable(device_in(self)));
    default_changed = true;
    Py_INCREF(self);
    return self;
  });
}
PyObject* device_exit(PyObject*, PyObject*) {
  if (!scopes.empty()) scopes.pop_back();
  Py_RETURN_NONE;
}

PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};

PyGetSetDef device_getset[] = {
    {"type",
     [](PyObject* s, void*) {
       return PyUnicode_FromString(to_string(Device{device_in(s).type}).c_str());
     },
     nullptr, "'cpu'", nullptr},
    {"index",
     [](PyObject* s, void*) {
       return device_in(s).index < 0 ? none() : PyLong_FromLong(device_in(s).index);
     },
     nullptr, "Which device of its type, or None.", nullptr},
    {}};

PyType_Slot device_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(device_new)},
    {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
    {Py_tp_str, reinterpret_cast<void*>(device_str)},
    {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc, const_cast<char*>("device(type, index=None): where a tensor lives.")},
    {0, nullptr}};
PyType_Spec device_spec = {"wisp.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT,
                           device_slots};

// --- Size

PyTypeObject* size_type = nullptr;

PyObject* size_repr(PyObject* self) {
  std::string text = package + ".Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    const Ref item(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    if (!item) return nullptr;
    text += (i ? ", " : "") + text_of(item.get());
  }
  return PyUnicode_FromString((text + "])").c_str());
}

// A Size from a tuple: what slicing and adding give.
PyObject* as_size(PyObject* owned_tuple) {
  if (!owned_tuple || !PyTuple_CheckExact(owned_tuple)) return owned_tuple;
  const Ref tuple(owned_tuple);
  const Py_ssize_t n = PyTuple_GET_SIZE(owned_tuple);
  PyObject* size = size_type->tp_alloc(size_type, n);
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(owned_tuple, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(size, i, item);
  }
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const Ref tuple(PyTuple_Type.tp_new(&PyTuple_Type, args, kwargs));
  if (!tuple) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple.get());
  PyObject* size = type->tp_alloc(type, n);
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple.get(), i);
    PyObject* number = PyNumber_Index(item);
    if (!number) {
      PyErr_Format(PyExc_TypeError, "wisp.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                   Py_TYPE(item)->tp_name);
      Py_DECREF(size);
      return nullptr;
    }
    PyTuple_SET_ITEM(size, i, number);
  }
  return size;
}

PyObject* size_subscript(PyObject* self, PyObject* index) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, index));
}
PyObject* size_concat(PyObject* a, PyObject* b) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
// (1,) + Size: tuples give way to their subclass only through the number protocol.
PyObject* size_add(PyObject* a, PyObject* b) {
  if (PyTuple_Check(a) && PyTuple_Check(b)) return size_concat(a, b);
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n));
}

PyObject* size_numel(PyObject* self, PyObject*) {
  // As Python multiplies: sizes of a trace remember how they are computed.
  Ref total(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; total && i < PyTuple_GET_SIZE(self); ++i)
    total = Ref(PyNumber_Multiply(total.get(), PyTuple_GET_ITEM(self, i)));
  return total.release();
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  const Ref items(PySequence_List(self));
  if (!items) return nullptr;
  return Py_BuildValue("O(O)", reinterpret_cast<PyObject*>(size_type), items.get());
}

PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {}};

PyType_Slot size_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(size_new)},
    {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
    {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
    {Py_sq_concat, reinterpret_cast<void*>(size_concat)},
    {Py_nb_add, reinterpret_cast<void*>(size_add)},
    {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
    {Py_tp_methods, size_methods},
    {Py_tp_doc, const_cast<char*>("The shape of a tensor: a tuple of ints.")},
    {0, nullptr}};
PyType_Spec size_spec = {"wisp.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

// --- memory_format and layout: named constants

struct ConstantObject {
  PyObject_HEAD;
  int value;
  const char* text;
};

PyObject* constant_repr(PyObject* self) {
  return shown(reinterpret_cast<ConstantObject*>(self)->text);
}
PyObject* constant_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(self)->text);
}
PyMethodDef constant_methods[] = {{"__reduce__", constant_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot constant_slots[] = {{Py_tp_repr, reinterpret_cast<void*>(constant_repr)},
                                {Py_tp_methods, constant_methods},
                                {0, nullptr}};
PyType_Spec format_spec = {"wisp.memory_format", sizeof(ConstantObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, constant_slots};
PyType_Spec layout_spec = {"wisp.layout", sizeof(ConstantObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, constant_slots};

PyTypeObject* format_type = nullptr;
PyTypeObject* layout_type = nullptr;
PyObject* format_objects[4] = {};
PyObject* strided_object = nullptr;

PyObject* add_constant(PyObject* module, PyTypeObject* type, int value, const char* text) {
  auto* object = PyObject_New(ConstantObject, type);
  object->value = value;
  object->text = text;
  auto* result = reinterpret_cast<PyObject*>(object);
  must_succeed(PyObject_SetAttrString(module, text, result));
  return result;
}

PyObject* shared(PyObject* object) {
  Py_INCREF(object);
  return object;
}

}  // namespace

const char* shown_package() { return package.c_str(); }

void add_small_types(PyObject* module) {
  static PyMethodDef functions[] = {
      {"_show_as", show_as, METH_O, nullptr},
      {"_shown_package", shown_package_of, METH_NOARGS, nullptr},
      {"_usable_device", usable_device, METH_O, nullptr},
      {"_set_default_device", set_default_device, METH_O, nullptr},
      {"_get_default_device", get_default_device, METH_NOARGS, nullptr},
      {}};
  must_succeed(PyModule_AddFunctions(module, functions));
  add_dtypes(module);
  device_type = make_type(module, device_spec);
  cpu_object = must(device_type->tp_alloc(device_type, 0));
  device_in(cpu_object) = Device{};
  size_type = make_type(module, size_spec, reinterpret_cast<PyObject*>(&PyTuple_Type));
  format_type = make_type(module, format_spec);
  for (int i = 0; i < 4; ++i) {
    format_objects[i] = add_constant(module, format_type, i, name(static_cast<MemoryFormat>(i)));
  }
  layout_type = make_type(module, layout_spec);
  strided_object = add_constant(module, layout_type, 0, "strided");
  // What programs compare layouts with; no tensor has them.
  for (const char* text : {"sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}) {
    Py_DECREF(add_constant(module, layout_type, 1, text));
  }
}

PyObject* wrap(DType dtype) { return shared(dtype_objects[static_cast<int>(dtype)]); }

PyObject* wrap(Device device) {
  if (device == Device{}) return shared(cpu_object);
  PyObject* object = must(device_type->tp_alloc(device_type, 0));
  device_in(object) = device;
  return object;
}

PyObject* wrap_size(PyObject* tuple) { return must(as_size(Ref::borrow(tuple).release())); }

PyObject* wrap_size(IntSpan sizes) {
  PyObject* size = must(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  }
  return size;
}

PyObject* wrap(MemoryFormat format) { return shared(format_objects[static_cast<int>(format)]); }
PyObject* wrap_layout() { return shared(strided_object); }

bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_type; }

bool to_dtype(PyObject* object, DType& dtype) {
  if (is_dtype(object)) {
    dtype = dtype_in(object);
  } else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    dtype = DType::float64;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    dtype = DType::int64;
  } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    dtype = DType::bool_;
  } else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
    dtype = DType::complex128;
  } else {
    return false;
  }
  return true;
}

bool is_device(PyObject* object) { return Py_TYPE(object) == device_type; }

namespace {

Device named_device(PyObject* object) {
  if (is_device(object)) return device_in(object);
  if (PyUnicode_Check(object)) return parse_device(text_of(object));
  if (PyLong_Check(object)) return parse_device("cuda:" + std::to_string(PyLong_AsLong(object)));
  fail(ErrorKind::type, "device(): argument 'type' must be str or device, not ",
       Py_TYPE(object)->tp_name);
}

}  // namespace

bool devices_matter() { return default_changed || Storage::any_meta(); }
Device default_device() { return scopes.empty() ? process_default : scopes.back(); }

Device to_device(PyObject* object) { return usable(named_device(object)); }

bool to_memory_format(PyObject* object, MemoryFormat& format) {
  if (Py_TYPE(object) != format_type) return false;
  format = static_cast<MemoryFormat>(reinterpret_cast<ConstantObject*>(object)->value);
  return true;
}

bool is_layout(PyObject* object) {
  if (Py_TYPE(object) != layout_type) return false;
  WISP_CHECK(object == strided_object, "all tensors are strided, got layout ",
             reinterpret_cast<ConstantObject*>(object)->text);
  return true;
}

}  // namespace wisp::python
