"""Where programs look for Adagrad too."""

from wisp.optim.algorithms import Adagrad

__all__ = ["Adagrad"]
