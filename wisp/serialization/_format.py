"""Files of ours: the safetensors layout, with the structure of what was saved as JSON in the metadata.

A structure too large for a header is an entry among the tensors instead. Checksums tell whether a file is what was
written.
"""

import json
import zlib

from wisp import _C
from wisp._storage import storage_of
from wisp.serialization import _safetensors as layout
from wisp.serialization._decode import Decoder
from wisp.serialization._encode import Encoder
from wisp.serialization._files import FileError

_STRUCTURE, _PLACE, _CHECKSUMS = "wisp", "wisp.structure", "wisp.checksums"  # in the metadata
_LARGEST_IN_HEADER = 1 << 20


# --- writing


def chunks(obj):
    """The bytes of a file: the header, then the data of all tensors."""
    encoder = Encoder(obj)
    structure = json.dumps(encoder.document, separators=(",", ":"))
    metadata = {"format": "pt", _STRUCTURE: structure}
    if len(structure) > _LARGEST_IN_HEADER:
        name = _free_name(encoder.blobs)
        encoder.blobs[name] = structure.encode()
        metadata = {"format": "pt", _PLACE: name}
    header = layout.layout({name: _dtype_and_shape(blob) for name, blob in encoder.blobs.items()})
    data = [encoder.blobs[name] for name in header]
    data = [blob if isinstance(blob, bytes) else layout.raw(blob) for blob in data]
    checks = {"header": _header_check(header, structure), "data": _checksum(data)}
    return [layout.head(header, {**metadata, _CHECKSUMS: json.dumps(checks)}), *data]


def _free_name(taken):
    name = "structure"
    while name in taken:
        name += "_"
    return name


def _dtype_and_shape(blob):
    return (_C.uint8, (len(blob),)) if isinstance(blob, bytes) else (blob.dtype, blob.shape)


def _checksum(data):
    crc = 0
    for chunk in data:
        crc = zlib.crc32(chunk, crc)
    return crc


def _header_check(header, structure):
    return zlib.crc32(
        structure.encode("utf-8", "surrogatepass"), zlib.crc32(json.dumps(header, sort_keys=True).encode())
    )


# --- reading


def read(source, trust, relocate):
    """The object in a file of ours; of any other safetensors file its tensors by name."""
    reader = layout.Reader(source)
    source.used(reader.end)
    document = document_of(reader)
    if document is None:
        return {name: reader.tensor(name) for name in reader.entries}

    def bytes_of(name, alignment):
        return relocate(storage_of(reader.bytes_of(name, alignment)), "cpu")._bytes

    return Decoder(document, bytes_of, reader.entries.__getitem__, trust).result


def document_of(reader):
    """The structure in a file, its checksums compared; None if the file is not one of ours."""
    metadata = reader.metadata
    if _STRUCTURE not in metadata and _PLACE not in metadata:
        return None
    structure = metadata[_STRUCTURE] if _STRUCTURE in metadata else _text(reader, metadata[_PLACE])
    _check(reader, structure)
    return layout.parse_json(structure)


def _text(reader, name):
    try:
        entry = reader.entries[name]
        return bytes(reader.data()[entry.begin : entry.end]).decode()
    except (KeyError, UnicodeDecodeError):
        raise FileError("the file is damaged: its structure is missing") from None


def _check(reader, structure):
    """Compares the checksums; that of the data only where it has been read anyway."""
    checks = layout.parse_json(reader.metadata.get(_CHECKSUMS, "null"))
    wanted = {"header": _header_check(reader.header, structure)}
    wanted["data"] = zlib.crc32(reader.data()) if reader.source.fresh else None
    for part, value in wanted.items():
        if not isinstance(checks, dict) or part not in checks or value not in (None, checks[part]):
            raise FileError(f"the file is damaged: its {part} is not what was written")
