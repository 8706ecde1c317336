"""The processor, and how convolutions use it."""

import sys
from types import ModuleType

from wisp import _C
from wisp.backends._switches import Flags


def get_cpu_capability():
    """The instruction set the kernels in use were compiled for: "DEFAULT", "AVX2" or "AVX512"."""
    return {"baseline": "DEFAULT"}.get(_C._cpu_capability(), _C._cpu_capability().upper())


def flags(winograd=None):
    """Sets switches for a with block.

    >>> with wisp.backends.cpu.flags(winograd=True):
    ...     wisp.backends.cpu.winograd
    True
    """
    return Flags(sys.modules[__name__], {"winograd": winograd})


class _Module(ModuleType):
    @property
    def winograd(self):
        """Whether convolutions of float32 with windows of 3x3, and their gradients, may be computed by Winograd's
        method on tiles of 4x4: up to three times as fast as plain sums, and less exact by a digit. False at first; of all
        threads. Tiles of 2x2, which are as exact as plain sums, are used either way."""
        return _C._winograd_enabled()

    @winograd.setter
    def winograd(self, value):
        _C._winograd_set_enabled(value)


sys.modules[__name__].__class__ = _Module
