"""Files of the safetensors format: tensors by name, nothing else. Any reader of the format takes them, and this any file."""

from wisp import _C
from wisp.serialization import _safetensors as layout
from wisp.serialization._files import Source, write

__all__ = ["load", "load_file", "load_metadata", "save", "save_file"]


def _chunks(tensors, metadata):
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, _C.Tensor):
            raise ValueError(f"expected a dict of tensors by name, got {name!r}: {type(tensor).__name__}")
        if tensor.dtype not in layout.NAMES:
            raise ValueError(f"safetensors files hold no {tensor.dtype}, which {name!r} is")
    metadata = dict(metadata or {})
    if not all(isinstance(part, str) for pair in metadata.items() for part in pair):
        raise ValueError("metadata must be a dict of texts")
    header = layout.layout({name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()})
    return [layout.head(header, metadata), *(layout.raw(tensors[name]) for name in header)]


def save_file(tensors, filename, metadata=None):
    """Writes a dict of tensors to a file, atomically. Tensors that share memory are written one by one.

    Args:
        tensors: {name: tensor}.
        filename: a path, or an object with ``write()``.
        metadata: {name: text} to be kept with them.
    """
    write(filename, _chunks(tensors, metadata))


def save(tensors, metadata=None):
    """The bytes that save_file() writes.

    >>> from wisp.utils.safetensors import load, save
    >>> load(save({"x": wisp.arange(3)}))
    {'x': tensor([0, 1, 2])}
    """
    return b"".join(bytes(chunk) for chunk in _chunks(tensors, metadata))


def _tensors(source):
    reader = layout.Reader(source)
    if reader.end != len(source.buffer):
        raise layout.FileError(
            f"the file is damaged: it has {len(source.buffer) - reader.end} bytes behind its tensors"
        )
    return {name: reader.tensor(name) for name in reader.entries}


def load_file(filename, device="cpu"):
    """The tensors of a file, by name. Large files are mapped: their tensors are read when used."""
    _C._usable_device(device)
    return _tensors(Source(filename))


def load(data):
    """The tensors of the bytes of a file."""
    import io

    return _tensors(Source(io.BytesIO(data)))


def load_metadata(filename):
    """The texts that were saved along with the tensors of a file."""
    return layout.Reader(Source(filename)).metadata
