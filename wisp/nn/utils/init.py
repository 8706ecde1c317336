"""Making modules without drawing their weights."""

from __future__ import annotations

import inspect
from typing import Any

from wisp.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Makes a module whose parameters hold whatever was in memory.

    Args:
        module_cls: its class, which must take a ``device``.
        args, kwargs: for its constructor.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    return module_cls(*args, **kwargs).to_empty(device=kwargs.get("device") or "cpu")
