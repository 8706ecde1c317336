"""Arrays and numbers of NumPy in files, as data. NumPy is imported only for files that contain some."""

import math
import re

from wisp.serialization._files import FileError, shown


def numpy():
    """The package, if it is there."""
    try:
        import numpy
    except ImportError:
        raise ImportError("the file contains arrays or numbers of NumPy; to load it: pip install numpy") from None
    return numpy


def empty_array(cls, shape, kind):
    """An empty array, filled by a state afterwards."""
    return numpy().ndarray((0,), "b")


def numpy_dtype(text, align=False, copy=True):
    """A dtype of numbers, texts or dates by its name. Other texts are not given to NumPy, which would parse them."""
    np = numpy()
    if not isinstance(text, str) or not re.fullmatch(r"[<>|=]?[biufcSUMm][0-9]{1,9}(\[[A-Za-z0-9]+\])?", text):
        raise FileError(
            f"the file contains an array of dtype {shown(text)}: only numbers, texts and dates can be loaded"
        )
    return np.dtype(text)


def numpy_scalar(dtype, data):
    """A number of NumPy by its bytes."""
    np = numpy()
    raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
    if dtype.itemsize != len(raw):
        raise FileError("the file is damaged: a number of NumPy has the wrong size")
    return np.frombuffer(raw, dtype)[0]


def set_numpy_state(made, state):
    """Fills an array, or gives a dtype its byte order; returns whether ``made`` is one of NumPy's."""
    if type(made).__module__.split(".")[0] != "numpy":
        return False
    np = numpy()
    if isinstance(made, np.dtype):
        if made.kind in "Mm":
            raise FileError(
                "the file contains dates of NumPy, whose unit is not known here. Save them as texts or numbers"
            )
        if state[1] not in "<>=|" or made.newbyteorder(state[1]) != made:
            raise FileError("the file contains an array in another byte order than this machine's")
        return True
    _, shape, dtype, fortran, data = state
    data = data.encode("latin1") if isinstance(data, str) else data
    if not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(data):
        raise FileError(f"the file is damaged: an array of shape {shown(shape)} has {len(data)} bytes")
    made.__setstate__((1, tuple(shape), dtype, bool(fortran), bytes(data)))
    return True
