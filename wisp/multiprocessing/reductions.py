"""Storages in shared memory, and how they are sent to other processes."""

import os
import weakref
from multiprocessing import util
from multiprocessing.reduction import ForkingPickler

from wisp import _C, _shared_memory
from wisp._C import Tensor
from wisp._storage import UntypedStorage

_names = {}  # of every storage in shared memory: its file, and the process to remove it, by the address of the memory


def is_shared(tensor):
    """Whether a tensor lies in shared memory."""
    return tensor._storage_data_ptr() in _names


def share(storage):
    """Moves a storage into shared memory, with all tensors on it."""
    if is_shared(storage._bytes):
        return
    if storage._bytes.is_meta:
        raise RuntimeError("share_memory_(): a tensor on the device 'meta' has no memory to share")
    try:
        path = _shared_memory.create(max(storage.nbytes(), 1))
    except OSError as error:
        raise RuntimeError(f"share_memory_(): {error.strerror}") from None
    storage._bytes._move_storage(_own(path))


def _own(path):
    """The memory of a file whose name is ours, to be removed when the memory is no longer used."""
    mapping = _shared_memory.Mapping(path)
    _names[mapping.address] = path, os.getpid()
    end = weakref.finalize(mapping.buffer, _disown, mapping.address)  # done before it is unmapped: the last comes first
    end.atexit = False  # tensors may outlive the interpreter's last steps
    return mapping.buffer


def _disown(address):
    path, owner = _names.pop(address)
    if os.getpid() == owner:  # not in a process forked since
        _shared_memory.unlink(path)


def _disown_all():
    """At the end of a process, whose memory is not released piece by piece."""
    for path, owner in list(_names.values()):
        if os.getpid() == owner:
            _shared_memory.unlink(path)


def reduce_storage(storage):
    """A storage as a name of its memory, which belongs to the receiver."""
    share(storage)
    name = _shared_memory.new_name()
    try:
        os.link(_names[storage.data_ptr()][0], name)
    except FileNotFoundError:
        raise RuntimeError(
            "cannot send a tensor whose memory was shared by another process, which has dropped it; send a clone()"
        ) from None
    return rebuild_storage, (name, storage.nbytes())


def rebuild_storage(name, size):
    """The storage that another process has sent."""
    try:
        memory = _own(name)
    except FileNotFoundError:
        raise RuntimeError(
            "the shared memory of a tensor is gone: it was received before, or the program that sent it has ended"
        ) from None
    if size > 0:
        return UntypedStorage._around(_C.frombuffer(memory, dtype=_C.uint8, count=size))
    storage = UntypedStorage(0)
    storage._bytes._move_storage(memory)
    return storage


def reduce_tensor(tensor):
    """A tensor as a view of its storage, which the pickler then sends by reduce_storage()."""
    check_can_leave(tensor)
    return tensor.__reduce_ex__(5)


def check_can_leave(tensor):
    """Refuses results of recorded operations: their history cannot be sent."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries. If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )


def init_reductions():
    """Teaches multiprocessing to send tensors; done when wisp.multiprocessing is imported."""
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(Tensor, reduce_tensor)


def _tidy_up_at_the_end(_=None):
    util.Finalize(None, _disown_all, exitpriority=-50)


_tidy_up_at_the_end()
util.register_after_fork(_disown_all, _tidy_up_at_the_end)  # processes begin without finalizers
