"""Where programs look for SGD too."""

from wisp.optim.algorithms import SGD

__all__ = ["SGD"]
