"""Types from Python's annotations and type comments."""

import ast
import builtins
import enum
import inspect
import types as python_types
import typing
from dataclasses import replace

from wisp import _C
from wisp._legacy import tensortype
from wisp.jit import annotations as names
from wisp.jit._futures import Future
from wisp.jit._script import enums
from wisp.jit._script import types as T
from wisp.jit.annotations import Broadcasted

_SIMPLE = {
    int: T.INT, float: T.FLOAT, bool: T.BOOL, str: T.STR, complex: T.COMPLEX, None: T.NONE, type(None): T.NONE,
    _C.Tensor: T.TENSOR, _C.device: T.DEVICE, _C.dtype: T.DTYPE, _C.layout: T.LAYOUT, _C.Generator: T.GENERATOR,
    _C.memory_format: T.MEMORY_FORMAT, typing.Any: T.ANY, _C.Size: T.list_of(T.INT), object: T.ANY,
}  # fmt: skip


# Each with what it needs.
_CONTAINERS = {list: "List[int]", tuple: "Tuple[int, Tensor]", dict: "Dict[str, int]", typing.Optional: "Optional[int]",
               Future: "Future[int]"}  # fmt: skip
_CONTAINERS |= {getattr(typing, kind.__name__.title()): _CONTAINERS[kind] for kind in (list, tuple, dict)}


def without_items(obj):
    """A message about a container that does not say of what, or None."""
    example = _CONTAINERS.get(obj)
    if example is None:
        return None
    name = example.partition("[")[0]
    what = "contained types" if name == "Dict" else "a contained type"
    return f"Attempted to use {name} without {what}: the types of its items have to be known, as in {example}"


# Types that are no names of Python's, in texts and comments.
_WORDS = {"number": T.NUMBER, "Device": T.DEVICE, "NoneType": T.NONE, "Generator": T.GENERATOR, "Dtype": T.DTYPE}


class _Names(dict):
    """Names for eval(): those of the function first, then Python's own and those of typing."""

    def __init__(self, lookup):
        super().__init__()
        self.lookup = lookup

    def __missing__(self, name):
        try:
            return self.lookup(name)
        except NameError:
            pass
        if hasattr(builtins, name):
            return getattr(builtins, name)
        if name in ("List", "Dict", "Tuple", "Optional", "Union", "Any", "NamedTuple", "Final"):
            return getattr(typing, name)
        if name == "Tensor":
            return _C.Tensor
        if name.startswith("BroadcastingList"):
            return getattr(names, name)
        if name in _WORDS:
            return _WORDS[name]
        raise NameError(f"Unknown type name '{name}'")


def type_of_annotation(annotation, lookup, program):
    """The type of an annotation: a syntax node, a text, or a Python object."""
    if isinstance(annotation, ast.AST):
        annotation = ast.unparse(annotation)
    if isinstance(annotation, str):
        annotation = eval(annotation.strip(), {"__builtins__": {}}, _Names(lookup))
    return from_object(annotation, program, lookup)


def _no_names(name):
    raise NameError(f"name '{name}' is not defined")


def from_object(obj, program, lookup=None):
    """The type that a Python object means as an annotation."""
    if isinstance(obj, T.Type):
        return obj
    if isinstance(obj, (str, typing.ForwardRef)):
        text = obj if isinstance(obj, str) else obj.__forward_arg__
        return type_of_annotation(text, lookup or _no_names, program)
    try:
        if obj in _SIMPLE:
            return _SIMPLE[obj]
    except TypeError:
        pass
    if isinstance(obj, Broadcasted):
        return replace(T.list_of(from_object(obj.item, program, lookup)), host=obj)
    origin, parts = typing.get_origin(obj), typing.get_args(obj)
    if origin is not None and (parts or obj is not getattr(typing, getattr(obj, "_name", "") or "", None)):
        return _from_generic(obj, origin, parts, program, lookup)
    if obj in _CONTAINERS:
        raise TypeError(without_items(obj))
    if isinstance(obj, type):
        return _from_class(obj, program)
    raise TypeError(f"unknown type {obj!r}")


def _from_generic(obj, origin, parts, program, lookup):
    def part(p):
        return from_object(p, program, lookup)

    if origin is list or (isinstance(origin, type) and origin.__name__ in ("Sequence", "Iterable")):
        return T.list_of(part(parts[0]))
    if isinstance(origin, type) and issubclass(origin, dict):
        return T.dict_of(*map(part, parts))
    if origin is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            raise TypeError("a Tuple[T, ...] of any length is a List[T] here")
        return T.tuple_of(map(part, () if parts == ((),) else parts))
    if origin in (typing.Union, python_types.UnionType):
        return _from_union([part(p) for p in parts])
    if origin is typing.Final or getattr(obj, "__metadata__", None) is not None:
        return part(parts[0])
    if getattr(origin, "__name__", "") == "Future":
        return T.future_of(part(parts[0]))
    raise TypeError(f"unknown type {obj!r}")


