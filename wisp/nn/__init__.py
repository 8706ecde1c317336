"""Neural networks: modules, parameters, and functions of them."""

from wisp.nn import functional
from wisp.nn.activation import *  # noqa: F403
from wisp.nn.containers import *  # noqa: F403
from wisp.nn.distance import *  # noqa: F403
from wisp.nn.dropout import *  # noqa: F403
from wisp.nn.embedding import *  # noqa: F403
from wisp.nn.linear import *  # noqa: F403
from wisp.nn.loss import *  # noqa: F403
from wisp.nn.module import Module
from wisp.nn.normalization import *  # noqa: F403
from wisp.nn.parameter import Buffer, Parameter

# Imported on first use, by `wisp.nn.name`.
_SUBMODULES = ("init", "utils")


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"wisp.nn.{name}")
    raise AttributeError(f"module 'wisp.nn' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_SUBMODULES})
