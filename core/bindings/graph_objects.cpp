#include "bindings/graph_objects.h"

#include <algorithm>
#include <structmember.h>

#include "bindings/arguments.h"
#include "bindings/graph_parts.h"
#include "bindings/graph_values.h"
#include "bindings/tensor_object.h"
#include "graph/example.h"
#include "graph/interpreter.h"
#include "graph/link.h"

namespace wisp::python {

using graph::Datum;
using graph::Function;
using graph::ObjectData;
using graph::Parameter;
using graph::Program;

PyTypeObject* program_type = nullptr;
PyTypeObject* function_type = nullptr;
PyTypeObject* object_type = nullptr;

namespace {

// --- Function

Datum argument(const Function& function, size_t position, PyObject* value) {
  const Parameter& param = function.params[position];
  Datum datum;
  if (WISP_LIKELY(to_datum(value, *param.type, datum))) return datum;
  const wisp::python::Ref shown = owned(PyObject_Repr(value));
  std::string text = text_of(shown.get());
  if (text.size() > 200) text = text.substr(0, 200) + "...";
  fail(ErrorKind::runtime, function.name, "() Expected a value of type '",
       graph::to_string(*param.type), "' for argument '", param.name, "' but instead found type '",
       type_name(value), "'.\nPosition: ", position, "\nValue: ", text,
       "\nDeclaration: ", declaration(function));
}

void take_keywords(const Function& function, PyObject* kwnames, PyObject* const* values,
                   std::vector<Datum>& arguments, std::vector<bool>& given, size_t first) {
  const auto& params = function.params;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
    const std::string name = text_of(PyTuple_GET_ITEM(kwnames, k));
    const auto found = std::find_if(params.begin(), params.end(),
                                    [&](const Parameter& param) { return param.name == name; });
    const auto i = static_cast<size_t>(found - params.begin());
    WISP_CHECK(found != params.end(), function.name, "() got an unexpected keyword argument '",
               name, "'.\nDeclaration: ", declaration(function));
    WISP_CHECK(!given[i], function.name, "() got multiple values for argument '", name, "'");
    arguments[first + i] = argument(function, i, values[k]);
    given[i] = true;
  }
}

// Lists and dicts are written by the function that gets them.
Datum fresh_default(const Parameter& param) {
  const wisp::python::Ref value(to_python(param.fallback, param.type.get()));
  Datum datum;
  to_datum(value.get(), *param.type, datum);
  return datum;
}

std::vector<Datum> arguments_of(const FunctionObject& self, PyObject* const* args, size_t nargs,
                                PyObject* kwnames) {
  const Function& function = *self.function;
  const size_t first = self.self ? 1 : 0, count = function.params.size();
  WISP_CHECK(nargs <= count, function.name, "() expected at most ", count,
             " argument(s) but received ", nargs,
             " argument(s).\nDeclaration: ", declaration(function));
  std::vector<Datum> arguments(first + count);
  if (self.self) arguments[0] = Datum(self.self);
  for (size_t i = 0; i < nargs; ++i) arguments[first + i] = argument(function, i, args[i]);
  if (nargs == count && !kwnames) return arguments;
  std::vector<bool> given(count);
  std::fill_n(given.begin(), nargs, true);
  if (kwnames) take_keywords(function, kwnames, args + nargs, arguments, given, first);
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    WISP_CHECK(function.params[i].has_default, function.name, "() is missing value for argument '",
               function.params[i].name, "'.\nDeclaration: ", declaration(function));
    arguments[first + i] = fresh_default(function.params[i]);
  }
  return arguments;
}

// Not owned: what is called last may be gone before anybody asks.
PyObject* last_called = nullptr;

PyObject* function_vectorcall(PyObject* object, PyObject* const* args, size_t nargsf,
                              PyObject* kwnames) {
  const FunctionObject& self = as<FunctionObject>(object);
  last_called = object;
  return guarded([&] {
    const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
    std::vector<Datum> arguments = arguments_of(self, args, nargs, kwnames);
    const bool known = !self.function->example.empty();
    const Datum result = WISP_LIKELY(known) ? call(*self.function, std::move(arguments))
                                            : call_first(*self.function, std::move(arguments));
    return to_python(result, self.function->result.get());
  });
}

