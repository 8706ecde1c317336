// wisp._C._jit.Recorder: the tracer for Python.
#include "bindings/arguments.h"
#include "bindings/graph_objects.h"
#include "bindings/graph_values.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
#include "bindings/types.h"
#include "transform/levels.h"

namespace wisp::python {

using graph::Datum;
using graph::Kind;
using graph::Prim;
using graph::Recorder;
using graph::TypeRef;
using graph::Value;

constinit WISP_THREAD_LOCAL Recorder* tracing = nullptr;

namespace {

struct RecorderObject {
  PyObject_HEAD;
  wisp::Ref<Recorder> recorder;
};

PyTypeObject* recorder_type = nullptr;

// The object of the running recorder; values given to Python keep it alive.
constinit WISP_THREAD_LOCAL PyObject* running = nullptr;

Recorder& recorder_of(PyObject* self) { return *reinterpret_cast<RecorderObject*>(self)->recorder; }

// --- Numbers that remember where they come from: wisp.jit._numbers

// The value that a number stands for, or null.
Value* traced_value(PyObject* number) {
  if (PyLong_CheckExact(number) || PyFloat_CheckExact(number) || PyBool_Check(number))
    return nullptr;
  if (!PyLong_Check(number) && !PyFloat_Check(number)) return nullptr;
  PyObject* found = PyObject_GetAttrString(number, "_value");
  if (!found) {
    PyErr_Clear();
    return nullptr;
  }
  const Ref kept(found);
  Value* value = value_in(found);
  return value && tracing && tracing->knows(*value) ? value : nullptr;
}

PyObject* make_number(PyObject* number, Value& value) {
  static PyObject* traced_int = import_attribute("wisp.jit._numbers", "TracedInt");
  static PyObject* traced_float = import_attribute("wisp.jit._numbers", "TracedFloat");
  Ref made = owned(PyObject_CallOneArg(PyFloat_Check(number) ? traced_float : traced_int, number));
  const Ref handle(make_value(running, value));
  must_succeed(PyObject_SetAttrString(made.get(), "_value", handle.get()));
  return made.release();
}

// --- From Python structures to values and back

Value& value_for(Recorder& recorder, PyObject* object);

Value& sequence_value(Recorder& recorder, PyObject* object) {
  const Ref items = owned(PySequence_Tuple(object));
  const TypeRef type = type_of(object);
  std::vector<Value*> parts;
  std::vector<TypeRef> types;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    parts.push_back(&value_for(recorder, PyTuple_GET_ITEM(items.get(), i)));
    types.push_back(parts.back()->type);
  }
  if (PyList_Check(object)) return recorder.construct(Prim::ListConstruct, parts, type);
  TypeRef exact = type->fields.empty() ? graph::tuple_of(types)
                                       : graph::named_tuple_of(type->name, type->fields, types);
  return recorder.construct(Prim::TupleConstruct, parts, std::move(exact));
}

Value& dict_value(Recorder& recorder, PyObject* object) {
  std::vector<Value*> parts;
  PyObject *key, *item;
  const Ref copy = owned(PyDict_Copy(object));
  for (Py_ssize_t at = 0; PyDict_Next(copy.get(), &at, &key, &item);) {
    parts.push_back(&recorder.constant(to_datum(key), type_of(key)));
    parts.push_back(&value_for(recorder, item));
  }
  return recorder.construct(Prim::DictConstruct, parts, type_of(object));
}

// The value of a Python object in the function being recorded.
Value& value_for(Recorder& recorder, PyObject* object) {
  if (is_tensor(object)) return recorder.value_of(tensor_of(object));
  if (Value* value = traced_value(object)) return recorder.here(*value);
  if (PyTuple_Check(object) || PyList_Check(object)) return sequence_value(recorder, object);
  if (PyDict_Check(object)) return dict_value(recorder, object);
  return recorder.constant(to_datum(object), type_of(object));
}

bool holds_traced_number(PyObject* data) {
  if (!PyList_Check(data) && !PyTuple_Check(data)) return traced_value(data) != nullptr;
  const Ref items = owned(PySequence_Tuple(data));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    if (holds_traced_number(PyTuple_GET_ITEM(items.get(), i))) return true;
  return false;
}

// What a tensor is made of: tuples, whose items may be of several types.
Value& data_value(Recorder& recorder, PyObject* data) {
  if (!PyList_Check(data) && !PyTuple_Check(data)) return value_for(recorder, data);
  const Ref items = owned(PySequence_Tuple(data));
  std::vector<Value*> parts;
  std::vector<TypeRef> types;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    parts.push_back(&data_value(recorder, PyTuple_GET_ITEM(items.get(), i)));
    types.push_back(parts.back()->type);
  }
  return recorder.construct(Prim::TupleConstruct, parts, graph::tuple_of(std::move(types)));
}

