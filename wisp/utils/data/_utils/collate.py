"""Samples put together into batches."""

import re
import sys
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

from wisp import _C
from wisp._C import Tensor

_tensor, _stack, _as_tensor = _C.tensor, _C._functions["stack"], _C.as_tensor
_MESSAGE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


np_str_obj_array_pattern = re.compile("[SaUO]")  # codes of NumPy's dtypes that are no numbers


def _is_array(value):
    """Whether a value is an array or a scalar of NumPy, which is not imported to find out."""
    numpy = sys.modules.get("numpy")
    return (
        numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)) and not isinstance(value, str | bytes)
    )


def _has_numbers(array):
    return array.dtype.kind in "biufc"


def default_convert(data):
    """NumPy arrays inside a nest of containers as tensors; the rest stays as it is.

    >>> wisp.utils.data.default_convert({"name": "a", "size": 3})
    {'name': 'a', 'size': 3}
    """
    if isinstance(data, Tensor | str | bytes):
        return data
    if _is_array(data):
        return _as_tensor(data) if _has_numbers(data) else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def _like_mapping(model, items):
    """A mapping of the same class as the model: a copy of it with other values, or a dict if it cannot be made."""
    try:
        if isinstance(model, MutableMapping):
            from copy import copy

            made = copy(model)
            made.update(items)
            return made
        return type(model)(items)
    except TypeError:
        return items


def _like_sequence(model, items):
    if type(model) is list:
        return items
    try:
        if isinstance(model, MutableSequence):
            from copy import copy

            made = copy(model)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return items if isinstance(model, range) else type(model)(items)
    except (TypeError, ValueError):
        return items


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors stacked along a new first dimension."""
    return _stack(batch, 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Arrays stacked along a new first dimension, as a tensor."""
    if not _has_numbers(batch[0]):
        raise TypeError(_MESSAGE.format(batch[0].dtype))
    return collate([_as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy's scalars as a tensor of their dtype."""
    return _stack([_as_tensor(scalar) for scalar in batch], 0)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Numbers as a tensor of float64."""
    return _tensor(batch, dtype=_C.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Integers as a tensor."""
    return _tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Texts stay as they are."""
    return batch


# What default_collate does with samples of a class. Adding a class here teaches it to every loader.
default_collate_fn_map = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def collate(batch, *, collate_fn_map=None):
    """A batch of samples, by the class of the first one; containers are collated item by item.

    ``collate_fn_map`` says what to do with samples of a class (or of one of a tuple of classes):
    ``function(batch, *, collate_fn_map)``.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(first, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in first}
        return items if kind is dict else _like_mapping(first, items)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, Sequence):
        return _collate_sequences(batch, first, collate_fn_map)
    raise TypeError(_MESSAGE.format(kind))


def _collate_sequences(batch, first, collate_fn_map):
    if len(set(map(len, batch))) != 1:
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    return columns if isinstance(first, tuple) else _like_sequence(first, columns)


def _with_numpy(functions):
    """The table with entries for NumPy's classes, if NumPy is there."""
    numpy = sys.modules.get("numpy")
    if numpy is None or numpy.ndarray in functions:
        return functions
    functions[numpy.ndarray] = collate_numpy_array_fn
    functions[numpy.bool_] = functions[numpy.number] = collate_numpy_scalar_fn
    return functions


def default_collate(batch):
    """Samples as one batch: tensors, arrays and numbers become tensors with a new first dimension, item by item
    inside dicts, tuples and lists; texts stay lists.

    >>> wisp.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=_with_numpy(default_collate_fn_map))
