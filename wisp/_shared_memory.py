"""Files in memory that several processes map.

All files of a program, that is of a process and those it has started with multiprocessing, lie in one folder in /dev/shm
(or, without that, among the temporary files). Files are passed on by name, so no file descriptors are kept open. Whoever
is told a name owns it: each message carries a name (a hard link) of its own, which its receiver removes. What is left when
a program ends is removed with the folder; what is left when it is killed, by the next program that makes one. Every process
of the program holds a lock for as long as it lives, which says whether a folder is still in use.
"""

import ctypes
import errno
import os
import weakref
from contextlib import suppress
from functools import partial
from multiprocessing import process, util
from time import time

try:
    import fcntl
except ImportError:  # not on this system: nobody tidies up after a program that was killed
    fcntl = None

_PREFIX = "wisp-"
_FORGOTTEN = 3600  # seconds
_joined = None  # (folder, lock)
_ends = {}  # what unmaps memory, by address

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_ssize_t]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.py_object]  # the last one is ignored
_READ_WRITE, _SHARED, _FAILED = 3, 1, ctypes.c_void_p(-1).value


# --- the folder


def _roots():
    """Where the folder may be, best place first."""
    from tempfile import gettempdir

    places = ["/dev/shm"]
    with suppress(FileNotFoundError):
        places.append(gettempdir())
    return [path for path in places if os.access(path, os.W_OK | os.X_OK)]


def folder():
    """The folder of this program; made if need be, and held for as long as this process lives."""
    global _joined
    if _joined is None or not os.path.isdir(_joined[0]):
        config = process.current_process()._config  # what processes hand on to those they start
        _joined = _join(config.get("wisp_folder")) or _make_folder(_roots())
        config["wisp_folder"] = _joined[0]
    return _joined[0]


def prepare_folder():
    """Makes the folder now, so that processes started from here will use it. Without one they can still do much."""
    with suppress(OSError):
        folder()


def _join(path):
    try:
        return path and (path, _Lock(path))
    except OSError:  # it is gone
        return None


def _make_folder(roots):
    if not roots:
        raise OSError(errno.ENOSPC, "there is no place for shared memory: neither /dev/shm nor a temporary folder")
    root, *others = roots
    try:
        _sweep(root)
        path, lock = _locked_folder(root)
    except OSError:  # full
        return _make_folder(others)
    # A low priority: run after the processes this one has started were waited for.
    util.Finalize(None, _remove, args=(path,), exitpriority=-100)
    return path, lock


def _locked_folder(root):
    """A new folder, and its lock. Others can see it by its name only when it is locked."""
    from tempfile import mkdtemp

    unfinished = mkdtemp(prefix=f".{_PREFIX}", dir=root)
    path = os.path.join(root, os.path.basename(unfinished)[1:])
    try:
        lock = _Lock(unfinished)
        os.rename(unfinished, path)
    except BaseException:
        _remove(unfinished)
        raise
    return path, lock


class _Lock:
    """A lock that ends with the process, or with the last of those forked from it."""

    file = None

    def __init__(self, path, exclusive=False):
        flags = os.O_RDWR | os.O_CLOEXEC | (0 if exclusive else os.O_CREAT)
        self.file = os.open(os.path.join(path, "lock"), flags, 0o600)
        if fcntl is not None:
            fcntl.flock(self.file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)

    def __del__(self):
        if self.file is not None:
            os.close(self.file)


def _sweep(root):
    """Removes the folders of programs that are gone."""
    for name in os.listdir(root) if fcntl is not None else ():
        path = os.path.join(root, name)
        if name.startswith(_PREFIX) and os.path.isfile(os.path.join(path, "lock")):
            try:
                held = _Lock(path, exclusive=True)
            except OSError:  # in use, or somebody else's
                continue
            _remove(path)
            del held
        elif name.startswith(f".{_PREFIX}"):  # made, and then the program was killed at once
            with suppress(OSError):
                if os.stat(path).st_mtime < time() - _FORGOTTEN:
                    _remove(path)


def _remove(path):
    from shutil import rmtree

    rmtree(path, ignore_errors=True)


def remove_folder():
    """Removes the folder of this program: for those that outlive the process that made it."""
    path = process.current_process()._config.get("wisp_folder")
    if path is not None:
        _remove(path)


# --- files


def new_name(prefix=""):
    """The path of a file that does not exist yet."""
    return os.path.join(folder(), prefix + os.urandom(8).hex())


def remove_files(prefix):
    """Removes the files whose names begin like this."""
    if _joined is not None and os.path.isdir(_joined[0]):
        for name in os.listdir(_joined[0]):
            if name.startswith(prefix):
                unlink(os.path.join(_joined[0], name))


def unlink(path):
    """Removes a name, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def create(size):
    """A new file with memory reserved for it: its path. Where there is not enough, an OSError says so now: the process
    that wrote to the missing memory later would be killed."""
    path = new_name()
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _reserve(file, size)
    except OSError as error:
        unlink(path)
        if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EDQUOT):
            raise
        raise OSError(error.errno, f"{size:,} bytes of shared memory do not fit into {os.path.dirname(path)}") from None
    finally:
        os.close(file)
    return path


def _reserve(file, size):
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    zeros = bytes(1 << 20)
    while size > 0:
        size -= os.write(file, zeros[: min(size, len(zeros))])


def write(path, parts):
    """A new file with some bytes-like objects one after the other. Where they do not fit, there is an OSError and no file."""
    with open(path, "xb") as file:
        try:
            file.writelines(parts)
            file.flush()
        except OSError:
            unlink(path)
            raise


class Mapping:
    """The memory of a file: ``buffer`` is writable, and the memory stays until nobody uses that any more.

    Python's own mmap keeps a file descriptor for every file; this does not.
    """

    def __init__(self, path):
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self.size = os.fstat(file).st_size
            self.address = _libc.mmap(None, self.size, _READ_WRITE, _SHARED, file, 0)
        finally:
            os.close(file)
        if self.address == _FAILED:
            code = ctypes.get_errno()
            raise OSError(code, f"cannot map {self.size:,} bytes of shared memory: {os.strerror(code)}")
        self.buffer = (ctypes.c_char * self.size).from_address(self.address)
        # No function of Python's is called at the end: a Ctrl-C that came just then would be lost. A reference that has done
        # its work stays until its address is used again.
        _ends[self.address] = weakref.ref(self.buffer, partial(_libc.munmap, self.address, self.size))
