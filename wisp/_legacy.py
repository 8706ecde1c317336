"""Constructors from before dtypes: ``wisp.Tensor(2, 3)``, ``wisp.FloatTensor([1, 2])``."""

from wisp import _C
from wisp._C import Size, Tensor
from wisp._storage import TypedStorage, UntypedStorage

_empty = _C._functions["empty"]


def construct(dtype, *args, size=None, device=None):
    """A tensor of a dtype from sizes (uninitialised), a sequence, an array, a tensor or a storage."""
    if device is not None:
        _C._usable_device(device)
    if size is not None:
        args = (*args, Size(size))
    if len(args) == 1 and not _is_size(args[0]):
        return _from_data(dtype, args[0])
    if len(args) == 1 and isinstance(args[0], Size):
        return _empty(args[0], dtype=dtype)
    for i, arg in enumerate(args):
        if not _is_size(arg) or isinstance(arg, Size):
            raise TypeError(
                f"new(): expected sizes (ints), a sequence, a Tensor or a storage, but argument {i + 1} is {_name(arg)}"
            )
    return _empty(args or 0, dtype=dtype)


def _is_size(arg):
    if isinstance(arg, Size):
        return True
    # Arrays have __index__ too, for those with one element.
    return hasattr(arg, "__index__") and not hasattr(arg, "__len__") and not isinstance(arg, bool)


def _from_data(dtype, data):
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(
                f"new(): expected a tensor of {dtype}, got one of {data.dtype}; use .to({dtype}) to convert"
            )
        return data.detach()
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _empty(0, dtype=dtype).set_(data)
    if isinstance(data, str) or not hasattr(data, "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {_name(data)})")
    return _C.tensor(data, dtype=dtype)


def _name(arg):
    return type(arg).__name__


def new_tensor(cls, *args, **kwargs):
    """What ``wisp.Tensor(...)`` and calls of its subclasses do: tensors of the default dtype."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        made = args[0].detach()
    else:
        made = construct(_C.get_default_dtype(), *args, **kwargs)
    return made if cls is Tensor else _C._make_subclass(cls, made)


class tensortype(type):
    """The class of FloatTensor and the like: calling one makes a tensor of its dtype, and tensors of that dtype are
    instances of it."""

    is_cuda = is_sparse = False
    layout = _C.strided

    def __call__(cls, *args, **kwargs):
        return construct(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, obj):
        return isinstance(obj, Tensor) and obj.dtype is cls.dtype


def _make(name, dtype):
    doc = f"Tensors of {dtype}: ``wisp.{name}(sizes or data)`` makes one."
    return tensortype(name, (), {"dtype": dtype, "__module__": "wisp", "__doc__": doc})


FloatTensor = _make("FloatTensor", _C.float32)
DoubleTensor = _make("DoubleTensor", _C.float64)
HalfTensor = _make("HalfTensor", _C.float16)
BFloat16Tensor = _make("BFloat16Tensor", _C.bfloat16)
ByteTensor = _make("ByteTensor", _C.uint8)
CharTensor = _make("CharTensor", _C.int8)
ShortTensor = _make("ShortTensor", _C.int16)
IntTensor = _make("IntTensor", _C.int32)
LongTensor = _make("LongTensor", _C.int64)
BoolTensor = _make("BoolTensor", _C.bool)
ComplexFloatTensor = _make("ComplexFloatTensor", _C.complex64)
ComplexDoubleTensor = _make("ComplexDoubleTensor", _C.complex128)


def set_default_tensor_type(t):
    """Sets the default dtype by the name of a tensor type, or the type itself."""
    if isinstance(t, str):
        name = t.rpartition(".")[2]
        t = globals().get(name)
        if not isinstance(t, tensortype):
            raise TypeError(f"invalid type name: '{name}'")
    _C.set_default_dtype(t.dtype)
