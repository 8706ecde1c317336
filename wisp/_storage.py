"""The memory behind tensors as an object of its own."""

from weakref import WeakValueDictionary

from wisp import _C

_live = WeakValueDictionary()  # by the address of the native storage


def storage_of(tensor):
    """The UntypedStorage of a tensor: the same object for all tensors on it, as long as somebody holds it."""
    storage = _live.get(tensor._storage_id())
    return UntypedStorage._around(tensor._storage_bytes()) if storage is None else storage


def _check_readable(storage):
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type: it has no values")


class UntypedStorage:
    """A block of bytes that tensors are views of.

    >>> x = wisp.tensor([1, 2], dtype=wisp.int16)
    >>> x.untyped_storage().tolist()
    [1, 0, 2, 0]
    """

    __slots__ = ("__weakref__", "_bytes")
    is_cuda = is_sparse = False

    def __new__(cls, source=0, *, device=None):
        """A new storage of so many bytes, or of the bytes of a sequence."""
        if device is not None:
            _C._usable_device(device)
        if isinstance(source, int):
            return cls._around(_C._functions["empty"](source, dtype=_C.uint8))
        return cls._around(_C.tensor(list(source), dtype=_C.uint8))

    @classmethod
    def _around(cls, bytes):
        self = object.__new__(cls)
        self._bytes = bytes
        _live[bytes._storage_id()] = self
        return self

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """A storage whose memory is a file.

        Args:
            shared: whether writing changes the file, which is then made, or made larger, as needed. Otherwise what is
                written is private to this process.
            nbytes: how many bytes of the file.
        """
        from mmap import ACCESS_COPY, ACCESS_WRITE, mmap

        try:
            with open(filename, "a+b" if shared else "rb") as file:
                size = file.seek(0, 2)
                if size < nbytes and not shared:
                    raise RuntimeError(
                        f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>"
                    )
                if size < nbytes:
                    file.truncate(nbytes)
                if nbytes == 0:
                    return cls(0)
                mapped = mmap(file.fileno(), nbytes, access=ACCESS_WRITE if shared else ACCESS_COPY)
        except OSError as error:
            raise RuntimeError(f"unable to open file <{filename}>: {error.strerror} ({error.errno})") from error
        return cls._around(_C.frombuffer(mapped, dtype=_C.uint8))

    @property
    def _cdata(self):
        return self._bytes._storage_id()

    @property
    def device(self):
        return self._bytes.device

    def nbytes(self):
        """The number of bytes."""
        return self._bytes._storage_nbytes()

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def data_ptr(self):
        """The address of the first byte."""
        return self._bytes._storage_data_ptr()

    def untyped(self):
        """The storage itself: it is one of bytes already."""
        return self

    def resizable(self):
        """Whether the memory is wisp's own, not NumPy's or somebody else's."""
        return self._bytes._storage_resizable()

    def resize_(self, size):
        """Makes the storage larger; what it held stays."""
        if size < self.nbytes():
            raise RuntimeError("resize_(): a storage cannot become smaller, tensors may use its memory")
        self._bytes._resize((size,))
        return self

    def _whole(self):
        """All bytes; the storage may have grown since it was asked for."""
        if self._bytes.numel() != self.nbytes():
            self._bytes = self._bytes._storage_bytes()
        return self._bytes

    def __getitem__(self, index):
        """One byte, or a storage that is a part of this one's memory."""
        _check_readable(self)
        if isinstance(index, int):
            return self._whole()[index].item()
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        if start >= stop:
            return UntypedStorage(0)
        part = memoryview(self._whole())[start:stop]
        return UntypedStorage._around(_C.frombuffer(part, dtype=_C.uint8))

    def __setitem__(self, index, value):
        _check_readable(self)
        self._whole()[index] = value._whole() if isinstance(value, UntypedStorage) else value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._whole().tolist()

    def copy_(self, source, non_blocking=None):
        self._whole().copy_(source._whole())
        return self

    def fill_(self, value):
        self._whole().fill_(value)
        return self

    def clone(self):
        return UntypedStorage._around(self._whole().clone())

    def cpu(self):
        return self

    def share_memory_(self):
        """Moves the storage, with all tensors on it, to where other processes can see it."""
        from wisp.multiprocessing.reductions import share

        share(self)
        return self

    def is_shared(self):
        """Whether the memory is shared with other processes."""
        from sys import modules

        sharing = modules.get("wisp.multiprocessing.reductions")  # without it nothing has been shared
        return sharing is not None and sharing.is_shared(self._bytes)

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        memo[id(self)] = made = self.clone()
        return made

    def __reduce_ex__(self, protocol):
        from wisp import _rebuild

        if protocol >= 5:
            from pickle import PickleBuffer

            return _rebuild.storage, (PickleBuffer(self._whole()),)
        return _rebuild.storage, (bytes(memoryview(self._whole())),)

    def __repr__(self):
        shown = self.nbytes() <= 1000 and self.device.type != "meta"
        lines = "".join(f" {value}\n" for value in self.tolist()) if shown else " ...\n"
        return f"{lines}[wisp.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


class TypedStorage:
    """A storage seen as elements of one dtype: what ``x.storage()`` gives."""

    __slots__ = ("_untyped", "dtype")
    is_cuda = is_sparse = False

    def __init__(self, untyped, dtype):
        if not isinstance(untyped, UntypedStorage) or not isinstance(dtype, _C.dtype):
            raise TypeError(f"expected an UntypedStorage and a dtype, got {type(untyped)} and {type(dtype)}")
        self._untyped, self.dtype = untyped, dtype

    def _elements(self):
        return _C._functions["empty"](0, dtype=self.dtype)._set(self._untyped._bytes, 0, (len(self),))

    def untyped(self):
        """The same storage as bytes."""
        return self._untyped

    device = property(lambda self: self._untyped.device)
    _cdata = property(lambda self: self._untyped._cdata)

    def nbytes(self):
        return self._untyped.nbytes()

    def data_ptr(self):
        return self._untyped.data_ptr()

    def element_size(self):
        return self.dtype.itemsize

    def size(self):
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def __getitem__(self, index):
        if not isinstance(index, int):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        _check_readable(self)
        return self._elements()[index].item()

    def __setitem__(self, index, value):
        _check_readable(self)
        self._elements()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._elements().tolist()

    def copy_(self, source, non_blocking=None):
        self._elements().copy_(source._elements())
        return self

    def fill_(self, value):
        self._elements().fill_(value)
        return self

    def clone(self):
        return TypedStorage(self._untyped.clone(), self.dtype)

    def cpu(self):
        return self

    def share_memory_(self):
        """Moves the storage, with all tensors on it, to where other processes can see it."""
        self._untyped.share_memory_()
        return self

    def is_shared(self):
        """Whether the memory is shared with other processes."""
        return self._untyped.is_shared()

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._cdata == other._cdata and self.dtype is other.dtype

    def __hash__(self):
        return hash((self._cdata, self.dtype))

    def __reduce__(self):
        return TypedStorage, (self._untyped, self.dtype)

    def __repr__(self):
        lines = "".join(f" {value}\n" for value in self.tolist()) if len(self) <= 1000 else " ...\n"
        return f"{lines}[wisp.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


UntypedStorage.__module__ = TypedStorage.__module__ = "wisp"
