"""vmap: a function of one sample applied to a batch of them."""

import functools
import operator

from wisp import _C
from wisp.autograd import _samples
from wisp.utils._pytree import broadcast_prefix, tree_flatten, tree_unflatten


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that applies ``func`` to every sample of a batch at once.

    Args:
        func: takes and returns tensors of one sample (or nests of them).
        in_dims: along which dimension the samples lie, for each argument; None for arguments they share. One number
            for all, or a nest like the arguments.
        out_dims: along which dimension the results of the samples are put; one for all, or a nest like the results.
        randomness: what random operators do: 'error', 'different' numbers for every sample, or the 'same' for all.
        chunk_size: how many samples to compute at a time (default: all).

    >>> import wisp
    >>> x, y = wisp.arange(6.).view(2, 3), wisp.ones(2, 3)
    >>> wisp.vmap(wisp.dot)(x, y)
    tensor([ 3., 12.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def batched(*args, **kwargs):
        dims, leaves, spec, size = _inputs(in_dims, args, _name(func))
        if chunk_size is None or size <= chunk_size:
            return _run(func, dims, leaves, spec, size, out_dims, randomness, kwargs)
        return _in_chunks(func, dims, leaves, spec, size, out_dims, randomness, kwargs, chunk_size)

    return batched


def _name(func):
    return getattr(func, "__name__", repr(func))


def _inputs(in_dims, args, name):
    """(dimension of the samples for every leaf of the arguments, the leaves, their structure, number of samples)."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"{call}: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_prefix(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)
    if dims is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of inputs. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_checked_dim(dim, leaf, call) for dim, leaf in zip(dims, leaves)]
    sizes = {leaf.shape[dim] for dim, leaf in zip(dims, leaves) if dim is not None}
    if not sizes:
        raise ValueError(
            f"{call}: at least one input must be a batch; all of in_dims are None or no input is a Tensor."
        )
    if len(sizes) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{[leaf.shape[dim] for dim, leaf in zip(dims, leaves) if dim is not None]} for the mapped dimension"
        )
    return dims, leaves, spec, sizes.pop()


def _checked_dim(dim, leaf, call):
    if dim is None:
        return None
    if not isinstance(leaf, _C.Tensor):
        raise ValueError(
            f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
            f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim % leaf.dim()


def _run(func, dims, leaves, spec, size, out_dims, randomness, kwargs):
    level = _C._enter_vmap(size, randomness)
    _samples.running.append((level, randomness))
    try:
        samples = [leaf if dim is None else _C._make_sample(leaf, dim, level) for dim, leaf in zip(dims, leaves)]
        results = func(*tree_unflatten(samples, spec), **kwargs)
        return _outputs(results, out_dims, level, _name(func))
    finally:
        _samples.running.remove((level, randomness))
        _C._leave_level(level)


def _outputs(results, out_dims, level, name):
    leaves, spec = tree_flatten(results)
    dims = _out_dims(out_dims, results, spec, name)
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
                "out_dims= to None for output?"
            )
    return tree_unflatten([_gather(leaf, dim, level, name) for leaf, dim in zip(leaves, dims)], spec)


def _out_dims(out_dims, results, spec, name):
    single = isinstance(results, _C.Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    dims = broadcast_prefix(out_dims[0] if single else out_dims, results)
    if dims is None and isinstance(results, list) and isinstance(out_dims, tuple):
        dims = broadcast_prefix(list(out_dims), results)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"outputs. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return dims


def _gather(leaf, dim, level, name):
    if dim is None:
        if _C._is_batched(leaf, level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return _C._gather_samples(leaf, 0, level)[0]
    rank = leaf.dim() + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return _C._gather_samples(leaf, operator.index(dim) % rank, level)


def _in_chunks(func, dims, leaves, spec, size, out_dims, randomness, kwargs, chunk_size):
    pieces, result_spec, result_dims = [], None, None
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [leaf if dim is None else leaf.narrow(dim, start, count) for dim, leaf in zip(dims, leaves)]
        results = _run(func, dims, part, spec, count, out_dims, randomness, kwargs)
        result_dims = _out_dims(out_dims, results, None, _name(func))
        flat, result_spec = tree_flatten(results)
        pieces.append(flat)
    cat = _C._functions["cat"]
    joined = [parts[0] if dim is None else cat(parts, dim) for dim, parts in zip(result_dims, zip(*pieces))]
    return tree_unflatten(joined, result_spec)
