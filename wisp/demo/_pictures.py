"""Small pictures in the terminal."""

import sys


def _shades(stream):
    """Characters from dark to bright, if the terminal can write them."""
    blocks = " ░▒▓█"
    try:
        blocks.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return " .:=+*#@"
    return blocks


def _rows(picture, shades):
    """The lines of a picture with values from 0 to 1; pixels are two characters wide, to be square."""
    return [
        "".join(shades[min(int(value * len(shades)), len(shades) - 1)] * 2 for value in row) for row in picture.tolist()
    ]


def side_by_side(pictures, captions, stream=None):
    """The text that shows pictures of equal size beside each other, with a caption below each."""
    shades = _shades(sys.stdout if stream is None else stream)
    width = max(2 * pictures[0].shape[1], *map(len, captions))
    columns = [[*_rows(picture, shades), caption] for picture, caption in zip(pictures, captions)]
    return "\n".join("  ".join(text.ljust(width) for text in line).rstrip() for line in zip(*columns))
