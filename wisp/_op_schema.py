"""The signatures of operators that programs define: read from text, or from the annotations of a function."""

import inspect
import types
import typing
from ast import literal_eval
from collections.abc import Sequence

from wisp._C import Tensor, device, dtype

_NAMES = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
    int | float | bool: "Scalar", float | int | bool | complex: "Scalar",
}  # fmt: skip


class Argument:
    """One argument: its name, type, default, whether it is given by keyword only, and whether it is written."""

    def __init__(self, name, type_name, kwarg_only, default=inspect.Parameter.empty):
        self.name, self.type, self.kwarg_only, self.default_value = name, type_name, kwarg_only, default
        self.is_write = "!" in type_name

    def has_default_value(self):
        return self.default_value is not inspect.Parameter.empty


class Schema:
    """``name(Tensor x, float y=1.0, *, int[] z=[]) -> Tensor``, and how arguments are matched with it."""

    def __init__(self, text):
        head, arrow, result = text.rpartition("->")
        name, bracket, inside = head.strip().partition("(")
        if not (arrow and bracket and inside.endswith(")")):
            raise ValueError(f"expected a schema like 'name(Tensor x, float y=1.0) -> Tensor', got {text!r}")
        self.text, self.returns = text.strip(), result.strip()
        self.name, _, self.overload_name = name.strip().partition(".")
        self.arguments = list(_arguments(inside[:-1]))
        self.is_mutable = any(a.is_write for a in self.arguments)
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        self._signature = inspect.Signature(
            [inspect.Parameter(a.name, kinds[a.kwarg_only], default=a.default_value) for a in self.arguments]
        )
        self.positional = sum(not a.kwarg_only for a in self.arguments)

    def __str__(self):
        return self.text

    def bind(self, args, kwargs):
        """The value of each argument, in order."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return list(bound.arguments.values())

    def split(self, values):
        """Values as those given by position, and the others by name."""
        named = {a.name: v for a, v in zip(self.arguments, values) if a.kwarg_only}
        return values[: self.positional], named


def _parts(text):
    """The pieces between commas that are outside of all brackets and texts."""
    depth, piece, quote = 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "," and not depth:
            yield piece
            piece = ""
            continue
        depth += (c in "([{") - (c in ")]}") if not quote else 0
        piece += c
    if piece.strip():
        yield piece


def _arguments(text):
    kwarg_only = False
    for piece in map(str.strip, _parts(text)):
        if piece == "*":
            kwarg_only = True
            continue
        declared, has_default, default = piece.partition("=")
        type_name, _, name = declared.strip().rpartition(" ")
        if not (type_name and name.isidentifier()):
            raise ValueError(f"expected an argument like 'float y' or 'float y=1.0', got {piece!r}")
        yield Argument(name, type_name, kwarg_only, *([_value(default.strip())] if has_default else []))


def _value(text):
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a name, like that of a dtype


def _type_name(annotation):
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in inner:
        return _type_name(typing.Union[tuple(t for t in inner if t is not type(None))]) + "?"  # noqa: UP007
    if origin in (list, Sequence) and len(inner) == 1:
        return _type_name(inner[0]) + "[]"
    raise ValueError(f"infer_schema(): {annotation!r} is not a type that arguments of operators can have")


def _returned(annotation):
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(map(_type_name, typing.get_args(annotation))) + ")"
    return _type_name(annotation)


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of an operator that takes and gives what the annotations of a function say.

    Args:
        prototype_function: all its arguments and its result are annotated.
        mutates_args: the names of the arguments that it writes, or "unknown" for all that are tensors.
        op_name: what the schema begins with.
    """
    hints = typing.get_type_hints(prototype_function)
    pieces, starred = [], False
    for p in inspect.signature(prototype_function).parameters.values():
        if p.name not in hints:
            raise ValueError(f"infer_schema(): argument {p.name!r} has no annotation")
        kind = _type_name(hints[p.name])
        if p.name in mutates_args or (mutates_args == "unknown" and kind.startswith("Tensor")):
            kind = kind.replace("Tensor", f"Tensor(a{len(pieces)}!)")
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            pieces.append("*")
        pieces.append(f"{kind} {p.name}" + ("" if p.default is p.empty else f"={p.default!r}"))
    if "return" not in hints:
        raise ValueError("infer_schema(): the result has no annotation")
    return f"{op_name or ''}({', '.join(pieces)}) -> {_returned(hints['return'])}"
