"""From the protobufs of a model to graphs that can run. Everything that can be wrong with a file is found here."""

from graphlib import CycleError, TopologicalSorter

from wisp.onnx import _bodies
from wisp.onnx._graph import Graph, Node
from wisp.onnx._package import defs, onnx
from wisp.onnx._tensors import from_proto, from_sparse
from wisp.onnx.ops import KNOW_TYPES, find

_Attribute = onnx.AttributeProto


class Builder:
    """Builds the graphs of one model or function.

    opsets: versions of the operator sets by domain. functions: the model's own functions by domain, name and overload.
    bindings: inside a function, the attributes of the node that called it. add_weight: makes a weight of a tensor.
    """

    def __init__(self, opsets, settings, add_weight, functions=None, directory=None):
        self.opsets, self.settings, self.add_weight = opsets, settings, add_weight
        self.functions, self.directory = functions or {}, directory
        self.bindings = {}
        self.unsupported = []
        self.open_functions = ()
        self.bodies = {}

    def inside(self, function, opsets, bindings):
        """A builder for the body of a function of the model."""
        inner = Builder(opsets, self.settings, self.add_weight, self.functions, self.directory)
        inner.bindings, inner.open_functions = bindings, (*self.open_functions, function)
        inner.unsupported, inner.bodies = self.unsupported, self.bodies
        return inner

    # --- graphs

    def graph(self, proto, scoped=True):
        """The graph of a GraphProto. A scoped one may use names of what is around it."""
        nodes = [self.node(n) for n in proto.node]
        initial = [self._initializer(t) for t in (*proto.initializer, *proto.sparse_initializer)]
        inputs = [i.name for i in proto.input]
        _check_unique(proto, [name for name, _ in initial], inputs)
        roles = _roles(nodes)
        weights = {name: self.add_weight(name, tensor, roles.get(name)) for name, tensor in initial}
        for node in nodes:
            node.owned = {i for i, name in enumerate(node.inputs) if name in weights}
        graph = _assembled(proto.name, inputs, [o.name for o in proto.output], weights, nodes, scoped)
        graph.output_types = [o.type for o in proto.output]
        return graph

    def body(self, function, wanted=None):
        """The graph of a FunctionProto, with all its outputs or the first ones."""
        nodes = [self.node(n) for n in function.node]
        _check_unique(function, [], list(function.input))
        return _assembled(function.name, list(function.input), list(function.output)[:wanted], {}, nodes, False)

    def _initializer(self, proto):
        if isinstance(proto, onnx.SparseTensorProto):
            return proto.values.name, from_sparse(proto, self.directory)
        return proto.name, from_proto(proto, self.directory)

    # --- nodes

    def node(self, proto):
        """The node of a NodeProto, with the function of the operator in the version that the file asks for."""
        label = _label(proto)
        key = _domain(proto), proto.op_type, getattr(proto, "overload", "")
        if key in self.functions:
            return _bodies.call_of_local(self, proto, key, label)
        version = self.opsets.get(_domain(proto))
        if version is None:
            raise ValueError(f"{label}: the model does not import the operators of {proto.domain or 'ai.onnx'!r}")
        schema = find_schema(proto.op_type, version, _domain(proto))
        function = find(_domain(proto), proto.op_type, version) or (
            schema and _bodies.call_of_standard(self, proto, schema)
        )
        if schema is None or not function:
            self.unsupported.append(f"{proto.domain or 'ai.onnx'}.{proto.op_type} (version {version}) in {label}")
            return Node(proto, version, None, {}, self.settings)
        _check_counts(proto, schema, label)
        has_body = isinstance(function, _bodies.Body)  # which has been given the attributes already
        attributes = {} if has_body else self.attributes(proto, label, schema)
        node = Node(proto, schema.since_version, function, attributes, self.settings)
        node.knows_types = has_body or proto.op_type in KNOW_TYPES
        return node

    def check_supported(self):
        """Fails if operators were met that wisp does not have, naming all of them."""
        if self.unsupported:
            found = "\n  ".join(sorted(set(self.unsupported)))
            raise RuntimeError(f"the model uses unsupported operators:\n  {found}")

    # --- attributes

    def attributes(self, proto, label, schema):
        """The attributes of a node as Python values, with the defaults of the operator's version."""
        given = {a.name: a for a in self.bound(proto.attribute)}
        for name in given.keys() - schema.attributes.keys():
            raise ValueError(f"{label} has the attribute {name!r}, which version {schema.since_version} does not know")
        values = {}
        for name, expected in schema.attributes.items():
            if name in given:
                values[name] = self.attribute(given[name], label, expected.type.value)
            elif expected.required:
                raise ValueError(f"{label} lacks the attribute {name!r}")
            else:
                values[name] = self.attribute(expected.default_value, label) if expected.default_value.name else None
        return values

    def bound(self, attributes):
        """Attributes with those replaced that stand for attributes of the function around them."""
        for attribute in attributes:
            if not attribute.ref_attr_name:
                yield attribute
            elif attribute.ref_attr_name in self.bindings:
                copy = _Attribute()
                copy.CopyFrom(self.bindings[attribute.ref_attr_name])
                copy.name = attribute.name
                yield copy

    def attribute(self, proto, label, expected=None):
        """The value of an AttributeProto. Files from before IR version 2 do not say its type."""
        kind = proto.type or expected
        if expected is not None and kind != expected:
            wanted, found = _Attribute.AttributeType.Name(expected), _Attribute.AttributeType.Name(kind)
            raise ValueError(f"{label} has the attribute {proto.name!r} as {found} instead of {wanted}")
        read = _READERS.get(kind)
        if read is None:
            raise ValueError(f"{label} has the attribute {proto.name!r} of the unknown type {kind}")
        return read(self, proto)


