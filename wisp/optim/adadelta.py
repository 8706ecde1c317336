"""Where programs look for Adadelta too."""

from wisp.optim.algorithms import Adadelta

__all__ = ["Adadelta"]