def _from_union(items):
    some = [t for t in items if t != T.NONE]
    if len(some) == 1:
        return T.optional_of(some[0])
    if all(t in T.NUMBERS for t in some):
        return T.optional_of(T.NUMBER) if len(some) < len(items) else T.NUMBER
    return T.one_of(items)


def _from_class(cls, program):
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return named_tuple(cls, program)
    if issubclass(cls, _C.Tensor) or isinstance(cls, tensortype):
        return T.TENSOR
    if issubclass(cls, enum.Enum):
        from wisp.jit._script import ir

        found = enums.type_of_enum(cls, ir.type_of_constant)
        if found is not None:
            return found
        raise TypeError(f"the members of {cls.__name__} need values of one simple type")
    if vars(cls).get("_wisp_interface", False):
        return program.interface(cls).type()
    found = program.class_type(cls)
    if found is None:
        raise TypeError(f"unknown type '{cls.__name__}': a class of yours has to be decorated with @jit.script")
    return found


def named_tuple(cls, program):
    """The type of a NamedTuple; fields without annotation are tensors."""
    hints = {}
    for base in reversed(cls.__mro__):
        hints.update(inspect.get_annotations(base))
    names = vars(inspect.getmodule(cls) or python_types).copy()

    def lookup(name):
        if name in names:
            return names[name]
        raise NameError(f"name '{name}' is not defined")

    items = [from_object(hints[f], program, lookup) if f in hints else T.TENSOR for f in cls._fields]
    return T.named_tuple_of(cls.__name__, cls._fields, items, cls)


class Parameter:
    """A parameter of a function that is compiled."""

    def __init__(self, name, type, default=inspect.Parameter.empty, keyword_only=False):
        self.name, self.type, self.default, self.keyword_only = name, type, default, keyword_only

    @property
    def has_default(self):
        return self.default is not inspect.Parameter.empty


def _from_default(default, program):
    """The type of a parameter without annotation: a tensor, unless the default says otherwise."""
    from wisp.jit._script import ir

    if default is inspect.Parameter.empty:
        return T.TENSOR
    if default is None:
        return T.optional_of(T.TENSOR)
    return ir.type_of_constant(default) or T.TENSOR


def signature(fn, node, lookup, program, skip=0):
    """(parameters, type of the result or None) of a function, from annotations, type comments and defaults."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults = inspect.signature(fn).parameters if fn is not None else {}
    given = getattr(fn, "__annotations__", {})  # what Python made of them, where the names may be gone by now
    found = []
    comments = _comment_types(node, len(positional) - skip, lookup, program)
    for i, arg in enumerate([*positional, *args.kwonlyargs]):
        if i < skip:
            continue
        default = defaults[arg.arg].default if arg.arg in defaults else inspect.Parameter.empty
        if comments is not None and i - skip < len(comments[0]):
            kind = comments[0][i - skip]
        elif arg.annotation is not None:
            kind = type_of_annotation(given.get(arg.arg, arg.annotation), lookup, program)
        elif arg.type_comment:
            kind = type_of_annotation(arg.type_comment, lookup, program)
        else:
            kind = _from_default(default, program)
        found.append(Parameter(arg.arg, kind, default, i >= len(positional)))
    if comments is not None:
        return found, comments[1]
    returns = getattr(node, "returns", None)
    return found, None if returns is None else type_of_annotation(given.get("return", returns), lookup, program)


def _comment_types(node, count, lookup, program):
    """The types of a comment "# type: (Tensor, int) -> Tensor", or None if there is none."""
    comment = getattr(node, "type_comment", None)
    if not comment:
        return None
    arguments, _, result = comment.partition("->")  # only types of parameters: "# type: (Tensor, int)"
    parsed = ast.parse(arguments.strip() or "()", mode="eval").body
    parts = parsed.elts if isinstance(parsed, ast.Tuple) else [parsed]
    if len(parts) == 1 and isinstance(parts[0], ast.Constant) and parts[0].value is Ellipsis:
        parts = []  # each parameter has a comment of its own
    kinds = [type_of_annotation(part, lookup, program) for part in parts]
    return kinds, type_of_annotation(result, lookup, program) if result else None
