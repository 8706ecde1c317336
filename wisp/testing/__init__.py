"""Helpers for tests of programs that compute with tensors."""

from wisp.testing._comparison import assert_close
from wisp.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
