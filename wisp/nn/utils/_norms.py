"""What the two forms of weight and spectral normalisation (parametrizations and hooks) share."""

from __future__ import annotations

from wisp import _C
from wisp._C import Tensor

_mv, _norm_except_dim, _vdot = (_C._functions[name] for name in ("mv", "norm_except_dim", "vdot"))
_normalize = _C._functional["normalize"]


def norm_except(tensor: Tensor, dim: int) -> Tensor:
    """The norms of the slices along a dimension, which keeps its place; of everything if it is -1."""
    return _norm_except_dim(tensor, 2, dim)


def weight_norm_of(direction: Tensor, size: Tensor, dim: int) -> Tensor:
    """The weight that has this direction, and slices of these norms."""
    return direction * (size / norm_except(direction, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """All dimensions but one flattened, behind that one."""
    return weight.movedim(dim, 0).flatten(1)


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, iterations: int, eps: float) -> None:
    """Brings u and v, in place, closer to the singular vectors of the largest singular value."""
    with _C.no_grad():
        for _ in range(iterations):
            u.copy_(_normalize(_mv(matrix, v), dim=0, eps=eps))
            v.copy_(_normalize(_mv(matrix.mH, u), dim=0, eps=eps))


def largest_singular_value(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """That value from its vectors, which are copied: they go on changing."""
    return _vdot(u.clone(), _mv(matrix, v.clone()))


def check_iterations(count: int) -> None:
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


def default_dim(module: object, dim: int | None) -> int:
    """The dimension of the outputs: the second of transposed convolutions, the first of others."""
    if dim is not None:
        return dim
    return int(any(c.__name__.startswith("ConvTranspose") for c in type(module).__mro__))


def remove_hook(module, kind, name, called):
    """Removes the hook of a kind that computes the tensor of this name; ``called`` is what errors call it."""
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{called} of '{name}' not found in {module}")
