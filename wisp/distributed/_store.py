"""Stores: keys with values (bytes) that several threads or processes read and write."""

from collections import deque
from datetime import timedelta
from threading import Condition


class DistError(RuntimeError):
    """Something between processes failed."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store could not do what it was asked to, often in time."""


class QueueEmptyError(DistStoreError):
    """A queue has nothing to pop."""


for _error in (DistError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "wisp.distributed"


class Table:
    """The content of a store. Methods wait, if at all, for the seconds they are given; all values are bytes."""

    def __init__(self):
        self.values, self.queues, self.changed = {}, {}, Condition()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def get(self, key, seconds):
        with self.changed:
            self._wait_for([key], seconds)
            return self.values[key]

    def add(self, key, amount):
        with self.changed:
            try:
                total = int(self.values.get(key, 0)) + amount
            except ValueError:
                raise DistStoreError(f"add(): the value of '{key}' is not a number") from None
            self.values[key] = str(total).encode()
            self.changed.notify_all()
            return total

    def append(self, key, value):
        with self.changed:
            self.values[key] = self.values.get(key, b"") + value
            self.changed.notify_all()

    def compare_set(self, key, expected, desired):
        with self.changed:
            present = self.values.get(key)
            if present == expected or (present is None and not expected):
                self.values[key] = present = desired
                self.changed.notify_all()
            return expected if present is None else present

    def delete(self, key):
        with self.changed:
            return self.values.pop(key, None) is not None

    def has(self, keys):
        with self.changed:
            return all(self._has(key) for key in keys)

    def wait(self, keys, seconds):
        with self.changed:
            self._wait_for(keys, seconds)

    def keys(self):
        with self.changed:
            return list(self.values)

    def push(self, key, value):
        with self.changed:
            self.queues.setdefault(key, deque()).append(value)
            self.changed.notify_all()

    def pop(self, key, seconds):
        with self.changed:
            if not self.changed.wait_for(lambda: self.queues.get(key), seconds):
                raise QueueEmptyError(f"queue '{key}' is empty")
            return self.queues[key].popleft()

    def length(self, key):
        with self.changed:
            return len(self.queues.get(key, ()))

    def _has(self, key):
        return key in self.values or bool(self.queues.get(key))

    def _wait_for(self, keys, seconds):
        if not self.changed.wait_for(lambda: all(map(self._has, keys)), seconds):
            missing = ", ".join(key for key in keys if not self._has(key))
            raise DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {missing}")


def _bytes(value):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"values of a store are str or bytes, got {type(value).__name__}")


class Store:
    """The base of stores. Subclasses have ``_ask(method, *args)``, which calls a method of a table, wherever it is."""

    _seconds = 300.0

    def _ask(self, method, *args):
        raise NotImplementedError(f"{type(self).__name__} defines no _ask()")

    def _key(self, key):
        """The key by which the table knows a key of this store."""
        if not isinstance(key, str):
            raise TypeError(f"keys of a store are str, got {type(key).__name__}")
        return key

    def _keys(self, keys):
        return [self._key(key) for key in keys]

    @property
    def timeout(self):
        """How long get() and wait() wait."""
        return timedelta(seconds=self._seconds)

    def set_timeout(self, timeout):
        """Sets how long get() and wait() wait: a timedelta."""
        self._seconds = timeout.total_seconds()

    def set(self, key, value):
        """Sets the value of a key: str or bytes."""
        self._ask("set", self._key(key), _bytes(value))

    def get(self, key):
        """The value of a key as bytes; waits for it, for the timeout at most."""
        return self._ask("get", self._key(key), self._seconds)

    def add(self, key, amount):
        """Adds to a counter, which starts at 0; returns what it is then."""
        return self._ask("add", self._key(key), int(amount))

    def append(self, key, value):
        """Puts more behind the value of a key."""
        self._ask("append", self._key(key), _bytes(value))

    def compare_set(self, key, expected_value, desired_value):
        """Sets a value if it is the expected one ("" if there is none); returns what it is then, or was expected."""
        return self._ask("compare_set", self._key(key), _bytes(expected_value), _bytes(desired_value))

    def wait(self, keys, timeout=None):
        """Waits until all keys have values, for a timedelta or the timeout of the store."""
        self._ask("wait", self._keys(keys), self._seconds if timeout is None else timeout.total_seconds())

    def check(self, keys):
        """Whether all keys have values now."""
        return self._ask("has", self._keys(keys))

    def delete_key(self, key):
        """Forgets a key; returns whether there was one."""
        return self._ask("delete", self._key(key))

    def num_keys(self):
        """The number of keys, including those that the store has for itself."""
        return len(self._ask("keys"))

    def list_keys(self):
        """All keys."""
        return self._ask("keys")

    def multi_get(self, keys):
        """The values of several keys; waits for them."""
        self.wait(keys)
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        """Sets the values of several keys."""
        if len(keys) != len(values):
            raise ValueError(f"multi_set(): got {len(keys)} keys and {len(values)} values")
        for key, value in zip(keys, values):
            self.set(key, value)

    def queue_push(self, key, value):
        """Puts a value at the end of a queue."""
        self._ask("push", self._key(key), _bytes(value))

    def queue_pop(self, key, block=True):
        """Takes the first value of a queue; waits for one if ``block``."""
        return self._ask("pop", self._key(key), self._seconds if block else 0)

    def queue_len(self, key):
        """The number of values in a queue."""
        return self._ask("length", self._key(key))

    def has_extended_api(self):
        """True: append() and the methods for several keys are there."""
        return True

    def clone(self):
        """Another object for the same store."""
        raise NotImplementedError(f"{type(self).__name__} cannot be cloned")


class HashStore(Store):
    """A store for the threads of one process.

    >>> store = wisp.distributed.HashStore()
    >>> store.set("name", "value")
    >>> store.get("name"), store.add("count", 5)
    (b'value', 5)
    """

    def __init__(self):
        self._table = Table()

    def _ask(self, method, *args):
        return getattr(self._table, method)(*args)

    def clone(self):
        made = HashStore()
        made._table, made._seconds = self._table, self._seconds
        return made

    def __reduce__(self):
        raise TypeError("cannot pickle 'HashStore' object")


class PrefixStore(Store):
    """A store whose keys are those of another one that begin with ``prefix/``."""

    def __init__(self, prefix, store):
        self.prefix, self.underlying_store, self._seconds = prefix, store, store._seconds

    def _key(self, key):
        return self.underlying_store._key(f"{self.prefix}/{super()._key(key)}")

    def _ask(self, method, *args):
        return self.underlying_store._ask(method, *args)

    def clone(self):
        return PrefixStore(self.prefix, self.underlying_store.clone())


for _class in (Store, HashStore, PrefixStore):
    _class.__module__ = "wisp.distributed"
