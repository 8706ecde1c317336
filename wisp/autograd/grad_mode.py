"""no_grad and its relatives as decorators."""

from __future__ import annotations

import functools
import inspect

from wisp._C import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


def _decorate(guard, function):
    """`function` run inside a fresh guard of the same kind at every call."""
    if inspect.isclass(function):
        raise RuntimeError(f"{type(guard).__name__} cannot decorate a class; decorate its methods instead")
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(guard, function)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapped_coroutine(*args, **kwargs):
            with guard.clone():
                return await function(*args, **kwargs)

        return wrapped_coroutine

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with guard.clone():
            return function(*args, **kwargs)

    return wrapped


def _decorate_generator(guard, function):
    """The guard is in force while the generator runs, not while its consumer does."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        send, value = generator.send, None
        while True:
            try:
                with guard.clone():
                    item = send(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield item
                send = generator.send
            except GeneratorExit:
                with guard.clone():
                    generator.close()
                raise
            except BaseException as error:
                send, value = generator.throw, error

    return wrapped