_READERS = {
    _Attribute.FLOAT: lambda b, a: a.f,
    _Attribute.INT: lambda b, a: a.i,
    _Attribute.STRING: lambda b, a: _text(a.s),
    _Attribute.TENSOR: lambda b, a: from_proto(a.t, b.directory),
    _Attribute.GRAPH: lambda b, a: b.graph(a.g),
    _Attribute.SPARSE_TENSOR: lambda b, a: from_sparse(a.sparse_tensor, b.directory),
    _Attribute.TYPE_PROTO: lambda b, a: a.tp,
    _Attribute.FLOATS: lambda b, a: list(a.floats),
    _Attribute.INTS: lambda b, a: list(a.ints),
    _Attribute.STRINGS: lambda b, a: [_text(s) for s in a.strings],
    _Attribute.TENSORS: lambda b, a: [from_proto(t, b.directory) for t in a.tensors],
    _Attribute.GRAPHS: lambda b, a: [b.graph(g) for g in a.graphs],
    _Attribute.SPARSE_TENSORS: lambda b, a: [from_sparse(t, b.directory) for t in a.sparse_tensors],
    _Attribute.TYPE_PROTOS: lambda b, a: list(a.type_protos),
}


def _text(value):
    return value.decode("utf-8", "surrogateescape")


def _label(proto):
    outputs = ", ".join(proto.output)
    return f"{proto.op_type} node {proto.name!r}" if proto.name else f"{proto.op_type} node of [{outputs}]"


def _domain(proto):
    return "" if proto.domain == "ai.onnx" else proto.domain


def find_schema(op_type, version, domain):
    """The description of an operator in the standard, or None."""
    try:
        return defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return None


def _check_counts(proto, schema, label):
    """Refuses nodes with too few or too many inputs or outputs."""
    found = len(proto.input), len(proto.output)
    least, most = (schema.min_input, schema.min_output), (schema.max_input, schema.max_output)
    for what, n, low, high in zip(("inputs", "outputs"), found, least, most):
        if not low <= n <= high:
            raise ValueError(f"{label} has {n} {what}; version {schema.since_version} has {low} to {high}")
    singles = [i for i, f in enumerate(schema.inputs) if f.option == defs.OpSchema.FormalParameterOption.Single]
    for i in singles:
        if i < len(proto.input) and not proto.input[i]:
            raise ValueError(f"{label} lacks its input {schema.inputs[i].name!r}")


def _check_unique(proto, initial, inputs):
    """Refuses names that two things of one graph have. An initializer may be the default of an input."""
    outputs = [name for node in proto.node for name in node.output if name]
    for names in (inputs, initial, [*{*inputs, *initial}, *outputs]):
        seen = set()
        for name in names:
            if name in seen:
                raise ValueError(f"graph {proto.name!r} gives the name {name!r} to two values")
            seen.add(name)


def _roles(nodes):
    """For each name, the places where nodes of a graph read it: pairs of a node and the index of the input."""
    roles = {}
    for node in nodes:
        for i, name in enumerate(node.inputs):
            roles.setdefault(name, []).append((node, i))
        for name in node.captures:
            roles.setdefault(name, []).append((node, None))
    return roles


def _assembled(name, inputs, outputs, weights, nodes, scoped):
    """The graph of these parts, with its nodes in an order in which they can run."""
    known = {*inputs, *weights, *(output for node in nodes for output in node.outputs)}
    free = {n: node for node in nodes for n in (*node.inputs, *node.captures) if n and n not in known}
    if free and not scoped:
        missing = "; ".join(f"{node} reads {n!r}" for n, node in free.items())
        raise ValueError(f"graph {name!r} uses names that nothing produces: {missing}")
    for output in outputs:
        if output not in known and not scoped:
            raise ValueError(f"graph {name!r} has the output {output!r}, which nothing produces")
    passed = {output for output in outputs if output not in known}
    return Graph(name, inputs, outputs, weights, _in_order(name, nodes), {*free, *passed}, scoped)


def _in_order(name, nodes):
    """The nodes, each after those whose outputs it reads."""
    makers = {output: i for i, node in enumerate(nodes) for output in node.outputs if output}
    needs = {i: {makers[n] for n in (*x.inputs, *x.captures) if n in makers} for i, x in enumerate(nodes)}
    if all(max(before, default=-1) < i for i, before in needs.items()):
        return nodes
    try:
        return [nodes[i] for i in TopologicalSorter(needs).static_order()]
    except CycleError as error:
        circle = " -> ".join(str(nodes[i]) for i in reversed(error.args[1]))
        raise ValueError(f"the nodes of graph {name!r} need each other's outputs: {circle}") from None
