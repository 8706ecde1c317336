"""Tensors of ONNX files and NumPy arrays as values of a graph, and back. Sizes are checked before memory is taken."""

import math
import os
import stat
from pathlib import Path

import numpy

import wisp
from wisp.onnx._package import numpy_helper, onnx
from wisp.onnx._values import CARRIERS, DTYPES, Carried, Element, strings

_BITS = {
    Element.FLOAT: 32, Element.UINT8: 8, Element.INT8: 8, Element.UINT16: 16, Element.INT16: 16, Element.INT32: 32,
    Element.INT64: 64, Element.BOOL: 8, Element.FLOAT16: 16, Element.DOUBLE: 64, Element.UINT32: 32,
    Element.UINT64: 64, Element.COMPLEX64: 64, Element.COMPLEX128: 128, Element.BFLOAT16: 16, Element.FLOAT8E4M3FN: 8,
    Element.FLOAT8E4M3FNUZ: 8, Element.FLOAT8E5M2: 8, Element.FLOAT8E5M2FNUZ: 8, Element.UINT4: 4, Element.INT4: 4,
    Element.FLOAT4E2M1: 4, Element.FLOAT8E8M0: 8, Element.UINT2: 2, Element.INT2: 2,
    Element.FLOAT6E2M3: 6, Element.FLOAT6E3M2: 6,
}  # fmt: skip
# The fields of a TensorProto that hold elements which are not raw bytes; all types not named here use int32_data.
_FIELDS = {
    Element.FLOAT: "float_data", Element.COMPLEX64: "float_data", Element.DOUBLE: "double_data",
    Element.COMPLEX128: "double_data", Element.INT64: "int64_data", Element.UINT32: "uint64_data",
    Element.UINT64: "uint64_data", Element.STRING: "string_data",
}  # fmt: skip


def element_type(number, where):
    """The element type with a number of the format."""
    try:
        return Element(number)
    except ValueError:
        raise ValueError(f"{where} has the unknown element type {number}") from None


def from_proto(proto, directory=None):
    """The value that a TensorProto describes. External data is read from files in the directory."""
    where = f"tensor {proto.name!r}"
    element = element_type(proto.data_type, where)
    if proto.HasField("segment"):
        raise ValueError(f"{where} is a segment of a larger one, which is not supported")
    if any(size < 0 for size in proto.dims):
        raise ValueError(f"{where} has a negative size: {list(proto.dims)}")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raw = _external_bytes(proto, directory, _byte_count(proto, element), where)
        proto = onnx.TensorProto(dims=proto.dims, data_type=proto.data_type, name=proto.name, raw_data=raw)
    _check_size(proto, element, where)
    try:
        return from_array(numpy_helper.to_array(proto), element)
    except UnicodeDecodeError as error:
        raise ValueError(f"{where} holds a string that is not UTF-8") from error


def _byte_count(proto, element):
    """How many bytes the elements of a tensor take."""
    return (math.prod(proto.dims) * _BITS.get(element, 0) + 7) // 8


def _check_size(proto, element, where):
    """Refuses a tensor whose data is longer or shorter than its sizes say."""
    if proto.HasField("raw_data"):
        kind, found, wanted = "bytes", len(proto.raw_data), _byte_count(proto, element)
        if element == Element.STRING:
            raise ValueError(f"{where} has strings as raw data, which the format does not allow")
    else:
        kind = _FIELDS.get(element, "int32_data")
        found, wanted = len(getattr(proto, kind)), math.prod(proto.dims)
        if element in (Element.COMPLEX64, Element.COMPLEX128):
            wanted *= 2
        elif element != Element.STRING and _BITS[element] < 6:  # several in one number
            wanted = _byte_count(proto, element)
    if found != wanted:
        raise ValueError(f"{where} of shape {list(proto.dims)} needs {wanted} {kind}, but the file has {found}")


