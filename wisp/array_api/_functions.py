"""Shapes, reductions, sorting and searching."""

import builtins
from typing import NamedTuple

import wisp
from wisp.array_api._dtypes import promoted


def _axes(x, axis):
    """The dimensions named by None (all), one or several."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


# --- Shapes


def broadcast_arrays(*arrays):
    """Arrays repeated to the shape they have in common."""
    return list(wisp.broadcast_tensors(*arrays))


def broadcast_to(x, /, shape):
    """The array repeated to a shape."""
    return wisp.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """Arrays one after the other along an axis; flattened ones if it is None."""
    arrays = promoted(*arrays)
    if axis is None:
        arrays, axis = [x.flatten() for x in arrays], 0
    return wisp.cat(arrays, axis)


def expand_dims(x, /, axis):
    """A new axis of length 1; several if `axis` is a tuple."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = x.ndim + len(axes)
    if builtins.any(not -ndim <= a < ndim for a in axes):
        raise IndexError(f"expand_dims(): expected axes from {-ndim} to {ndim - 1}, got {axis}")
    for a in sorted(a % ndim for a in axes):
        x = x.unsqueeze(a)
    return x


def flip(x, /, *, axis=None):
    """Elements in reverse order along axes, by default all."""
    return wisp.flip(x, _axes(x, axis))


