"""Where programs look for AdamW too."""

from wisp.optim.algorithms import AdamW

__all__ = ["AdamW"]
