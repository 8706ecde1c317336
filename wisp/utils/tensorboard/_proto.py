"""Protocol buffers, as far as event files need them: a message is the bytes of its fields, one after the other.

A field is a number, a wire type and a value; messages inside messages are fields of bytes.
"""

from struct import pack

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def varint(value):
    """An integer, seven bits to a byte; negative ones as 64 bits."""
    if 0 <= value < 128:
        return bytes((value,))
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    """A field of an integer, a bool or an enumeration."""
    return varint(number << 3 | _VARINT) + varint(int(value))


def double(number, value):
    """A field of 64-bit floating point."""
    return varint(number << 3 | _FIXED64) + pack("<d", value)


def single(number, value):
    """A field of 32-bit floating point; what is too large becomes infinite."""
    try:
        return varint(number << 3 | _FIXED32) + pack("<f", value)
    except OverflowError:
        return varint(number << 3 | _FIXED32) + pack("<f", float("inf") if value > 0 else float("-inf"))


def chunk(number, value):
    """A field of bytes, of text, or of a message."""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def doubles(number, values):
    """A repeated field of 64-bit floating point."""
    return chunk(number, pack(f"<{len(values)}d", *values))
