"""fork() and wait(): calls whose results are asked for later."""


class Future:
    """The result of a call made by fork(). The call has been done when fork() returns."""

    def __init__(self, result=None, error=None):
        self._result, self._error = result, error

    def done(self):
        """Whether the result is there."""
        return True

    def wait(self):
        """The result of the call, or its exception."""
        if self._error is not None:
            raise self._error
        return self._result

    value = wait

    def then(self, callback):
        """A future of ``callback(self)``."""
        return fork(callback, self)


def fork(func, *args, **kwargs):
    """Calls a function; wait() gives its result.

    >>> future = wisp.jit.fork(wisp.neg, wisp.ones(2))
    >>> wisp.jit.wait(future)
    tensor([-1., -1.])
    """
    try:
        return Future(func(*args, **kwargs))
    except Exception as error:  # noqa: BLE001 (wait() raises it)
        return Future(error=error)


def wait(future):
    """The result of a call that fork() made."""
    return future.wait()
