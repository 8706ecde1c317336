"""Functions that take functions, where PyTorch keeps them."""

from wisp._higher_order_ops.associative_scan import associative_scan
from wisp.functional import cond

__all__ = ["associative_scan", "cond"]
