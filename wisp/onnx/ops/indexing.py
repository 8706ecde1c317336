"""Picking elements by index, and finding the indices of elements."""

import math

import wisp
from wisp.onnx.ops._common import along, positive


def _from_front(indices, size):
    """Indices counted from the front, after a look at their range."""
    if indices.numel() and not (-size <= indices.min() and indices.max() < size):
        raise IndexError(f"an index is out of range for an axis of size {size}")
    return wisp.where(indices < 0, indices + size, indices).to(wisp.int64)


def _gather(node, x, indices):
    axis = positive(node["axis"], x.ndim)
    flat = _from_front(indices, x.shape[axis]).flatten()
    return x.index_select(axis, flat).reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def _gather_elements(node, x, indices):
    axis = positive(node["axis"], x.ndim)
    return wisp.gather(x, axis, _from_front(indices, x.shape[axis]))


def _flat_places(x, indices, batch_dims):
    """Where tuples of indices point in a tensor whose axes behind the batch are flattened as far as they reach."""
    depth = indices.shape[-1]
    sizes = list(x.shape[batch_dims : batch_dims + depth])
    places = wisp.zeros(indices.shape[:-1], dtype=wisp.int64)
    for i, size in enumerate(sizes):
        places = places * size + _from_front(indices[..., i], size)
    return places, math.prod(sizes)


def _gather_nd(node, x, indices):
    batch = node["batch_dims"] or 0
    places, count = _flat_places(x, indices, batch)
    outer, rest = list(x.shape[:batch]), list(x.shape[batch + indices.shape[-1] :])
    rows = x.reshape([math.prod(outer), count, *rest])
    flat = places.reshape(math.prod(outer), -1)
    picked = rows[along(wisp.arange(len(rows)), 0, 2), flat]
    return picked.reshape([*indices.shape[:-1], *rest])


_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _scattered(x, axis, indices, updates, reduction):
    """A copy of a tensor with updates at indices along an axis, combined with what is there."""
    if reduction in (None, "none"):
        return wisp.scatter(x, axis, indices, updates)
    return wisp.scatter_reduce(x, axis, indices, updates, _REDUCTIONS[reduction])


def _scatter_elements(node, x, indices, updates):
    axis = positive(node["axis"], x.ndim)
    return _scattered(x, axis, _from_front(indices, x.shape[axis]), updates, node["reduction"])


def _scatter_nd(node, x, indices, updates):
    places, count = _flat_places(x, indices, 0)
    rest = list(x.shape[indices.shape[-1] :])
    rows = x.reshape(count, math.prod(rest))
    new = updates.reshape(places.numel(), math.prod(rest))
    targets = places.reshape(-1, 1).expand(new.shape)
    return _scattered(rows, 0, targets, new, node["reduction"]).reshape(x.shape)


def _tensor_scatter(node, cache, update, starts=None):
    """A cache of sequences with an update from a place on, which differs between sequences."""
    axis = positive(node["axis"], cache.ndim)
    size = cache.shape[axis]
    starts = wisp.zeros(len(cache), dtype=wisp.int64) if starts is None else starts
    places = along(starts, 0, cache.ndim) + along(wisp.arange(update.shape[axis]), axis, cache.ndim)
    if node["mode"] == "circular":
        places = places % size
    return wisp.scatter(cache, axis, _from_front(places, size).expand(update.shape), update)


def _compress(node, x, condition):
    x, axis = (x.flatten(), 0) if node["axis"] is None else (x, node["axis"])
    return x.index_select(axis, wisp.nonzero(condition).flatten())


def _one_hot(node, indices, depth, values):
    size = int(depth.item())
    axis = positive(node["axis"], indices.ndim + 1)
    indices = indices.to(wisp.int64)
    indices = wisp.where(indices < 0, indices + size, indices).unsqueeze(axis)
    hot = indices == along(wisp.arange(size), axis, indices.ndim)
    return wisp.where(hot, values[1], values[0])


def _non_zero(node, x):
    return wisp.nonzero(x).T.contiguous()


def _top_k_of_attribute(node, x):
    return _largest(x, node["k"], node["axis"], True)


def _top_k(node, x, k):
    largest = node["largest"] is None or bool(node["largest"])
    return _largest(x, int(k.item()), node["axis"], largest)


def _largest(x, k, axis, largest):
    """The first elements in order, those with lower indices first among equals."""
    axis = positive(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"k is {k}, but the axis has {x.shape[axis]} elements")
    values, indices = wisp.sort(x, stable=True, dim=axis, descending=largest)
    return values.narrow(axis, 0, k), indices.narrow(axis, 0, k)


def _arg(function):
    """The index of the largest or smallest element along an axis, the first or the last of several."""

    def run(node, x):
        axis, keep = positive(node["axis"], x.ndim), bool(node["keepdims"])
        if not node["select_last_index"]:
            return function(x, axis, keepdim=keep)
        return x.shape[axis] - 1 - function(x.flip(axis), axis, keepdim=keep)

    return run


def _unique(node, x):
    """The different elements or slices, where each is first found, which one each is, and how many there are."""
    axis = node["axis"]
    rows = x.flatten() if axis is None else x
    values, inverse, counts = wisp.unique(rows, return_inverse=True, return_counts=True, dim=axis)
    places = wisp.arange(inverse.numel())
    firsts = wisp.full((counts.numel(),), inverse.numel(), dtype=wisp.int64)
    firsts = wisp.scatter_reduce(firsts, 0, inverse, places, "amin")
    if not node["sorted"]:
        order = wisp.argsort(firsts)
        ranks = wisp.argsort(order)
        values, firsts, counts = values.index_select(axis or 0, order), firsts[order], counts[order]
        inverse = ranks[inverse]
    return values, firsts, inverse, counts


def _where(node, condition, x, y):
    return wisp.where(condition, x, y)


OPERATORS = {
    "ArgMax": [(1, _arg(wisp.argmax))],
    "ArgMin": [(1, _arg(wisp.argmin))],
    "Compress": [(9, _compress)],
    "Gather": [(1, _gather)],
    "GatherElements": [(11, _gather_elements)],
    "GatherND": [(11, _gather_nd)],
    "NonZero": [(9, _non_zero)],
    "OneHot": [(9, _one_hot)],
    "Scatter": [(9, _scatter_elements)],
    "ScatterElements": [(11, _scatter_elements)],
    "ScatterND": [(11, _scatter_nd)],
    "TensorScatter": [(24, _tensor_scatter)],
    "TopK": [(1, _top_k_of_attribute), (10, _top_k)],
    "Unique": [(11, _unique)],
    "Where": [(9, _where)],
}
