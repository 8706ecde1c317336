"""Where programs look for SparseAdam too."""

from wisp.optim.variants import SparseAdam

__all__ = ["SparseAdam"]
