"""Linear algebra: operators of the table whose home is here."""

from wisp import _C

_functions = getattr(_C, "_linalg", {})
globals().update(_functions)
LinAlgError = _C._LinAlgError
__all__ = list(_functions)
__all__ += ["LinAlgError"]
