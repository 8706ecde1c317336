"""Questions about tensors, and the ways to make them that no operator of the table covers."""

import wisp
from wisp import _C
from wisp._C import Tensor


def is_tensor(obj):
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether obj is a storage."""
    from wisp._storage import TypedStorage, UntypedStorage

    return isinstance(obj, (UntypedStorage, TypedStorage))


def is_floating_point(input):
    """Whether the dtype is a real float.

    >>> wisp.is_floating_point(wisp.ones(2))
    True
    """
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.is_signed()


def is_conj(input):
    """False: conjugates are computed at once."""
    return input.is_conj()


def is_neg(input):
    """False: negations are computed at once."""
    return input.is_neg()


def resolve_conj(input):
    """The tensor itself: conjugates are computed at once."""
    return input.resolve_conj()


def resolve_neg(input):
    """The tensor itself: negations are computed at once."""
    return input.resolve_neg()


def is_inference(input):
    """Whether the tensor was made in inference_mode()."""
    return input.is_inference()


def is_same_size(input, other):
    """Whether both have the same shape."""
    return input.is_same_size(other)


def is_nonzero(input):
    """The truth of a tensor with one element.

    >>> wisp.is_nonzero(wisp.tensor([0.]))
    False
    """
    return input.is_nonzero()


def numel(input):
    """The number of elements.

    >>> wisp.numel(wisp.zeros(2, 3))
    6
    """
    return input.numel()


def typename(obj):
    """The name of an object's type; of a tensor, what type() says.

    >>> wisp.typename(wisp.ones(2))
    'wisp.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", "") or ""
    return owner.__qualname__ if module in ("", "builtins") else f"{module}.{owner.__qualname__}"


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-d tensor of a number, of the default dtype unless one is given.

    >>> wisp.scalar_tensor(3)
    tensor(3.)
    """
    return wisp.full((), s, dtype=dtype or _C.get_default_dtype(), device=device, requires_grad=requires_grad)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor of obj: itself, or on its memory, if possible, else a copy.

    Args:
        obj: a tensor, NumPy array, storage, object with ``__dlpack__`` or the buffer protocol, capsule of DLPack, number
            or nested sequence.
        copy: True always copies, False fails where a copy would be needed.
        requires_grad: whether the result requires grad; False detaches it, None leaves it as it is.

    >>> wisp.asarray([1, 2])
    tensor([1, 2])
    """
    obj = _C.from_dlpack(obj) if type(obj).__name__ == "PyCapsule" else _bytes_of(obj)
    shareable = isinstance(obj, Tensor) or hasattr(obj, "__dlpack__") or _has_buffer(obj)
    if copy is False and not shareable:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if shareable and not hasattr(obj, "__dlpack__") and not hasattr(obj, "dtype"):  # bytes and the like
        dtype = dtype or _C.get_default_dtype()
        t = _C.frombuffer(obj, dtype=dtype) if len(obj) else _C.tensor([], dtype=dtype)
        return (t.clone() if copy else t).requires_grad_(bool(requires_grad))
    t = _C.as_tensor(obj, dtype=dtype, device=device)
    if copy is False and dtype is not None and not _shares(t, obj):
        raise ValueError(f"can't alias tensor with dtype '{_C.as_tensor(obj).dtype}' into dtype '{dtype}'.")
    if copy and _shares(t, obj):
        t = t.clone()
    if requires_grad is False and t.requires_grad:
        t = t.detach()
    return t.requires_grad_() if requires_grad and not t.requires_grad else t


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
              requires_grad=False):  # fmt: skip
    """A tensor of ``size`` elements whose memory is a file; with ``shared``, writing changes the file."""
    from wisp._storage import UntypedStorage

    dtype = dtype or _C.get_default_dtype()
    storage = UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    return asarray(storage, dtype=dtype, device=device, requires_grad=requires_grad)


def _bytes_of(obj):
    """The memory of a storage; what is none stays as it is."""
    from wisp._storage import UntypedStorage

    return memoryview(obj._whole()) if isinstance(obj, UntypedStorage) else obj


def _has_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _shares(t, obj):
    return t is obj or t.data_ptr() == _C.as_tensor(obj).data_ptr()


def get_device(input):
    """-1: the tensor is on the CPU."""
    return input.get_device()


def is_distributed(input):
    """False: tensors live in one process."""
    return False


def to_dlpack(tensor):
    """The tensor as a DLPack capsule.

    >>> wisp.from_dlpack(wisp.to_dlpack(wisp.ones(2)))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()


def _in_place(name):
    """The function form of an in-place method."""

    def function(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}(...)``."
    return function


addmv_, as_strided_, clamp_max_, clamp_min_, detach_, fill_, gcd_, index_put_, lcm_, ldexp_, resize_as_, xlogy_ = map(
    _in_place,
    ("addmv_", "as_strided_", "clamp_max_", "clamp_min_", "detach_", "fill_", "gcd_", "index_put_", "lcm_", "ldexp_",
     "resize_as_", "xlogy_"),
)  # fmt: skip


def _assert(condition, message):
    """``assert condition, message``, which Python cannot be told to leave out."""
    if not condition:
        raise AssertionError(message)


def _checker(error):
    """A function that raises an error unless a condition holds; the message is a function, called if needed."""

    def check(cond, message=None):
        if not isinstance(cond, bool):
            raise TypeError(f"cond must be a bool, but got {type(cond)}")
        if not cond:
            raise error("Expected cond to be True, but got False" if message is None else str(message()))

    return check


_check, _check_index, _check_value, _check_type, _check_not_implemented = map(
    _checker, (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)
)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shares the memory of any object with `__dlpack__`, or of a DLPack capsule; with `copy`, a copy of it.

    >>> import numpy
    >>> wisp.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    shared = _C.from_dlpack(ext_tensor)
    if device is not None:
        shared = shared.to(device)
    return shared.clone() if copy else shared
