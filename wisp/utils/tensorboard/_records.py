"""Event files: records with checksums, written by a thread in the background."""

import atexit
import os
import socket
import threading
import time
import weakref
from functools import lru_cache
from itertools import count
from struct import pack

from wisp.utils.tensorboard._proto import chunk, double, integer

_LIMIT = 1024  # events that wait for the thread at most, before a caller waits too
_numbers = count()
_open_files = weakref.WeakSet()


# --- the checksum: CRC-32C, the polynomial of Castagnoli


def _tables():
    """tables[k][b]: what byte b contributes when k bytes of a word follow it."""
    first = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        first.append(byte)
    tables = [first]
    for _ in range(3):
        tables.append([entry >> 8 ^ first[entry & 255] for entry in tables[-1]])
    return tables


_LAST, _THIRD, _SECOND, _FIRST = _tables()


def crc32c(data):
    """The CRC-32C checksum of bytes, four at a time.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc, whole = 0xFFFFFFFF, len(data) & ~3
    for word in memoryview(data)[:whole].cast("I"):
        word ^= crc
        crc = _FIRST[word & 255] ^ _SECOND[word >> 8 & 255] ^ _THIRD[word >> 16 & 255] ^ _LAST[word >> 24]
    for byte in data[whole:]:
        crc = crc >> 8 ^ _LAST[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data):
    """The checksum as records store it: rotated and shifted, because checksums of data with checksums are weak."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@lru_cache
def _length(size):
    """A length and its checksum; most records of a file have one of a few."""
    length = pack("<Q", size)
    return length + pack("<I", masked_crc32c(length))


def record(data):
    """A record: the length, its checksum, the data, its checksum."""
    return b"".join((_length(len(data)), data, pack("<I", masked_crc32c(data))))


class RecordWriter:
    """Writes records to a file object.

    Args:
        writer: an object with ``write``, ``flush`` and ``close``.
    """

    def __init__(self, writer):
        self._writer = writer

    def write(self, data):
        """Writes a record of these bytes."""
        self._writer.write(record(data))

    def flush(self):
        """Flushes the file."""
        self._writer.flush()

    def close(self):
        """Closes the file."""
        self._writer.close()


# --- the file and its thread


class EventFile:
    """An event file that takes encoded events and writes them in the background.

    An error of the thread (a full disk, say) is raised by the next call. A process forked from this one goes on in a file
    of its own; what waited in the parent is written by the parent.

    Args:
        folder: where the file is made.
        max_queue: how many events wait before they are written.
        flush_secs: how many seconds they wait at most.
        suffix: the end of the file's name.
    """

    def __init__(self, folder, max_queue, flush_secs, suffix):
        os.makedirs(folder, exist_ok=True)
        self._folder, self._suffix = folder, suffix
        self._max_queue, self._flush_secs = max(1, max_queue), max(0.001, flush_secs)
        self._start()

    def _start(self):
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self.path = os.path.join(self._folder, name + self._suffix)
        # Written without a buffer in this process, which a fork would copy.
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._changed = threading.Condition()
        self._pending, self._error = [_first_event()], None
        self._urgent = self._writing = self._stopping = False
        self._thread = threading.Thread(target=self._run, name="wisp event writer", daemon=True)
        self._thread.start()
        _open_files.add(self)

    def add(self, event):
        """Takes an encoded event."""
        if self._thread is None:
            self._start()
        with self._changed:
            self._changed.wait_for(lambda: len(self._pending) < _LIMIT or self._error)
            self._raise_error()
            self._pending.append(event)
            if len(self._pending) >= self._max_queue:
                self._wake()

    def flush(self):
        """Waits until everything is in the file."""
        if self._thread is None:
            return
        with self._changed:
            self._wake()
            self._changed.wait_for(lambda: not (self._pending or self._writing) or self._error)
            self._raise_error()

    def close(self):
        """Writes what is left and ends the thread."""
        if self._thread is None:
            return
        with self._changed:
            self._stopping = True
            self._wake()
        self._thread.join()
        os.close(self._descriptor)
        self._thread = None
        _open_files.discard(self)
        self._raise_error()

    def _wake(self):
        self._urgent = True
        self._changed.notify_all()

    def _raise_error(self):
        if self._error is not None:
            raise RuntimeError(f"the event file {self.path} could not be written: {self._error}") from self._error

    def _run(self):
        while self._write_batch():
            pass

    def _write_batch(self):
        """Writes what has come until it was urgent or time; whether more is to come."""
        with self._changed:
            self._changed.wait_for(lambda: self._urgent, self._flush_secs)
            batch, self._pending = self._pending, []
            self._urgent, self._writing, goes_on = False, True, not self._stopping
        try:
            _write_all(self._descriptor, b"".join(map(record, batch)))
        except Exception as error:  # noqa: BLE001  (whatever it is, the caller gets it)
            self._error = error
        with self._changed:
            self._writing = False
            self._changed.notify_all()
        return goes_on and self._error is None

    def _forget_parent(self):
        """After a fork, in the child: there is no thread, and the file and its waiting events are the parent's."""
        os.close(self._descriptor)
        self._thread, self._pending, self._error = None, [], None


def _first_event():
    """What every event file begins with."""
    source = chunk(1, "wisp.utils.tensorboard")
    return double(1, time.time()) + chunk(3, "brain.Event:2") + chunk(10, source)


def _write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def timed(event, step, walltime):
    """An event with its time and step."""
    event = double(1, time.time() if walltime is None else float(walltime)) + event
    return event if step is None else event + integer(2, step)


def _forget_parents():
    for file in tuple(_open_files):
        file._forget_parent()


@atexit.register
def _close_all():
    for file in tuple(_open_files):
        file.close()


os.register_at_fork(after_in_child=_forget_parents)
