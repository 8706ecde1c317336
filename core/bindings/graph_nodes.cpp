// Graph, Block, Node and Value for Python: to look at, to run, and to pass to passes.
#include "bindings/graph_objects.h"
#include "bindings/graph_values.h"
#include "graph/effects.h"
#include "graph/interpreter.h"
#include "graph/passes.h"

namespace wisp::python {

using graph::Block;
using graph::Datum;
using graph::Function;
using graph::Graph;
using graph::Node;
using graph::Program;
using graph::Value;

namespace {

struct GraphObject {
  PyObject_HEAD;
  wisp::Ref<Program> program;  // may be null
  std::unique_ptr<Graph> own;  // of a graph that is no function's
  Graph* graph;
  Function* function;  // whose graph it is, or null
  std::shared_ptr<const graph::Code> code;
};

// A part of a graph, which it keeps alive.
struct PartObject {
  PyObject_HEAD;
  PyObject* graph;
  void* part;
};

PyTypeObject *graph_type = nullptr, *block_type = nullptr, *node_type = nullptr,
             *value_type = nullptr;

GraphObject& graph_of(PyObject* self) { return *reinterpret_cast<GraphObject*>(self); }
PartObject& part_of(PyObject* self) { return *reinterpret_cast<PartObject*>(self); }
template <class T>
T& in(PyObject* self) {
  return *static_cast<T*>(part_of(self).part);
}

PyObject* make_part(PyTypeObject* type, PyObject* graph, const void* part) {
  PyObject* self = must(type->tp_alloc(type, 0));
  Py_INCREF(graph);
  part_of(self).graph = graph;
  part_of(self).part = const_cast<void*>(part);
  return self;
}

template <class List>
PyObject* parts(PyTypeObject* type, PyObject* graph, const List& list) {
  Ref made = owned(PyList_New(0));
  for (const auto* part : list) {
    const Ref item(make_part(type, graph, part));
    must_succeed(PyList_Append(made.get(), item.get()));
  }
  return made.release();
}

// An iterator.
PyObject* nodes_of(const Block& block, PyObject* graph) {
  std::vector<const Node*> nodes;
  for (const Node* node = block.first; node; node = node->next) nodes.push_back(node);
  const Ref list(parts(node_type, graph, nodes));
  return must(PyObject_GetIter(list.get()));
}

void part_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(part_of(self).graph);
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

// The same part is another object each time it is asked for.
PyObject* part_compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(a) != Py_TYPE(b)) Py_RETURN_NOTIMPLEMENTED;
  return boolean((part_of(a).part == part_of(b).part) == (op == Py_EQ));
}
Py_hash_t part_hash(PyObject* self) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(part_of(self).part) >> 4);
}

// --- Value

PyObject* value_name(PyObject* self, void*) {
  return guarded([&] { return string(in<Value>(self).name).release(); });
}
PyObject* value_debug_name(PyObject* self, PyObject*) { return value_name(self, nullptr); }
PyObject* value_type_text(PyObject* self, void*) {
  return guarded([&] { return string(graph::to_string(*in<Value>(self).type)).release(); });
}
PyObject* value_node(PyObject* self, PyObject*) {
  return guarded([&] {
    const Value& value = in<Value>(self);
    return value.node ? make_part(node_type, part_of(self).graph, value.node) : none();
  });
}
PyObject* value_repr(PyObject* self) {
  return guarded([&] {
    const Value& value = in<Value>(self);
    return string("%" + value.name + " : " + graph::to_string(*value.type)).release();
  });
}

PyMethodDef value_methods[] = {{"node", value_node, METH_NOARGS, nullptr},
                               {"debugName", value_debug_name, METH_NOARGS, nullptr},
                               {}};
PyGetSetDef value_getset[] = {{"name", value_name, nullptr, nullptr, nullptr},
                              {"type", value_type_text, nullptr, nullptr, nullptr},
                              {}};

// --- Node

