"""What programs ask of torch.compiler. Nothing is compiled here: calls are recorded as they happen (see wisp._lazy)."""

import functools

from wisp._lazy import _NOTHING, _collected, compile

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def disable(fn=None, recursive=True, *, reason=None):
    """A function whose kernels run at once, wherever it is called; without one, a decorator."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    return _collected(fn, _NOTHING, False)


def _itself(fn):
    """The function itself."""
    return fn


allow_in_graph = assume_constant_result = _itself


def reset():
    """Does nothing: plans are few, depend on no sizes, and old ones make room for new ones."""


cudagraph_mark_step_begin = reset


def list_backends(exclude_tags=("debug", "experimental")):
    """The one there is, under the name of PyTorch's default."""
    return ["inductor"]


def is_compiling():
    """False: this is Python, run as it is written."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
