// Programs: parsing, writing and linking them.
#include "bindings/arguments.h"
#include "bindings/graph_parts.h"
#include "bindings/tensor_object.h"
#include "graph/link.h"

namespace wisp::python {

using graph::Function;
using graph::ObjectData;
using graph::Program;

namespace {

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (!PyArg_ParseTuple(args, "")) return nullptr;
  return guarded([&] {
    return make<ProgramObject>(type, [](ProgramObject& made) {
      new (&made.program) wisp::Ref<Program>(wisp::Ref<Program>::adopt(new Program));
    });
  });
}

Program& program_of(PyObject* self) { return *as<ProgramObject>(self).program; }

PyObject* program_parse(PyObject* self, PyObject* text) {
  return guarded([&] {
    WISP_CHECK_TYPE(PyUnicode_Check(text), "parse(): expected a str");
    program_of(self).parse(text_of(text));
    return none();
  });
}

// -> (text, tensors that it names)
PyObject* program_to_text(PyObject* self, PyObject*) {
  return guarded([&] {
    std::vector<Tensor> tensors;
    const Ref text = string(program_of(self).to_text(&tensors));
    const Ref list = owned(PyList_New(0));
    for (const Tensor& tensor : tensors) {
      const Ref item(wrap(tensor));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return must(PyTuple_Pack(2, text.get(), list.get()));
  });
}

PyObject* program_function(PyObject* self, PyObject* name) {
  return guarded([&] {
    const std::string text = text_of(name);
    Function* function = program_of(self).find_function(text);
    WISP_CHECK_VALUE(function, "there is no function '", text, "' in this program");
    return make_function(as<ProgramObject>(self).program, *function);
  });
}

PyObject* program_create(PyObject* self, PyObject* name) {
  return guarded([&] {
    const std::string text = text_of(name);
    graph::ClassDef* cls = program_of(self).find_class(text);
    WISP_CHECK_VALUE(cls, "there is no class '", text, "' in this program");
    const auto made =
        wisp::Ref<ObjectData>::adopt(new ObjectData(as<ProgramObject>(self).program, *cls));
    return make_object(*made);
  });
}

template <class List>
PyObject* names_in(const List& list) {
  Ref names = owned(PyList_New(0));
  for (const auto& item : list) must_succeed(PyList_Append(names.get(), string(item.name).get()));
  return names.release();
}

PyObject* program_functions(PyObject* self, PyObject*) {
  return guarded([&] { return names_in(program_of(self).functions()); });
}

PyObject* program_classes(PyObject* self, PyObject*) {
  return guarded([&] { return names_in(program_of(self).classes()); });
}

// The tensors that a text to be parsed names as <tensor i>.
PyObject* program_set_tensors(PyObject* self, PyObject* tensors) {
  return guarded([&] {
    const Ref items = owned(PySequence_Tuple(tensors));
    std::vector<Tensor> list;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      list.push_back(expect_tensor(PyTuple_GET_ITEM(items.get(), i), "set_tensors()"));
    program_of(self).tensors = std::move(list);
    return none();
  });
}

// link(function) -> its name in this program; link(object) -> an object of a class of this program.
// What they need comes with them.
PyObject* program_link(PyObject* self, PyObject* other) {
  return guarded([&] {
    graph::Linker linker(program_of(self));
    if (Py_TYPE(other) == function_type)
      return string(linker.add(*as<FunctionObject>(other).function).name).release();
    const wisp::Ref<ObjectData> object = object_in(other);
    WISP_CHECK_TYPE(object, "link(): expected a Function or an Object");
    return make_object(*linker.add(*object, as<ProgramObject>(self).program));
  });
}

void destroy_program(ProgramObject& self) { self.program.~Ref(); }

PyMethodDef program_methods[] = {{"parse", program_parse, METH_O, nullptr},
                                 {"to_text", program_to_text, METH_NOARGS, nullptr},
                                 {"function", program_function, METH_O, nullptr},
                                 {"create", program_create, METH_O, nullptr},
                                 {"functions", program_functions, METH_NOARGS, nullptr},
                                 {"classes", program_classes, METH_NOARGS, nullptr},
                                 {"link", program_link, METH_O, nullptr},
                                 {"set_tensors", program_set_tensors, METH_O, nullptr},
                                 {}};
PyType_Slot program_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(program_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<ProgramObject, destroy_program>)},
    {Py_tp_methods, program_methods},
    {0, nullptr}};

}  // namespace

PyType_Spec program_spec = {"wisp._C._jit.Program", sizeof(ProgramObject), 0, Py_TPFLAGS_DEFAULT,
                            program_slots};

wisp::Ref<Program> program_in(PyObject* value) {
  WISP_CHECK_TYPE(Py_TYPE(value) == program_type, "expected a Program");
  return as<ProgramObject>(value).program;
}

}  // namespace wisp::python