PyObject* node_kind(PyObject* self, PyObject*) {
  return guarded([&] { return string(in<Node>(self).kind()).release(); });
}
PyObject* node_inputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, part_of(self).graph, in<Node>(self).inputs); });
}
PyObject* node_outputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, part_of(self).graph, in<Node>(self).outputs); });
}
// The only one.
PyObject* single(PyObject* self, const std::vector<Value*>& values, const char* what) {
  return guarded([&] {
    WISP_CHECK(values.size() == 1, "the node ", in<Node>(self).kind(), " has ", values.size(), " ",
               what);
    return make_part(value_type, part_of(self).graph, values[0]);
  });
}
PyObject* node_input(PyObject* self, PyObject*) {
  return single(self, in<Node>(self).inputs, "inputs");
}
PyObject* node_output(PyObject* self, PyObject*) {
  return single(self, in<Node>(self).outputs, "outputs");
}
PyObject* node_blocks(PyObject* self, PyObject*) {
  return guarded([&] { return parts(block_type, part_of(self).graph, in<Node>(self).blocks); });
}
PyObject* node_is_nondeterministic(PyObject* self, PyObject*) {
  return guarded([&] {
    const Node& node = in<Node>(self);
    return PyBool_FromLong(node.op && graph::may_draw(node));
  });
}
PyObject* node_attributes(PyObject* self, void*) {
  return guarded([&] {
    Ref dict = owned(PyDict_New());
    for (const auto& [name, value] : in<Node>(self).attributes) {
      const Ref item(to_python(value, nullptr));
      must_succeed(PyDict_SetItemString(dict.get(), name.c_str(), item.get()));
    }
    return dict.release();
  });
}
PyObject* node_place(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const graph::Span& span = in<Node>(self).span;
    if (!span.source) Py_RETURN_NONE;
    return string(str(span.source->file, ":", span.line())).release();
  });
}
PyObject* node_repr(PyObject* self) {
  return guarded([&] { return string("<node " + in<Node>(self).kind() + ">").release(); });
}

PyMethodDef node_methods[] = {
    {"kind", node_kind, METH_NOARGS, nullptr},
    {"inputs", node_inputs, METH_NOARGS, nullptr},
    {"outputs", node_outputs, METH_NOARGS, nullptr},
    {"input", node_input, METH_NOARGS, nullptr},
    {"output", node_output, METH_NOARGS, nullptr},
    {"blocks", node_blocks, METH_NOARGS, nullptr},
    {"isNondeterministic", node_is_nondeterministic, METH_NOARGS, nullptr},
    {}};
PyGetSetDef node_getset[] = {{"attributes", node_attributes, nullptr, nullptr, nullptr},
                             {"place", node_place, nullptr, nullptr, nullptr},
                             {}};

// --- Block

PyObject* block_inputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, part_of(self).graph, in<Block>(self).params); });
}
PyObject* block_outputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, part_of(self).graph, in<Block>(self).results); });
}
PyObject* block_nodes(PyObject* self, PyObject*) {
  return guarded([&] { return nodes_of(in<Block>(self), part_of(self).graph); });
}

PyMethodDef block_methods[] = {{"inputs", block_inputs, METH_NOARGS, nullptr},
                               {"outputs", block_outputs, METH_NOARGS, nullptr},
                               {"nodes", block_nodes, METH_NOARGS, nullptr},
                               {}};

// --- Graph

PyObject* graph_str(PyObject* self) {
  return guarded([&] { return string(graph::to_text(*graph_of(self).graph)).release(); });
}

PyObject* graph_to_text(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"places", nullptr};
  int places = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(names), &places))
    return nullptr;
  return guarded([&] {
    return string(graph::to_text(*graph_of(self).graph, {.places = places != 0})).release();
  });
}

PyObject* graph_code(PyObject* self, void*) {
  return guarded([&] { return string(graph::to_python(*graph_of(self).graph)).release(); });
}

PyObject* graph_pretty_print(PyObject* self, PyObject*) {
  return guarded(
      [&] { return string(graph::to_python(*graph_of(self).graph, "graph")).release(); });
}

PyObject* graph_inputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, self, graph_of(self).graph->top().params); });
}
PyObject* graph_outputs(PyObject* self, PyObject*) {
  return guarded([&] { return parts(value_type, self, graph_of(self).graph->top().results); });
}
PyObject* graph_nodes(PyObject* self, PyObject*) {
  return guarded([&] { return nodes_of(graph_of(self).graph->top(), self); });
}