// A list of arguments; empty if it is not known what the function takes.
PyObject* function_example(PyObject* self, void*) {
  return guarded([&] {
    const Function& function = *as<FunctionObject>(self).function;
    Ref list = owned(PyList_New(0));
    for (size_t i = 0; i < function.example.size(); ++i) {
      const Ref item(to_python(function.example[i], function.params[i].type.get()));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// Takes arguments of any values: what is kept of them is up to example_of().
int function_set_example(PyObject* self, PyObject* value, void*) {
  const auto set = [&] {
    const Ref given = owned(PySequence_Tuple(value ? value : Py_None));
    Function& function = *as<FunctionObject>(self).function;
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(given.get()));
    WISP_CHECK_TYPE(count == 0 || count == function.params.size(), function.name, "(): expected ",
                    function.params.size(), " arguments, got ", count);
    std::vector<Datum> all;
    for (size_t i = 0; i < count; ++i)
      all.push_back(argument(function, i, PyTuple_GET_ITEM(given.get(), static_cast<int>(i))));
    if (auto example = graph::example_of(all)) function.example = std::move(*example);
    return none();
  };
  return Ref(guarded(set)).get() ? 0 : -1;
}

PyObject* function_name(PyObject* self, void*) {
  return guarded([&] { return string(as<FunctionObject>(self).function->name).release(); });
}

PyObject* function_graph(PyObject* self, void*) {
  return guarded([&] {
    FunctionObject& function = as<FunctionObject>(self);
    return make_graph(function.program, *function.function->graph, function.function);
  });
}

PyObject* function_schema(PyObject* self, void*) {
  return guarded([&] { return string(declaration(*as<FunctionObject>(self).function)).release(); });
}

PyObject* function_program(PyObject* self, void*) {
  return guarded([&] {
    return make<ProgramObject>(program_type, [&](ProgramObject& made) {
      new (&made.program) wisp::Ref<Program>(as<FunctionObject>(self).program);
    });
  });
}

// [(name, type, has it a default, that default or None)]
PyObject* function_params(PyObject* self, void*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const Parameter& param : as<FunctionObject>(self).function->params) {
      const Ref fallback(param.has_default ? to_python(param.fallback, param.type.get()) : none());
      const Ref item =
          owned(Py_BuildValue("(ssOO)", param.name.c_str(), graph::to_string(*param.type).c_str(),
                              param.has_default ? Py_True : Py_False, fallback.get()));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// complete(args, kwargs) -> all arguments in order, as they were given or as their defaults
PyObject* function_complete(PyObject* self, PyObject* given) {
  PyObject *args, *kwargs;
  if (!PyArg_ParseTuple(given, "O!O!", &PyTuple_Type, &args, &PyDict_Type, &kwargs)) return nullptr;
  return guarded([&] {
    const Function& function = *as<FunctionObject>(self).function;
    Ref list = owned(PyList_New(0));
    for (size_t i = 0; i < function.params.size(); ++i) {
      const Parameter& param = function.params[i];
      const auto at = static_cast<Py_ssize_t>(i);
      PyObject* found = at < PyTuple_GET_SIZE(args)
                            ? PyTuple_GET_ITEM(args, at)
                            : PyDict_GetItemString(kwargs, param.name.c_str());
      WISP_CHECK(found || param.has_default, function.name, "() is missing value for argument '",
                 param.name, "'");
      const Ref value =
          found ? Ref::borrow(found) : Ref(to_python(param.fallback, param.type.get()));
      must_succeed(PyList_Append(list.get(), value.get()));
    }
    return list.release();
  });
}

PyObject* function_code(PyObject* self, void*) {
  return guarded([&] {
    const Function& function = *as<FunctionObject>(self).function;
    const std::string name = function.name.substr(function.name.rfind('.') + 1);
    return string(graph::to_python(function, name)).release();
  });
}

void destroy_function(FunctionObject& self) {
  if (last_called == reinterpret_cast<PyObject*>(&self)) last_called = nullptr;
  self.self.~Ref();
  self.program.~Ref();
}

PyGetSetDef function_getset[] = {
    {"name", function_name, nullptr, nullptr, nullptr},
    {"graph", function_graph, nullptr, nullptr, nullptr},
    {"schema", function_schema, nullptr, nullptr, nullptr},
    {"params", function_params, nullptr, nullptr, nullptr},
    {"program", function_program, nullptr, nullptr, nullptr},
    {"code", function_code, nullptr, nullptr, nullptr},
    {"example", function_example, function_set_example, nullptr, nullptr},
    {}};
PyMethodDef function_methods[] = {{"complete", function_complete, METH_VARARGS, nullptr}, {}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot function_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<FunctionObject, destroy_function>)},
    {Py_tp_getset, function_getset},
    {Py_tp_methods, function_methods},
    {Py_tp_members, function_members},
    {0, nullptr}};
constexpr unsigned long closed = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
PyType_Spec function_spec = {"wisp._C._jit.Function", sizeof(FunctionObject), 0,
                             closed | Py_TPFLAGS_HAVE_VECTORCALL, function_slots};

// --- Object

ObjectData& data_of(PyObject* self) { return *as<ObjectObject>(self).object; }

size_t slot_of(ObjectData& object, PyObject* name) {
  const std::string text = text_of(name);
  const int at = object.cls->find(text);
  if (at < 0) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'",
                 object.cls->name.c_str(), text.c_str());
    throw PythonError();
  }
  if (object.slots.size() < object.cls->attributes.size())
    object.slots.resize(object.cls->attributes.size());
  return static_cast<size_t>(at);
}

