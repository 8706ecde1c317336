"""Results that are there later: ``Future``, ``collect_all`` and ``wait_all``."""

from threading import Condition

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that somebody sets once and others wait for.

    Args:
        devices: accepted for programs that name devices; there is nothing to synchronise with on the CPU.
    """

    def __init__(self, *, devices=None):
        self._changed = Condition()
        self._done, self._value, self._error, self._callbacks = False, None, None, []

    def __class_getitem__(cls, item):
        return cls

    def done(self):
        """Whether the result, or an error in its place, is there."""
        return self._done

    def wait(self):
        """The result, once it is there; an error in its place is raised."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self):
        """The result of a future that is done."""
        if not self._done:
            raise RuntimeError("value() of a Future that is not done: call wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result):
        """Makes the future done, and calls what waits for it."""
        self._finish(result, None)

    def set_exception(self, result):
        """Makes the future done with an error, which wait() and value() raise."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value, error):
        with self._changed:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback):
        """Calls ``callback(self)`` when the future is done; at once if it is."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A future of ``callback(self)``, which is called when this one is done."""
        result = Future()

        def run(future):
            try:
                value = callback(future)
            except Exception as error:  # noqa: BLE001 (wait() raises it)
                result.set_exception(error)
            else:
                result.set_result(value)

        self.add_done_callback(run)
        return result


def collect_all(futures):
    """A future of the list of futures, done when all of them are."""
    futures = list(futures)
    result, left, lock = Future(), [len(futures)], Condition()

    def one_is_done(future):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            result.set_result(futures)

    if not futures:
        result.set_result(futures)
    for future in futures:
        future.add_done_callback(one_is_done)
    return result


def wait_all(futures):
    """The results of all futures, in order; the first error among them is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
