"""wisp: tensors and automatic differentiation on the CPU, with PyTorch's names.

Importing wisp loads the native core and little else: submodules and rarely used functions are imported when first
used. Operators (``wisp.add`` ...) come from the core's table; their names hide some of Python's own in this file.
"""

from math import e, inf, nan, pi

from wisp import _C
from wisp._C import *  # noqa: F403

_C._set_library_folder(__path__[0] + "/")
globals().update(_C._functions)
del FunctionCtx, HookHandle, Node  # noqa: F821  (they live in wisp.autograd)

from wisp import _tensor  # noqa: E402, F401  (gives Tensor the methods written in Python)

__version__ = "0.1.0"
newaxis = None

# Imported on first use, by `wisp.name`.
_SUBMODULES = ("autograd", "nn", "special", "linalg")
# Where else a name is defined.
_HOMES = {
    "_tensor_str": ("get_printoptions", "printoptions", "set_printoptions"),
    "_type_info": ("finfo", "iinfo"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name):
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"wisp.{name}")
    if name in _HOME_OF:
        value = globals()[name] = getattr(import_module(f"wisp.{_HOME_OF[name]}"), name)
        return value
    raise AttributeError(f"module 'wisp' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_SUBMODULES, *_HOME_OF])


def manual_seed(seed):
    """Starts the default stream of random numbers at this seed; returns its generator."""
    return default_generator.manual_seed(seed)  # noqa: F405


def is_tensor(obj):
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)  # noqa: F405
