"""Members of a zip archive as places in a buffer. Sizes and places are checked before anything is read."""

import struct
import zlib
from collections import namedtuple

from wisp.serialization._files import FileError

Member = namedtuple("Member", "name flags method crc packed size offset")

_MOST_EXPANSION = 64  # how many times larger than the file its contents may become by decompression
_DEFLATED = 8


def _damaged(why):
    return FileError(
        f"the file is damaged: as a zip archive it {why}. It may have been cut off when it was written or copied"
    )


def _fields(buffer, offset, form, signature):
    size = struct.calcsize(form)
    if offset < 0 or offset + size > len(buffer) or bytes(buffer[offset : offset + 4]) != signature:
        raise _damaged("misses a header")
    return struct.unpack(form, buffer[offset : offset + size])[1:]


class Archive:
    """The members of an archive, by name."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.members = {}
        self._budget = max(len(buffer) * _MOST_EXPANSION, 1 << 26)
        count, offset, self.end = self._directory()
        for _ in range(count):
            offset = self._add(offset)
        self._check_overlaps()

    def _directory(self):
        """How many members there are, where their list begins, and where the archive ends."""
        tail = max(0, len(self.buffer) - 65557)
        found = bytes(self.buffer[tail:]).rfind(b"PK\x05\x06")
        if found < 0:
            raise _damaged("has no list of members")
        end = tail + found
        *_, count, _, offset, comment = _fields(self.buffer, end, "<4s4H2LH", b"PK\x05\x06")
        if bytes(self.buffer[max(0, end - 20) : max(0, end - 16)]) == b"PK\x06\x07":
            _, start, _ = _fields(self.buffer, end - 20, "<4sLQL", b"PK\x06\x07")
            *_, count, _, offset = _fields(self.buffer, start, "<4sQ2H2L4Q", b"PK\x06\x06")
        return count, offset, end + 22 + comment

    def _add(self, offset):
        fields = _fields(self.buffer, offset, "<4s6H3L5H2L", b"PK\x01\x02")
        _, _, flags, method, _, _, crc, packed, size, name_size, extra_size, comment_size, _, _, _, place = fields
        begin = offset + 46
        end = begin + name_size + extra_size
        name = bytes(self.buffer[begin : begin + name_size]).decode("utf-8", "replace")
        size, packed, place = _long_sizes(bytes(self.buffer[begin + name_size : end]), size, packed, place)
        if name in self.members:
            raise _damaged(f"has two members {name!r}")
        self.members[name] = Member(name, flags, method, crc, packed, size, place)
        return end + comment_size

    def _check_overlaps(self):
        end = 0
        for member in sorted(self.members.values(), key=lambda member: member.offset):
            if member.offset < end:
                raise _damaged("has members on top of each other")
            end = member.offset + 30 + member.packed
        if end > len(self.buffer):
            raise _damaged("is shorter than its members")

    def place(self, name):
        """(begin, end) in the buffer of a member that is stored as it is; None if it is compressed."""
        member = self.members[name]
        fields = _fields(self.buffer, member.offset, "<4s5H3L2H", b"PK\x03\x04")
        begin = member.offset + 30 + fields[-2] + fields[-1]
        if begin + member.packed > len(self.buffer):
            raise _damaged("is shorter than its members")
        if member.method:
            return None
        if member.size != member.packed:
            raise _damaged(f"gives two sizes for {name!r}")
        return begin, begin + member.size

    def read(self, name):
        """The contents of a member, checked."""
        place, member = self.place(name), self.members[name]
        data = self.buffer[slice(*place)] if place else self._unpacked(member)
        self.check(name, data)
        return data

    def check(self, name, data):
        """Compares the checksum of a member, if it has one."""
        if self.members[name].crc not in (0, zlib.crc32(data)):
            raise _damaged(f"has other contents of {name!r} than its checksum says")

    def _unpacked(self, member):
        if member.method != _DEFLATED or member.flags & 1:
            raise FileError(
                f"the member {member.name!r} of the archive is encrypted or compressed in a way that is not known"
            )
        self._budget -= member.size
        if self._budget < 0:
            raise FileError("the file is refused: its contents are far larger than itself")
        fields = _fields(self.buffer, member.offset, "<4s5H3L2H", b"PK\x03\x04")
        begin = member.offset + 30 + fields[-2] + fields[-1]
        try:
            data = zlib.decompressobj(-15).decompress(self.buffer[begin : begin + member.packed], max(1, member.size))
        except zlib.error as error:
            raise _damaged(f"cannot be decompressed: {error}") from None
        if len(data) != member.size:
            raise _damaged(f"has {len(data)} bytes of {member.name!r}, not {member.size}")
        return memoryview(bytearray(data))


def _long_sizes(extra, *numbers):
    """Sizes that do not fit in 32 bits stand in an extra field."""
    numbers, begin = list(numbers), 0
    while begin + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, begin)
        if kind == 1:
            values = extra[begin + 4 : begin + 4 + size]
            for i, number in enumerate(numbers):
                if number == 0xFFFFFFFF and len(values) >= 8:
                    numbers[i], values = int.from_bytes(values[:8], "little"), values[8:]
        begin += 4 + size
    return numbers