def _external_bytes(proto, directory, count, where):
    """The bytes of a tensor that lie in another file, which must be inside the directory of the model."""
    entries = {entry.key: entry.value for entry in proto.external_data}
    path = _external_path(entries.get("location", ""), directory, where)
    try:
        offset, length = int(entries.get("offset") or 0), int(entries.get("length") or count)
    except ValueError:
        raise ValueError(f"{where} has external data at a place that is no number: {entries}") from None
    if offset < 0 or length != count:
        raise ValueError(f"{where} needs {count} bytes of external data, but the file names {length} at {offset}")
    try:
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or offset + length > state.st_size:
                raise ValueError(f"{where} needs {length} bytes at {offset} of {path}, which has {state.st_size}")
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise ValueError(f"{where}: its external data cannot be read: {error}") from error


def _external_path(location, directory, where):
    """The file with external data, after making sure that it is a regular one inside the directory of the model."""
    if directory is None:
        raise ValueError(f"{where} has external data, but the directory of the model is not known: pass base_dir")
    home = Path(os.path.realpath(directory))
    if not location or "\0" in location:
        raise ValueError(f"{where} has external data without a location")
    path = Path(os.path.realpath(home / location))
    if os.path.isabs(location) or ".." in Path(location).parts or not path.is_relative_to(home):
        raise ValueError(f"{where} has external data outside of the directory of the model: {location!r}")
    if not path.is_file():
        raise ValueError(f"{where} has external data in {location!r}, which is not a file beside the model")
    return path


def from_sparse(proto, directory=None):
    """The dense tensor that a SparseTensorProto describes."""
    values, indices = from_proto(proto.values, directory), from_proto(proto.indices, directory)
    shape, count = list(proto.dims), math.prod(proto.dims)
    if isinstance(values, Carried) or min(shape, default=1) < 0:
        raise ValueError(f"sparse tensor {proto.values.name!r} has sizes or elements that are not supported")
    if indices.ndim == 2:
        strides = wisp.tensor([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=wisp.int64)
        indices = (indices * strides).sum(1)
    if len(indices) != len(values) or (len(indices) and not 0 <= indices.min() <= indices.max() < count):
        raise ValueError(f"sparse tensor {proto.values.name!r} has indices that do not fit shape {shape}")
    return wisp.zeros(count, dtype=values.dtype).index_put((indices,), values).reshape(shape)


def from_array(array, element=None):
    """A NumPy array (also one with the element types of ml_dtypes, or of strings) as a value."""
    if element is None:
        element = _element_of_array(array)
    if element == Element.STRING:
        return strings([w.decode() if isinstance(w, bytes) else str(w) for w in array.ravel().tolist()], array.shape)
    if element == Element.BFLOAT16:
        return wisp.from_numpy(array.view(numpy.int16).copy()).view(wisp.bfloat16)
    if element in DTYPES:
        return wisp.from_numpy(numpy.array(array))
    carrier = numpy.dtype(str(CARRIERS[element]).rpartition(".")[2])
    return Carried(wisp.from_numpy(array.astype(carrier)), element)


def _element_of_array(array):
    if array.dtype.kind in "OUS":
        return Element.STRING
    return element_type(onnx.helper.np_dtype_to_tensor_dtype(array.dtype), f"an array of {array.dtype}")


def to_array(value):
    """A value as a NumPy array of the element type that ONNX uses for it."""
    if not isinstance(value, Carried):
        value = value.detach()
        if value.dtype != wisp.bfloat16:
            return value.numpy()
        return value.contiguous().view(wisp.int16).numpy().view(_array_dtype(Element.BFLOAT16))
    if value.element == Element.STRING:
        return numpy.array(value.tolist(), dtype=object).reshape(tuple(value.shape))
    return value.data.detach().numpy().astype(_array_dtype(value.element))


def _array_dtype(element):
    return onnx.helper.tensor_dtype_to_np_dtype(int(element))
