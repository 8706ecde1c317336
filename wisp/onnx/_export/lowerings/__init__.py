"""The operators of wisp as nodes of ONNX.

What an operator is called in ONNX stands in the operator table. Where the node takes the same arguments in the same
order, that is all; for the others a file of each family has a function that takes the builder and the arguments and
gives the results.
"""

import wisp
from wisp._C import _op_table
from wisp.onnx._export.lowerings import (
    activations,
    arithmetic,
    attention,
    bessel,
    bits,
    complex,
    convolution,
    creation,
    ctc,
    factorizations,
    fourier,
    incomplete_gamma,
    indexing,
    losses,
    matmul,
    normalization,
    polynomials,
    pooling,
    random,
    recurrent,
    reductions,
    scans,
    search,
    shapes,
    sorting,
    special,
    spectral,
    strided,
)
from wisp.onnx._export.values import ELEMENTS, Ref, leaves
from wisp.onnx._package import defs

# Traits: made of calls of other operators; shares memory with its argument; draws from a generator.
_COMPOSITE, _VIEW, _RANDOM = 128, 4, 8

TABLE = {
    row["name"]: row
    | {
        name: bool(row["traits"] & bit)
        for name, bit in (("composite", _COMPOSITE), ("view", _VIEW), ("random", _RANDOM))
    }
    for row in _op_table()[0]
}
_FAMILIES = (
    activations, arithmetic, attention, bessel, bits, convolution, creation, ctc, factorizations, fourier,
    incomplete_gamma, indexing, losses, matmul, normalization, polynomials, pooling, random,
    recurrent, reductions, scans, search, shapes, sorting, special, spectral, strided,
)  # fmt: skip
COMPLEX = complex.LOWERINGS | fourier.COMPLEX
LOWERINGS = {name: function for family in _FAMILIES for name, function in family.LOWERINGS.items()}


def involves_complex(call_args, results):
    """Whether complex numbers are among the arguments or the results ([(dtype, sizes)]) of an operator."""
    return any(map(complex.is_complex, leaves(call_args))) or any(d is not None and d.is_complex for d, _ in results)


def is_rename(name):
    """Whether a node has the name and the arguments of an operator: tensors, and no others."""
    row = TABLE[name]
    if name in LOWERINGS or row["onnx"][0] in "+-" or row["composite"]:
        return False
    plain = all(param["type"] in ("Tensor", "Tensor?") for param in row["params"])
    return plain and defs.get_schema(row["onnx"]).min_input <= len(row["params"])


def renamed(g, name, args):
    """The node of the same meaning, or None if there is none."""
    if not is_rename(name):
        return None
    dtype = g.results[0][0]
    kind = TABLE[name]["onnx"]
    args = [g.cast(arg, dtype) if isinstance(arg, Ref) and _is_wider(dtype, arg.dtype) else arg for arg in args]
    return _through_float(g, kind, args) if not _takes(kind, args[0].dtype, g.opset) else g.op(kind, *args)


def _is_wider(dtype, own):
    return dtype is not None and dtype != wisp.bool and own != dtype


def _takes(kind, dtype, opset):
    """Whether a node is defined for a dtype."""
    schema = defs.get_schema(kind, opset, "")
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    own = schema.inputs[0].type_str
    return _type_name(dtype) in allowed.get(own, (own,))


def _type_name(dtype):
    element = ELEMENTS[dtype]
    return f"tensor({element.name.lower()})"


def _through_float(g, kind, args):
    """Nodes that are not defined for a dtype compute in another one."""
    dtype = args[0].dtype
    wider = wisp.float32 if dtype in (wisp.float16, wisp.bfloat16, wisp.bool) else wisp.float64
    return g.cast(g.op(kind, *(g.cast(arg, wider) for arg in args)), dtype)
