"""fork() and wait(): calls that run beside the program, whose results are asked for later."""

import threading
import types

from wisp import _C, futures


class Future(futures.Future):
    """The result of a call made by fork(). ``Future[T]`` is its type in annotations of compiled functions."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def _run(self, func, args, kwargs):
        value = error = None
        try:
            value = func(*args, **kwargs)
        except BaseException as raised:  # noqa: BLE001 (wait() raises it)
            error = raised
        self._finish(value, error)


def fork(func, *args, **kwargs):
    """Calls a function on another thread; wait() gives its result.

    Grad mode and inference mode are those of the caller. Where more than that belongs to the calling thread (a
    transform, autocast, a trace, lazy evaluation), the function is called at once.

    In compiled functions, calls that only compute something begin at once on another thread. Others are made where
    they stand, as are all of them while gradients are recorded.

    >>> future = wisp.jit.fork(wisp.neg, wisp.ones(2))
    >>> wisp.jit.wait(future)
    tensor([-1., -1.])
    """
    future = Future()
    if _C._is_watched():
        future._run(func, args, kwargs)
        return future
    grad, inference = _C.is_grad_enabled(), _C.is_inference_mode_enabled()
    threading.Thread(target=_run_beside, args=(future, grad, inference, func, args, kwargs), daemon=True).start()
    return future


def _run_beside(future, grad, inference, *call):
    from wisp import inference_mode, set_grad_enabled

    with inference_mode(inference), set_grad_enabled(grad):
        future._run(*call)


def wait(future):
    """The result of a call that fork() made."""
    return future.wait()


_fork, _wait = fork, wait  # as older programs call them
