"""Exceptions of workers, raised again where the batches are used."""


class _Text(str):
    """A text whose repr is itself: KeyError shows the repr of its argument."""

    __slots__ = ()
    __repr__ = str.__str__


class Failure:
    """An exception as it is sent from a worker: its class, and a text with its traceback, the worker and the sample."""

    def __init__(self, error, worker, place):
        from traceback import format_exception

        trace = "".join(format_exception(type(error), error, error.__traceback__))
        self.kind = _nearest_known(type(error))
        self.text = f"Caught {type(error).__name__} in {worker}, {place}.\nOriginal {trace}"

    def error(self):
        """The exception to raise: of the same class if that can be made of a text, else a RuntimeError."""
        if issubclass(self.kind, StopIteration | StopAsyncIteration):  # it would end the loop quietly
            return RuntimeError(self.text)
        try:
            return self.kind(_Text(self.text) if issubclass(self.kind, KeyError) else self.text)
        except Exception:  # noqa: BLE001  (whatever its constructor asks for)
            return RuntimeError(self.text)


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


def place(keys, position, batched, iterable):
    """Which sample a fetcher is at, in words. ``position`` is what it has noted as its progress."""
    if iterable:
        return f"after sample {position} of its stream"
    if not batched:
        return f"sample {keys!r}"
    if position < len(keys):
        return f"sample {keys[position]!r}"
    shown = ", ".join(map(repr, list(keys)[:8])) + (", ..." if len(keys) > 8 else "")
    return f"while the batch of the samples [{shown}] was put together"
