"""Running combinations along a dimension."""

import wisp
from wisp.utils import _pytree

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """What a function of two makes of the first n elements along a dimension, for every n.

    >>> from wisp._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, wisp.tensor([1., 2., 3., 4.]), 0)
    tensor([ 1.,  2.,  6., 24.])

    Args:
        combine_fn: an associative function of two nests of tensors like `xs`, which gives one more.
        xs: a tensor, or a nest of tensors that are equally long along `dim`.
        reverse: whether to begin at the end.
        combine_mode: "pointwise" if what `combine_fn` does happens element by element, so that it may be given many places at
            once; "generic" if it has to be given them one by one.
    """
    leaves, spec = _pytree.tree_flatten(xs)
    _check(combine_fn, leaves, dim, combine_mode)
    if combine_mode == "generic":
        combine_fn = wisp.vmap(combine_fn)

    def combine(first, second):
        return _pytree.tree_leaves(combine_fn(*(_pytree.tree_unflatten(parts, spec) for parts in (first, second))))

    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    found = _scan(combine, [row.flip(0) for row in rows] if reverse else rows)
    found = [row.flip(0) for row in found] if reverse else found
    return _pytree.tree_unflatten([row.movedim(0, dim) for row in found], spec)


def _check(combine_fn, leaves, dim, combine_mode):
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves or not all(isinstance(leaf, wisp.Tensor) for leaf in leaves):
        raise ValueError("associative_scan(): expected a tensor or a nest of tensors")
    if len({leaf.size(dim) for leaf in leaves}) != 1:
        raise ValueError("associative_scan(): expected tensors that are equally long along the dimension")


def _scan(combine, rows):
    """Neighbours are combined, then pairs, and so on: as many calls as the length has digits, twice."""
    length = len(rows[0])
    if length < 2:
        return rows
    pairs = combine([row[:-1:2] for row in rows], [row[1::2] for row in rows])
    odd = _scan(combine, pairs)
    behind = [row[2::2] for row in rows]
    even = combine([row[: len(rest)] for row, rest in zip(odd, behind)], behind) if length > 2 else behind
    even = [wisp.cat([row[:1], later]) for row, later in zip(rows, even)]
    return [_interleaved(*both) for both in zip(even, odd)]


def _interleaved(even, odd):
    both = wisp.stack([even[: len(odd)], odd], 1).flatten(0, 1)
    return wisp.cat([both, even[len(odd) :]])
