"""What the pickles in PyTorch's files name and call, and what is made of it here."""

from collections import Counter, OrderedDict, defaultdict, deque

from wisp import _C
from wisp._storage import TypedStorage, UntypedStorage
from wisp.nn.parameter import Parameter
from wisp.serialization._files import FileError, device_of, shown, view
from wisp.serialization._numpy import empty_array, numpy, numpy_dtype, numpy_scalar
from wisp.serialization._pickle import checked_key

STORAGES = {
    "BFloat16Storage": _C.bfloat16, "BoolStorage": _C.bool, "ByteStorage": _C.uint8, "CharStorage": _C.int8,
    "ComplexDoubleStorage": _C.complex128, "ComplexFloatStorage": _C.complex64, "DoubleStorage": _C.float64,
    "FloatStorage": _C.float32, "HalfStorage": _C.float16, "IntStorage": _C.int32, "LongStorage": _C.int64,
    "ShortStorage": _C.int16,
}  # fmt: skip


class Builder:
    """A function that a pickle may call by the name of another."""

    def __init__(self, function):
        self.function = function


class StorageType:
    """A class of storages, which pickles name and never call; without dtype: of bytes."""

    def __init__(self, dtype):
        self.dtype = dtype


# --- tensors


def _typed(storage):
    if isinstance(storage, TypedStorage):
        return storage.untyped()._bytes, storage.dtype
    if isinstance(storage, UntypedStorage):
        return storage._bytes, None
    raise FileError("the file is damaged: a tensor has no storage")


def _flag(value):
    if not isinstance(value, int):
        raise FileError("the file is damaged: it does not say whether a tensor requires grad")
    return bool(value)


def rebuild_tensor(later, storage, offset, size, stride, requires_grad=False, hooks=None, marks=None):
    data, dtype = _typed(storage)
    return _tensor(later, data, dtype or _C.uint8, offset, size, stride, requires_grad, marks)


def rebuild_tensor_of_dtype(later, storage, offset, size, stride, requires_grad, hooks, dtype, marks=None):
    return _tensor(later, _typed(storage)[0], dtype, offset, size, stride, requires_grad, marks)


def _tensor(later, data, dtype, offset, size, stride, requires_grad, marks):
    """A view of data; of a changed copy, if PyTorch has only marked the tensor as conjugated or negated."""
    marks = [mark for mark, is_set in marks.items() if is_set is True] if isinstance(marks, dict) else []
    if marks:
        data = _resolved(later, data, dtype, marks)
    return view(_C.Tensor, data, dtype, offset, size, stride, _flag(requires_grad))


def _resolved(later, data, dtype, marks):
    if not {*marks} <= {"conj", "neg"} or not (dtype.is_complex or (marks == ["neg"] and dtype.is_floating_point)):
        raise FileError(f"the file contains a tensor of {dtype} with marks that wisp does not know: {shown(marks)}")
    made, whole = data.clone(), len(data) // dtype.itemsize * dtype.itemsize

    def fill():
        value = data[:whole].view(dtype)
        for mark in marks:
            value = getattr(value, mark)()
        made[:whole].view(dtype).copy_(value)

    later.append(fill)
    return made


def at_once(rebuild):
    """A function that makes tensors, for data that is there already."""

    def made(*args):
        later = []
        tensor = rebuild(later, *args)
        for complete in later:
            complete()
        return tensor

    return made


def rebuild_parameter(data, requires_grad=True, hooks=None, state=None):
    if not isinstance(data, _C.Tensor):
        raise FileError("the file is damaged: a parameter is no tensor")
    made = Parameter(data.detach(), _flag(requires_grad))
    if isinstance(state, dict) and state:
        made.__setstate__(state)
    return made


