"""Channels as pixels, and back."""

from wisp.nn.modules.vision import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
