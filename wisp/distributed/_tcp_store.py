"""TCPStore: one process holds the keys and values, the others ask it over the network.

A message is a list of fields, each of which says its kind (bytes, text, number or list) and its length. Nothing that
arrives is run or unpickled: requests name a method of Table and its arguments.
"""

import socket
import struct
import time
from contextlib import suppress
from datetime import timedelta
from threading import Lock, Thread
from weakref import finalize

from wisp.distributed._store import DistError, DistNetworkError, DistStoreError, QueueEmptyError, Store, Table

_METHODS = frozenset(
    ("add", "append", "compare_set", "delete", "get", "has", "keys", "length", "pop", "push", "set", "wait")
)
_ERRORS = {kind.__name__: kind for kind in (DistError, DistStoreError, QueueEmptyError)}
_LARGEST = 1 << 30
_WORKERS = "init/"  # counts the processes that have come


# --- messages


def _pack(value):
    if value is None:
        return b"n" + struct.pack(">I", 0)
    if isinstance(value, bytes):
        kind, body = b"b", value
    elif isinstance(value, str):
        kind, body = b"s", value.encode()
    elif isinstance(value, (list, tuple)):
        kind, body = b"l", b"".join(map(_pack, value))
    else:
        kind, body = b"f" if isinstance(value, float) else b"i", repr(value + 0).encode()
    return kind + struct.pack(">I", len(body)) + body


def _unpack(data, at=0):
    """(value, where it ends)."""
    kind, (size,) = data[at : at + 1], struct.unpack_from(">I", data, at + 1)
    at += 5
    end = at + size
    if end > len(data):
        raise ValueError("a message is shorter than it says")
    body = data[at:end]
    if kind == b"l":
        items = []
        while at < end:
            item, at = _unpack(data, at)
            items.append(item)
        return items, end
    read = {b"n": lambda _: None, b"b": bytes, b"s": bytes.decode, b"i": int, b"f": float}
    return read[kind](body), end


def _send(connection, value):
    message = _pack(value)
    connection.sendall(struct.pack(">I", len(message)) + message)


def _receive(connection):
    (size,) = struct.unpack(">I", _read(connection, 4))
    if size > _LARGEST:
        raise ValueError(f"a message of {size} bytes is too large")
    return _unpack(_read(connection, size))[0]


def _read(connection, size):
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)


# --- the process that has the table


class _Server:
    """Answers requests, one thread for each connection."""

    def __init__(self, host, port):
        self.table, self.connections, self.lock, self.closed = Table(), set(), Lock(), False
        try:
            self.listener = socket.create_server((host, port))
        except OSError as error:
            raise DistNetworkError(f"The server socket has failed to listen on ({host}, {port}): {error}") from error
        self.port = self.listener.getsockname()[1]
        Thread(target=self._accept, name="TCPStore", daemon=True).start()

    def _accept(self):
        with suppress(OSError):  # closed
            while True:
                connection, _ = self.listener.accept()
                with self.lock:
                    if self.closed:
                        connection.close()
                        return
                    self.connections.add(connection)
                Thread(target=self._serve, args=(connection,), name="TCPStore client", daemon=True).start()

    def _serve(self, connection):
        with suppress(Exception), connection:  # it ends, whatever a stranger may have sent
            while True:
                method, *args = _receive(connection)
                _send(connection, self._answer(method, args))
        with self.lock:
            self.connections.discard(connection)

    def _answer(self, method, args):
        """["ok", result], or the name of an error and its text."""
        if method not in _METHODS:
            return ["DistError", f"a store has no method {method!r}"]
        try:
            result = getattr(self.table, method)(*args)
        except DistError as error:
            return [type(error).__name__, str(error)]
        except TypeError as error:
            return ["DistError", str(error)]
        return ["ok", result]

    def close(self):
        with self.lock:
            self.closed = True
            open_ones = [self.listener, *self.connections]
        for one in open_ones:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits on it
            one.close()


# --- the store


def _connect(host, port, seconds):
    """A connection; the server may not be there yet."""
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((host, port), timeout=max(end - time.monotonic(), 0.01))
        except OSError as error:
            if time.monotonic() >= end:
                raise DistNetworkError(f"The client socket has timed out after {seconds * 1000:.0f}ms while trying to connect to "
                                       f"({host}, {port}).") from error  # fmt: skip
            time.sleep(0.02)


class TCPStore(Store):
    """A store for several processes, on one machine or many.

    Args:
        host_name, port: where the process that holds the values listens; with port 0 it chooses one (see ``port``).
        world_size: how many processes there will be.
        is_master: whether this process holds the values.
        timeout: a timedelta; how long to wait for the connection, in get() and in wait().
        wait_for_workers: whether the master waits for all the others, if their number is given.
        multi_tenant, master_listen_fd, use_libuv: accepted and ignored.

    >>> store = wisp.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    >>> other = wisp.distributed.TCPStore("127.0.0.1", store.port)
    >>> other.set("name", "value")
    >>> store.get("name")
    b'value'
    """

    def __init__(
        self,
        host_name,
        port,
        world_size=None,
        is_master=False,
        timeout=timedelta(seconds=300),
        wait_for_workers=True,
        multi_tenant=False,
        master_listen_fd=None,
        use_libuv=True,
    ):
        self.host, self._seconds = host_name, timeout.total_seconds()
        server = _Server(host_name, port) if is_master else None
        if server is not None:
            port = server.port
            finalize(self, server.close)
        self.port = port
        self._connection, self._lock = _connect(host_name, port, self._seconds), Lock()
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        finalize(self, self._connection.close)
        if world_size is not None:
            self._wait_for_workers(world_size, is_master and wait_for_workers)

    def _wait_for_workers(self, world_size, wait):
        count = self.add(_WORKERS, 1)
        end = time.monotonic() + self._seconds
        while wait and count < world_size:
            if time.monotonic() >= end:
                raise DistStoreError(f"Timed out after {self._seconds:.0f} seconds waiting for clients. {count}/{world_size} "
                                     "clients joined.")  # fmt: skip
            time.sleep(0.01)
            count = self.add(_WORKERS, 0)

    def _ask(self, method, *args):
        waits = args[-1] if method in ("get", "wait", "pop") else self._seconds
        with self._lock:
            self._connection.settimeout(waits + 10)  # the server answers in time, if it lives
            try:
                _send(self._connection, [method, *args])
                outcome, result = _receive(self._connection)
            except (OSError, ValueError, struct.error) as error:
                raise DistNetworkError(
                    f"The connection to the store at ({self.host}, {self.port}) failed: {error}"
                ) from error
        if outcome != "ok":
            raise _ERRORS.get(outcome, DistError)(result)
        return bool(result) if method in ("delete", "has") else result

    def clone(self):
        made = TCPStore(self.host, self.port, timeout=self.timeout)
        made._master = self  # which must live as long
        return made

    def __reduce__(self):
        raise TypeError("cannot pickle 'TCPStore' object")

    def __repr__(self):
        return f"TCPStore({self.host}, {self.port})"


TCPStore.__module__ = "wisp.distributed"
