"""Neural networks: modules, parameters, and functions of them."""

from wisp.nn import functional as functional
from wisp.nn import modules as modules
from wisp.nn.modules import *
from wisp.nn.parameter import Buffer as Buffer
from wisp.nn.parameter import Parameter as Parameter
from wisp.nn.parameter import UninitializedBuffer as UninitializedBuffer
from wisp.nn.parameter import UninitializedParameter as UninitializedParameter

# Imported on first use, by `wisp.nn.name`.
_SUBMODULES = ("attention", "grad", "init", "parallel", "utils")


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"wisp.nn.{name}")
    if name == "DataParallel":
        from wisp.nn.parallel import DataParallel

        return DataParallel
    from wisp._missing import MissingName

    raise MissingName(__name__, name)


def __dir__():
    return sorted({*globals(), *_SUBMODULES, "DataParallel"})
