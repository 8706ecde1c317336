"""Reading PyTorch's files, of the zip format and of the one before it, without PyTorch."""

import sys
from functools import partial

from wisp import _C
from wisp._storage import TypedStorage, UntypedStorage, storage_of
from wisp.serialization._files import FileError
from wisp.serialization._numpy import set_numpy_state
from wisp.serialization._pickle import Machine
from wisp.serialization._torch_names import BUILDERS, TENSOR_BUILDERS, TYPES, Builder, StorageType, constant
from wisp.serialization._zip import Archive

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


class Owner:
    """Decides what a pickle may name and make. Subclasses know where storages are."""

    def __init__(self, trust):
        self.trust = trust
        self.later = []  # to be called when all data has been read

    def find(self, module, name):
        if not (isinstance(module, str) and isinstance(name, str)):
            raise FileError("the file is damaged: its pickle names something that is no name")
        module = {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
        name = "range" if (module, name) == ("builtins", "xrange") else name
        full = f"{module}.{name}"
        if full in TENSOR_BUILDERS:
            return Builder(partial(TENSOR_BUILDERS[full], self.later))
        if full == "copyreg._reconstructor":
            return Builder(self._reconstruct)
        found = BUILDERS.get(full) or TYPES.get(full) or constant(module, name)
        return self.trust.find(module, name) if found is None else found

    def reduce(self, function, args):
        if not isinstance(args, tuple):
            raise FileError("the file is damaged: arguments in its pickle are no tuple")
        if isinstance(function, Builder):
            return function.function(*args)
        return self.trust.call(function, args)

    def new(self, cls, args, kwargs):
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise FileError("the file is damaged: arguments in its pickle are no tuple")
        if isinstance(cls, Builder):
            return cls.function(*args)
        return self.trust.new(cls, args, kwargs)

    def _reconstruct(self, cls, base, state=None):
        """How the first protocols make objects."""
        return self.trust.new(cls, (), {})

    def build(self, made, state):
        if set_numpy_state(made, state):
            return
        if isinstance(state, dict) and "_modules" in state:  # modules here keep no empty dicts of hooks
            state = {name: value for name, value in state.items() if value or "_hooks" not in name}
        self.trust.set_state(made, state)

    def persistent(self, found):
        raise FileError("the file is damaged: its pickle refers to something outside it")

    def finish(self):
        """Completes what had to wait for the data."""
        for complete in self.later:
            complete()


def _text(item):
    """A name that Python 2 wrote, where texts are to be left as bytes."""
    return item.decode("ascii", "replace") if isinstance(item, bytes) else item


class _Storages(Owner):
    """Storages by key. ``read(key, size)`` gives the bytes of one, as a tensor, in this machine's byte order."""

    def __init__(self, trust, relocate):
        super().__init__(trust)
        self.relocate, self.made = relocate, {}

    def persistent(self, found):
        found = tuple(map(_text, found)) if isinstance(found, tuple) else found
        if isinstance(found, tuple) and len(found) == 4 and found[0] == "module":  # a class, with its source text
            return found[1]
        is_storage = isinstance(found, tuple) and len(found) >= 5 and found[0] == "storage"
        if not is_storage or not isinstance(found[1], StorageType):
            raise FileError("the file is damaged: its pickle refers to something that is no storage")
        _, kind, key, location, count, *views = found
        if type(count) is not int or count < 0 or not isinstance(key, str) or not isinstance(location, str):
            raise FileError("the file is damaged: a storage has no key or size")
        dtype = kind.dtype
        if key not in self.made:
            size = count * (dtype.itemsize if dtype else 1)
            self.made[key] = self.relocate(storage_of(self.read(key, size, dtype)), location)
        storage = self.made[key]
        if views and views[0] is not None:
            storage = self._part(storage, views[0], dtype)
        return storage if dtype is None else TypedStorage(storage, dtype)

    def _part(self, storage, part, dtype):
        """A part of a storage as one of its own, as very old files have it."""
        _, offset, count = part
        begin, end = offset * dtype.itemsize, (offset + count) * dtype.itemsize
        if not 0 <= begin <= end <= storage.nbytes():
            raise FileError("the file is damaged: a part of a storage reaches beyond it")
        return UntypedStorage._around(storage._bytes[begin:end].clone())


# --- the zip format


class _Zipped(_Storages):
    def __init__(self, source, archive, folder, trust, relocate, swap):
        super().__init__(trust, relocate)
        self.source, self.archive, self.folder, self.swap = source, archive, folder, swap

    def read(self, key, size, dtype):
        name = f"{self.folder}/data/{key}"
        if name not in self.archive.members:
            raise FileError(f"the file is damaged: it has no data {name!r}")
        data = self._contents(name)
        if len(data) < size:
            raise FileError(f"the file is damaged: {name!r} should have {size} bytes, it has {len(data)}")
        return swapped(data[:size].clone(), dtype) if self.swap and dtype else data

    def _contents(self, name):
        """The bytes of a member, on the mapped file itself if they are stored there as they are."""
        place = self.archive.place(name)
        if place is not None:
            if self.source.fresh:
                self.archive.check(name, self.source.buffer[slice(*place)])
            return self.source.bytes_of(*place, alignment=16)
        unpacked = self.archive.read(name)
        empty = _C._functions["empty"](0, dtype=_C.uint8)
        return _C.frombuffer(unpacked, dtype=_C.uint8) if len(unpacked) else empty


def read_zip(source, trust, relocate, encoding, byte_order):
    """The object in a file of the zip format; ``byte_order`` is that of files that do not say theirs."""
    archive = Archive(source.buffer)
    pickles = [name for name in archive.members if name.endswith("/data.pkl")]
    if not pickles:
        raise FileError("the file is a zip archive, but none that PyTorch has saved: it contains no data.pkl")
    folder = pickles[0].rpartition("/")[0]
    if f"{folder}/constants.pkl" in archive.members:
        raise FileError(
            "the file is a program of TorchScript, not a checkpoint. Save its state_dict() with PyTorch and load that"
        )
    stated = f"{folder}/byteorder"
    order = bytes(archive.read(stated)).decode("ascii", "replace") if stated in archive.members else byte_order
    if order not in ("little", "big"):
        raise FileError(f"the file is damaged: it says its byte order is {order!r}")
    owner = _Zipped(source, archive, folder, trust, relocate, order != sys.byteorder)
    found = Machine(archive.read(pickles[0]), 0, owner, encoding).run()
    owner.finish()
    source.used(archive.end)
    return found


# --- the format before it: pickles in a row, then the data of all storages


class _Following(_Storages):
    """Storages whose data comes after the pickle that refers to them."""

    def __init__(self, source, trust, relocate):
        super().__init__(trust, relocate)
        self.room, self.dtypes, self.most = {}, {}, len(source.buffer)

    def read(self, key, size, dtype):
        self.most -= size
        if self.most < 0:
            raise FileError("the file is damaged: it is shorter than its tensors")
        self.dtypes[key] = dtype
        self.room[key] = _C._functions["zeros"](size, dtype=_C.uint8)
        return self.room[key]


def read_legacy(source, trust, relocate, encoding):
    """The object in a file of the older format."""
    position = 0

    def pickle(owner):
        nonlocal position
        machine = Machine(source.buffer, position, owner, encoding)
        found = machine.run()
        position = machine.position
        return found

    plain = Owner(trust)
    if pickle(plain) != _MAGIC or pickle(plain) != _PROTOCOL:
        raise FileError("the file is a pickle, but none that PyTorch has saved: its magic number is missing")
    info = pickle(plain)
    swap = isinstance(info, dict) and bool(info.get("little_endian", True)) != (sys.byteorder == "little")
    owner = _Following(source, trust, relocate)
    found = pickle(owner)
    keys = pickle(plain)
    if not isinstance(keys, list) or len(keys) < len(owner.room):
        raise FileError("the file is damaged: it does not say which data it has")
    for key in keys:
        position = _fill(source, owner, _text(key), position, swap)
    owner.finish()
    source.used(position)
    return found


def _fill(source, owner, key, position, swap):
    """Copies the data of one storage to its place; returns where it ended."""
    if not isinstance(key, str) or key not in owner.room:
        raise FileError("the file is damaged: it has data of a storage that nothing refers to")
    room, dtype = owner.room[key], owner.dtypes[key]
    begin = position + 8
    count = int.from_bytes(source.buffer[position:begin], "big" if swap and sys.byteorder == "little" else "little")
    size = count * (dtype.itemsize if dtype else 1)
    if size != len(room) or begin + size > len(source.buffer):
        raise FileError("the file is damaged: it is shorter than its tensors")
    if size:
        data = source.bytes_of(begin, begin + size)
        room.copy_(swapped(data.clone(), dtype) if swap and dtype else data)
    return begin + size


def swapped(data, dtype):
    """Bytes in the other byte order, for elements of a dtype."""
    width = dtype.itemsize // (2 if dtype.is_complex else 1)
    return data.reshape(-1, width).flip(1).reshape(-1) if width > 1 and len(data) else data
