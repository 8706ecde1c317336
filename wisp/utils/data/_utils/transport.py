"""Batches on their way from a worker process.

A batch is pickled, with the memory of its tensors and arrays aside. Small batches travel in the pipe whole. Of others the
pipe has only the name of a file in shared memory; the receiver maps it, removes the name at once, and its tensors use that
memory. When there is no room for the file, the batch goes through the pipe after all.
"""

import io
import pickle
import struct
from multiprocessing.reduction import ForkingPickler

from wisp import _C, _shared_memory
from wisp._C import Tensor
from wisp.multiprocessing.reductions import check_can_leave, is_shared

_HEAD = struct.Struct("<qBBI")  # number of the task, kind, whether there is a file, number of parts
_ALIGNED, _IN_PIPE = 64, 32 * 1024


class _BatchPickler(pickle.Pickler):
    """Sends the elements of tensors, not the storages behind them."""

    def __init__(self, file, buffers):
        super().__init__(file, 5, buffer_callback=buffers.append)
        self.dispatch_table = ForkingPickler(file).dispatch_table

    def reducer_override(self, value):
        if type(value) is not Tensor or is_shared(value) or value._attributes():
            return NotImplemented
        check_can_leave(value)
        order = None if value.is_contiguous() else value.dim_order()
        dense = value.detach() if order is None else value.detach().permute(order).contiguous()  # keeps a memory format
        memory = pickle.PickleBuffer(dense.reshape(-1).view(_C.uint8))
        return _tensor, (memory, value.dtype, tuple(dense.shape), order, value.requires_grad)


def _tensor(memory, dtype, size, order, requires_grad):
    """A tensor over some memory; ``order`` is that of its dimensions there, if not the usual one."""
    if 0 in size:
        made = _C._functions["empty"](size, dtype=dtype)
    else:
        made = _C.frombuffer(memory, dtype=dtype).view(size)
    if order is not None:
        made = made.permute([order.index(d) for d in range(len(order))])
    return made.requires_grad_() if requires_grad else made


def _pickled(value):
    file, buffers = io.BytesIO(), []
    _BatchPickler(file, buffers).dump(value)
    return [file.getbuffer(), *(buffer.raw() for buffer in buffers)]


def _padded(parts):
    """The parts with zeros between them, so that each begins at a multiple of 64 bytes."""
    for part in parts:
        yield part
        yield bytes(-len(part) % _ALIGNED)


def send(connection, prefix, number, kind, value=None):
    """Sends a result. Raises what pickling raises; then nothing was sent."""
    parts = _pickled(value)
    sizes = [len(part) for part in parts]
    name = _filed(prefix, parts) if sum(sizes) > _IN_PIPE else None
    head = _HEAD.pack(number, kind, name is not None, len(parts)) + struct.pack(f"<{len(parts)}q", *sizes)
    body = [name.encode()] if name else _padded(parts)
    connection.send_bytes(b"".join([head, bytes(-len(head) % _ALIGNED), *body]))


def _filed(prefix, parts):
    """The name of a new file with the parts; None if there is no room for it."""
    try:
        name = _shared_memory.new_name(prefix)
        _shared_memory.write(name, _padded(parts))
    except OSError:
        return None
    return name


class Result:
    """What has arrived for one task. A file is mapped, and its name removed, at once."""

    def __init__(self, message):
        self.number, self.kind, filed, count = _HEAD.unpack_from(message)
        self._sizes = struct.unpack_from(f"<{count}q", message, _HEAD.size)
        start = _HEAD.size + 8 * count
        body = memoryview(message)[start + -start % _ALIGNED :]
        self._memory = _mapped(bytes(body).decode()) if filed else body

    def value(self):
        """The value that was sent."""
        parts, start = [], 0
        for size in self._sizes:
            parts.append(self._memory[start : start + size])
            start += size + -size % _ALIGNED
        return pickle.loads(parts[0], buffers=parts[1:])


def _mapped(name):
    try:
        return memoryview(_shared_memory.Mapping(name).buffer).cast("B")
    finally:
        _shared_memory.unlink(name)
