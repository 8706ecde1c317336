"""Curves as a PNG file, without a plotting library."""

import struct
import zlib

_WIDTH, _HEIGHT, _MARGIN = 420, 300, 46
_INK, _GRID, _CURVE = (40, 40, 40), (225, 225, 225), (31, 119, 180)

# Characters of three by six points, rows from the top, as bits.
_FONT = {
    "0": "755557", "1": "262227", "2": "717477", "3": "717177", "4": "557111", "5": "747177", "6": "747577",
    "7": "711222", "8": "757557", "9": "757177", ".": "000002", "a": "257555", "b": "656556", "c": "344443",
    "d": "655556", "e": "746447", "f": "746444", "g": "345553", "h": "557555", "i": "722227", "j": "111152",
    "k": "556655", "l": "444447", "m": "577755", "n": "655555", "o": "255552", "p": "656444", "q": "255563",
    "r": "656655", "s": "342116", "t": "722222", "u": "555557", "v": "555522", "w": "555775", "x": "552255",
    "y": "552222", "z": "711247", " ": "000000",
}  # fmt: skip


class Canvas:
    """A white picture to draw on."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.pixels = bytearray(b"\xff" * (3 * width * height))

    def dot(self, x, y, colour, size=1):
        """A square of some points around (x, y)."""
        for row in range(max(y - size // 2, 0), min(y + (size + 1) // 2, self.height)):
            for column in range(max(x - size // 2, 0), min(x + (size + 1) // 2, self.width)):
                at = 3 * (row * self.width + column)
                self.pixels[at : at + 3] = bytes(colour)

    def line(self, x0, y0, x1, y1, colour, size=1):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(steps + 1):
            self.dot(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps), colour, size)

    def text(self, x, y, text, colour=_INK, size=2):
        for character in text.lower():
            for row, bits in enumerate(_FONT.get(character, "777777")):
                for column in range(3):
                    if int(bits) >> (2 - column) & 1:
                        self.dot(x + size * column, y + size * row, colour, size)
            x += 4 * size

    def png(self):
        """The bytes of a PNG file."""
        lines = memoryview(self.pixels)
        stride = 3 * self.width
        raw = b"".join(b"\0" + lines[i * stride : (i + 1) * stride] for i in range(self.height))
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _draw_panel(canvas, left, title, values):
    """Axes from 0 to the largest value, and the curve."""
    right, top, bottom = left + _WIDTH - _MARGIN - 16, _MARGIN, _HEIGHT - _MARGIN
    most = max(*values, 1e-9)
    canvas.text(left, top - 26, title)
    for i in range(5):
        y = bottom - (bottom - top) * i // 4
        canvas.line(left, y, right, y, _GRID)
        canvas.text(left - 42, y - 6, f"{most * i / 4:.2f}")
    for number, x in ((1, left), (len(values), right)):
        canvas.text(x - 4 * len(str(number)), bottom + 8, str(number))
    canvas.text((left + right) // 2 - 24, bottom + 26, "epoch")
    step = (right - left) / max(len(values) - 1, 1)
    points = [(round(left + i * step), round(bottom - (bottom - top) * value / most)) for i, value in enumerate(values)]
    for start, end in zip(points, points[1:] or points):
        canvas.line(*start, *end, _CURVE, 3)


def draw_curves(path, curves):
    """Writes a PNG with one panel for each curve, a name and its values, one per epoch."""
    canvas = Canvas(_WIDTH * len(curves) + _MARGIN, _HEIGHT)
    for i, (title, values) in enumerate(curves.items()):
        _draw_panel(canvas, _MARGIN + i * _WIDTH, title, values)
    with open(path, "wb") as file:
        file.write(canvas.png())
