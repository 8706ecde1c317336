// grad_fn: graph nodes as Python objects.
#pragma once

#include "autograd/node.h"
#include "bindings/python.h"

namespace wisp::python {

// The Python object of a node (None for null). A node keeps its object's identity while it is
// alive.
PyObject* wrap_node(autograd::Node* node);
// The node behind such an object; null if it is something else.
autograd::Node* node_from(PyObject* object);
// What node.next_functions gives.
PyObject* next_functions(autograd::Node& node);
PyObject* register_node_hook(autograd::Node& node, PyObject* callable);
PyObject* register_node_prehook(autograd::Node& node, PyObject* callable);
void add_node_type(PyObject* module);

}  // namespace wisp::python
