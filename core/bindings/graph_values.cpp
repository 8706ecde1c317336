#include "bindings/graph_values.h"

#include "bindings/arguments.h"
#include "bindings/generator.h"
#include "bindings/graph_objects.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "graph/future.h"

namespace wisp::python {

using graph::Datum;
using graph::Kind;
using graph::Tag;
using graph::Type;
using graph::TypeRef;

namespace {

// Lists that hold themselves have no end.
constexpr int max_nesting = 100;
constinit WISP_THREAD_LOCAL int nesting = 0;

class Nesting {
 public:
  Nesting() {
    ++nesting;
    if (nesting > max_nesting) {
      --nesting;
      fail(ErrorKind::value, "lists are nested too deeply for a script");
    }
  }
  ~Nesting() { --nesting; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

bool to_list(PyObject* value, const Type& type, Datum& datum) {
  if (!PyList_Check(value) && !PyTuple_Check(value) && !PyRange_Check(value))
    return box_to_datum(value, type, datum);
  const Nesting counted;
  const Ref kept = owned(PySequence_Tuple(value));  // converting items may run Python code
  std::vector<Datum> items(static_cast<size_t>(PyTuple_GET_SIZE(kept.get())));
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(kept.get(), static_cast<Py_ssize_t>(i));
    if (!to_datum(item, *type.items[0], items[i])) return false;
  }
  datum = Datum::list(std::move(items));
  return true;
}

// Whether a class of Python has the name of a class of a program: "Net" and "__wisp__.Net".
bool is_named(const PyTypeObject* found, std::string_view wanted) {
  const std::string_view name = found->tp_name;
  return name.substr(name.rfind('.') + 1) == wanted.substr(wanted.rfind('.') + 1);
}

// A member of an enum is a tuple of its name and its value.
bool member_to_tuple(PyObject* value, const Type& type, Datum& datum) {
  if (type.fields.empty() || type.fields[0] != "_name_" || !is_named(Py_TYPE(value), type.name))
    return false;
  std::vector<Datum> items(type.items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Ref item = owned(PyObject_GetAttrString(value, type.fields[i].c_str()));
    if (!to_datum(item.get(), *type.items[i], items[i])) return false;
  }
  datum = Datum::tuple(std::move(items));
  return true;
}

bool to_tuple(PyObject* value, const Type& type, Datum& datum) {
  if (!PyTuple_Check(value)) return member_to_tuple(value, type, datum);
  const Nesting counted;
  std::vector<Datum> items(static_cast<size_t>(PyTuple_GET_SIZE(value)));
  if (items.size() != type.items.size()) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i));
    if (!to_datum(item, *type.items[i], items[i])) return false;
  }
  datum = Datum::tuple(std::move(items));
  return true;
}

bool to_dict(PyObject* value, const Type& type, Datum& datum) {
  if (!PyDict_Check(value)) return box_to_datum(value, type, datum);
  const Nesting counted;
  const Ref copy = owned(PyDict_Copy(value));
  Datum made = Datum::dict();
  PyObject *key, *item;
  for (Py_ssize_t at = 0; PyDict_Next(copy.get(), &at, &key, &item);) {
    Datum own_key, own_item;
    if (!to_datum(key, *type.items[0], own_key) || !to_datum(item, *type.items[1], own_item))
      return false;
    made.dict_data().entries.emplace_back(std::move(own_key), std::move(own_item));
  }
  datum = std::move(made);
  return true;
}

// The number that a tensor of one element holds; false for other tensors.
bool only_element(PyObject* value, Scalar& scalar) {
  const Tensor& tensor = tensor_of(value);
  if (tensor.numel() != 1) return false;
  scalar = tensor.item();
  return true;
}

bool to_number(PyObject* value, Kind kind, Datum& datum) {
  Scalar scalar;
  if (is_tensor(value) ? !only_element(value, scalar) : !to_scalar(value, scalar)) return false;
  if (kind == Kind::real) {
    if (scalar.is_complex()) return false;
    datum = Datum(scalar.real());
  } else {
    datum = kind == Kind::complex ? Datum(scalar.complex()) : Datum(scalar);
  }
  return true;
}

