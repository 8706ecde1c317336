"""Where programs look for Adamax too."""

from wisp.optim.algorithms import Adamax

__all__ = ["Adamax"]
