"""What flows through an ONNX graph: tensors, lists of them (sequences), None (an empty optional), and `Carried`.

ONNX has element types that wisp does not have. A tensor of such a type is carried by a tensor of a type that wisp
has, and `Carried` says what its elements mean. Strings are carried by their places in a sorted list of words, so that
operators which move, compare or sort elements need not know about them.
"""

from enum import IntEnum

import wisp


class Element(IntEnum):
    """Element types by the numbers that ONNX files use."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28


# The dtypes that wisp has ...
DTYPES = {
    Element.FLOAT: wisp.float32, Element.UINT8: wisp.uint8, Element.INT8: wisp.int8, Element.INT16: wisp.int16,
    Element.INT32: wisp.int32, Element.INT64: wisp.int64, Element.BOOL: wisp.bool, Element.FLOAT16: wisp.float16,
    Element.DOUBLE: wisp.float64, Element.COMPLEX64: wisp.complex64, Element.COMPLEX128: wisp.complex128,
    Element.BFLOAT16: wisp.bfloat16,
}  # fmt: skip
# ... and those that carry the other element types.
CARRIERS = {
    Element.UINT16: wisp.int32, Element.UINT32: wisp.int64, Element.UINT64: wisp.int64, Element.STRING: wisp.int64,
    Element.UINT4: wisp.uint8, Element.INT4: wisp.int8, Element.UINT2: wisp.uint8, Element.INT2: wisp.int8,
    Element.FLOAT8E4M3FN: wisp.float32, Element.FLOAT8E4M3FNUZ: wisp.float32, Element.FLOAT8E5M2: wisp.float32,
    Element.FLOAT8E5M2FNUZ: wisp.float32, Element.FLOAT8E8M0: wisp.float32, Element.FLOAT4E2M1: wisp.float32,
    Element.FLOAT6E2M3: wisp.float32, Element.FLOAT6E3M2: wisp.float32,
}  # fmt: skip
ELEMENTS = {dtype: element for element, dtype in DTYPES.items()}
# The least and greatest number of the integer types.
RANGES = {
    Element.UINT2: (0, 3), Element.INT2: (-2, 1), Element.UINT4: (0, 15), Element.INT4: (-8, 7),
    Element.UINT8: (0, 255), Element.INT8: (-128, 127), Element.UINT16: (0, 65535), Element.INT16: (-32768, 32767),
    Element.INT32: (-(2**31), 2**31 - 1), Element.UINT32: (0, 2**32 - 1), Element.INT64: (-(2**63), 2**63 - 1),
    Element.UINT64: (0, 2**64 - 1), Element.BOOL: (0, 1),
}  # fmt: skip


class Carried:
    """A tensor of an element type that wisp does not have: `data` holds its elements in another one.

    Elements of UINT64 are kept modulo 2**64, so those from 2**63 on are negative in `data`. For strings `data` holds
    places in `words`, a sorted list without duplicates.
    """

    __slots__ = ("data", "element", "words")

    def __init__(self, data, element, words=None):
        self.data, self.element, self.words = data, element, words

    @property
    def shape(self):
        return self.data.shape

    def replaced(self, data):
        """The same kind of tensor with other data."""
        return Carried(data, self.element, self.words)

    def tolist(self):
        return in_words(self.data.tolist(), self.words) if self.words is not None else self.data.tolist()

    def __repr__(self):
        return f"{self.element.name} {self.tolist()}"


def in_words(places, words):
    """Nested lists of places in a list of words, as nested lists of words."""
    return [in_words(p, words) for p in places] if isinstance(places, list) else words[places]


def element_of(value):
    """The element type of a tensor."""
    return value.element if isinstance(value, Carried) else ELEMENTS[value.dtype]


def data_of(value):
    """The tensor that holds the elements of a value."""
    return value.data if isinstance(value, Carried) else value


def made(data, element):
    """A tensor of an element type from one that holds its elements (integers modulo the size of the type)."""
    if element in DTYPES:
        return data.to(DTYPES[element])
    if element in (Element.UINT16, Element.UINT32):
        data = data.to(wisp.int64) & RANGES[element][1]
    return Carried(data.to(CARRIERS[element]), element)


def strings(words, shape):
    """The tensor of strings with these elements, in row-major order."""
    table = sorted(set(words))
    places = {word: i for i, word in enumerate(table)}
    return Carried(wisp.tensor([places[w] for w in words], dtype=wisp.int64).reshape(shape), Element.STRING, table)


def flat_words(value):
    """The elements of a tensor of strings, in row-major order."""
    return [value.words[i] for i in value.data.flatten().tolist()]


def moved(function, *values):
    """The result of a function that only moves elements of tensors, whatever their type."""
    data, kind = same_kind(values)
    out = function(*data)
    if kind is None:
        return out
    return [kind.replaced(o) for o in out] if isinstance(out, (list, tuple)) else kind.replaced(out)


def same_kind(values):
    """The data of several tensors of one element type, and a `Carried` that says what they mean, or None."""
    kinds = [v for v in values if isinstance(v, Carried)]
    if not kinds:
        return list(values), None
    if kinds[0].words is None:
        return [data_of(v) for v in values], kinds[0]
    words = sorted({w for v in kinds for w in v.words})
    places = {word: i for i, word in enumerate(words)}
    data = [_looked_up(v, places) if isinstance(v, Carried) and v.words is not None else data_of(v) for v in values]
    return data, Carried(None, Element.STRING, words)


def _looked_up(value, places):
    """The places of the elements of a tensor of strings in another list of words."""
    table = wisp.tensor([places[w] for w in value.words], dtype=wisp.int64)
    return table[value.data] if value.words else value.data
