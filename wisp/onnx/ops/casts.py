"""Constants, and conversions of element types."""

import math

import wisp
from wisp.onnx._casts import cast
from wisp.onnx._values import CARRIERS, DTYPES, Element, data_of, element_of, made, moved, strings
from wisp.onnx.ops._common import numbers, of_type


def _cast_by_name(node, x):
    return cast(x, Element[node["to"]])


def _cast(node, x):
    saturate = node["saturate"] is None or bool(node["saturate"])
    return cast(x, Element(node["to"]), saturate, node["round_mode"] or "up")


def _cast_like(node, x, like):
    saturate = node["saturate"] is None or bool(node["saturate"])
    return cast(x, element_of(like), saturate, node["round_mode"] or "up")


_WIDE = {Element.UINT16: wisp.int16, Element.UINT32: wisp.int32, Element.UINT64: wisp.int64}


def _bit_cast(node, x):
    """The same bits as another type. Unsigned integers have the bits of signed ones of their width."""
    source, target = element_of(x), Element(node["to"])
    for element in (source, target):
        if element in CARRIERS and element not in _WIDE:
            raise ValueError(f"the bits of {element.name} are not at hand")
    bits = data_of(x).to(_WIDE[source]) if source in _WIDE else x
    dtype = _WIDE.get(target) or DTYPES[target]
    if bits.element_size() != dtype.itemsize:
        raise ValueError(f"{source.name} and {target.name} differ in width")
    return made(bits.view(dtype), target)


def _constant(node):
    """The one attribute that is set."""
    for name in ("value", "sparse_value"):
        if node[name] is not None:
            return node[name]
    for name, dtype in (("value_float", wisp.float32), ("value_int", wisp.int64)):
        for attribute in (node[name], node[name + "s"]):
            if attribute is not None:
                return wisp.tensor(attribute, dtype=dtype)
    if node["value_string"] is not None:
        return strings([node["value_string"]], ())
    if node["value_strings"] is not None:
        return strings(node["value_strings"], (len(node["value_strings"]),))
    raise ValueError("it has no value")


def _constant_of_shape(node, shape):
    value = node["value"] if node["value"] is not None else wisp.zeros(1)
    return moved(lambda data: data.reshape(()).expand(numbers(shape)).clone(), value)


def _range(node, start, limit, delta):
    """Numbers from a start on. Those of 16 bits are computed with 32."""
    dtype = start.dtype
    first, last, step = start.item(), limit.item(), delta.item()
    count = max(math.ceil((last - first) / step), 0)
    places = wisp.arange(count, dtype=wisp.int64 if not dtype.is_floating_point else wisp.float64)
    return (places * step + first).to(dtype)


def _eye_like(node, x):
    """Ones on a diagonal. The type of the input stays unless another is asked for."""
    rows, columns = x.shape
    places = wisp.arange(columns) - wisp.arange(rows).unsqueeze(1)
    ones = (places == node["k"]).to(wisp.int64)
    return of_type(ones, node["dtype"] if node["dtype"] is not None else element_of(x))


def _identity(node, x):
    return x


OPERATORS = {
    "BitCast": [(26, _bit_cast)],
    "Cast": [(1, _cast_by_name), (6, _cast)],
    "CastLike": [(15, _cast_like)],
    "Constant": [(1, _constant)],
    "ConstantOfShape": [(9, _constant_of_shape)],
    "EyeLike": [(9, _eye_like)],
    "Identity": [(1, _identity)],
    "Range": [(11, _range)],
}
KNOW_TYPES = {"BitCast", "Cast", "CastLike", "Constant", "ConstantOfShape", "EyeLike", "Identity"}