TypeRef exact_type(PyObject* object) {
  if (is_tensor(object)) return graph::exact_type(tensor_of(object));
  if (!PyTuple_Check(object)) return type_of(object);
  const TypeRef type = type_of(object);
  std::vector<TypeRef> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    items.push_back(exact_type(PyTuple_GET_ITEM(object, i)));
  return type->fields.empty() ? graph::tuple_of(std::move(items))
                              : graph::named_tuple_of(type->name, type->fields, std::move(items));
}

PyObject* know(Recorder& recorder, PyObject* object, Value& value);

PyObject* know_items(Recorder& recorder, PyObject* object, Value& value) {
  const Ref items = owned(PySequence_Tuple(object));
  std::vector<TypeRef> types;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  const bool is_list = PyList_Check(object);
  for (Py_ssize_t i = 0; i < n; ++i) {
    types.push_back(is_list ? value.type->items[0] : value.type->items[static_cast<size_t>(i)]);
  }
  const std::vector<Value*> parts = recorder.unpack(value, types);
  Ref list = owned(PyList_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyList_SET_ITEM(
        list.get(), i,
        know(recorder, PyTuple_GET_ITEM(items.get(), i), *parts[static_cast<size_t>(i)]));
  }
  if (is_list) return list.release();
  const Ref tuple = owned(PyList_AsTuple(list.get()));
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (PyTuple_CheckExact(object)) return Ref(tuple).release();
  if (PyObject_HasAttrString(object, "_make"))
    return must(PyObject_CallMethod(type, "_make", "(O)", tuple.get()));
  return must(PyObject_CallOneArg(type, tuple.get()));
}

PyObject* know_dict(Recorder& recorder, PyObject* object, Value& value) {
  Ref made = owned(PyDict_Copy(object));
  PyObject *key, *item;
  for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &item);) {
    Value& name = recorder.constant(to_datum(key), type_of(key));
    Value* const inputs[] = {&value, &name};
    Value& part = recorder.builtin("__getitem__.dict", inputs, value.type->items[1]);
    const Ref known(know(recorder, item, part));
    must_succeed(PyDict_SetItem(made.get(), key, known.get()));
  }
  return made.release();
}

// Makes the tensors and numbers in a Python object known as (parts of) a value. Returns the object
// with numbers that remember what they are.
PyObject* know(Recorder& recorder, PyObject* object, Value& value) {
  if (is_tensor(object)) {
    recorder.know(tensor_of(object), value);
  } else if (PyFloat_Check(object) || (PyLong_Check(object) && !PyBool_Check(object))) {
    return make_number(object, value);
  } else if (PyList_Check(object) || PyTuple_Check(object)) {
    return know_items(recorder, object, value);
  } else if (PyDict_Check(object)) {
    return know_dict(recorder, object, value);
  }
  return Ref::borrow(object).release();
}

// --- Methods

Recorder::Path path_in(PyObject* object) {
  const Ref items = owned(PySequence_Tuple(object));
  Recorder::Path path;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    path.push_back(text_of(PyTuple_GET_ITEM(items.get(), i)));
  return path;
}

PyObject* recorder_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* program;
  if (!PyArg_ParseTuple(args, "O", &program)) return nullptr;
  return guarded([&] {
    wisp::Ref<graph::Program> owner = program_in(program);
    PyObject* self = must(type->tp_alloc(type, 0));
    auto* made = reinterpret_cast<RecorderObject*>(self);
    new (&made->recorder)
        wisp::Ref<Recorder>(wisp::Ref<Recorder>::adopt(new Recorder(std::move(owner))));
    return self;
  });
}

void recorder_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<RecorderObject*>(self)->recorder.~Ref();
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* name_tensor(PyObject* self, PyObject* args) {
  PyObject *tensor, *path;
  if (!PyArg_ParseTuple(args, "OO", &tensor, &path)) return nullptr;
  return guarded([&] {
    recorder_of(self).name_tensor(expect_tensor(tensor, "name_tensor()"), path_in(path));
    return none();
  });
}

