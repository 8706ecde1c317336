"""wisp: tensors and automatic differentiation on the CPU, with PyTorch's names."""

from __future__ import annotations

from math import e, inf, nan, pi

from wisp import _C
from wisp._C import *  # noqa: F403
from wisp._C import OutOfMemoryError, Tensor, default_generator

__version__ = "0.1.0"

_C._set_library_folder(__path__[0] + "/")
globals().update(_C._functions)
newaxis = None

from wisp import autograd  # noqa: E402


def manual_seed(seed: int):
    """Starts the default stream of random numbers at this seed; returns its generator."""
    return default_generator.manual_seed(seed)


def is_tensor(obj) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)
