"""The named tuples operators return: ``wisp.return_types.max`` has ``values`` and ``indices``."""

from wisp import _C

_types = getattr(_C, "_return_types", {})
globals().update(_types)
__all__ = list(_types)
