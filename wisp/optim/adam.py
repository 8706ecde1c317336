"""Where programs look for Adam too."""

from wisp.optim.algorithms import Adam

__all__ = ["Adam"]