// Nodes of a kind, in the order of the program; those of inner blocks if asked for.
void find_nodes(const Block& block, const std::string& kind, bool recurse,
                std::vector<const Node*>& found) {
  for (const Node* node = block.first; node; node = node->next) {
    if (node->kind() == kind) found.push_back(node);
    for (const Block* inner : node->blocks) {
      if (recurse) find_nodes(*inner, kind, recurse, found);
    }
  }
}

// findAllNodes(kind, recurse=True), and findNode(), which gives the first of them, or None.
PyObject* graph_find(PyObject* self, PyObject* args, PyObject* kwargs, bool all) {
  static const char* names[] = {"kind", "recurse", nullptr};
  const char* kind = nullptr;
  int recurse = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|p", const_cast<char**>(names), &kind, &recurse))
    return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<const Node*> found;
    find_nodes(graph_of(self).graph->top(), kind, recurse != 0, found);
    if (all) return parts(node_type, self, found);
    if (found.empty()) Py_RETURN_NONE;
    return make_part(node_type, self, found.front());
  });
}
PyObject* graph_find_all(PyObject* self, PyObject* args, PyObject* kwargs) {
  return graph_find(self, args, kwargs, true);
}
PyObject* graph_find_first(PyObject* self, PyObject* args, PyObject* kwargs) {
  return graph_find(self, args, kwargs, false);
}

PyObject* graph_copy(PyObject* self, PyObject*) {
  return guarded([&] { return make_graph(graph_of(self).program, graph_of(self).graph->clone()); });
}

PyObject* graph_verify(PyObject* self, PyObject*) {
  return guarded([&] {
    graph::verify(*graph_of(self).graph);
    return none();
  });
}

void changed(GraphObject& graph) {
  graph.code.reset();
  if (graph.function) graph.function->code.reset();
}

PyObject* graph_run_pass(PyObject* self, PyObject* name) {
  return guarded([&] {
    const std::string text = text_of(name);
    const graph::Pass* pass = graph::find_pass(text);
    WISP_CHECK_VALUE(pass, "there is no pass '", text, "'");
    const bool did = graph::run_pass(*graph_of(self).graph, *pass);
    changed(graph_of(self));
    return boolean(did);
  });
}

// optimize(passes to leave out, passes to run though they have to be asked for)
PyObject* graph_optimize(PyObject* self, PyObject* args) {
  PyObject *without = nullptr, *with = nullptr;
  if (!PyArg_ParseTuple(args, "|OO", &without, &with)) return nullptr;
  return guarded([&] {
    graph::OptimizeOptions options;
    const auto fill = [](PyObject* list, auto& names) {
      if (!list) return;
      const Ref items = owned(PySequence_Tuple(list));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        names.insert(text_of(PyTuple_GET_ITEM(items.get(), i)));
    };
    fill(without, options.without);
    fill(with, options.with);
    graph::optimize(*graph_of(self).graph, options);
    changed(graph_of(self));
    return none();
  });
}

Datum graph_argument(const Value& param, size_t position, PyObject* value) {
  Datum datum;
  WISP_CHECK(to_datum(value, *param.type, datum), "run() expected a value of type '",
             graph::to_string(*param.type), "' for %", param.name, " (position ", position,
             "), but got '", Py_TYPE(value)->tp_name, "'");
  return datum;
}

// A result for each the graph has: alone, or in a tuple.
PyObject* graph_run(PyObject* self, PyObject* args) {
  return guarded([&] {
    GraphObject& object = graph_of(self);
    const Block& top = object.graph->top();
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(args));
    WISP_CHECK_TYPE(count == top.params.size(), "run(): the graph takes ", top.params.size(),
                    " arguments, got ", count);
    std::vector<Datum> arguments;
    for (size_t i = 0; i < count; ++i) {
      PyObject* value = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i));
      arguments.push_back(graph_argument(*top.params[i], i, value));
    }
    if (!object.code) object.code = std::make_shared<const graph::Code>(*object.graph);
    const std::shared_ptr<const graph::Code> code = object.code;
    const std::vector<Datum> results = graph::run(*code, std::move(arguments));
    Ref made = owned(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
    for (size_t i = 0; i < results.size(); ++i) {
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i),
                       to_python(results[i], top.results[i]->type.get()));
    }
    if (results.size() != 1) return made.release();
    return Ref::borrow(PyTuple_GET_ITEM(made.get(), 0)).release();
  });
}

