"""Graphs that are ready to run: nodes in an order in which each finds its inputs, and the names between them."""

from collections import Counter
from functools import cache
from inspect import isfunction

import wisp
from wisp.onnx._package import defs
from wisp.onnx._values import Carried, Element, made, same_kind


class NodeError(RuntimeError):
    """An operator failed; the message names its node."""


class Settings:
    """What all nodes of a module share: whether it is being trained."""

    training = False


class Node:
    """One operator of a graph: its function, attributes and the names that it reads and writes.

    `node["axis"]` is the attribute, or its default in the version of the operator that the file uses, or None.
    """

    def __init__(self, proto, version, function, attributes, settings):
        self.op_type, self.name = proto.op_type, proto.name
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.inputs, self.outputs = trimmed(proto.input), list(proto.output)
        self.version, self.function, self.attributes, self.settings = version, function, attributes, settings
        graphs = [a for value in attributes.values() for a in (value if isinstance(value, list) else [value])]
        self.subgraphs = [g for g in graphs if isinstance(g, Graph) and g.scoped]
        self.captures = sorted({name for g in self.subgraphs for name in g.free})
        self.knows_types = False  # whether the function takes `Carried` tensors itself
        self.owned = set()  # which inputs are weights of the module, by index
        self.release = []
        self._generator = None

    def __getitem__(self, name):
        return self.attributes.get(name)

    def __str__(self):
        return f"{self.op_type} node {self.name!r}" if self.name else f"{self.op_type} node of {self.outputs}"

    def wants(self, index):
        """Whether somebody reads the output at an index."""
        return index < len(self.outputs) and self.outputs[index] != ""

    @property
    def training(self):
        return self.settings.training

    def generator(self):
        """The source of the node's random numbers: the default one, or its own if it has a seed."""
        if self["seed"] is None:
            return None
        if self._generator is None:
            self._generator = wisp.Generator().manual_seed(int(self["seed"]))
        return self._generator

    def run(self, values):
        """Reads inputs from a dict of values and writes the outputs into it."""
        inputs = [values[name] if name else None for name in self.inputs]
        try:
            if self.subgraphs:
                results = self.function(self, {name: values[name] for name in self.captures}, *inputs)
            elif not self.knows_types and Carried in map(type, inputs):
                results = _run_on_carriers(self, inputs)
            else:
                results = self.function(self, *inputs)
        except NodeError:
            raise
        except Exception as error:
            raise NodeError(f"{self}: {type(error).__name__}: {error}") from error
        self._store(values, results if isinstance(results, tuple) else (results,))

    def _store(self, values, results):
        if len(results) < len(self.outputs):
            raise NodeError(f"{self} has {len(self.outputs)} outputs, but its operator gives {len(results)}")
        for name, result in zip(self.outputs, results):
            if name:
                values[name] = result
        for name in self.release:
            values.pop(name, None)

    def __getstate__(self):
        """What copies and pickles hold: functions of the table are found again by name."""
        function = self.function if not isfunction(self.function) else None
        return {**self.__dict__, "_generator": None, "function": function}

    def __setstate__(self, state):
        from wisp.onnx.ops import find

        self.__dict__.update(state)
        if self.function is None:
            self.function = find(self.domain, self.op_type, self.version)


def trimmed(names):
    """A list of names without the empty ones at its end: optional inputs that are not there."""
    names = list(names)
    while names and not names[-1]:
        names.pop()
    return names


@cache
def _type_names(op_type, version, domain):
    """The names of the types of inputs and outputs, as the standard writes them: "T" or "tensor(int64)"."""
    schema = defs.get_schema(op_type, version, domain)
    return [i.type_str for i in schema.inputs], [o.type_str for o in schema.outputs]


