"""What programs find as torch.compile and torch.compiler while wisp has no compiler: code runs as it is written.

A compiler changes how fast a program is, not what it computes, so that is all there is to do.
"""

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def compile(model=None, **options):
    """The function or module itself; without one, a decorator."""
    return _itself if model is None else model


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself; without one, a decorator."""
    return _itself if fn is None else fn


def _itself(fn):
    """The function itself."""
    return fn


allow_in_graph = assume_constant_result = _itself


def reset():
    """Does nothing: nothing has been compiled."""


cudagraph_mark_step_begin = reset


def list_backends(exclude_tags=("debug", "experimental")):
    """An empty list."""
    return []


def is_compiling():
    """False: this is Python."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def __getattr__(name):
    from wisp._missing import MissingName

    raise MissingName(__name__, name)
