"""Tensors to and from DLPack capsules, which share memory between libraries."""

from wisp._basics import from_dlpack


def to_dlpack(tensor):
    """A capsule of the tensor's memory, for one ``from_dlpack`` of any library.

    >>> wisp.utils.dlpack.from_dlpack(wisp.utils.dlpack.to_dlpack(wisp.arange(3)))
    tensor([0, 1, 2])
    """
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