bool to_small(PyObject* value, Kind kind, Datum& datum) {
  DType dtype;
  MemoryFormat format;
  switch (kind) {
    case Kind::dtype:
      if (!to_dtype(value, dtype)) return false;
      datum = Datum(dtype);
      return true;
    case Kind::device:
      if (!is_device(value) && !PyUnicode_Check(value)) return false;
      datum = Datum(to_device(value));
      return true;
    case Kind::layout:
      datum = Datum::layout();
      return is_layout(value);
    case Kind::memory_format:
      if (!to_memory_format(value, format)) return false;
      datum = Datum(format);
      return true;
    case Kind::generator:
      if (!is_generator(value)) return false;
      datum = Datum(generator_of(value));
      return true;
    default:
      return false;
  }
}

bool to_integer(PyObject* value, Datum& datum) {
  int64_t integer;
  if (PyBool_Check(value)) {
    datum = Datum(static_cast<int64_t>(value == Py_True));
    return true;
  }
  if (is_tensor(value)) {
    Scalar scalar;
    if (!only_element(value, scalar) || !scalar.is_integer()) return false;
    datum = Datum(scalar.integer());
    return true;
  }
  if (!to_int(value, integer)) return false;
  datum = Datum(integer);
  return true;
}

// Integers count by being 0 or not, as PyTorch takes them.
bool to_boolean(PyObject* value, Datum& datum) {
  if (!PyBool_Check(value) && !PyLong_Check(value)) return false;
  datum = Datum(PyObject_IsTrue(value) > 0);
  return true;
}

// An object of the class as Python has it: scripts get a copy with the same attributes.
bool copy_instance(PyObject* value, graph::ClassDef& cls, Datum& datum) {
  if (cls.is_module || !is_named(Py_TYPE(value), cls.name)) return false;
  const Nesting counted;
  auto made = wisp::Ref<graph::ObjectData>::adopt(
      new graph::ObjectData(wisp::Ref<graph::Program>::share(cls.program), cls));
  for (size_t i = 0; i < cls.attributes.size(); ++i) {
    const graph::Attribute& attribute = cls.attributes[i];
    const Ref item = owned(PyObject_GetAttrString(value, attribute.name.c_str()));
    WISP_CHECK_TYPE(to_datum(item.get(), *attribute.type, made->slots[i]), "the attribute '",
                    attribute.name, "' of a ", Py_TYPE(value)->tp_name, " shall be ",
                    graph::to_string(*attribute.type), ", not ", Py_TYPE(item.get())->tp_name);
  }
  datum = Datum(std::move(made));
  return true;
}

bool to_object(PyObject* value, const Type& type, Datum& datum) {
  wisp::Ref<graph::ObjectData> object = object_in(value);
  if (!object && type.cls) return copy_instance(value, *type.cls, datum);
  if (!object || (type.cls && object->cls != type.cls)) return false;
  datum = Datum(std::move(object));
  return true;
}

}  // namespace

bool to_datum(PyObject* value, const Type& type, Datum& datum) {
  switch (type.kind) {
    case Kind::any:
      datum = to_datum(value);
      return true;
    case Kind::none:
      datum = Datum();
      return value == Py_None;
    case Kind::optional:
      if (value != Py_None) return to_datum(value, *type.items[0], datum);
      datum = Datum();
      return true;
    case Kind::tensor:
      if (!is_tensor(value)) return false;
      datum = Datum(tensor_of(value));
      return true;
    case Kind::integer:
      return to_integer(value, datum);
    case Kind::real:
    case Kind::complex:
    case Kind::number:
      return to_number(value, type.kind, datum);
    case Kind::boolean:
      return to_boolean(value, datum);
    case Kind::string:
      if (!PyUnicode_Check(value)) return false;
      datum = Datum(text_of(value));
      return true;
    case Kind::list:
      return to_list(value, type, datum);
    case Kind::tuple:
      return to_tuple(value, type, datum);
    case Kind::dict:
      return to_dict(value, type, datum);
    case Kind::object:
      return to_object(value, type, datum);
    case Kind::future: {
      Datum result;
      if (!to_datum(value, *type.items[0], result)) return false;
      datum = Datum(wisp::Ref<graph::FutureData>::adopt(new graph::FutureData(std::move(result))));
      return true;
    }
    default:
      return to_small(value, type.kind, datum);
  }
}

