"""no_grad and its relatives as decorators."""

from functools import wraps
from types import coroutine

from wisp._C import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]

_GENERATOR, _COROUTINE = 0x20, 0x80  # bits of co_flags


def _decorate(guard, function):
    """`function` run inside a fresh guard of the same kind at every call."""
    if isinstance(function, type):
        raise RuntimeError(
            f"{type(guard).__name__} cannot decorate a class: it is ambiguous whether that means its constructor or all of its "
            "methods. Decorate the methods instead."
        )
    flags = _code_flags(function)
    if flags & _GENERATOR:

        @wraps(function)
        def wrapped(*args, **kwargs):
            return (yield from _guarded(guard, function(*args, **kwargs)))

    elif flags & _COROUTINE:

        @wraps(function)
        async def wrapped(*args, **kwargs):
            return await coroutine(_guarded)(guard, function(*args, **kwargs))

    else:

        @wraps(function)
        def wrapped(*args, **kwargs):
            with guard.clone():
                return function(*args, **kwargs)

    return wrapped


def _code_flags(function):
    """What kind of function it is, behind methods and partials. (inspect knows too, but takes long to import.)"""
    while not hasattr(function, "__code__"):
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        if inner is None:
            return 0
        function = inner
    return function.__code__.co_flags


def _guarded(guard, generator):
    """Runs a generator or coroutine; the guard is in force while it runs, not while its consumer does."""
    step, value = generator.send, None
    while True:
        try:
            with guard.clone():
                item = step(value)
        except StopIteration as stop:
            return stop.value
        try:
            value = yield item
            step = generator.send
        except GeneratorExit:
            with guard.clone():
                generator.close()
            raise
        except BaseException as error:  # noqa: BLE001  whatever the consumer throws in
            step, value = generator.throw, error


class set_multithreading_enabled:
    """Accepted, by itself or as a context, and means nothing: backward() runs on the thread that calls it.

    Args:
        mode: whether other threads may be used.
    """

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass

    def clone(self):
        """Another one like it."""
        return type(self)(self.mode)
