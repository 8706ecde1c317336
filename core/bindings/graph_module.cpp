// wisp._C._jit: graphs, programs and what the compiler has to know of operators.
#include "bindings/graph_objects.h"
#include "bindings/graph_values.h"
#include "bindings/module.h"
#include "bindings/tensor_object.h"
#include "graph/builtins.h"
#include "graph/interpreter.h"
#include "graph/passes.h"
#include "graph/python_words.h"

namespace wisp::python {

using graph::Datum;

namespace {

// The functions of Python that programs may call (prim::HostCall), by name:
// wisp._C._jit.host_functions.
PyObject* host_functions = nullptr;

Datum call_host(const graph::HostFunction& function, std::vector<Datum> arguments) {
  PyObject* found = PyDict_GetItemString(host_functions, function.name.c_str());
  WISP_CHECK(found, "the program calls the Python function '",
             graph::host_function_name(function.name), "', which does not exist in this process");
  const Ref kept = Ref::borrow(found);
  const Ref args = owned(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i) {
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i),
                     to_python(arguments[i], function.params[i].get()));
  }
  const Ref result = owned(PyObject_CallObject(kept.get(), args.get()));
  Datum datum;
  WISP_CHECK(to_datum(result.get(), *function.result, datum), "the Python function '",
             graph::host_function_name(function.name), "' shall return '",
             graph::to_string(*function.result), "', but instead got value of type '",
             Py_TYPE(result.get())->tp_name, "'");
  return datum;
}

// Through sys.stdout, as Python's own print().
void print(const std::string& text) {
  PyObject* out = PySys_GetObject("stdout");
  if (!out || out == Py_None) return;
  const Ref kept = Ref::borrow(out);
  must_succeed(PyFile_WriteObject(string(text).get(), kept.get(), Py_PRINT_RAW));
}

std::string show(const Tensor& tensor) {
  const Ref object(wrap(tensor));
  return text_of(owned(PyObject_Str(object.get())).get());
}

std::string source_line(const std::string& file, int line) {
  static PyObject* get = import_attribute("linecache", "getline");
  const Ref text = owned(PyObject_CallFunction(get, "si", file.c_str(), line));
  std::string found = text_of(text.get());
  while (!found.empty() && (found.back() == '\n' || found.back() == '\r')) found.pop_back();
  return found;
}

PyObject* parse_graph(PyObject*, PyObject* args) {
  const char* text;
  Py_ssize_t size;
  PyObject* program = Py_None;
  if (!PyArg_ParseTuple(args, "s#|O", &text, &size, &program)) return nullptr;
  return guarded([&] {
    wisp::Ref<graph::Program> owner =
        program == Py_None ? wisp::Ref<graph::Program>() : program_in(program);
    auto parsed = graph::parse({text, static_cast<size_t>(size)}, owner.get());
    return make_graph(std::move(owner), std::move(parsed));
  });
}

PyObject* builtin_schemas(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const graph::Builtin& builtin : graph::builtins())
      must_succeed(PyList_Append(list.get(), string(builtin.schema).get()));
    return list.release();
  });
}

struct HomeName {
  uint32_t home;
  const char* name;
};
constexpr HomeName home_names[] = {{home::function, "function"},
                                   {home::method, "method"},
                                   {home::functional, "functional"},
                                   {home::linalg, "linalg"},
                                   {home::special, "special"},
                                   {home::internal, "internal"},
                                   {home::fft, "fft"}};
constexpr HomeName trait_names[] = {{trait::pointwise, "pointwise"},
                                    {trait::reduction, "reduction"},
                                    {trait::view, "view"},
                                    {trait::random, "random"},
                                    {trait::in_place, "in_place"},
                                    {trait::out, "out"},
                                    {trait::factory, "factory"},
                                    {trait::composite, "composite"},
                                    {trait::in_place_only, "in_place_only"}};

template <size_t N>
Ref names_of(uint32_t bits, const HomeName (&table)[N]) {
  Ref list = owned(PyList_New(0));
  for (const HomeName& entry : table) {
    if (bits & entry.home) must_succeed(PyList_Append(list.get(), string(entry.name).get()));
  }
  return list;
}

// [(schema, where it is found, traits)], in the table's order
PyObject* op_schemas(PyObject*, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const OpDef& op : registry().ops()) {
      const Ref item =
          owned(PyTuple_Pack(3, string(op.schema).get(), names_of(op.homes, home_names).get(),
                             names_of(op.traits, trait_names).get()));
      must_succeed(PyList_Append(list.get(), item.get()));
    }
    return list.release();
  });
}

// {other name: name in the table}
PyObject* op_aliases(PyObject*, PyObject*) {
  return guarded([&] {
    Ref dict = owned(PyDict_New());
    for (const auto& [other, name] : registry().aliases())
      must_succeed(PyDict_SetItemString(dict.get(), other.c_str(), string(name).get()));
    return dict.release();
  });
}

// {name: what it does}
PyObject* passes(PyObject*, PyObject*) {
  return guarded([&] {
    Ref dict = owned(PyDict_New());
    for (const graph::Pass& pass : graph::passes())
      must_succeed(PyDict_SetItemString(dict.get(), pass.name, string(pass.text).get()));
    return dict.release();
  });
}

// The type a value has in a graph, as text.
PyObject* type_text(PyObject*, PyObject* value) {
  return guarded([&] { return string(graph::to_string(*type_of(value))).release(); });
}

// execution(optimized, fuses): how compiled functions run on this thread from now on; as they do,
// if it is not given. Gives what it was.
PyObject* set_execution(PyObject*, PyObject* args) {
  const graph::Execution before = graph::execution;
  int optimized = before.optimized, fuses = before.fuses;
  if (!PyArg_ParseTuple(args, "|pp", &optimized, &fuses)) return nullptr;
  graph::execution.optimized = optimized != 0;
  graph::execution.fuses = fuses != 0;
  return Py_BuildValue("ii", before.optimized, before.fuses);
}

PyObject* last_called(PyObject*, PyObject*) { return last_called_function(); }

PyMethodDef functions[] = {{"parse_graph", parse_graph, METH_VARARGS, nullptr},
                           {"builtin_schemas", builtin_schemas, METH_NOARGS, nullptr},
                           {"op_schemas", op_schemas, METH_NOARGS, nullptr},
                           {"op_aliases", op_aliases, METH_NOARGS, nullptr},
                           {"passes", passes, METH_NOARGS, nullptr},
                           {"execution", set_execution, METH_VARARGS, nullptr},
                           {"type_of", type_text, METH_O, nullptr},
                           {"last_called", last_called, METH_NOARGS, nullptr},
                           {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "wisp._C._jit",
                          "Programs as graphs.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

void add_jit(PyObject* module) {
  const Ref made = owned(PyModule_Create(&definition));
  add_graph_types(made.get());
  add_program_types(made.get());
  add_recorder_type(made.get());
  add_box_type(made.get());
  host_functions = must(PyDict_New());
  must_succeed(PyObject_SetAttrString(made.get(), "host_functions", host_functions));
  must_succeed(PyObject_SetAttrString(module, "_jit", made.get()));
  graph::graph_host.call = call_host;
  graph::graph_host.has = [](const std::string& name) {
    return PyDict_GetItemString(host_functions, name.c_str()) != nullptr;
  };
  graph::graph_host.print = print;
  graph::graph_host.show = show;
  graph::graph_host.source_line = source_line;
}

}  // namespace wisp::python
