"""Batches divided among devices, and their parts joined again. All devices here are the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wisp
from wisp._C import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _rebuilt(like: Any, items: Any) -> Any:
    return type(like)(*items) if _is_named(like) else type(like)(items)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """A part of the inputs for each device: tensors are cut along ``dim``, lists, tuples and dicts item by item;
    anything else is given to all."""
    devices = len(target_gpus)
    if devices == 0:
        raise ValueError("scatter(): expected at least one device")
    if isinstance(inputs, Tensor):
        return inputs.chunk(devices, dim)
    if isinstance(inputs, (list, tuple)) and inputs:
        return [_rebuilt(inputs, part) for part in zip(*(scatter(item, target_gpus, dim) for item in inputs))]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(part) for part in zip(*(scatter(item, target_gpus, dim) for item in inputs.items()))]
    return [inputs] * devices


def scatter_kwargs(inputs: Any, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Parts of positional and of keyword arguments, as many of the one as of the other."""
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{}] * (count - len(named))
    return tuple(tuple(part) for part in positional), tuple(named)


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """The results of several devices as one: tensors joined along ``dim``, numbers of no dimension stacked."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return wisp.stack(list(outputs)) if first.dim() == 0 else wisp.cat(list(outputs), dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([other[key] for other in outputs], target_device, dim)) for key in first)
    return _rebuilt(first, (gather(part, target_device, dim) for part in zip(*outputs)))
