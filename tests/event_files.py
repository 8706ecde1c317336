"""A reader of event files, written apart from the writer: records, checksums, protocol buffers, PNG."""

import pathlib
import struct
import zlib
from collections import defaultdict

import wisp


def checksum(data):
    """CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path, check=True):
    data, at = pathlib.Path(path).read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 8)[0] == checksum(data[at : at + 8])
        assert not check or struct.unpack_from("<I", data, at + 12 + size)[0] == checksum(body)
        yield body
        at += size + 16


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """A message as {number: [values]}; inner messages stay bytes."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            kind = {1: "<d", 5: "<f"}[key & 7]
            (value,), at = struct.unpack_from(kind, data, at), at + struct.calcsize(kind)
        found[key >> 3].append(value)
    return found


def files(folder):
    return sorted(p for p in pathlib.Path(folder).rglob("*tfevents*"))


def events(folder, **options):
    return [fields(body) for path in files(folder) for body in records(path, **options)]


def values(folder, **options):
    """All values of all summaries, by tag, each with the event's step."""
    found = defaultdict(list)
    for event in events(folder, **options):
        for encoded in event[5]:
            for value in fields(encoded)[1]:
                value = fields(value)
                found[value[1][0].decode()].append((event[2][0] if event[2] else 0, value))
    return found


def one(folder, tag):
    ((_, value),) = values(folder)[tag]
    return value


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def unpacked(data):
    """The pixels of a PNG file without filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (size,), name = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(name + body)
        parts[name] = body
        at += size + 12
    width, height, depth, kind = struct.unpack_from(">IIBB", parts[b"IHDR"])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    rows = wisp.tensor(list(zlib.decompress(parts[b"IDAT"]))).reshape(height, width * channels + 1)
    assert depth == 8 and not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def picture(folder, tag):
    found = fields(one(folder, tag)[4][0])
    pixels = unpacked(found[4][0])
    assert [found[i][0] for i in (1, 2, 3)] == list(pixels.shape)
    return pixels


def numbers(tensor_proto):
    found = fields(tensor_proto)
    data = found[4][0]
    return list(struct.unpack(f"<{len(data) // 4}f", data))
