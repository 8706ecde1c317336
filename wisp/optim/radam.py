"""Where programs look for RAdam too."""

from wisp.optim.variants import RAdam

__all__ = ["RAdam"]
