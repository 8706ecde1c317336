"""What pickles of tensors call when they are loaded. Names and arguments are part of files that exist: they stay."""

from wisp import _C
from wisp._storage import UntypedStorage


def storage(data):
    """A storage with a copy of some bytes."""
    made = UntypedStorage(len(data))
    if len(data):
        memoryview(made._bytes)[:] = data
    return made


def meta_tensor(cls, dtype, size, stride, requires_grad, state=None):
    """A tensor without values, on the device "meta"."""
    made = _C._functions["empty_strided"](size, stride, dtype=dtype, device="meta")
    return _finished(cls, made, requires_grad, state)


def tensor(cls, storage, dtype, offset, size, stride, requires_grad, state=None):
    """A view of a storage, as an object of a class, with attributes. ``stride`` None means contiguous."""
    with _C.no_grad():
        made = _C._functions["empty"](0, dtype=dtype)._set(storage._bytes, offset, size, stride)
    return _finished(cls, made, requires_grad, state)


def _finished(cls, made, requires_grad, state):
    made = made if cls is _C.Tensor else _C._make_subclass(cls, made)
    if requires_grad:
        made.requires_grad_()
    if state:
        made.__setstate__(state)
    return made
