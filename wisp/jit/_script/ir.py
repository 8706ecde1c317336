"""Graphs while they are built, and their text."""

import enum
import json
import math

from wisp import _C
from wisp.jit._script import enums
from wisp.jit._script import types as T


class Value:
    """A value of the graph: what a node computes, or a parameter."""

    __slots__ = ("block", "hint", "is_new", "type")

    def __init__(self, type, block, hint=""):
        self.type, self.block, self.hint = type, block, hint
        self.is_new = False  # an empty list or dict that nobody else has seen: it may still become one of another type

    def __repr__(self):
        return f"%{self.hint or '?'} : {self.type}"


class Node:
    """A call of an operator or builtin ("aten::add"), or another form ("prim::If")."""

    __slots__ = ("attributes", "blocks", "inputs", "kind", "outputs", "place")

    def __init__(self, kind, inputs, attributes, place):
        self.kind, self.inputs, self.attributes, self.place = kind, inputs, attributes, place
        self.outputs, self.blocks = [], []


class Block:
    """Nodes in order, between parameters and results."""

    def __init__(self, parent=None):
        self.parent, self.params, self.nodes, self.results = parent, [], [], []

    def is_inside(self, other):
        """Whether what `other` defines can be seen here."""
        block = self
        while block is not None:
            if block is other:
                return True
            block = block.parent
        return False


class Constant:
    """A constant as the text writes it."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


class Graph:
    """The graph of one function. Constants are kept together in front of everything else."""

    def __init__(self):
        self.top = Block()
        self.constants = {}  # (type, text) -> node

    def constant(self, type, text, place):
        """The value of a constant, made on first use."""
        key = (type, text)
        if key not in self.constants:
            node = Node("prim::Constant", [], {"value": Constant(text)}, place)
            node.outputs.append(Value(type, self.top))
            self.constants[key] = node
        return self.constants[key].outputs[0]

    def text(self, indent="  "):
        """The graph as the text of programs writes it."""
        return _Writer(self).write(indent)


def constant_text(value, tensors):
    """A Python value as a constant; tensors go to a table of the program. None if it cannot be one."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(int(value)) if -(2**63) <= value < 2**63 else None
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)!r}")'
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, complex):
        return f"complex({constant_text(value.real, tensors)}, {constant_text(value.imag, tensors)})"
    if isinstance(value, (_C.dtype, _C.memory_format, _C.layout)):
        return "wisp." + str(value).rpartition(".")[2]
    if isinstance(value, _C.device):
        return quoted(str(value))
    if isinstance(value, _C.Tensor):
        return f"<tensor {tensors.add(value)}>"
    if isinstance(value, (tuple, list)):
        parts = [constant_text(item, tensors) for item in value]
        if None in parts:
            return None
        if isinstance(value, (list, _C.Size)):
            return "[" + ", ".join(parts) + "]"
        return "(" + ", ".join(parts) + (",)" if len(parts) == 1 else ")")
    if isinstance(value, dict):
        parts = [(constant_text(k, tensors), constant_text(v, tensors)) for k, v in value.items()]
        return None if any(None in pair for pair in parts) else "{" + ", ".join(f"{k}: {v}" for k, v in parts) + "}"
    return None


def quoted(text):
    """A string in quotes, with JSON's escapes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Writer:
    """Numbers values and writes lines; what is not used of the constants is left out."""

    def __init__(self, graph):
        self.graph, self.lines, self.next = graph, [], 0
        self.names, self.taken = {}, set()
        self.used = set()
        self._collect(graph.top)

    def _collect(self, block):
        self.used.update(block.results)
        for node in block.nodes:
            self.used.update(node.inputs)
            for inner in node.blocks:
                self._collect(inner)

    def write(self, indent):
        top = self.graph.top
        self.lines.append(f"{indent}graph({self._typed(top.params)}):")
        for node in self.graph.constants.values():
            if node.outputs[0] in self.used:
                self._node(node, indent + "  ")
        self._nodes(top, indent + "  ")
        self.lines.append(f"{indent}  return ({self._names(top.results)})")
        return "\n".join(self.lines)

    def _name(self, value):
        if value not in self.names:
            name, count = value.hint, 1
            if not name:
                name, self.next = str(self.next), self.next + 1
            while name in self.taken:
                name, count = f"{value.hint}.{count}", count + 1
            self.taken.add(name)
            self.names[value] = name
        return "%" + self.names[value]

    def _names(self, values):
        return ", ".join(map(self._name, values))

    def _typed(self, values):
        return ", ".join(f"{self._name(v)} : {v.type}" for v in values)

    def _nodes(self, block, indent):
        for node in block.nodes:
            self._node(node, indent)

    def _node(self, node, indent):
        attributes = ", ".join(
            f"{k}={v.text if isinstance(v, Constant) else quoted(v)}" for k, v in node.attributes.items()
        )
        attributes = f"[{attributes}]" if attributes else ""
        place = f"  # @{node.place[0]} {node.place[1]} {node.place[2]}" if node.place else ""
        inputs = self._names(node.inputs)
        at = len(self.lines)
        self.lines.append("")
        for i, block in enumerate(node.blocks):
            self.lines.append(f"{indent}  block{i}({self._typed(block.params)}):")
            self._nodes(block, indent + "    ")
            self.lines.append(f"{indent}    -> ({self._names(block.results)})")
        outputs = self._typed(node.outputs)
        self.lines[at] = f"{indent}{outputs}{' = ' if outputs else '= '}{node.kind}{attributes}({inputs}){place}"


def type_of_constant(value):
    """The type of a Python value as a constant, or None."""
    for kind, found in ((type(None), T.NONE), (bool, T.BOOL), (int, T.INT), (float, T.FLOAT), (str, T.STR),
                        (complex, T.COMPLEX), (_C.Tensor, T.TENSOR), (_C.dtype, T.DTYPE), (_C.device, T.DEVICE),
                        (_C.memory_format, T.MEMORY_FORMAT), (_C.layout, T.LAYOUT), (_C.Generator, T.GENERATOR)):  # fmt: skip
        if isinstance(value, kind):
            return found
    if isinstance(value, (list, _C.Size)):
        return _common(list(map(type_of_constant, value)), T.list_of, T.INT if isinstance(value, _C.Size) else T.TENSOR)
    if isinstance(value, tuple):
        items = list(map(type_of_constant, value))
        return T.tuple_of(items) if all(items) else None
    if isinstance(value, enum.Enum):
        return enums.type_of_enum(type(value), type_of_constant)
    if isinstance(value, dict):
        keys, values = list(map(type_of_constant, value)), list(map(type_of_constant, value.values()))
        key = _common(keys, lambda t: t, T.STR)
        return key and _common(values, lambda t: T.dict_of(key, t), T.TENSOR)
    return None


def _common(items, wrap, empty):
    """A type of all the items, wrapped."""
    if not items:
        return wrap(empty)
    common = items[0]
    for item in items[1:]:
        common = common and item and T.unify(common, item)
    return common and wrap(common)
