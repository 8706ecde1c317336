// Programs, their functions and objects, and graphs, for Python: wisp._C._jit.
#pragma once

#include "bindings/python.h"
#include "graph/graph.h"

namespace wisp::python {

// The object of a script that a Python object is, or that it stands for (its attribute `_c`); null
// if it is none.
wisp::Ref<graph::ObjectData> object_in(PyObject* value);
// The Python object that stands for an object of a script.
PyObject* wrap_object(graph::ObjectData& object);
// The bare one: wisp._C._jit.Object.
PyObject* make_object(graph::ObjectData& object);

PyObject* make_function(wisp::Ref<graph::Program> program, graph::Function& function,
                        graph::ObjectData* self = nullptr);
// The function that Python called last, or None if it is gone.
PyObject* last_called_function();
PyObject* make_graph(wisp::Ref<graph::Program> program, graph::Graph& graph,
                     graph::Function* function);
PyObject* make_graph(wisp::Ref<graph::Program> program, std::unique_ptr<graph::Graph> graph);
// The program behind a wisp._C._jit.Program, or fails.
wisp::Ref<graph::Program> program_in(PyObject* value);

// A Value for Python, which keeps `keeper` alive, and back: null if it is none.
PyObject* make_value(PyObject* keeper, graph::Value& value);
graph::Value* value_in(PyObject* object);

void add_graph_types(PyObject* module);
// Of a list or dict that Python holds with scripts together (wisp.jit._containers): itself, if its
// type is the wanted one, and its type, null if the value is none.
bool box_to_datum(PyObject* value, const graph::Type& type, graph::Datum& datum);
graph::TypeRef type_of_box(PyObject* value);

void add_box_type(PyObject* module);
void add_recorder_type(PyObject* module);
void add_program_types(PyObject* module);

}  // namespace wisp::python
