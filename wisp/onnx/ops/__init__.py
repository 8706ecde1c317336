"""The operators of ONNX: for each name the versions in which its meaning changed, and functions that compute it.

Each file holds a family. A function takes the node, for its attributes, and the inputs, None for those left out; it
gives one result or a tuple. Functions of operators with inner graphs also take, as second argument, the values that
these use from around them. `OPERATORS` of a file is its part of the table; `KNOW_TYPES` names the operators that handle
element types which wisp does not have (`Carried`) themselves. All others see the tensors that carry them.
"""

from wisp.onnx.ops import (
    activations,
    attention,
    casts,
    control,
    conv,
    image,
    indexing,
    losses,
    math,
    norm,
    pool,
    quantized,
    random,
    recurrent,
    reductions,
    resize,
    sequences,
    shapes,
    signal,
    text,
    training,
)

_FAMILIES = (
    activations, attention, casts, control, conv, image, indexing, losses, math, norm, pool, quantized, random, recurrent,
    reductions, resize, sequences, shapes, signal, text,
)  # fmt: skip
TABLES = {
    "": {name: versions for family in _FAMILIES for name, versions in family.OPERATORS.items()},
    "ai.onnx.preview.training": training.OPERATORS,
}
KNOW_TYPES = {name for family in _FAMILIES for name in getattr(family, "KNOW_TYPES", ())}


def find(domain, name, version):
    """The function of an operator in the newest version that is not newer than the given one, or None."""
    versions = TABLES.get(domain, {}).get(name, ())
    return next((function for since, function in reversed(versions) if since <= version), None)