# What may be done to numbers of UINT64 from 2**63 on, which are negative in the tensors that carry them.
_MODULAR = {
    "Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Compress", "Concat", "DepthToSpace", "Equal",
    "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Mul", "OneHot", "Pad", "ReduceProd", "ReduceSum", "Reshape",
    "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape", "Size", "Slice", "SpaceToDepth", "Split",
    "Squeeze", "Sub", "Sum", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
}  # fmt: skip


def _run_on_carriers(node, inputs):
    """Runs an operator that knows nothing of `Carried` on the tensors inside; its outputs get the types they have."""
    names, out_names = _type_names(node.op_type, node.version, node.domain)
    data, strings = same_kind(inputs)
    kinds = {}
    for i, value in enumerate(inputs):
        if isinstance(value, Carried):
            kinds[names[min(i, len(names) - 1)]] = strings if value.words is not None else value
            _check_range(node, value)
    results = node.function(node, *data)
    results = results if isinstance(results, tuple) else (results,)
    return tuple(_wrapped(r, kinds.get(out_names[min(i, len(out_names) - 1)])) for i, r in enumerate(results))


def _wrapped(result, kind):
    """A result as a tensor of a kind, if there is one."""
    if kind is None or not isinstance(result, wisp.Tensor):
        return result
    return kind.replaced(result) if kind.words is not None else made(result, kind.element)


def _check_range(node, value):
    if value.element == Element.UINT64 and node.op_type not in _MODULAR and (value.data < 0).any():
        raise ValueError("numbers from 2**63 on (of type uint64) can be moved and added, but not ordered or divided")


class Graph:
    """A graph with everything resolved: `run` takes and gives lists of values."""

    def __init__(self, name, inputs, outputs, weights, nodes, free, scoped):
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.weights, self.nodes = weights, nodes
        self.free, self.scoped = free, scoped  # names taken from around it; whether it may do so at all
        self.output_types = []  # TypeProtos of the outputs, as far as the file declares them
        self._note_last_uses()

    def _note_last_uses(self):
        """Tells each node which values nobody reads after it."""
        kept = {*self.outputs}
        for node in reversed(self.nodes):
            names = {*node.inputs, *node.captures, *node.outputs} - kept - {""}
            node.release = sorted(names)
            kept |= names

    def run(self, inputs, outer=None):
        """The outputs for a list of inputs, or a dict of some of them by name."""
        if not isinstance(inputs, dict):
            inputs = dict(zip(self.inputs, inputs))
        values = {**(outer or {}), **{name: weight.value() for name, weight in self.weights.items()}, **inputs}
        for node in self.nodes:
            node.run(values)
        return [values[name] if name else None for name in self.outputs]

    def operators(self):
        """How often each operator occurs, those of inner graphs included."""
        counts = Counter(node.op_type for node in self.nodes)
        for node in self.nodes:
            for graph in node.subgraphs:
                counts += graph.operators()
        return counts

    def __repr__(self):
        return "\n".join(self.lines())

    def lines(self, indent=""):
        """The graph as text, one line per node."""
        yield f"{indent}graph {self.name or '(unnamed)'} ({', '.join(self.inputs)}) {{"
        for node in self.nodes:
            shown = {k: v for k, v in node.attributes.items() if v is not None and not isinstance(v, (Graph, list))}
            shown |= {k: v for k, v in node.attributes.items() if isinstance(v, list) and len(v) < 10}
            text = ", ".join(f"{k}={_short(v)}" for k, v in sorted(shown.items()))
            yield f"{indent}  {', '.join(node.outputs)} = {node.op_type}[{text}]({', '.join(node.inputs)})"
            for graph in node.subgraphs:
                yield from graph.lines(indent + "    ")
        yield f"{indent}  return {', '.join(self.outputs)}\n{indent}}}"


def _short(value):
    """An attribute as text; only small tensors are shown with their elements."""
    if isinstance(value, wisp.Tensor) and value.numel() > 4:
        return f"tensor of shape {list(value.shape)}"
    return str(value.tolist()) if isinstance(value, (wisp.Tensor, Carried)) else repr(value)
