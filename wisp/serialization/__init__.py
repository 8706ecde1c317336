"""Saving and loading: ``wisp.save`` and ``wisp.load``, and what files may contain.

Files of ours are safetensors files: tensors in its layout, the structure around them as data in its metadata. Loading
runs no code; see _trust.py for what files may name.
"""

from contextlib import contextmanager
from enum import Enum

from wisp._storage import storage_of
from wisp.serialization._files import FileError, Source, write
from wisp.serialization._trust import (
    Trust,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)

__all__ = [
    "FileError", "LoadEndianness", "add_safe_globals", "clear_safe_globals", "default_restore_location",
    "get_default_load_endianness", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag",
    "safe_globals", "save", "set_default_load_endianness",
]  # fmt: skip

DEFAULT_PROTOCOL = 2  # of pickles, for those who write them
MAP_LOCATION = "Callable | wisp.device | str | dict | None"  # the type of ``map_location``, for annotations


class LoadEndianness(Enum):
    """Byte orders of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness = None


def get_default_load_endianness():
    """The byte order assumed for PyTorch's files that do not say theirs; None: little-endian."""
    return _endianness


def set_default_load_endianness(endianness):
    """Sets what get_default_load_endianness() gives."""
    global _endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def _byte_order():
    import sys

    known = {LoadEndianness.BIG: "big", LoadEndianness.NATIVE: sys.byteorder}
    return known.get(_endianness, "little")


# --- saving


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False, *, format="wisp"):  # fmt: skip
    """Saves tensors and the structure around them.

    Dicts, lists, tuples, sets, numbers, texts and tensors can be loaded by anybody without risk; tensors that share
    memory do so again when loaded. Other objects can be saved too, but then whoever loads the file has to trust their
    classes: of modules and optimizers rather save the ``state_dict()``.

    A path is written atomically: a kill at any moment leaves the old file or the new one, never a part.

    Args:
        obj: what to save.
        f: a path, or an object with ``write()``.
        pickle_module, pickle_protocol, _use_new_zipfile_serialization, _disable_byteorder_record: accepted and ignored.
        format: "wisp", a safetensors file, or "torch", a file that PyTorch loads.

    >>> import io
    >>> file = io.BytesIO()
    >>> wisp.save({"step": 3, "weight": wisp.ones(2)}, file)
    >>> wisp.load(io.BytesIO(file.getvalue()))
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    if format == "torch":
        from wisp.serialization._torch_write import archive as chunks
    elif format == "wisp":
        from wisp.serialization._format import chunks
    else:
        raise ValueError(f'save(): format must be "wisp" or "torch", got {format!r}')
    try:
        encoded = chunks(obj)
    except RecursionError:
        raise RecursionError(
            "save(): the object is too deep: containers inside containers, some hundred levels"
        ) from None
    write(f, encoded)


# --- loading


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Loads what wisp or PyTorch saved, or a safetensors file, without running any code of the file.

    Args:
        f: a path, or an object with ``read()``; with ``seek()`` and ``tell()`` it is left behind what was loaded.
        map_location: where storages belong that are said to be elsewhere: a device, a dict of devices, or a function
            (storage, location) that returns a storage or None.
        pickle_module: accepted and ignored.
        weights_only: False allows objects of classes that the program has imported already, besides tensors, plain
            data and what ``wisp.serialization.add_safe_globals`` allows. Their code is not called.
        mmap: whether tensors lie on the mapped file, and are read when used; without it, in files of at least 1 MiB.
            Changes of such tensors do not reach the file.
        pickle_load_args: ``encoding`` of texts that Python 2 wrote in PyTorch's files.
    """
    encoding = pickle_load_args.pop("encoding", "utf-8")
    for unused in ("errors", "fix_imports", "buffers"):
        pickle_load_args.pop(unused, None)
    if pickle_load_args:
        raise TypeError(f"load() got an unexpected keyword argument '{next(iter(pickle_load_args))}'")
    trust = Trust(weights_only is None or bool(weights_only))
    with _limited_depth():
        return _read(Source(f, mmap), trust, _relocation(map_location), encoding)


@contextmanager
def _limited_depth():
    try:
        yield
    except RecursionError:
        raise FileError("the file is refused: its structure is too deep") from None


def _read(source, trust, relocate, encoding):
    from wisp.serialization import _format, _safetensors, _torch_read

    start = bytes(source.buffer[:4])
    if start == b"PK\x03\x04":
        return _torch_read.read_zip(source, trust, relocate, encoding, _byte_order())
    if _safetensors.looks_like_it(source.buffer):
        return _format.read(source, trust, relocate)
    if start[:1] == b"\x80":
        return _torch_read.read_legacy(source, trust, relocate, encoding)
    raise FileError(
        "the file is neither one of wisp's or PyTorch's nor a safetensors file, or its beginning is damaged"
    )


def _relocation(map_location):
    """A function (storage, location) -> storage for what was asked for. Contents are on the CPU, or nowhere."""
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        target = str(map_location)
        return lambda storage, location: default_restore_location(storage, target)
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if map_location is None:
        return default_restore_location

    def by_function(storage, location):
        found = map_location(storage, location)
        return default_restore_location(storage, location) if found is None else found

    return by_function


def default_restore_location(storage, location):
    """The storage itself, if its location is the CPU, or one of its size without contents, if it is "meta"; fails otherwise:
    no other device exists here."""
    if location.split(":")[0] == "meta":
        return storage_of(storage._bytes.to("meta"))
    if location.split(":")[0] != "cpu":
        raise RuntimeError(
            f"Attempting to load an object of device {location!r}, which this machine does not have for wisp. Please use "
            "wisp.load with map_location=wisp.device('cpu') to map your storages to the CPU."
        )
    return storage


def location_tag(storage):
    """Where a storage is: "cpu"."""
    return str(storage.device)


# --- looking without loading


def get_unsafe_globals_in_checkpoint(f):
    """The names of classes and functions in a file that loading would refuse, as a list."""
    from wisp.serialization import _safetensors, _scan

    source, trust = Source(f), Trust(refused=set())
    with _limited_depth():
        if _safetensors.looks_like_it(source.buffer):
            _scan.document(_safetensors.Reader(source), trust)
        else:
            _read(source, _scan.Everything(trust), lambda storage, location: storage, "utf-8")
    return sorted(trust.refused)