namespace {

// The type of all items of a list.
TypeRef element_type(PyObject* const* items, Py_ssize_t count) {
  TypeRef found;
  for (Py_ssize_t i = 0; i < count; ++i) {
    TypeRef type = type_of(items[i]);
    found = found ? graph::unify(found, type) : type;
    WISP_CHECK_TYPE(found, "a list of values of several types cannot be passed to a script");
  }
  return found ? found : graph::simple_type(Kind::tensor);  // as PyTorch takes an empty list
}

TypeRef dict_type(PyObject* value) {
  const Ref keys = owned(PyDict_Keys(value)), items = owned(PyDict_Values(value));
  const Py_ssize_t n = PyList_GET_SIZE(keys.get());
  TypeRef key =
      n ? element_type(PySequence_Fast_ITEMS(keys.get()), n) : graph::simple_type(Kind::string);
  return graph::dict_of(std::move(key), element_type(PySequence_Fast_ITEMS(items.get()), n));
}

TypeRef tuple_type(PyObject* value) {
  std::vector<TypeRef> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
    items.push_back(type_of(PyTuple_GET_ITEM(value, i)));
  if (!PyObject_HasAttrString(value, "_fields")) return graph::tuple_of(std::move(items));
  const Ref fields = owned(PyObject_GetAttrString(value, "_fields"));
  const Ref names = owned(PySequence_Tuple(fields.get()));
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    texts.push_back(text_of(PyTuple_GET_ITEM(names.get(), i)));
  if (texts.size() != items.size()) return graph::tuple_of(std::move(items));
  static PyObject* know = import_attribute("wisp.jit._host", "know_named_tuple");
  owned(PyObject_CallOneArg(know, reinterpret_cast<PyObject*>(Py_TYPE(value))));
  const char* name = Py_TYPE(value)->tp_name;
  const char* dot = std::strrchr(name, '.');
  return graph::named_tuple_of(dot ? dot + 1 : name, std::move(texts), std::move(items));
}

// Of a member of an enum; null of anything else.
TypeRef member_type(PyObject* value) {
  static PyObject* base = import_attribute("enum", "Enum");
  static PyObject* know = import_attribute("wisp.jit._host", "know_enum");
  const int is_member = PyObject_IsInstance(value, base);
  must_succeed(is_member < 0 ? -1 : 0);
  if (!is_member) return nullptr;
  PyObject* cls = reinterpret_cast<PyObject*>(Py_TYPE(value));
  owned(PyObject_CallOneArg(know, cls));
  const Ref held = owned(PyObject_GetAttrString(value, "_value_"));
  const Ref name = owned(PyObject_GetAttrString(cls, "__name__"));
  return graph::named_tuple_of(text_of(name.get()), {"_name_", "_value_"},
                               {graph::simple_type(Kind::string), type_of(held.get())});
}

Kind plain_kind(PyObject* value) {
  if (value == Py_None) return Kind::none;
  if (PyBool_Check(value)) return Kind::boolean;
  if (PyFloat_Check(value)) return Kind::real;
  if (PyUnicode_Check(value)) return Kind::string;
  if (PyComplex_Check(value)) return Kind::complex;
  if (is_tensor(value)) return Kind::tensor;
  if (is_device(value)) return Kind::device;
  if (is_dtype(value)) return Kind::dtype;
  if (is_layout(value)) return Kind::layout;
  if (is_generator(value)) return Kind::generator;
  MemoryFormat format;
  if (to_memory_format(value, format)) return Kind::memory_format;
  return is_integer(value) ? Kind::integer : Kind::any;
}

}  // namespace

TypeRef type_of(PyObject* value) {
  const Kind kind = plain_kind(value);
  if (kind != Kind::any) return graph::simple_type(kind);
  const Nesting counted;
  if (PyList_Check(value)) {
    const Ref items = owned(PySequence_Tuple(value));
    return graph::list_of(
        element_type(PySequence_Fast_ITEMS(items.get()), PyTuple_GET_SIZE(items.get())));
  }
  if (PyTuple_Check(value)) return tuple_type(value);
  if (PyDict_Check(value)) return dict_type(value);
  if (TypeRef boxed = type_of_box(value)) return boxed;
  if (TypeRef member = member_type(value)) return member;
  const wisp::Ref<graph::ObjectData> object = object_in(value);
  WISP_CHECK_TYPE(object, "a value of type ", Py_TYPE(value)->tp_name,
                  " cannot be passed to a script");
  return graph::object_of(*object->cls);
}

