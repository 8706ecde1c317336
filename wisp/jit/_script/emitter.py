"""The state of a compilation, and how values get into the graph."""

from wisp.jit._script import enums, ir
from wisp.jit._script import types as T
from wisp.jit._script.errors import CompileError, FrontendError, describe
from wisp.jit._script.interfaces import interface_of
from wisp.jit._script.values import NONE, UNSET, Const, Iterable, ModuleValue, StaticDict, Tuple, Undefined
from wisp.jit.annotations import Broadcasted


class Frame:
    """A function being compiled: its names, its source, and where it was called if it is compiled into its caller."""

    def __init__(self, name, source, lookup, library=False, parent=None, place=None, owner=None):
        self.name, self.source, self.lookup = name, source, lookup  # lookup: finds names that are not local
        self.library, self.parent, self.place, self.owner = library, parent, place, owner
        self.scope = {}
        self.declared = {}  # types that annotations gave to names
        self.annotated = {}  # types of parameters, which may be given other values later
        self.result = None  # the type of what is returned, if it is annotated
        self.loops = []  # numbers of the loops around, innermost last
        self.loop_count = 0


class EmitterBase:
    """Builds one graph. Subclasses know statements and expressions."""

    def __init__(self, program):
        self.program = program
        self.graph = ir.Graph()
        self.block = self.graph.top
        self.frame = None
        self.at = None  # the syntax node being compiled
        self.depth = 0  # of functions compiled into their callers

    # --- places and errors

    @property
    def scope(self):
        return self.frame.scope

    def place(self):
        """Where new nodes come from. What the library does inside of a call happens at the call."""
        if self.frame is None or self.frame.source is None:
            return None
        if self.frame.place is not None:
            return self.frame.place
        if self.at is None:
            return None
        begin, end = self.frame.source.span(self.at)
        return (self.program.source_number(self.frame.source), begin, end)

    def describe_here(self):
        """The current place, as errors show it."""
        frame = self.frame
        if frame is None or frame.source is None or self.at is None:
            return ""
        return describe(frame.source, *frame.source.span(self.at), frame.name)

    def fail(self, message, node=None, kind=CompileError):
        """Raises an error that shows where it happened."""
        if node is not None:
            self.at = node
        raise kind(message, [self.describe_here()])

    def unsupported(self, what, instead, node=None):
        """Raises an error about Python that is not part of the language."""
        self.fail(f"{what} cannot be compiled. {instead}", node, FrontendError)

    # --- nodes

    def emit(self, kind, inputs=(), types=(), attributes=None, hint=""):
        """Appends a node; returns its outputs."""
        node = ir.Node(kind, list(inputs), attributes or {}, self.place())
        node.outputs = [ir.Value(t, self.block, hint) for t in types]
        self.block.nodes.append(node)
        return node.outputs

    def emit_one(self, kind, inputs, type, attributes=None):
        return self.emit(kind, inputs, [type], attributes)[0]

    def builtin(self, name, *arguments):
        """Calls a builtin by its full name, or the first of several that fits; returns its result."""
        values = [self.materialize(a) for a in arguments]
        schema, result = self._schema_for(name, [v.type for v in values])
        if schema is None:  # those of lists are for tuples too
            kinds = [_as_list(v.type) for v in values]
            schema, result = self._schema_for(name, kinds)
            if schema is not None:
                values = [self.convert(v, kind) for v, kind in zip(values, kinds)]
        if schema is not None:
            outputs = self.emit("aten::" + schema.full_name, values, [result] if schema.result else [])
            return outputs[0] if outputs else NONE
        shown = ", ".join(T.shown(v.type) for v in values)
        advice = ""
        if any(v.type.kind == "optional" for v in values):
            advice = ": test `is not None`, or assert it, before an Optional is used"
        return self.fail(
            f"Arguments for call are not valid: {name.partition('.')[0]} cannot be called with ({shown}){advice}"
        )

    def _schema_for(self, name, types):
        """The first builtin of a name that takes values of these types, and the type of its result."""
        for schema in self.program.tables.builtins(name):
            result = schema.result_for(types)
            if result is not None:
                return schema, result
        return None, None

    # --- from what is known to values of the graph

    def type_of(self, value):
        """The type a value has in the graph, or None if it has no place there."""
        if isinstance(value, ir.Value):
            return value.type
        if isinstance(value, ModuleValue):
            return value.value.type
        if isinstance(value, Const):
            return ir.type_of_constant(value.obj)
        if isinstance(value, Tuple):
            items = [self.type_of(item) for item in value.items]
            if None in items:
                return None
            return T.named_tuple_of(value.name, value.fields, items, value.host) if value.name else T.tuple_of(items)
        return None

    def materialize(self, value, wanted=None):
        """A value of the graph for anything that can be one; constants as what is wanted."""
        if isinstance(value, ir.Value):
            return value
        if isinstance(value, ModuleValue):
            return value.value
        value = enums.unfolded(value)
        if isinstance(value, Const):
            return self._materialize_constant(value.obj, wanted)
        if isinstance(value, Tuple):
            items = [self.materialize(item) for item in value.items]
            return self.emit_one("prim::TupleConstruct", items, self.type_of(value))
        if isinstance(value, Iterable):
            return self.materialize_iterable(value)
        if value is UNSET and wanted is not None:
            return self.emit_one("prim::Uninitialized", [], wanted)
        if isinstance(value, Undefined):
            self.fail(value.reason)
        return self.fail(f"{self.what_is(value)} cannot be used as a value here")

    def _materialize_constant(self, obj, wanted):
        if isinstance(obj, (list, dict)):
            return self._fresh_container(obj, wanted)
        found = ir.type_of_constant(obj)
        if found is None and isinstance(obj, tuple):
            return self.materialize(Tuple(map(Const, obj)))
        text = None if found is None else ir.constant_text(obj, self.program.tensors)
        if text is None and isinstance(obj, int):
            self.fail(f"the integer {obj} is out of range: integers have 64 bits")
        if text is None:
            self.fail(f"{self.what_is(Const(obj))} cannot be used as a value here")
        if T.GENERATOR == found:
            self.fail("a Generator cannot be a constant of a program: pass it as an argument")
        return self.graph.constant(found, text, self.place())

    def _fresh_container(self, obj, wanted):
        """Lists and dicts can be written to: each use makes its own."""
        found = wanted if wanted is not None and wanted.kind in ("list", "dict") else ir.type_of_constant(obj)
        if found is None:
            self.fail(f"{self.what_is(Const(obj))} cannot be used as a value: its items have no common type")
        if isinstance(obj, list):
            items = [self.convert(Const(item), found.items[0]) for item in obj]
            return self.emit_one("prim::ListConstruct", items, found)
        parts = [self.convert(Const(x), t) for pair in obj.items() for x, t in zip(pair, found.items)]
        return self.emit_one("prim::DictConstruct", parts, found)

    def materialize_iterable(self, value):
        self.fail("a range, zip or enumerate can only be used in a for loop, a comprehension or list()")

    def what_is(self, value):
        """A value in words."""
        if isinstance(value, Const):
            obj = value.obj
            if callable(obj) and hasattr(obj, "__name__"):
                return f"the Python {'class' if isinstance(obj, type) else 'function'} '{obj.__name__}'"
            return f"the Python object of type '{type(obj).__name__}'"
        found = self.type_of(value)
        if found is not None:
            return f"a value of type {T.shown(found)}"
        return {"Closure": "a function", "Attribute": "a method", "Method": "a method", "Iterable": "an iterator",
                "StaticDict": "a dict of Python objects"}.get(type(value).__name__, "this")  # fmt: skip

    # --- conversions

    def convert(self, value, wanted, implicit=True):
        """A value of the graph of the wanted type; fails if it does not fit."""
        found = self.try_convert(value, wanted, implicit)
        if found is None:
            self.fail(f"expected a value of type {T.shown(wanted)} but got {self.what_is(value)}")
        return found

    def wrong_argument(self, name, wanted, value):
        """A message about a value that does not fit a parameter."""
        kind = T.shown(wanted)
        return (
            f"Expected a value of type '{kind}' for argument '{name}' but instead found type '{self.type_shown(value)}'"
        )

    def type_shown(self, value):
        """The type of a value, for messages."""
        found = self.type_of(value)
        return T.shown(found) if found is not None else self.what_is(value)

    def try_convert(self, value, wanted, implicit=True):
        """The same, or None. `implicit` conversions are of tensors with one element to numbers."""
        if isinstance(value, Undefined):
            self.fail(value.reason)
        if value is UNSET:
            return self.materialize(value, wanted)
        inner, value = T.without_none(wanted), enums.unfolded(value)
        if interface_of(inner) is not None:
            return self.as_interface(value, inner)
        if isinstance(inner.host, Broadcasted) and self.type_of(value) in T.NUMBERS:
            value = Tuple([value] * inner.host.size)
        if isinstance(value, Const):
            return self._convert_constant(value.obj, wanted, inner)
        if isinstance(value, Tuple):
            return self._convert_tuple(value, wanted, inner)
        if isinstance(value, Iterable) and inner.kind == "list":
            value = self.materialize(value)
        found = self.type_of(value)
        if found is None:
            return None
        if T.is_subtype(found, wanted):
            return self.as_any(value) if wanted.kind == "Any" else self.materialize(value)
        if isinstance(value, ir.Value) and value.is_new and found.kind == inner.kind:
            return self.emit_one("prim::ListConstruct" if found.kind == "list" else "prim::DictConstruct", [], inner)
        return self._convert_value(self.materialize(value), inner, implicit)

    def _convert_value(self, value, wanted, implicit):
        found = value.type
        if wanted == T.FLOAT and found in (T.INT, T.NUMBER):
            return self.builtin("Float", value)
        if wanted == T.COMPLEX and found in T.NUMBERS:
            return self.builtin("Complex", value)
        if wanted == T.INT and found == T.NUMBER:
            return self.builtin("Int", value)
        if wanted == T.DEVICE and found == T.STR:
            return self.builtin("Device", value)
        if found == T.TENSOR and implicit and wanted in (T.INT, T.FLOAT, T.NUMBER, T.COMPLEX):
            return self.builtin(
                {"int": "Int", "float": "Float", "Scalar": "item", "complex": "Complex"}[wanted.kind], value
            )
        if found.kind == "tuple" and wanted.kind in ("list", "tuple"):
            items = self.emit("prim::TupleUnpack", [value], found.items)
            return self._convert_tuple(Tuple(items), wanted, wanted)
        if found.kind == "list" and wanted.kind == "list" and found.items[0] == T.INT and wanted.items[0] == T.FLOAT:
            return self.converted_list(value, T.FLOAT)
        if wanted.kind == "class" and found.kind == "class" and self.program.implements(found, wanted):
            return value
        return None

    def _convert_constant(self, obj, wanted, inner):
        if obj is None and inner == wanted and wanted not in (T.NONE, T.ANY):
            return None
        if isinstance(obj, bool) and inner in (T.INT, T.FLOAT):
            return None
        if inner == T.FLOAT and isinstance(obj, int):
            obj = float(obj)
        elif inner == T.COMPLEX and isinstance(obj, (int, float)):
            obj = complex(obj)
        elif inner == T.DEVICE and isinstance(obj, str):
            obj = self.program.device(obj)
        elif inner == T.BOOL and not isinstance(obj, bool) and obj is not None:
            return None
        if isinstance(obj, (list, dict)) and inner.kind in ("list", "dict"):
            return self._fresh_container(obj, inner) if isinstance(obj, list) == (inner.kind == "list") else None
        if isinstance(obj, tuple):
            return self._convert_tuple(Tuple(map(Const, obj)), wanted, inner)
        found = ir.type_of_constant(obj)
        if found is None:
            return None
        if T.is_subtype(found, wanted):
            return self.materialize(Const(obj))
        if isinstance(obj, self.program.tensor_class):
            return self._convert_value(self.materialize(Const(obj)), inner, True)
        return None

    def _convert_tuple(self, value, wanted, inner):
        if inner.kind == "list":
            items = [self.try_convert(item, inner.items[0]) for item in value.items]
            return None if None in items else self.emit_one("prim::ListConstruct", items, inner)
        if inner.kind != "tuple" or len(inner.items) != len(value.items):
            found = self.type_of(value)
            return self.as_any(value) if found is not None and T.is_subtype(found, wanted) else None
        if inner.name and value.name and inner.name != value.name:
            return None
        items = [self.try_convert(item, t) for item, t in zip(value.items, inner.items)]
        return None if None in items else self.emit_one("prim::TupleConstruct", items, inner)

    def is_static(self, value):
        """Whether a value is known now, all of it."""
        if isinstance(value, Tuple):
            return not value.name and all(map(self.is_static, value.items))
        if isinstance(value, StaticDict):
            return False
        return isinstance(value, Const) and not isinstance(value.obj, self.program.tensor_class)

    def static(self, value):
        """The Python object of a value that is known."""
        return tuple(map(self.static, value.items)) if isinstance(value, Tuple) else value.obj


def _as_list(kind):
    """The type of the list with the items of a tuple, if they are of one type; else the type itself."""
    uniform = kind.kind == "tuple" and len(set(kind.items)) == 1
    return T.list_of(kind.items[0]) if uniform else kind
