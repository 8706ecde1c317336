"""Functions of users that are called inside vmap() while derivatives are taken outside of it."""

from wisp import _C
from wisp._C import Tensor

levels = []  # of the vmap() calls that are running, from the outermost inwards


def apply(cls, args):
    """Calls a Function on samples.

    Its forward() is not recorded, as ever, so the batch behind its results has no history. Where one is wanted, the
    Function is called for the samples one by one, outside of that vmap(): what comes of it, as a batch, has.
    """
    level = next((level for level in reversed(levels) if any(_is_sample(x, level) for x in args)), None)
    if level is None or not _C.is_grad_enabled():
        return _C._function_apply(cls, *args)
    sampled = [_is_sample(x, level) for x in args]
    batches = [_C._gather_samples(x, 0, level) if is_sample else x for x, is_sample in zip(args, sampled)]
    size = next(batch.shape[0] for batch, is_sample in zip(batches, sampled) if is_sample)
    if size == 0 or not any(_has_history(batch, level) for batch in batches):
        return _C._function_apply(cls, *args)
    rows = [
        cls.apply(*(batch[i] if is_sample else batch for batch, is_sample in zip(batches, sampled)))
        for i in range(size)
    ]
    return _C._function_apply(_returning(cls, _joined(rows, level)), *args)


def _is_sample(x, level):
    return isinstance(x, Tensor) and _C._is_batched(x, level)


def _has_history(x, level):
    """Whether gradients may be asked for outside of a level."""
    return isinstance(x, Tensor) and (
        x.requires_grad or any(_C._is_batched(x, outer) for outer in levels if outer != level)
    )


def _joined(rows, level):
    """The results for all samples as one: tensors become samples of a batch, other things are taken as they are."""
    if isinstance(rows[0], tuple):
        return tuple(_joined(column, level) for column in zip(*rows))
    return _C._make_sample(_C._functions["stack"](list(rows)), 0, level) if isinstance(rows[0], Tensor) else rows[0]


def _returning(cls, results):
    """A Function whose forward() keeps what backward() needs, but gives these results."""
    from wisp.autograd.function import Function

    def forward(*args):
        if cls.setup_context is Function.setup_context:  # it is forward() itself that keeps things
            cls.forward(*args)
        return results

    return type(cls.__name__, (cls,), {"forward": staticmethod(forward)})
