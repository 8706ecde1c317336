"""Where programs look for Rprop too."""

from wisp.optim.variants import Rprop

__all__ = ["Rprop"]