def _tensor_with_state(function, cls, args, state):
    """A tensor that has attributes of its own. Of classes, only PyTorch's own are known."""
    if not isinstance(function, Builder) or cls not in (_C.Tensor, Parameter):
        raise FileError(f"the file contains tensors of {shown(cls)}, a class of its own. Save them as plain tensors")
    made = function.function(*args)
    attributes = state[0] if isinstance(state, tuple) and state else state
    if isinstance(attributes, dict):
        made.__setstate__(attributes)
    return made


def _lazy_parameter(requires_grad=True, device=None, dtype=None):
    from wisp.nn.parameter import UninitializedParameter

    return UninitializedParameter(_flag(requires_grad), None, dtype)


# --- plain data


def _checked(items):
    """A dict of a dict or of pairs, whose keys are hashed only after a look at them."""
    pairs = items.items() if isinstance(items, dict) else items
    return {checked_key(key): value for key, value in pairs}


def _ordered_dict(pairs=()):
    return OrderedDict(_checked(pairs))


def _default_dict(factory=None, items=()):
    if factory not in (None, dict, list, set, int, float, str, tuple, bool):
        raise FileError(f"the file contains a defaultdict of {shown(factory)}, which would be called")
    return defaultdict(factory, _checked(items))


def _counter(counts=()):
    return Counter(_checked(counts))


def _deque(items=(), maxlen=None):
    return deque(items, maxlen)


def _set(items=()):
    return {checked_key(item) for item in items}


def _encode(text, encoding="utf-8"):
    """How protocol 2 writes bytes."""
    if encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise FileError(f"the file contains bytes in the encoding {shown(encoding)}")
    return text.encode(encoding)


def _bytearray(data=b"", *encoding):
    if isinstance(data, int):
        raise FileError("the file is damaged: a bytearray is given by a number")
    return bytearray(_encode(data, *encoding) if isinstance(data, str) else data)


def _size(sizes=()):
    return _C.Size([int(n) for n in sizes])


def _layout(name):
    if name != "torch.strided":
        raise FileError(f"the file contains a layout that wisp does not have: {shown(name)}")
    return _C.strided


def _device(kind, index=None):
    return device_of(kind) if index is None else device_of(kind, index)


# --- by name

_BUILDERS = {
    "_codecs.encode": _encode,
    "builtins.bytearray": _bytearray,
    "builtins.frozenset": lambda items=(): frozenset(_set(items)),
    "builtins.set": _set,
    "collections.Counter": _counter,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "numpy._core.multiarray._reconstruct": empty_array,
    "numpy._core.multiarray.scalar": numpy_scalar,
    "numpy.core.multiarray._reconstruct": empty_array,
    "numpy.core.multiarray.scalar": numpy_scalar,
    "numpy.dtype": numpy_dtype,
    "torch.Size": _size,
    "torch._tensor._rebuild_from_type_v2": _tensor_with_state,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild_parameter,
    "torch.device": _device,
    "torch.nn.parameter.UninitializedParameter": _lazy_parameter,
    "torch.serialization._get_layout": _layout,
}
BUILDERS = {name: Builder(function) for name, function in _BUILDERS.items()}
# These take besides, as their first argument, a list of what is to be called when all data has been read.
TENSOR_BUILDERS = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor_of_dtype,
}
_TYPES = {
    "builtins.Ellipsis": ...,
    "torch.Tensor": _C.Tensor,
    "torch._tensor.Tensor": _C.Tensor,
    "torch.nn.Parameter": Parameter,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.storage.UntypedStorage": StorageType(None),
    "torch.UntypedStorage": StorageType(None),
}
TYPES = {**_TYPES, **{f"torch.{name}": StorageType(dtype) for name, dtype in STORAGES.items()}}


def constant(module, name):
    """A dtype by its name in PyTorch, or the class of NumPy's arrays; None if it is neither."""
    if (module, name) == ("numpy", "ndarray"):
        return numpy().ndarray
    found = getattr(_C, name, None) if module == "torch" else None
    return found if isinstance(found, _C.dtype) else None
