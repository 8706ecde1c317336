"""One operator for each tensor of a list, as optimisers and clippers of gradients use them: `wisp._foreach_mul_(grads, 0.5)`.

The second operand is a number for all tensors, a list of numbers, a list of tensors, or one tensor without dimensions. Forms
that end in "_" write into the tensors and give back the list; the others give a tuple of results.
"""

import wisp
from wisp import Tensor

_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log",
    "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc",
)  # fmt: skip
# The method of each, and the name of its second argument where that is a list of tensors.
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "clamp_min": "clamp_min",
    "clamp_max": "clamp_max", "maximum": "clamp_min", "minimum": "clamp_max",
}  # fmt: skip


def _listed(tensors, name):
    """A list of tensors, checked."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): expected a list of tensors, got {type(tensors).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 0, but got {type(tensor).__name__}")
    return tensors


def _one_each(tensors, operand, name):
    """The operand of each of the tensors."""
    if isinstance(operand, (list, tuple)):
        if len(operand) == len(tensors):
            return operand
        if operand and isinstance(operand[0], Tensor):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(operand)}"
            )
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    if isinstance(operand, Tensor):
        if operand.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {operand.dim()} dimensions and {operand.numel()} elements."
            )
    elif not isinstance(operand, (int, float, complex)):
        raise TypeError(f"{name}(): expected numbers or tensors, got {type(operand).__name__}")
    return [operand] * len(tensors)


def _packed(tensors, scalars):
    """Numbers that may be packed into one tensor."""
    if not isinstance(scalars, Tensor):
        return scalars
    if scalars.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
    if len(scalars) != len(tensors):
        raise RuntimeError(
            f"Expected length of scalars to match input of length {len(tensors)} but got {len(scalars)} instead."
        )
    return scalars.tolist()


def _only(name, **given):
    """The one of several arguments that was given."""
    values = [value for value in given.values() if value is not None]
    if len(values) != 1:
        raise TypeError(f"{name}(): expected one of the arguments {', '.join(given)}")
    return values[0]


def _unary(name, method):
    def foreach(self):
        return [method(tensor) for tensor in _listed(self, name)]

    return foreach


def _binary(name, method):
    def foreach(self, other=None, *, scalar=None, scalars=None, alpha=None):
        others = _one_each(_listed(self, name), _only(name, other=other, scalar=scalar, scalars=scalars), name)
        if alpha is None:
            return [method(tensor, other) for tensor, other in zip(self, others)]
        if not isinstance(others[0], Tensor) or method.__name__.rstrip("_") not in ("add", "sub"):
            raise TypeError(f"{name}(): alpha goes with tensors that are added or subtracted")
        return [method(tensor, other, alpha=alpha) for tensor, other in zip(self, others)]

    return foreach


def _power(name, method):
    def foreach(self, exponent):
        if isinstance(self, (int, float, complex)) and not name.endswith("_"):
            return [wisp.pow(self, tensor) for tensor in _listed(exponent, name)]
        return [method(tensor, other) for tensor, other in zip(_listed(self, name), _one_each(self, exponent, name))]

    return foreach


def _ternary(name, method):
    def foreach(self, tensor1, tensor2, value=None, *, scalars=None):
        _listed(self, name)
        values = _packed(self, 1 if value is None and scalars is None else _only(name, value=value, scalars=scalars))
        operands = (_one_each(self, operand, name) for operand in (tensor1, tensor2, values))
        return [method(tensor, a, b, value=factor) for tensor, a, b, factor in zip(self, *operands)]

    return foreach


def _lerp(name, method):
    def foreach(self, tensors1, weight=None, *, weights=None):
        _listed(self, name)
        operands = (_one_each(self, given, name) for given in (tensors1, _only(name, weight=weight, weights=weights)))
        return [method(tensor, end, part) for tensor, end, part in zip(self, *operands)]

    return foreach


def _foreach_copy_(self, src, non_blocking=False):
    """Copies each tensor of a list into the one at its place."""
    for tensor, other in zip(_listed(self, "_foreach_copy_"), _one_each(self, src, "_foreach_copy_")):
        tensor.copy_(other)
    return self


def _foreach_zero_(self):
    """Fills tensors with zeros."""
    for tensor in _listed(self, "_foreach_zero_"):
        tensor.zero_()
    return self


def _foreach_clone(self, *, memory_format=wisp.preserve_format):
    """A copy of each tensor."""
    return tuple(tensor.clone(memory_format=memory_format) for tensor in _listed(self, "_foreach_clone"))


def _foreach_max(self):
    """The largest element of each tensor."""
    if any(not tensor.numel() for tensor in _listed(self, "_foreach_max")):
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor")
    return tuple(tensor.max() for tensor in self)


def _foreach_mm(self, mat2):
    """Products of matrices, pair by pair."""
    return tuple(a.mm(b) for a, b in zip(_listed(self, "_foreach_mm"), _one_each(self, mat2, "_foreach_mm")))


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor as one vector."""
    return tuple(wisp.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in _listed(self, "_foreach_norm"))


def _foreach_powsum(self, ord=2, dtype=None):
    """The sum of powers of absolute values, of each tensor."""
    return tuple(tensor.abs().pow(ord).sum(dtype=dtype) for tensor in _listed(self, "_foreach_powsum"))


def _in_place(foreach):
    def write(self, *args, **kwargs):
        foreach(self, *args, **kwargs)
        return self

    return write


def _as_tuple(foreach):
    def compute(self, *args, **kwargs):
        return tuple(foreach(self, *args, **kwargs))

    return compute


def _add_forms(short, method, form):
    for ending, finish in (("", _as_tuple), ("_", _in_place)):
        name = f"_foreach_{short}{ending}"
        made = globals()[name] = finish(form(name, getattr(Tensor, method + ending)))
        made.__name__ = made.__qualname__ = name
        made.__doc__ = f"{short} for each tensor of a list{', in place' if ending else ''}."


for _name in _UNARY:
    _add_forms(_name, _name, _unary)
for _name, _method in _BINARY.items():
    _add_forms(_name, _method, _power if _name == "pow" else _binary)
for _name in ("addcmul", "addcdiv"):
    _add_forms(_name, _name, _ternary)
_add_forms("lerp", "lerp", _lerp)
