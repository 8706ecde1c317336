"""Forward mode: tangents that travel with tensors through the operators applied to them."""

import threading
from typing import NamedTuple

from wisp import _C

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_running = threading.local()
_FIRST = 0  # the number that programs know the one level by


def _current():
    return getattr(_running, "level", None)


def enter_dual_level():
    """Starts forward mode on this thread."""
    if _current() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment. Use wisp.func.jvp, which can be nested."
        )
    _running.level = _C._enter_jvp()
    return _FIRST


def exit_dual_level(*, level=None):
    """Ends forward mode: tensors made meanwhile lose their tangents."""
    if _current() is None:
        raise RuntimeError("Trying to exit a forward AD level that does not exist: none is running")
    if level is not None and level != _FIRST:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    level, _running.level = _current(), None
    _C._leave_level(level)


class dual_level:
    """``with dual_level():`` forward mode is on inside.

    >>> import wisp, wisp.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(wisp.tensor([1., 2.]), wisp.tensor([1., 0.]))
    ...     fwAD.unpack_dual(x ** 2).tangent
    tensor([2., 0.])
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()

    def __call__(self, func):
        import functools

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            with dual_level():
                return func(*args, **kwargs)

        return wrapper


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent (None where it is zero)."""

    primal: _C.Tensor
    tangent: _C.Tensor | None


def make_dual(tensor, tangent, *, level=None):
    """A view of ``tensor`` that carries ``tangent``."""
    own = _level(level)
    if own is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor: "
                           f"{tuple(tangent.shape)} and {tuple(tensor.shape)}")  # fmt: skip
    if _C._tangent(tangent, own) is not None:
        raise RuntimeError("the tangent has a forward gradient at the same level: give one without")
    return _C._make_dual(tensor, tangent, own)


def _level(level):
    """What the core calls a level of this thread, by the number that programs know; None if it does not run."""
    return _current() if level is None or level == _FIRST else None


def unpack_dual(tensor, *, level=None):
    """A view of ``tensor`` without its tangent, and the tangent."""
    own = _level(level)
    if own is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_C._primal(tensor, own), _C._tangent(tensor, own))


def __getattr__(name):
    if name == "_current_level":  # as PyTorch counts: one level at most, and -1 for none
        return -1 if _current() is None else _FIRST
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
