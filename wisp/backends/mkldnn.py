"""oneDNN, by its former name: it computes convolutions of float32 where it is faster than wisp's own kernels."""

import sys
from types import ModuleType

from wisp import _C
from wisp.backends._switches import Flags

deterministic = False
allow_tf32 = True


def is_available():
    """Whether wisp was built with oneDNN and can load it."""
    return _C._onednn_available()


def flags(enabled=None, deterministic=None, allow_tf32=None):
    """Sets switches for a with block. Only ``enabled`` changes anything."""
    values = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    return Flags(sys.modules[__name__], values)


class _Module(ModuleType):
    enabled = property(lambda self: _C._onednn_enabled(), lambda self, value: _C._onednn_set_enabled(value))


sys.modules[__name__].__class__ = _Module
