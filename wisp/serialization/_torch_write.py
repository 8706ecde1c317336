"""Writing files that PyTorch loads: a zip archive of one pickle and the data of all storages."""

import struct
import sys
import zlib
from collections import Counter, OrderedDict, defaultdict

from wisp import _C
from wisp._storage import TypedStorage, UntypedStorage
from wisp.nn.parameter import Parameter
from wisp.serialization._torch_names import STORAGES

_NAMES = {dtype: name for name, dtype in STORAGES.items()}
_ALIGNMENT = 64  # of the data of storages
_BATCH = 1000  # items between two marks
_LARGEST = 0xFFFFFFFF  # what the short form of sizes in an archive holds; it stands for "see the long form" too


def archive(obj):
    """The bytes of the file, as a list of chunks."""
    pickle = Pickle(obj)
    members = [("data.pkl", pickle.data), ("byteorder", sys.byteorder.encode())]
    members += [(f"data/{key}", _bytes(storage)) for key, storage in enumerate(pickle.storages)]
    return _zip([*members, ("version", b"3\n")])


def _bytes(storage):
    return memoryview(storage._whole()) if storage.nbytes() else b""


# --- the pickle


class Pickle:
    """An object in protocol 2, with PyTorch's names.

    Attributes:
        data: the pickle.
        storages: what its numbers of storages stand for.
    """

    def __init__(self, obj):
        self._out, self._memo, self._kept = bytearray(b"\x80\x02"), {}, []
        self.storages, self._keys = [], {}
        self._save(obj)
        self.data = bytes(self._out + b".")

    def _save(self, obj):
        put = _KINDS.get(type(obj))
        if put is not None:
            put(self, obj)
        elif id(obj) in self._memo:
            self._recall(obj)
        elif type(obj).__module__ == "numpy":
            self._numpy(obj)
        else:
            raise TypeError(f'save(format="torch"): PyTorch\'s safe loading does not take objects of {type(obj).__name__}. '
                            "Save plain data and tensors, of modules their state_dict()")  # fmt: skip

    # --- sharing: an object that was written is written again as its number

    def _recall(self, obj):
        self._out += b"j" + struct.pack("<I", self._memo[id(obj)])

    def _remember(self, obj):
        self._memo[id(obj)] = number = len(self._memo)
        self._kept.append(obj)
        self._out += b"r" + struct.pack("<I", number)

    def _once(self, write, obj):
        if id(obj) in self._memo:
            self._recall(obj)
        else:
            write(obj)

    # --- calls

    def _global(self, module, name):
        self._out += f"c{module}\n{name}\n".encode()

    def _call(self, module, name, *args):
        self._global(module, name)
        self._tuple(args)
        self._out += b"R"

    # --- numbers and texts

    def _int(self, value):
        if -(1 << 31) <= value < 1 << 31:
            self._out += b"J" + struct.pack("<i", value)
        else:
            raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self._out += (
                b"\x8a" + bytes([len(raw)]) if len(raw) < 256 else b"\x8b" + struct.pack("<i", len(raw))
            ) + raw

    def _text(self, value):
        raw = value.encode("utf-8", "surrogatepass")
        self._out += b"X" + struct.pack("<I", len(raw)) + raw

    # --- containers

    def _tuple(self, items):
        if not items:
            self._out += b")"
            return
        self._out += b"("
        for item in items:
            self._save(item)
        self._out += b"t"

    def _shared_tuple(self, obj):
        """A tuple may be met again below itself; then what has been written of it is dropped."""
        self._out += b"("
        for item in obj:
            self._save(item)
        if id(obj) in self._memo:
            self._out += b"1"
            self._recall(obj)
        else:
            self._out += b"t"
            self._remember(obj)

    def _list(self, obj):
        self._out += b"]"
        self._remember(obj)
        for begin in range(0, len(obj), _BATCH):
            self._out += b"("
            for item in obj[begin : begin + _BATCH]:
                self._save(item)
            self._out += b"e"

    def _items(self, obj):
        pairs = list(obj.items())
        for begin in range(0, len(pairs), _BATCH):
            self._out += b"("
            for key, value in pairs[begin : begin + _BATCH]:
                self._save(key)
                self._save(value)
            self._out += b"u"

    def _dict(self, obj):
        self._out += b"}"
        self._remember(obj)
        self._items(obj)

    def _ordered(self, obj):
        self._call("collections", "OrderedDict")
        self._remember(obj)
        self._items(obj)
        if obj.__dict__:
            self._dict(dict(obj.__dict__))
            self._out += b"b"

    # --- tensors

    def _storage(self, storage, dtype):
        key = self._keys.setdefault(storage._cdata, len(self.storages))
        if key == len(self.storages):
            self.storages.append(storage)
        name = "UntypedStorage" if dtype is None else _NAMES[dtype]
        self._out += b"("
        self._save("storage")
        self._global("torch.storage" if dtype is None else "torch", name)
        for part in (str(key), "cpu", storage.nbytes() // (dtype.itemsize if dtype else 1)):
            self._save(part)
        self._out += b"tQ"

    def _tensor(self, obj):
        has_class = obj.dtype in _NAMES  # a class of storages; else the dtype is written beside bytes
        self._global("torch._utils", f"_rebuild_tensor_v{2 if has_class else 3}")
        self._out += b"("
        self._storage(obj.untyped_storage(), obj.dtype if has_class else None)
        for part in (obj.storage_offset(), tuple(obj.shape), tuple(obj.stride())):
            self._save(part)
        self._save(obj.requires_grad and type(obj) is _C.Tensor)
        self._call("collections", "OrderedDict")
        if not has_class:
            self._save(obj.dtype)
        self._out += b"tR"
        if type(obj) is _C.Tensor:
            self._remember(obj)

    def _parameter(self, obj):
        self._global("torch._utils", "_rebuild_parameter")
        self._out += b"("
        self._tensor(obj)
        self._save(obj.requires_grad)
        self._call("collections", "OrderedDict")
        self._out += b"tR"
        self._remember(obj)

    # --- NumPy: numbers as Python's; arrays have no place in files that are safe to load

    def _numpy(self, obj):
        if not hasattr(obj, "item") or obj.shape != () or hasattr(obj, "ctypes"):
            raise TypeError('save(format="torch"): PyTorch\'s safe loading does not take arrays of NumPy. Save them as tensors '
                            "(wisp.from_numpy)")  # fmt: skip
        self._save(obj.item())


_KINDS = {
    type(None): lambda p, obj: p._out.extend(b"N"),
    bool: lambda p, obj: p._out.extend(b"\x88" if obj else b"\x89"),
    int: Pickle._int,
    float: lambda p, obj: p._out.extend(b"G" + struct.pack(">d", obj)),
    complex: lambda p, obj: p._call("__builtin__", "complex", obj.real, obj.imag),
    str: Pickle._text,
    bytes: lambda p, obj: p._call("_codecs", "encode", obj.decode("latin1"), "latin1"),
    bytearray: lambda p, obj: p._call("__builtin__", "bytearray", bytes(obj)),
    tuple: lambda p, obj: p._once(p._shared_tuple, obj) if obj else p._tuple(obj),
    list: lambda p, obj: p._once(p._list, obj),
    set: lambda p, obj: p._call("__builtin__", "set", list(obj)),
    dict: lambda p, obj: p._once(p._dict, obj),
    defaultdict: lambda p, obj: p._once(p._dict, obj),
    Counter: lambda p, obj: p._call("collections", "Counter", dict(obj)),
    OrderedDict: lambda p, obj: p._once(p._ordered, obj),
    _C.Tensor: lambda p, obj: p._once(p._tensor, obj),
    Parameter: lambda p, obj: p._once(p._parameter, obj),
    _C.dtype: lambda p, obj: p._global("torch", str(obj).rpartition(".")[2]),
    _C.device: lambda p, obj: p._call("torch", "device", str(obj)),
    _C.Size: lambda p, obj: p._call("torch", "Size", tuple(obj)),
    UntypedStorage: lambda p, obj: p._storage(obj, None),
    TypedStorage: lambda p, obj: p._storage(obj.untyped(), obj.dtype),
}


# --- the archive


def _zip(members):
    """An archive of stored members, their data aligned by an extra field as PyTorch does it."""
    chunks, directory, offset = [], [], 0
    for name, data in members:
        head, entry = _headers(f"archive/{name}".encode(), data, offset)
        chunks += [head, data]
        directory.append(entry)
        offset += len(head) + len(data)
    return [*chunks, *directory, _end(len(directory), offset, sum(map(len, directory)))]


def _headers(name, data, offset):
    """What stands before a member, and its entry in the directory at the end."""
    size = len(data)
    is_long = size >= _LARGEST or offset >= _LARGEST
    before, behind = (struct.pack("<HHQQ", 1, 16, size, size), struct.pack("<HHQQQ", 1, 24, size, size, offset))
    if not is_long:
        before = behind = b""
    pad = -(offset + 30 + len(name) + len(before) + 4) % _ALIGNMENT
    before += b"FB" + struct.pack("<H", pad) + b"Z" * pad
    shown_size, shown_offset = (0xFFFFFFFF, 0xFFFFFFFF) if is_long else (size, offset)
    version = 45 if is_long else 20
    common = struct.pack("<5H3L", version, 0, 0, 0, 0x21, zlib.crc32(data), shown_size, shown_size)
    head = b"PK\x03\x04" + common + struct.pack("<2H", len(name), len(before)) + name + before
    places = struct.pack("<5H2L", len(name), len(behind), 0, 0, 0, 0, shown_offset)
    return head, b"PK\x01\x02" + struct.pack("<H", version) + common + places + name + behind


def _end(count, offset, size):
    """The end of the archive. The forms for large and for small archives: readers take what fits."""
    large = b"PK\x06\x06" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, count, count, size, offset)
    where = b"PK\x06\x07" + struct.pack("<LQL", 0, offset + size, 1)
    shown = (min(count, 0xFFFF), min(count, 0xFFFF), min(size, 0xFFFFFFFF), min(offset, 0xFFFFFFFF))
    return large + where + b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, *shown, 0)
