"""Where programs look for RMSprop too."""

from wisp.optim.algorithms import RMSprop

__all__ = ["RMSprop"]
