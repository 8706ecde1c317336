"""Where programs look for ASGD too."""

from wisp.optim.variants import ASGD

__all__ = ["ASGD"]
