"""Storages, under the name that pickles of tensors made by PyTorch know."""

from wisp._storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b):
    """The storage in a pickle of a tensor of PyTorch's."""
    import io

    from wisp.serialization import load

    return load(io.BytesIO(b), weights_only=False)