PyObject* object_get(PyObject* self, PyObject* name) {
  return guarded([&] {
    ObjectData& object = data_of(self);
    const size_t at = slot_of(object, name);
    return to_python(object.slots[at], object.cls->attributes[at].type.get());
  });
}

// An attribute that is an object, bare; None if it is not set.
PyObject* object_part(PyObject* self, PyObject* name) {
  return guarded([&] {
    ObjectData& object = data_of(self);
    const Datum& value = object.slots[slot_of(object, name)];
    return value.tag() == graph::Tag::object ? make_object(value.object()) : none();
  });
}

// An object of one program, for files.
PyObject* object_united(PyObject* self, PyObject*) {
  return guarded([&] { return make_object(*graph::united(data_of(self))); });
}

PyObject* object_set(PyObject* self, PyObject* args) {
  PyObject *name, *value;
  if (!PyArg_ParseTuple(args, "UO", &name, &value)) return nullptr;
  return guarded([&] {
    ObjectData& object = data_of(self);
    const size_t at = slot_of(object, name);
    const graph::Attribute& attribute = object.cls->attributes[at];
    Datum datum;
    WISP_CHECK(to_datum(value, *attribute.type, datum), "Expected a value of type '",
               graph::to_string(*attribute.type), "' for attribute '", attribute.name, "' of ",
               object.cls->name, ", but got '", type_name(value), "'");
    object.slots[at] = std::move(datum);
    return none();
  });
}

PyObject* object_method(PyObject* self, PyObject* name) {
  return guarded([&] {
    ObjectData& object = data_of(self);
    const std::string text = text_of(name);
    const auto found = object.cls->methods.find(text);
    if (found == object.cls->methods.end()) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no method '%s'", object.cls->name.c_str(),
                   text.c_str());
      throw PythonError();
    }
    return make_function(object.program, *found->second, &object);
  });
}

PyObject* object_call(PyObject* self, PyObject* args) {
  PyObject *name, *positional, *keywords = nullptr;
  if (!PyArg_ParseTuple(args, "UO!|O!", &name, &PyTuple_Type, &positional, &PyDict_Type, &keywords))
    return nullptr;
  return guarded([&] {
    const Ref method = owned(object_method(self, name));
    return must(PyObject_Call(method.get(), positional, keywords));
  });
}

const char* role_name(graph::Attribute::Role role) {
  constexpr const char* names[] = {"plain", "parameter", "buffer", "temporary_buffer", "constant"};
  return names[role];
}

// [(name, role, type)]
PyObject* object_attributes(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const graph::Attribute& attribute : data_of(self).cls->attributes) {
      const Ref item =
          owned(Py_BuildValue("(sss)", attribute.name.c_str(), role_name(attribute.role),
                              graph::to_string(*attribute.type).c_str()));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

PyObject* object_methods(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const auto& [name, function] : data_of(self).cls->methods) {
      must_succeed(PyList_Append(list.get(), string(name).get()));
    }
    return list.release();
  });
}

std::vector<std::string> texts_in(PyObject* list) {
  const Ref items = owned(PySequence_Tuple(list));
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
    texts.push_back(text_of(PyTuple_GET_ITEM(items.get(), i)));
  return texts;
}

