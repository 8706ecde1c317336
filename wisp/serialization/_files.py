"""Bytes in and out of files: writing that leaves the old or the new file whole, and reading into one buffer."""

import os
import stat
from pickle import UnpicklingError


class FileError(UnpicklingError, RuntimeError):
    """A file that is damaged, of no known format, or names what must not be made from a file."""


def shown(item):
    """Something that a file contains, for messages: its beginning. (All of it could take for ever to print.)"""
    from reprlib import repr

    return repr(item)[:200]


def is_path(f):
    return isinstance(f, (str, os.PathLike))


# --- writing


def write(f, chunks):
    """Writes an iterable of bytes-like objects to a path (atomically) or to an object with ``write()``."""
    if is_path(f):
        return write_path(os.fspath(f), chunks)
    if not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    for chunk in chunks:
        _write_all(f, memoryview(chunk))
    return None


def _write_all(f, chunk):
    """Files without a buffer may take less at once than they are given."""
    while len(chunk):
        taken = f.write(chunk)
        chunk = chunk[taken if isinstance(taken, int) else len(chunk) :]


def write_path(path, chunks):
    """Writes aside in the same folder, syncs, renames, syncs the folder: a kill at any moment leaves the old or the
    new file whole. An existing file keeps its mode; a symbolic link keeps pointing to it."""
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    found = os.stat(path) if os.path.exists(path) else None
    if found is not None and not stat.S_ISREG(found.st_mode):  # a pipe or a device: there is nothing to replace
        with open(path, "wb") as file:
            return file.writelines(chunks)
    short = os.fsdecode(os.fsencode(name)[:200])  # file systems limit the bytes of a name
    aside = os.path.join(folder, f".{short}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        _write_synced(aside, chunks, None if found is None else stat.S_IMODE(found.st_mode))
        os.replace(aside, path)
    except BaseException as error:
        if os.path.exists(aside):
            os.unlink(aside)
        if isinstance(error, OSError) and error.filename == aside:  # a name that nobody has given
            raise OSError(error.errno, error.strerror, path) from None
        raise
    return _sync_folder(folder)


def _write_synced(path, chunks, mode):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    with open(descriptor, "wb") as file:
        if mode is not None:
            os.chmod(path, mode)
        file.writelines(chunks)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder):
    """Makes the new name itself durable. Some file systems cannot; there the rename has to do."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


# --- reading

MAPPED_FROM = 1 << 20  # bytes; smaller files are read faster than mapped


class Source:
    """The bytes of a file from some position on.

    Attributes:
        buffer: a memoryview of them, writable, changes of which never reach the file.
        mapped: whether tensors are to be made on the buffer itself; else each gets a copy of its part.
        fresh: whether the bytes have been read, so that looking at all of them costs little.
    """

    def __init__(self, f, mmap=None):
        self._stream = None
        if is_path(f):
            self._open(os.fspath(f), mmap)
        elif mmap:
            raise ValueError("f must be a file path in order to use the mmap argument")
        else:
            self._read(f)
        if not len(self.buffer):
            raise EOFError("Ran out of input: the file is empty")

    def _open(self, path, mmap):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0 or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                self._read(file)
                self._stream = None
                return
            import mmap as maps

            self.buffer = memoryview(maps.mmap(file.fileno(), size, access=maps.ACCESS_COPY))
        self.mapped = size >= MAPPED_FROM if mmap is None else mmap
        self.fresh = not self.mapped

    def _read(self, f):
        if not hasattr(f, "read"):
            raise AttributeError(
                f"expected 'f' to be string, path, or a file-like object with a 'read' attribute, got {type(f)}"
            )
        try:
            self._stream, self._start = f, f.tell()
        except (AttributeError, OSError):  # a pipe
            self._stream = None
        data = f.read()
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"expected a file opened in binary mode, but read() gave {type(data).__name__}")
        self.buffer = memoryview(bytearray(data))
        self.mapped = self.fresh = True

    def used(self, size):
        """Leaves a stream behind what has been used of it: several objects may follow each other."""
        if self._stream is not None:
            self._stream.seek(self._start + size)

    def bytes_of(self, begin, end, alignment=1):
        """A part as a tensor of bytes: on the buffer itself if it is mapped and so aligned, else a copy."""
        from wisp import _C

        if end <= begin:
            return _C._functions["empty"](0, dtype=_C.uint8)
        found = _C.frombuffer(self.buffer, dtype=_C.uint8, count=end - begin, offset=begin)
        return found if self.mapped and found.data_ptr() % alignment == 0 else found.clone()


def device_of(*described):
    """A device that a file names."""
    from wisp import _C

    try:
        return _C.device(*described)
    except RuntimeError as error:
        raise FileError(f"the file is damaged: {error}") from None


def view(cls, data, dtype, offset, size, stride, requires_grad=False, state=None):
    """A tensor on a tensor of bytes, after checking that it stays inside."""
    from wisp import _rebuild
    from wisp._storage import storage_of

    size = tuple(size)
    stride = None if stride is None else tuple(stride)
    _check_view(data._storage_nbytes(), dtype.itemsize, offset, size, stride)
    return _rebuild.tensor(cls, storage_of(data), dtype, offset, size, stride, requires_grad, state)


def _check_view(available, itemsize, offset, size, stride):
    numbers = (offset, *size, *(stride or ()))
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or (
        stride is not None and len(stride) != len(size)
    ):
        raise FileError(
            f"the file is damaged: a tensor has size {shown(size)}, strides {shown(stride)} and offset {shown(offset)}"
        )
    if 0 in size:
        return
    count = last = 1
    for n in size:
        count *= n
    if stride is not None:
        last += sum((n - 1) * s for n, s in zip(size, stride))
    else:
        last = count
    if (offset + last) * itemsize > available or count >= 1 << 62:
        raise FileError(f"the file is damaged: a tensor of size {shown(size)} reaches beyond its {available} bytes")