void graph_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  GraphObject& object = graph_of(self);
  object.code.~shared_ptr();
  object.own.~unique_ptr();
  object.program.~Ref();
  type->tp_free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMethodDef graph_methods[] = {
    {"to_text", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(graph_to_text)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"pretty_print", graph_pretty_print, METH_NOARGS, nullptr},
    {"inputs", graph_inputs, METH_NOARGS, nullptr},
    {"outputs", graph_outputs, METH_NOARGS, nullptr},
    {"nodes", graph_nodes, METH_NOARGS, nullptr},
    {"findNode", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(graph_find_first)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"findAllNodes", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(graph_find_all)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    {"copy", graph_copy, METH_NOARGS, nullptr},
    {"verify", graph_verify, METH_NOARGS, nullptr},
    {"run_pass", graph_run_pass, METH_O, nullptr},
    {"optimize", graph_optimize, METH_VARARGS, nullptr},
    {"run", graph_run, METH_VARARGS, nullptr},
    {}};
PyGetSetDef graph_getset[] = {{"code", graph_code, nullptr, nullptr, nullptr}, {}};

// --- The types

constexpr unsigned long flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Slot graph_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(graph_dealloc)},
                             {Py_tp_str, reinterpret_cast<void*>(graph_str)},
                             {Py_tp_repr, reinterpret_cast<void*>(graph_str)},
                             {Py_tp_methods, graph_methods},
                             {Py_tp_getset, graph_getset},
                             {0, nullptr}};
PyType_Slot block_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(part_dealloc)},
                             {Py_tp_richcompare, reinterpret_cast<void*>(part_compare)},
                             {Py_tp_hash, reinterpret_cast<void*>(part_hash)},
                             {Py_tp_methods, block_methods},
                             {0, nullptr}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(part_dealloc)},
                            {Py_tp_richcompare, reinterpret_cast<void*>(part_compare)},
                            {Py_tp_hash, reinterpret_cast<void*>(part_hash)},
                            {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {0, nullptr}};
PyType_Slot value_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(part_dealloc)},
                             {Py_tp_richcompare, reinterpret_cast<void*>(part_compare)},
                             {Py_tp_hash, reinterpret_cast<void*>(part_hash)},
                             {Py_tp_repr, reinterpret_cast<void*>(value_repr)},
                             {Py_tp_methods, value_methods},
                             {Py_tp_getset, value_getset},
                             {0, nullptr}};
PyType_Spec graph_spec = {"wisp._C._jit.Graph", sizeof(GraphObject), 0, flags, graph_slots};
PyType_Spec block_spec = {"wisp._C._jit.Block", sizeof(PartObject), 0, flags, block_slots};
PyType_Spec node_spec = {"wisp._C._jit.Node", sizeof(PartObject), 0, flags, node_slots};
PyType_Spec value_spec = {"wisp._C._jit.Value", sizeof(PartObject), 0, flags, value_slots};

GraphObject& new_graph(wisp::Ref<Program> program) {
  GraphObject& made = graph_of(must(graph_type->tp_alloc(graph_type, 0)));
  new (&made.program) wisp::Ref<Program>(std::move(program));
  new (&made.own) std::unique_ptr<Graph>;
  new (&made.code) std::shared_ptr<const graph::Code>;
  return made;
}

}  // namespace

PyObject* make_graph(wisp::Ref<Program> program, Graph& graph, Function* function) {
  GraphObject& made = new_graph(std::move(program));
  made.graph = &graph;
  made.function = function;
  return reinterpret_cast<PyObject*>(&made);
}

PyObject* make_graph(wisp::Ref<Program> program, std::unique_ptr<Graph> graph) {
  GraphObject& made = new_graph(std::move(program));
  made.graph = graph.get();
  made.own = std::move(graph);
  return reinterpret_cast<PyObject*>(&made);
}

PyObject* make_value(PyObject* keeper, Value& value) {
  return make_part(value_type, keeper, &value);
}

Value* value_in(PyObject* object) {
  return Py_TYPE(object) == value_type ? &in<Value>(object) : nullptr;
}

void add_graph_types(PyObject* module) {
  graph_type = make_type(module, graph_spec);
  block_type = make_type(module, block_spec);
  node_type = make_type(module, node_spec);
  value_type = make_type(module, value_spec);
}

}  // namespace wisp::python
