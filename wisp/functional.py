"""Functions whose arguments or results take more forms than a table entry has."""

from wisp import _C
from wisp._C import Tensor

__all__ = ["einsum", "lu", "tensordot"]

_einsum = _C._functions["einsum"]
_tensordot = _C._functions["tensordot"]


def einsum(*args):
    """Products of the operands summed over all subscripts that the output does not name.

    Subscripts are letters of an equation, or lists of integers after each operand:

    >>> wisp.einsum('ij,jk->ik', wisp.ones(2, 3), wisp.ones(3, 1))
    tensor([[3.],
            [3.]])
    >>> wisp.einsum(wisp.ones(2, 3), [0, 1], wisp.ones(3, 1), [1, 2], [0, 2])
    tensor([[3.],
            [3.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if not isinstance(args[0], Tensor):
        return _einsum(*args)
    operands, sublists = args[: len(args) // 2 * 2 : 2], args[1::2]
    equation = ",".join(map(_letters, sublists))
    if len(args) % 2:
        equation += "->" + _letters(args[-1])
    return _einsum(equation, *operands)


def _letters(subscripts):
    """A list of integers and Ellipsis as the letters of an equation: 0 to 25 are capitals."""
    letters = ""
    for subscript in subscripts:
        if subscript is Ellipsis:
            letters += "..."
        elif 0 <= subscript < 52:
            letters += chr(ord("A") + subscript if subscript < 26 else ord("a") + subscript - 26)
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return letters


def tensordot(a, b, dims=2, out=None):
    """Products of ``a`` and ``b`` summed over pairs of dimensions.

    ``dims`` is two lists of dimensions, or a number n: the last n of ``a`` and the first n of ``b``.

    >>> wisp.tensordot(wisp.ones(2, 3), wisp.ones(3, 2), dims=([1], [0]))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else dims.item()
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
        dims_a, dims_b = ([d] if isinstance(d, int) else list(d) for d in (dims_a, dims_b))
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    return _tensordot(a, b, dims_a, dims_b) if out is None else _tensordot(a, b, dims_a, dims_b, out=out)


def lu(A, pivot=True, get_infos=False, out=None):
    """``linalg.lu_factor`` by an older name: LU and pivots, and LAPACK's codes if ``get_infos``. Never fails.

    >>> wisp.lu(wisp.tensor([[2., 2.], [1., 2.]]))[0]
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    factors = _C._linalg["lu_factor_ex"](A, pivot=pivot)
    factors = tuple(factors) if get_infos else tuple(factors[:2])
    if out is None:
        return factors
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(factors):
        raise TypeError(f"expected tuple of {len(factors)} elements but got {len(out)}")
    for target, factor in zip(out, factors):
        target.resize_as_(factor).copy_(factor)
    return out