// begin(function, class or None, path)
PyObject* begin(PyObject* self, PyObject* args) {
  const char *function, *cls;
  PyObject* path;
  if (!PyArg_ParseTuple(args, "szO", &function, &cls, &path)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    graph::ClassDef* found = cls ? recorder.program().find_class(cls) : nullptr;
    WISP_CHECK_VALUE(!cls || found, "there is no class ", cls ? cls : "");
    recorder.begin(function, found, path_in(path));
    return none();
  });
}

// param(name, example) -> what the function shall be called with
PyObject* param(PyObject* self, PyObject* args) {
  const char* name;
  PyObject* example;
  if (!PyArg_ParseTuple(args, "sO", &name, &example)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    Value& value = recorder.add_param(name, exact_type(example));
    if (PyBool_Check(example) || PyUnicode_Check(example))
      recorder.require(value, to_datum(example), name);
    return know(recorder, example, value);
  });
}

// value(object): the Value it is in the function being recorded
PyObject* value(PyObject* self, PyObject* object) {
  return guarded([&] { return make_value(self, value_for(recorder_of(self), object)); });
}

// end(result, method or None): ends a function; as a method it is found under that name
PyObject* end(PyObject* self, PyObject* args) {
  PyObject* result;
  const char* method;
  if (!PyArg_ParseTuple(args, "Oz", &result, &method)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    graph::Function& function = recorder.end(value_for(recorder, result));
    if (method) function.graph->top().params[0]->type->cls->methods[method] = &function;
    return string(function.name).release();
  });
}

std::vector<Value*> values_in(PyObject* list) {
  const Ref items = owned(PySequence_Tuple(list));
  std::vector<Value*> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    values.push_back(value_in(PyTuple_GET_ITEM(items.get(), i)));
    WISP_CHECK_TYPE(values.back(), "expected Values");
  }
  return values;
}

// call_method(path, method, values, result) -> the result, known in the function around
PyObject* call_method(PyObject* self, PyObject* args) {
  PyObject *path, *values, *result;
  const char* method;
  if (!PyArg_ParseTuple(args, "OsOO", &path, &method, &values, &result)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    Value& made = recorder.call_method(path_in(path), method, values_in(values));
    return know(recorder, result, made);
  });
}

// call_function(name, values, result) -> the result, known in the function being recorded
PyObject* call_function(PyObject* self, PyObject* args) {
  PyObject *values, *result;
  const char* name;
  if (!PyArg_ParseTuple(args, "sOO", &name, &values, &result)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    const graph::Function* function = recorder.program().find_function(name);
    WISP_CHECK_VALUE(function, "there is no function ", name);
    Value& made = recorder.call_function(name, values_in(values), function->result);
    return know(recorder, result, made);
  });
}

// number(function, inputs, result) -> the result, as a number that knows how it was computed
PyObject* number(PyObject* self, PyObject* args) {
  const char* name;
  PyObject *inputs, *result;
  if (!PyArg_ParseTuple(args, "sOO", &name, &inputs, &result)) return nullptr;
  return guarded([&] {
    Recorder& recorder = recorder_of(self);
    const Ref items = owned(PySequence_Tuple(inputs));
    std::vector<Value*> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      values.push_back(&value_for(recorder, PyTuple_GET_ITEM(items.get(), i)));
    return make_number(result, recorder.builtin(name, values, type_of(result)));
  });
}

// take_apart(name): the next call of that composite becomes the calls that it makes
PyObject* take_apart(PyObject* self, PyObject* name) {
  return guarded([&] {
    const std::string text = text_of(name);
    const OpDef* op = registry().find(text);
    WISP_CHECK_VALUE(op && op->body, "there is no composite operator '", text, "'");
    recorder_of(self).take_apart(*op);
    return none();
  });
}

PyObject* start(PyObject* self, PyObject*) {
  return guarded([&] {
    WISP_CHECK(!tracing, "a trace is being recorded already");
    running = self;
    trace_into(&recorder_of(self));
    return none();
  });
}

PyObject* stop(PyObject*, PyObject*) {
  return guarded([&] {
    running = nullptr;
    trace_into(nullptr);
    return none();
  });
}

PyObject* close(PyObject* self, PyObject*) {
  return guarded([&] {
    recorder_of(self).close();
    return none();
  });
}

