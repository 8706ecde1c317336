"""The safetensors layout: eight bytes of length, a JSON header, then the data of all tensors without gaps."""

import json
import math
from collections import namedtuple

from wisp import _C
from wisp.serialization._files import FileError, view

# A tensor's data as it stands in a file; begin and end count from the end of the header.
Entry = namedtuple("Entry", "dtype shape begin end")

NAMES = {
    _C.float64: "F64", _C.float32: "F32", _C.float16: "F16", _C.bfloat16: "BF16", _C.int64: "I64", _C.int32: "I32",
    _C.int16: "I16", _C.int8: "I8", _C.uint8: "U8", _C.bool: "BOOL", _C.complex64: "C64",
    _C.uint16: "U16", _C.uint32: "U32", _C.uint64: "U64", _C.float8_e4m3fn: "F8_E4M3", _C.float8_e5m2: "F8_E5M2",
    _C.float8_e4m3fnuz: "F8_E4M3FNUZ", _C.float8_e5m2fnuz: "F8_E5M2FNUZ", _C.float8_e8m0fnu: "F8_E8M0",
}  # fmt: skip
DTYPES = {name: dtype for dtype, name in NAMES.items()}
LARGEST_HEADER = 100_000_000  # the limit of the format
ALIGNMENT = 64  # of the data in files of ours


# --- writing


def raw(tensor):
    """The bytes of a tensor in row-major order, without a copy if they lie like this already."""
    tensor = tensor.detach().contiguous()
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return b""
    begin = tensor.storage_offset() * tensor.element_size()
    return memoryview(tensor._storage_bytes())[begin : begin + size]


def layout(sizes):
    """The header of data to be written: {name: {"dtype", "shape", "data_offsets"}}, for {name: (dtype, shape)}.

    Elements of many bytes come first, so that everything is aligned.
    """
    header, end = {}, 0
    for name, (dtype, shape) in sorted(sizes.items(), key=lambda item: -item[1][0].itemsize):
        begin, end = end, end + math.prod(shape) * dtype.itemsize
        header[name] = {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    return header


def head(header, metadata):
    """The bytes before the data."""
    named = {"__metadata__": metadata, **header} if metadata else header
    text = json.dumps(named, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > LARGEST_HEADER:
        raise ValueError(f"the structure to be saved takes {len(text)} bytes, the format allows {LARGEST_HEADER}: save large "
                         "collections of numbers as tensors")  # fmt: skip
    return len(text).to_bytes(8, "little") + text


# --- reading


def looks_like_it(buffer):
    """Whether a file may be in this layout."""
    return len(buffer) >= 10 and 2 <= int.from_bytes(buffer[:8], "little") <= LARGEST_HEADER and buffer[8] == ord("{")


class Reader:
    """A file in this layout, checked: every entry lies inside the data, without overlaps or gaps.

    Attributes:
        entries: {name: Entry}, in the order of the file.
        metadata: {name: text}.
        end: where the data ends in the buffer of the source.
    """

    def __init__(self, source):
        self.source = source
        size = int.from_bytes(source.buffer[:8], "little")
        self.begin = 8 + size
        if not looks_like_it(source.buffer) or self.begin > len(source.buffer):
            raise FileError(
                f"the file is damaged: its header should have {size} bytes, the file has {len(source.buffer)}"
            )
        header = parse_json(bytes(source.buffer[8 : self.begin]))
        if not isinstance(header, dict):
            raise FileError("the file is damaged: its header is no JSON object")
        self.metadata = _checked_metadata(header.pop("__metadata__", {}))
        self.header = header
        self.entries = {name: _checked_entry(name, entry) for name, entry in header.items()}
        self.end = self.begin + self._check_ranges()
        if self.end > len(source.buffer):
            raise FileError(f"the file is damaged: it should have {self.end} bytes, it has {len(source.buffer)}")

    def _check_ranges(self):
        end = 0
        for name, entry in sorted(self.entries.items(), key=lambda item: item[1][2:]):
            if entry.begin != end:
                raise FileError(f"the file is damaged: the data of {name!r} begins at {entry.begin}, not at {end}")
            end = entry.end
        return end

    def data(self):
        """All data, as a memoryview."""
        return self.source.buffer[self.begin : self.end]

    def bytes_of(self, name, alignment=None):
        """The data of one entry as a tensor of bytes."""
        entry = self.entries[name]
        return self.source.bytes_of(self.begin + entry.begin, self.begin + entry.end, alignment or entry.dtype.itemsize)

    def tensor(self, name):
        entry = self.entries[name]
        return view(_C.Tensor, self.bytes_of(name), entry.dtype, 0, entry.shape, None)


def parse_json(text):
    """Strict JSON: one value, keys only once, nothing too deep."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"the file is damaged: its header cannot be read: {error}") from None


def _without_duplicates(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_constant(name):
    raise ValueError(f"{name} is no number in JSON")


def _checked_metadata(metadata):
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise FileError("the file is damaged: its metadata are not texts by name")
    return metadata


def _checked_entry(name, entry):
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise FileError(f"the file is damaged: the entry {name!r} is not complete")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    numbers = (
        isinstance(shape, list)
        and isinstance(offsets, list)
        and all(type(n) is int and n >= 0 for n in shape + offsets)
    )
    if not numbers or len(offsets) != 2 or len(shape) > 1000 or not isinstance(dtype, str):
        raise FileError(f"the file is damaged: the entry {name!r} has dtype {dtype!r} and shape {shape!r}")
    if dtype not in DTYPES:
        raise FileError(f"the tensor {name!r} is of dtype {dtype}, which wisp does not have")
    if math.prod(shape) * DTYPES[dtype].itemsize != offsets[1] - offsets[0]:
        raise FileError(f"the file is damaged: {name!r} of shape {shape} does not take {offsets[1] - offsets[0]} bytes")
    return Entry(DTYPES[dtype], tuple(shape), *offsets)
