"""Functions of users that are called inside vmap(), on samples of a batch."""

from collections import namedtuple

from wisp import _C
from wisp._C import Tensor

running = []  # pairs (level, randomness) of the vmap() calls that are running, from the outermost inwards

VmapInfo = namedtuple("VmapInfo", ("batch_size", "randomness"))


def apply(cls, args):
    """Calls a Function, of whose arguments some may be samples."""
    for level, randomness in reversed(running):
        if any(_is_sample(x, level) for x in args):
            return _apply(cls, args, level, randomness)
    return _C._function_apply(cls, *args)


def _apply(cls, args, level, randomness):
    """Calls a Function on samples.

    Its forward() is not recorded, as ever, so the batch behind its results has no history. Where one is wanted, the
    results are computed from the batches, outside of that vmap().
    """
    from wisp.autograd.function import Function

    sampled = [_is_sample(x, level) for x in args]
    batches = [_C._gather_samples(x, 0, level) if is_sample else x for x, is_sample in zip(args, sampled)]
    size = next(batch.shape[0] for batch, is_sample in zip(batches, sampled) if is_sample)
    if cls.vmap is not Function.vmap:
        made = _by_rule(cls, batches, sampled, VmapInfo(size, randomness), level)
    elif size > 0 and _C.is_grad_enabled() and any(_has_history(batch, level) for batch in batches):
        made = _one_by_one(cls, batches, sampled, size, level)
    else:
        return _C._function_apply(cls, *args)
    return _C._function_apply(_returning(cls, made), *args)


def _is_sample(x, level):
    return isinstance(x, Tensor) and _C._is_batched(x, level)


def _has_history(x, level):
    """Whether gradients may be asked for outside of a level."""
    return isinstance(x, Tensor) and (
        x.requires_grad or any(_C._is_batched(x, outer) for outer, _ in running if outer != level)
    )


def _by_rule(cls, batches, sampled, info, level):
    """The results by the Function's own vmap()."""
    if cls.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and a vmap "
                           "staticmethod. Please set generate_vmap_rule=False or delete the staticmethod.")  # fmt: skip
    found = cls.vmap(info, tuple(0 if is_sample else None for is_sample in sampled), *batches)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(f"Expected the vmap staticmethod of {cls.__name__} to return its results and their dimensions of "
                           f"samples (out_dims), got {type(found).__name__}")  # fmt: skip
    results, dims = found
    if not isinstance(results, tuple):
        return _sample(results, dims, level)
    dims = dims if isinstance(dims, tuple) else (dims,) * len(results)
    return tuple(_sample(result, dim, level) for result, dim in zip(results, dims))


def _one_by_one(cls, batches, sampled, size, level):
    """The results of the Function called for every sample."""
    rows = [
        cls.apply(*(batch[i] if is_sample else batch for batch, is_sample in zip(batches, sampled)))
        for i in range(size)
    ]
    return _joined(rows, level)


def _joined(rows, level):
    """Results of all samples as one: tensors become a batch, other things are taken as they are."""
    if isinstance(rows[0], tuple):
        return tuple(_joined(column, level) for column in zip(*rows))
    return _sample(_C._functions["stack"](list(rows)), 0, level) if isinstance(rows[0], Tensor) else rows[0]


def _sample(result, dim, level):
    return result if dim is None or not isinstance(result, Tensor) else _C._make_sample(result, dim, level)


def _returning(cls, results):
    """A Function whose forward() keeps what backward() needs, but gives these results."""
    from wisp.autograd.function import Function

    def forward(*args):
        if cls.setup_context is Function.setup_context:  # it is forward() itself that keeps things
            cls.forward(*args)
        return results

    return type(cls.__name__, (cls,), {"forward": staticmethod(forward)})
