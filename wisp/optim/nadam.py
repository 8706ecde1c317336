"""Where programs look for NAdam too."""

from wisp.optim.variants import NAdam

__all__ = ["NAdam"]