PyObject* leaked(PyObject* self, void*) { return boolean(recorder_of(self).leaked()); }

PyObject* current_recorder(PyObject*, PyObject*) {
  return tracing ? Ref::borrow(running).release() : none();
}

PyMethodDef methods[] = {{"name_tensor", name_tensor, METH_VARARGS, nullptr},
                         {"begin", begin, METH_VARARGS, nullptr},
                         {"param", param, METH_VARARGS, nullptr},
                         {"value", value, METH_O, nullptr},
                         {"end", end, METH_VARARGS, nullptr},
                         {"call_method", call_method, METH_VARARGS, nullptr},
                         {"call_function", call_function, METH_VARARGS, nullptr},
                         {"number", number, METH_VARARGS, nullptr},
                         {"take_apart", take_apart, METH_O, nullptr},
                         {"start", start, METH_NOARGS, nullptr},
                         {"stop", stop, METH_NOARGS, nullptr},
                         {"close", close, METH_NOARGS, nullptr},
                         {}};
PyGetSetDef getset[] = {{"leaked", leaked, nullptr, nullptr, nullptr}, {}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(recorder_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(recorder_dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {0, nullptr}};
PyType_Spec spec = {"wisp._C._jit.Recorder", sizeof(RecorderObject), 0, Py_TPFLAGS_DEFAULT, slots};

PyMethodDef functions[] = {{"current_recorder", current_recorder, METH_NOARGS, nullptr}, {}};

}  // namespace

void trace_into(Recorder* recorder) {
  tracing = recorder;
  transform::set_recorder(recorder);
}

void warn_read(const char* what) {
  static PyObject* warn = import_attribute("wisp.jit._trace", "warn_read");
  owned(PyObject_CallFunction(warn, "s", what));
}

void note_traced_data(PyObject* data, const Tensor& made) {
  if (!holds_traced_number(data)) return;
  Recorder& recorder = *tracing;
  Value* const inputs[] = {&data_value(recorder, data),
                           &recorder.constant(Datum(made.dtype()), graph::simple_type(Kind::dtype)),
                           &recorder.constant(Datum(), graph::simple_type(Kind::none)),
                           &recorder.constant(Datum(false), graph::simple_type(Kind::boolean))};
  recorder.know(made, recorder.builtin("tensor", inputs, graph::exact_type(made)));
}

void note_traced_number(PyObject* value, const void* address, int64_t bits) {
  if (is_tensor(value)) {
    tracing->note(address, bits, tracing->value_of(tensor_of(value)));
  } else if (Value* known = traced_value(value)) {
    tracing->note(address, bits, *known);
  }
}

void note_traced_param(PyObject* value, const char* param) {
  if (is_tensor(value)) {
    Value* const place = &tracing->value_of(tensor_of(value));
    tracing->note_param(param, tracing->builtin("Int.Tensor", std::span(&place, 1),
                                                graph::simple_type(Kind::integer)));
  } else if (Value* known = traced_value(value)) {
    tracing->note_param(param, *known);
  }
}

PyObject* traced_size(const Tensor& tensor, int64_t dim) {
  const Ref size = owned(PyLong_FromLongLong(tensor->size(dim)));
  const TypeRef& integer = graph::simple_type(Kind::integer);
  Value& self = tracing->value_of(tensor);
  Value* const inputs[] = {&self, &tracing->constant(Datum(dim), integer)};
  return make_number(size.get(), tracing->builtin("size.int", inputs, integer));
}

PyObject* traced_shape(const Tensor& tensor) {
  Ref shape = owned(PyTuple_New(tensor.ndim()));
  for (int64_t i = 0; i < tensor.ndim(); ++i)
    PyTuple_SET_ITEM(shape.get(), i, traced_size(tensor, i));
  return wrap_size(shape.get());
}

PyObject* traced_numel(const Tensor& tensor) {
  const Ref count = owned(PyLong_FromLongLong(tensor->numel()));
  Value* const self = &tracing->value_of(tensor);
  return make_number(count.get(), tracing->builtin("numel", std::span(&self, 1),
                                                   graph::simple_type(Kind::integer)));
}

void add_recorder_type(PyObject* module) {
  recorder_type = make_type(module, spec);
  must_succeed(PyModule_AddFunctions(module, functions));
}

}  // namespace wisp::python
