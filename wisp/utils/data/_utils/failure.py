"""Exceptions of workers, raised again where the batches are used."""

import os

_OURS = os.path.dirname(os.path.dirname(__file__))


class _Text(str):
    """A text whose repr is itself: KeyError shows the repr of its argument."""

    __slots__ = ()
    __repr__ = str.__str__


class Failure:
    """An exception as it is sent from a worker: its class, and a text with its traceback, the worker and the sample."""

    def __init__(self, error, worker, place):
        from traceback import format_exception

        trace = "".join(format_exception(type(error), error, _users_part(error.__traceback__)))
        self.kind = _nearest_known(type(error))
        self.text = f"Caught {type(error).__name__} in {worker}, {place}.\nOriginal {trace}"

    def error(self):
        """The exception to raise: of the same class, with the text."""
        if not issubclass(self.kind, Exception) or issubclass(self.kind, StopIteration | StopAsyncIteration):
            return RuntimeError(self.text)  # the class means something else to the loop over the loader
        try:
            made = self.kind(_Text(self.text) if issubclass(self.kind, KeyError) else self.text)
            says_so = self.text in str(made)
        except Exception:  # noqa: BLE001  (its constructor asks for something else)
            says_so = False
        return made if says_so else _with_text(self.kind, self.text)


def _users_part(trace):
    """A traceback without the loader's own calls that it begins with."""
    below = trace
    while below is not None and below.tb_frame.f_code.co_filename.startswith(_OURS):
        below = below.tb_next
    return below or trace


def _with_text(kind, text):
    """An exception of a class that cannot be made of a text: of a subclass that can."""
    body = {"__init__": lambda self: None, "__str__": lambda self: text, "__module__": kind.__module__}
    try:
        return type(kind.__name__, (kind,), body)()
    except Exception:  # noqa: BLE001  (a class that refuses even that)
        return RuntimeError(text)


def _nearest_known(kind):
    """The class, or the nearest one above it that another process can find by name."""
    from pickle import dumps

    for candidate in kind.__mro__:
        try:
            dumps(candidate)
        except Exception:  # noqa: BLE001, S112  (a class made inside a function, or the like)
            continue
        return candidate
    return RuntimeError


def place(keys, position, plan, doing="put together"):
    """Which sample a fetcher is at, in words. ``position`` is what it has noted as its progress."""
    if plan.iterable:
        return f"after sample {position} of its stream"
    if not plan.batched:
        return f"at sample {keys!r}"
    keys = list(keys)
    if position < len(keys):
        return f"at sample {keys[position]!r}"
    shown = ", ".join(map(repr, keys[:8])) + (", ..." if len(keys) > 8 else "")
    return f"when the batch of the samples [{shown}] was {doing}"
