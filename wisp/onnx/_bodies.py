"""Operators that are defined by other operators: the functions of a model, and those of the ONNX standard."""

from wisp.onnx._graph import Node
from wisp.onnx._package import onnx
from wisp.onnx._values import element_of


class Body:
    """The function of a node that runs a graph of its own."""

    def __init__(self, graph):
        self.graph = graph

    def __call__(self, node, *inputs):
        missing = len(self.graph.inputs) - len(inputs)
        return tuple(self.graph.run([*inputs, *[None] * missing]))


class TypedBody(Body):
    """A body that depends on the types of the inputs: it is built when they are known, and again when they change."""

    def __init__(self, builder, proto, schema, version):
        self.builder, self.proto, self.version = builder, proto, version
        self.key = schema.name, schema.since_version, schema.domain
        self.types = None

    def __call__(self, node, *inputs):
        types = [_type_of(value) for value in inputs]
        if types != self.types:
            self.graph, self.types = self._built(types), types
        return super().__call__(node, *inputs)

    def _built(self, types):
        from wisp.onnx._build import find_schema

        schema = find_schema(*self.key)
        data = schema.get_context_dependent_function_with_opset_version(
            self.version, self.proto.SerializeToString(), [t.SerializeToString() for t in types]
        )
        if not data:
            raise ValueError("the standard does not define it for these inputs")
        graph = _built_body(self.builder, self.proto, schema, data)
        self.builder.check_supported()
        return graph


def _type_of(value):
    """The TypeProto of a tensor, empty for an input that is not there."""
    if value is None:
        return onnx.TypeProto()
    return onnx.helper.make_tensor_type_proto(int(element_of(value)), list(value.shape))


def opset_versions(imports):
    """The versions of operator sets by domain."""
    return {"" if o.domain == "ai.onnx" else o.domain: o.version for o in imports}


def call_of_local(builder, proto, key, label):
    """A node that calls a function of the model. Bodies are built once for each set of attributes."""
    function = builder.functions[key]
    if key in builder.open_functions:
        raise ValueError(f"{label}: the function {function.name!r} calls itself")
    if len(proto.input) > len(function.input) or len(proto.output) > len(function.output):
        raise ValueError(f"{label} has more inputs or outputs than the function {function.name!r}")
    bindings = {a.name: a for a in (*function.attribute_proto, *builder.bound(proto.attribute))}
    form = key, tuple(sorted((name, a.SerializeToString(deterministic=True)) for name, a in bindings.items()))
    if form not in builder.bodies:
        opsets = opset_versions(function.opset_import) or builder.opsets
        builder.bodies[form] = builder.inside(key, opsets, bindings).body(function)
    node = Node(proto, 1, Body(builder.bodies[form]), {}, builder.settings)
    node.knows_types = True
    return node


def call_of_standard(builder, proto, schema):
    """The function of a node whose operator the standard defines by others, or None."""
    opset = builder.opsets.get("", 1)
    if schema.has_function:
        data = schema.get_function_with_opset_version(_nearest(schema.function_opset_versions, opset))
        return Body(_built_body(builder, proto, schema, data))
    if schema.has_context_dependent_function:
        version = _nearest(schema.context_dependent_function_opset_versions, opset)
        return TypedBody(builder, proto, schema, version)
    return None


def _nearest(versions, opset):
    """The newest version of a body that the operator set of the model knows, else the oldest."""
    return max((v for v in versions if v <= opset), default=min(versions))


def _built_body(builder, proto, schema, data):
    function = onnx.FunctionProto.FromString(data)
    defaults = [a.default_value for a in schema.attributes.values() if a.default_value.name]
    bindings = {a.name: a for a in (*defaults, *builder.bound(proto.attribute))}
    opsets = {**builder.opsets, **opset_versions(function.opset_import)}
    return builder.inside(proto.op_type, opsets, bindings).body(function, len(proto.output))