def moveaxis(x, source, destination, /):
    """Axes moved to other places."""
    return wisp.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    """Axes in another order."""
    return wisp.permute(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Every element several times in succession."""
    if isinstance(repeats, wisp.Tensor):
        repeats = repeats.to(wisp.int64)
    return wisp.repeat_interleave(x, repeats, dim=axis)


def reshape(x, /, shape, *, copy=None):
    """The elements in another shape. `copy` False fails where that takes a copy."""
    if copy is False:
        return x.view(shape)
    return x.clone().reshape(shape) if copy else wisp.reshape(x, shape)


def roll(x, /, shift, *, axis=None):
    """Elements shifted along axes; what leaves at one end enters at the other."""
    if axis is None:
        return wisp.roll(x, shift)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    return wisp.roll(x, shifts, axes) if axes else x.clone()


def squeeze(x, /, axis):
    """The array without axes of length 1."""
    axes = _axes(x, axis)
    if builtins.any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze(): expected axes of length 1, got axis {axis} of shape {tuple(x.shape)}")
    return wisp.squeeze(x, axes) if axes else x


def stack(arrays, /, *, axis=0):
    """Arrays side by side along a new axis."""
    return wisp.stack(promoted(*arrays), axis)


def tile(x, repetitions, /):
    """The array repeated along its axes."""
    return wisp.tile(x, tuple(repetitions))


def unstack(x, /, *, axis=0):
    """The parts of an array along an axis, as a tuple."""
    return tuple(wisp.unbind(x, axis))


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose(): expected at least 2 dimensions, got {x.ndim}")
    return x.transpose(-2, -1)


# --- Reductions


def _sum_dtype(x, dtype):
    """Integers are added up in the default integer, everything else in its own dtype."""
    if dtype is not None:
        return dtype
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else wisp.int64


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes."""
    dtype, axes = _sum_dtype(x, dtype), _axes(x, axis)
    return wisp.sum(x, axes, keepdim=keepdims, dtype=dtype) if axes else x.to(dtype, copy=True)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes."""
    dtype = _sum_dtype(x, dtype)
    axes = sorted((a % x.ndim for a in _axes(x, axis)), reverse=True)
    for a in axes:
        x = wisp.prod(x, a, keepdim=keepdims, dtype=dtype)
    return x if axes else x.to(dtype, copy=True)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over axes."""
    axes = _axes(x, axis)
    return wisp.mean(x, axes, keepdim=keepdims) if axes else x.clone()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: squared distances from the mean, added and divided by their number minus `correction`."""
    axes = _axes(x, axis)
    if axes:
        return wisp.var(x, axes, correction=correction, keepdim=keepdims)
    return wisp.var(x.unsqueeze(-1), -1, correction=correction)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of the variance over axes."""
    axes = _axes(x, axis)
    if axes:
        return wisp.std(x, axes, correction=correction, keepdim=keepdims)
    return wisp.std(x.unsqueeze(-1), -1, correction=correction)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes."""
    axes = _axes(x, axis)
    return wisp.amax(x, axes, keepdim=keepdims) if axes else x.clone()


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes."""
    axes = _axes(x, axis)
    return wisp.amin(x, axes, keepdim=keepdims) if axes else x.clone()


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements along axes are true (not 0)."""
    x, axes = x.to(wisp.bool), _axes(x, axis)
    return wisp.all(x, axes, keepdim=keepdims) if axes else x.clone()


def any(x, /, *, axis=None, keepdims=False):
    """Whether any element along axes is true (not 0)."""
    x, axes = x.to(wisp.bool), _axes(x, axis)
    return wisp.any(x, axes, keepdim=keepdims) if axes else x.clone()


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not 0."""
    return sum(x.to(wisp.bool), axis=axis, dtype=wisp.int64, keepdims=keepdims)


def _cumulative(scan, first, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"expected an axis for an array of {x.ndim} dimensions")
        axis = 0
    result = scan(x, axis, dtype=_sum_dtype(x, dtype))
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return wisp.cat([wisp.full(shape, first, dtype=result.dtype, device=result.device), result], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, starting with 0 if `include_initial`."""
    return _cumulative(wisp.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, starting with 1 if `include_initial`."""
    return _cumulative(wisp.cumprod, 1, x, axis, dtype, include_initial)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis, taken `n` times."""
    return wisp.diff(x, n=n, dim=axis, prepend=prepend, append=append)


# --- Sorting and searching


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return wisp.sort(x, dim=axis, descending=descending, stable=stable).values


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of elements in order along an axis."""
    return wisp.sort(x, dim=axis, descending=descending, stable=stable).indices


def _place(choose, x, axis, keepdims):
    x = x.to(wisp.uint8) if x.dtype == wisp.bool else x
    if axis is None and keepdims:
        return choose(x.flatten(), 0).reshape((1,) * x.ndim)
    return choose(x, axis, keepdims) if axis is not None else choose(x)


def argmax(x, /, *, axis=None, keepdims=False):
    """The place of the largest element, by default of all, flattened."""
    return _place(wisp.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The place of the smallest element, by default of all, flattened."""
    return _place(wisp.argmin, x, axis, keepdims)


def nonzero(x, /):
    """The places of elements that are not 0: an array per axis."""
    if x.ndim == 0:
        raise ValueError("nonzero(): expected at least 1 dimension, got 0")
    return tuple(wisp.nonzero(x, as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where elements of x2 would be inserted into x1 to keep it in order."""
    x1, x2 = promoted(x1, x2)
    return wisp.searchsorted(x1, x2, side=side, sorter=sorter)


def take(x, indices, /, *, axis=None):
    """The parts of an array at these places along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take(): expected an axis for an array of {x.ndim} dimensions")
        axis = 0
    axis = axis % x.ndim
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    places = indices.flatten().to(wisp.int64)
    return wisp.index_select(x, axis, wisp.where(places < 0, places + x.shape[axis], places)).reshape(shape)


def take_along_axis(x, indices, /, *, axis=-1):
    """At every place of `indices`, the element that it names along an axis."""
    axis = axis % x.ndim
    places = wisp.where(indices < 0, indices + x.shape[axis], indices).to(wisp.int64)
    around = wisp.broadcast_tensors(x.narrow(axis, 0, 0), places.narrow(axis, 0, 0))[0].shape

    def spread(array):
        return array.expand(*around[:axis], array.shape[axis], *around[axis + 1 :])

    return wisp.gather(spread(x), axis, spread(places))


# --- Sets


class UniqueAll(NamedTuple):
    values: wisp.Tensor
    indices: wisp.Tensor
    inverse_indices: wisp.Tensor
    counts: wisp.Tensor


class UniqueCounts(NamedTuple):
    values: wisp.Tensor
    counts: wisp.Tensor


class UniqueInverse(NamedTuple):
    values: wisp.Tensor
    inverse_indices: wisp.Tensor


def unique_all(x, /):
    """The different elements in order, where each is first, which of them each element is, and how often each occurs.

    NaN differs from itself: each is an element of its own.
    """
    flat = x.flatten()
    ordered, places = wisp.sort(flat, stable=True)
    starts = wisp.ones(flat.shape, dtype=wisp.bool, device=x.device)
    if flat.numel() > 1:
        starts[1:] = ordered[1:] != ordered[:-1]
    first = wisp.nonzero(starts).flatten()
    inverse = wisp.empty_like(places)
    inverse[places] = wisp.cumsum(starts, 0) - 1
    ends = wisp.cat([first[1:], wisp.full((1,) if flat.numel() else (0,), flat.numel(), device=x.device)])
    return UniqueAll(ordered[first], places[first], inverse.reshape(x.shape), ends - first)


def unique_counts(x, /):
    """The different elements in order, and how often each occurs."""
    every = unique_all(x)
    return UniqueCounts(every.values, every.counts)


def unique_inverse(x, /):
    """The different elements in order, and which of them each element is."""
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


def unique_values(x, /):
    """The different elements in order."""
    return unique_all(x).values
