"""Discrete Fourier transforms: operators of the table whose home is here."""

from wisp import _C

_functions = getattr(_C, "_fft", {})
globals().update(_functions)
__all__ = list(_functions)
