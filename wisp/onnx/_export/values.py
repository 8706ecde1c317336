"""What an exporter knows of the values of a graph.

Numbers, lists, strings and whatever else is known when the model is written are Python values. The rest is a `Ref`:
the name of a value of the ONNX graph, and what is known of it.
"""

import re
from dataclasses import dataclass, replace

import wisp
from wisp.onnx._values import DTYPES

ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}
_LETTERS = {
    "Float": wisp.float32, "Double": wisp.float64, "Half": wisp.float16, "BFloat16": wisp.bfloat16, "Long": wisp.int64,
    "Int": wisp.int32, "Short": wisp.int16, "Char": wisp.int8, "Byte": wisp.uint8, "Bool": wisp.bool,
    "ComplexFloat": wisp.complex64, "ComplexDouble": wisp.complex128,
}  # fmt: skip
TYPE_NAMES = {dtype: name for name, dtype in _LETTERS.items()}


class Unsupported(Exception):
    """Why something cannot be written as ONNX."""


@dataclass(eq=False, slots=True)
class Ref:
    """A value of the ONNX graph."""

    name: str
    dtype: wisp.dtype | None = None
    sizes: tuple | None = None  # with None for sizes that may differ from call to call; None if even their number may
    number: bool = False  # a number of Python, which does not count when dtypes are promoted
    constant: wisp.Tensor | None = None
    depth: int = 0  # of how many inner graphs it is a value
    sequence: bool = False  # of tensors, whose dtype and sizes these are

    @property
    def rank(self):
        if self.sizes is None:
            raise Unsupported("the number of dimensions of a tensor is not known")
        return len(self.sizes)

    def size(self, dim):
        """The size of a dimension if it is known, else None."""
        return self.sizes[dim]

    def fixed(self, dim):
        """The size of a dimension, which has to be known."""
        if self.sizes is None or self.sizes[dim] is None:
            raise Unsupported(f"the size of dimension {dim} has to be the same in all calls")
        return self.sizes[dim]

    @property
    def is_float(self):
        return self.dtype.is_floating_point


class Poisoned(Ref):
    """Stands for the results of something that cannot be exported, so that the rest can be looked at."""

    __slots__ = ()


@dataclass(frozen=True)
class Undefined:
    """A variable before it has a value: nothing reads it, but branches and loops hand it on."""


def defined_like(g, value):
    """What may stand for an undefined variable where it is handed on with a value."""
    if isinstance(value, (list, tuple)):
        return type(value)(defined_like(g, item) for item in value)
    if not isinstance(value, Ref):
        return value
    if value.number or value.sizes is None:
        return replace(g.constant(wisp.zeros((), dtype=value.dtype)), number=value.number)
    return g.constant(wisp.zeros((0,) * len(value.sizes), dtype=value.dtype))


class Items(list):
    """A list of a script, which may be changed by the inner graph that made it and by no other.

    If its length is only known when the model runs, `sequence` is what it holds, and there are no items.
    """

    def __init__(self, items, depth=0):
        super().__init__(items)
        self.depth, self.sequence = depth, None


def is_sequence(value):
    """Whether a value is a list whose length is only known when the model runs."""
    return isinstance(value, Items) and value.sequence is not None


def dim_in(dim, rank):
    """A dimension counted from the front."""
    return dim + max(rank, 1) if dim < 0 else dim


def type_text(ref):
    """The type of a tensor as graphs write it: Float(2, *)."""
    if ref.dtype is None or ref.sizes is None:
        return "Tensor"
    sizes = ", ".join("*" if size is None else str(size) for size in ref.sizes)
    return f"{TYPE_NAMES[ref.dtype]}({sizes})"


def read_type(text):
    """(dtype, sizes) of a type such as Float(2, *); (None, None) if it tells nothing."""
    name, bracket, sizes = text.partition("(")
    if not bracket or name not in _LETTERS:
        return None, None
    parts = [part.strip() for part in sizes.rstrip(")").split(",") if part.strip()]
    return _LETTERS[name], tuple(None if part == "*" else int(part) for part in parts)


_TYPES = re.compile(r"\b(?:" + "|".join(_LETTERS) + r")\([\d, *]*\)")


def without_sizes(text):
    """The text of a graph in which all tensors have the same type."""
    return _TYPES.sub("Tensor", text)


def is_static(value):
    """Whether a value is known now, all of it."""
    if isinstance(value, (Ref, Undefined)) or is_sequence(value):
        return False
    if isinstance(value, (list, tuple)):
        return all(map(is_static, value))
    return not isinstance(value, dict) or all(map(is_static, value.values()))


def has_number(values):
    return any(isinstance(value, Ref) and value.number for value in values)


def leaves(value):
    """The values in a structure, in order."""
    if is_sequence(value):
        return [value.sequence]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    return [value]