// frozen(methods, attributes that stay): a copy whose other attributes are constants
PyObject* object_frozen(PyObject* self, PyObject* args) {
  PyObject *methods, *kept;
  if (!PyArg_ParseTuple(args, "OO", &methods, &kept)) return nullptr;
  return guarded([&] {
    return make_object(*graph::freeze(data_of(self), texts_in(methods), texts_in(kept)));
  });
}

PyObject* object_class_name(PyObject* self, void*) {
  return guarded([&] { return string(data_of(self).cls->name).release(); });
}

PyObject* object_is_module(PyObject* self, void*) { return boolean(data_of(self).cls->is_module); }

PyObject* object_program(PyObject* self, void*) {
  return guarded([&] {
    return make<ProgramObject>(program_type, [&](ProgramObject& made) {
      new (&made.program) wisp::Ref<Program>(data_of(self).program);
    });
  });
}

// Two Python objects of one object of a script are equal.
PyObject* object_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(b) != object_type) Py_RETURN_NOTIMPLEMENTED;
  return boolean((&data_of(a) == &data_of(b)) == (op == Py_EQ));
}
Py_hash_t object_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(&data_of(self)) >> 4);
}

void destroy_object(ObjectObject& self) { self.object.~Ref(); }

PyMethodDef object_methods_table[] = {{"get", object_get, METH_O, nullptr},
                                      {"part", object_part, METH_O, nullptr},
                                      {"united", object_united, METH_NOARGS, nullptr},
                                      {"set", object_set, METH_VARARGS, nullptr},
                                      {"method", object_method, METH_O, nullptr},
                                      {"call", object_call, METH_VARARGS, nullptr},
                                      {"attributes", object_attributes, METH_NOARGS, nullptr},
                                      {"methods", object_methods, METH_NOARGS, nullptr},
                                      {"frozen", object_frozen, METH_VARARGS, nullptr},
                                      {}};
PyGetSetDef object_getset[] = {{"class_name", object_class_name, nullptr, nullptr, nullptr},
                               {"is_module", object_is_module, nullptr, nullptr, nullptr},
                               {"program", object_program, nullptr, nullptr, nullptr},
                               {}};
PyType_Slot object_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<ObjectObject, destroy_object>)},
    {Py_tp_methods, object_methods_table},
    {Py_tp_getset, object_getset},
    {Py_tp_richcompare, reinterpret_cast<void*>(object_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(object_hash)},
    {0, nullptr}};
PyType_Spec object_spec = {"wisp._C._jit.Object", sizeof(ObjectObject), 0, closed, object_slots};

}  // namespace

wisp::Ref<ObjectData> object_in(PyObject* value) {
  if (Py_TYPE(value) == object_type) return as<ObjectObject>(value).object;
  PyObject* found = PyObject_GetAttrString(value, "_c");
  if (!found) {
    PyErr_Clear();
    return nullptr;
  }
  const Ref bare(found);
  return Py_TYPE(found) == object_type ? as<ObjectObject>(found).object : nullptr;
}

PyObject* make_object(ObjectData& object) {
  return make<ObjectObject>(object_type, [&](ObjectObject& made) {
    new (&made.object) wisp::Ref<ObjectData>(wisp::Ref<ObjectData>::share(&object));
  });
}

PyObject* wrap_object(ObjectData& object) {
  static PyObject* wrapper = import_attribute("wisp.jit._host", "wrap_object");
  const Ref bare(make_object(object));
  return must(PyObject_CallOneArg(wrapper, bare.get()));
}

PyObject* last_called_function() { return Py_NewRef(last_called ? last_called : Py_None); }

PyObject* make_function(wisp::Ref<Program> program, Function& function, ObjectData* self) {
  return make<FunctionObject>(function_type, [&](FunctionObject& made) {
    made.vectorcall = function_vectorcall;
    new (&made.program) wisp::Ref<Program>(std::move(program));
    made.function = &function;
    new (&made.self) wisp::Ref<ObjectData>(wisp::Ref<ObjectData>::share(self));
  });
}

void add_program_types(PyObject* module) {
  program_type = make_type(module, program_spec);
  function_type = make_type(module, function_spec);
  object_type = make_type(module, object_spec);
}

}  // namespace wisp::python
