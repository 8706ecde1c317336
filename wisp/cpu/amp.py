"""Mixed precision on the CPU, under its old names. New programs say ``wisp.autocast("cpu")``."""

from wisp import amp
from wisp._C import bfloat16

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """amp.autocast("cpu", ...)"""

    def __init__(self, enabled=True, dtype=bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """amp.GradScaler("cpu", ...)"""

    def __init__(self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