namespace {

// Tuples that become values of type Any, or items of such lists and dicts, know their types.
void keep_names(Datum& datum, const TypeRef& type) {
  const Kind kind = type->kind;
  if (datum.tag() == Tag::none) return;
  if (kind == Kind::optional) return keep_names(datum, type->items[0]);
  if (kind == Kind::tuple) datum.list_data().named = type;
  if (kind != Kind::list && kind != Kind::dict) return;
  if (type->items.back()->items.empty()) return;  // which is no tuple and holds none
  if (kind == Kind::list) {
    for (Datum& item : datum.list_data().items) keep_names(item, type->items[0]);
    return;
  }
  for (auto& entry : datum.dict_data().entries) keep_names(entry.second, type->items[1]);
}

}  // namespace

Datum to_datum(PyObject* value) {
  const TypeRef type = type_of(value);
  Datum datum;
  WISP_CHECK_TYPE(to_datum(value, *type, datum), "a value of type ", Py_TYPE(value)->tp_name,
                  " cannot be passed to a script");
  keep_names(datum, type);
  return datum;
}

namespace {

const Type* part(const Type* type, Kind kind, size_t i) {
  while (type && type->kind == Kind::optional) type = type->items[0].get();
  return type && type->kind == kind && i < type->items.size() ? type->items[i].get() : nullptr;
}

PyObject* list_to_python(const Datum& value, const Type* type) {
  Ref list = owned(PyList_New(static_cast<Py_ssize_t>(value.items().size())));
  for (size_t i = 0; i < value.items().size(); ++i) {
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    to_python(value.items()[i], part(type, Kind::list, 0)));
  }
  return list.release();
}

PyObject* named(PyObject* items, const Type& type) {
  static PyObject* make = import_attribute("wisp.jit._host", "named_tuple");
  const Ref fields = owned(PyTuple_New(static_cast<Py_ssize_t>(type.fields.size())));
  for (size_t i = 0; i < type.fields.size(); ++i) {
    PyTuple_SET_ITEM(fields.get(), static_cast<Py_ssize_t>(i), string(type.fields[i]).release());
  }
  return must(PyObject_CallFunction(make, "sOO", type.name.c_str(), fields.get(), items));
}

PyObject* tuple_to_python(const Datum& value, const Type* type) {
  while (type && type->kind == Kind::optional) type = type->items[0].get();
  if (!type || type->kind == Kind::any) type = value.list_data().named.get();
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(value.items().size())));
  for (size_t i = 0; i < value.items().size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     to_python(value.items()[i], part(type, Kind::tuple, i)));
  }
  return type && !type->fields.empty() ? named(tuple.get(), *type) : tuple.release();
}

PyObject* dict_to_python(const Datum& value, const Type* type) {
  Ref dict = owned(PyDict_New());
  for (const auto& [key, item] : value.dict_data().entries) {
    const Ref own_key(to_python(key, part(type, Kind::dict, 0)));
    const Ref own_item(to_python(item, part(type, Kind::dict, 1)));
    must_succeed(PyDict_SetItem(dict.get(), own_key.get(), own_item.get()));
  }
  return dict.release();
}

// Lists can be made to hold themselves inside a script too.
PyObject* parts_to_python(const Datum& value, const Type* type) {
  const Nesting counted;
  switch (value.tag()) {
    case Tag::list:
      return list_to_python(value, type);
    case Tag::tuple:
      return tuple_to_python(value, type);
    default:
      return dict_to_python(value, type);
  }
}

}  // namespace

PyObject* to_python(const Datum& value, const Type* type) {
  switch (value.tag()) {
    case Tag::none:
      return none();
    case Tag::boolean:
      return boolean(value.boolean());
    case Tag::integer:
      return must(PyLong_FromLongLong(value.integer()));
    case Tag::real:
      return must(PyFloat_FromDouble(value.real()));
    case Tag::dtype:
      return wrap(value.dtype());
    case Tag::device:
      return wrap(value.device());
    case Tag::layout:
      return wrap_layout();
    case Tag::memory_format:
      return wrap(value.memory_format());
    case Tag::tensor:
      return wrap(value.tensor());
    case Tag::generator:
      return wrap(*value.generator());
    case Tag::complex:
      return must(PyComplex_FromDoubles(value.complex().real(), value.complex().imag()));
    case Tag::string:
      return string(value.string()).release();
    case Tag::object:
      return wrap_object(value.object());
    case Tag::future:
      return to_python(value.future().wait(), type ? part(type, Kind::future, 0) : nullptr);
    default:
      return parts_to_python(value, type);
  }
}

}  // namespace wisp::python
