"""Making arrays."""

import wisp
from wisp.array_api._dtypes import promoted, result_type


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of what may become one; of an array, itself if `copy` allows it."""
    return wisp.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array of memory that another library shares."""
    return wisp.from_dlpack(x, device=device, copy=copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from `start` (0 if it stands alone) up to `stop`, which is excluded; none if `step` leads away from it."""
    if stop is None:
        start, stop = 0, start
    if step > 0 and stop <= start or step < 0 and stop >= start:
        given = (start, stop, step)
        natural = wisp.int64 if all(isinstance(x, int) for x in given) else wisp.get_default_dtype()
        return wisp.empty((0,), dtype=dtype or natural, device=device)
    return wisp.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers at equal distances from `start` to `stop`, which is the last one if `endpoint`."""
    if dtype is None and (isinstance(start, complex) or isinstance(stop, complex)):
        dtype = wisp.complex128 if wisp.get_default_dtype() == wisp.float64 else wisp.complex64
    if endpoint:
        return wisp.linspace(start, stop, num, dtype=dtype, device=device)
    return wisp.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def empty(shape, *, dtype=None, device=None):
    """An array of whatever its memory holds."""
    return wisp.empty(_shape(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return wisp.zeros(_shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return wisp.ones(_shape(shape), dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value."""
    return wisp.full(_shape(shape), fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """An array of the shape of another, not filled."""
    return wisp.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape of another array."""
    return wisp.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape of another array."""
    return wisp.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value in the shape of another array."""
    return wisp.full_like(x, fill_value, dtype=dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal, zeros elsewhere."""
    result = wisp.zeros((n_rows, n_rows if n_cols is None else n_cols), dtype=dtype, device=device)
    if -result.shape[0] < k < result.shape[1]:
        result.diagonal(k).fill_(1)
    return result


def tril(x, /, *, k=0):
    """What is on and below the k-th diagonal; zeros above."""
    return wisp.tril(x, k)


def triu(x, /, *, k=0):
    """What is on and above the k-th diagonal; zeros below."""
    return wisp.triu(x, k)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of the points of a grid whose axes are given."""
    return list(wisp.meshgrid(*arrays, indexing=indexing))


def where(condition, x1, x2, /):
    """Elements of x1 where the condition holds, of x2 elsewhere."""
    if not isinstance(x1, wisp.Tensor) and not isinstance(x2, wisp.Tensor):
        raise TypeError("where(): expected an array for x1 or x2")
    x1, x2 = promoted(x1, x2)
    common = result_type(x1, x2)
    x1, x2 = (wisp.as_tensor(x, dtype=common) for x in (x1, x2))
    return wisp.where(condition, x1, x2)
